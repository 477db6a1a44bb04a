// Package containers runs servers for tests in containers, where a Docker engine
// answers. It is for tests only, and knows nothing of what it runs.
//
// Tests get a server in this order: the one that a variable names
// (RAISIN_TEST_POSTGRES_URL, RAISIN_TEST_REDIS_URL), one in a container, one made of the
// programs of this machine. Chosen is the second question.
package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// EnvServers chooses where test servers run, for those that no URL names.
const EnvServers = "RAISIN_TEST_SERVERS"

// PostgresImage is an image with the official one's interface. Its release is the one
// that wrote the expectations of the wire scripts.
func PostgresImage() string {
	return cmp.Or(os.Getenv("RAISIN_TEST_POSTGRES_IMAGE"), "docker.io/library/postgres:15")
}

// RedisImage is an image whose entry point takes arguments of redis-server.
func RedisImage() string {
	return cmp.Or(os.Getenv("RAISIN_TEST_REDIS_IMAGE"), "docker.io/library/redis:7")
}

// Chosen tells whether test servers are to run in containers: "containers" and "local"
// in EnvServers say so, whatever answers; without it they do where an engine answers.
func Chosen() (bool, error) {
	switch choice := os.Getenv(EnvServers); choice {
	case "containers":
		return true, engine()
	case "local":
		return false, nil
	case "":
		return engine() == nil, nil
	default:
		return false, fmt.Errorf(`%s is %q: want "containers", "local" or nothing`, EnvServers, choice)
	}
}

// engine asks the engine once.
var engine = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tclog.SetDefault(silent{})
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return fmt.Errorf("no Docker engine: %w", err)
	}
	if err := provider.Health(ctx); err != nil {
		return fmt.Errorf("the Docker engine does not answer: %w", err)
	}
	return nil
})

// Server is what to run. The image's own entry point is kept.
type Server struct {
	Image string
	Port  uint16 // where it listens, in the container
	Args  []string
	Env   map[string]string
	Files map[string]string // by path in the container
}

// Container is a running server. It is safe for concurrent use.
type Container struct {
	// Addr is host:port, where the server can be reached from here and, unless the
	// engine is on another machine, from nowhere else.
	Addr string

	docker *testcontainers.DockerContainer
}

// Start returns when the container runs; its server may not listen yet. Stop ends it.
// What a killed test leaves behind, testcontainers' own reaper removes, unless
// TESTCONTAINERS_RYUK_DISABLED is set.
func Start(ctx context.Context, s *Server) (*Container, error) {
	port := network.MustParsePort(fmt.Sprintf("%d/tcp", s.Port))
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(port.String()),
		testcontainers.WithEnv(s.Env),
		testcontainers.WithCmd(s.Args...),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{port: {{HostIP: hostAddress()}}}
		}),
	}
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		options = append(options, testcontainers.WithFiles(testcontainers.ContainerFile{
			Reader: strings.NewReader(s.Files[path]), ContainerFilePath: path, FileMode: 0o644,
		}))
	}
	docker, err := testcontainers.Run(ctx, s.Image, options...)
	c := &Container{docker: docker}
	if err == nil {
		c.Addr, err = docker.PortEndpoint(ctx, port.String(), "")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s in a container: %w", s.Image, err), c.Stop())
	}
	return c, nil
}

// Stop ends the container at once and removes it.
func (c *Container) Stop() error {
	return testcontainers.TerminateContainer(c.docker, testcontainers.StopTimeout(0))
}

// hostAddress is where an engine on this machine makes a server reachable: nowhere but
// here, since test servers trust everybody.
func hostAddress() netip.Addr {
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix:") {
		return netip.IPv4Unspecified()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// silent keeps what testcontainers would print out of the output of tests.
type silent struct{}

func (silent) Printf(string, ...any) {}
