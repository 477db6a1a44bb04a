package redistest

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"

	"raisinproxy/internal/containers"
)

// EnvURL names a Redis for the tests that can share one. They use name spaces of
// their own and leave its configuration alone.
const EnvURL = "RAISIN_TEST_REDIS_URL"

// EnvServer is the path of the server that tests start instead of the installed redis-server: another
// version, or a valkey-server.
const EnvServer = "RAISIN_TEST_REDIS_SERVER"

const howToGet = "there is no Redis to test with: set " + EnvURL + " or start a Docker engine (tests that kill or stop their server need the next one), " +
	"or install redis-server (Debian and Ubuntu: apt-get install redis-server)"

// URL is the address of a Redis that a test may use in a name space of its own:
// what EnvURL says, or else a server started for this test, in a container where a
// Docker engine answers.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(EnvURL); url != "" {
		return url
	}
	inContainer, err := containers.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	if inContainer {
		return startContainer(t)
	}
	return Start(t).URL()
}

// startContainer runs a server in a container until the end of the test.
func startContainer(t testing.TB) (url string) {
	t.Helper()
	c, err := containers.Start(t.Context(), &containers.Server{Image: containers.RedisImage(), Port: 6379})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin := redis.NewClient(&redis.Options{Addr: c.Addr, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	defer admin.Close()
	Await(t, "the server in the container answers", func(ctx context.Context) bool { return admin.Ping(ctx).Err() == nil })
	return "redis://" + c.Addr + "/0"
}

// program is the path of the server.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv(EnvServer), "redis-server"))
	if err != nil {
		t.Fatal(howToGet)
	}
	return path
}
