package redistest

import (
	"os"
	"os/exec"
	"testing"
)

// EnvURL names a Redis for the tests that can share one. They use name spaces of
// their own and leave its configuration alone.
const EnvURL = "RAISIN_TEST_REDIS_URL"

const howToGet = "there is no Redis to test with: set " + EnvURL + " (tests that kill or stop their server need the next one), " +
	"or install redis-server (Debian and Ubuntu: apt-get install redis-server)"

// URL is the address of a Redis that a test may use in a name space of its own:
// what EnvURL says, or else a server started for this test.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(EnvURL); url != "" {
		return url
	}
	// A container, where a Docker engine answers, belongs here: after the variable
	// and before the programs of this machine.
	return Start(t).URL()
}

// program is the path of redis-server or of one of its companions.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(howToGet)
	}
	return path
}
