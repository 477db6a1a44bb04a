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
	"raisinproxy/internal/testservers"
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
	err = testservers.Await(ctx, func(ctx context.Context) error {
		conn, err := pgconn.Connect(ctx, url)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("the PostgreSQL in the container does not answer: %w", err), c.Stop())
	}
	return url, c.Stop, nil
}

// settingArguments are the settings as arguments.
func settingArguments() []string {
	var arguments []string
	for lines := bufio.NewScanner(strings.NewReader(settings)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " = "); ok {
			arguments = append(arguments, "-c", name+"="+strings.Trim(value, "'"))
		}
	}
	return arguments
}
