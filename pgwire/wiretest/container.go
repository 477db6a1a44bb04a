package wiretest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/internal/containers"
)

// startContainer runs a PostgreSQL in a container, with the rules and the settings that
// the one of this machine has, and returns when it accepts connections.
func startContainer() (url string, end func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // the image may have to come
	defer cancel()
	const rules = "/etc/raisin-test-hba.conf"
	c, err := containers.Start(ctx, &containers.Server{
		Image: containers.PostgresImage(),
		Port:  5432,
		Env:   map[string]string{"POSTGRES_PASSWORD": rolePassword},
		// The official image's own setup comes by the socket.
		Files: map[string]string{rules: "local all all trust\n" + hostRules("all")},
		Args:  append([]string{"-c", "hba_file=" + rules}, settingArguments()...),
	})
	if err != nil {
		return "", nil, err
	}
	url = fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", c.Addr)
	if err := awaitPostgres(ctx, url); err != nil {
		return "", nil, errors.Join(err, c.Stop())
	}
	return url, c.Stop, nil
}

// settingArguments are the settings that do not concern addresses, which are the
// container's own.
func settingArguments() []string {
	var arguments []string
	for lines := bufio.NewScanner(strings.NewReader(settings)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " = ")
		if ok && name != "listen_addresses" && name != "unix_socket_directories" {
			arguments = append(arguments, "-c", name+"="+strings.Trim(value, "'"))
		}
	}
	return arguments
}

// awaitPostgres returns when a connection can be made.
func awaitPostgres(ctx context.Context, url string) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgconn.Connect(ctx, url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL in the container does not answer: %w", err)
		}
	}
}
