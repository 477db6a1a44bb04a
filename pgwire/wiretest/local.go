package wiretest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"raisinproxy/internal/testservers"
)

// hostRules trust everyone at address but those whose password is part of a script.
func hostRules(address string) string {
	users := append(slices.Sorted(maps.Keys(Passwords)), "ghost")
	return "host all " + Cleartext + " " + address + " password\n" +
		"host all " + strings.Join(users, ",") + " " + address + " scram-sha-256\n" +
		"host all all " + address + " trust\n"
}

const settings = `
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
shared_buffers = 32MB
max_connections = 60
timezone = 'UTC'
log_timezone = 'UTC'
datestyle = 'ISO, MDY'
lc_messages = 'C'
`

// startLocal runs a PostgreSQL of the programs of this machine.
func startLocal() (url string, end func() error, err error) {
	server, err := testservers.StartPostgres(context.Background(), testservers.PostgresOptions{
		Superuser: "postgres", Settings: settings, Rules: hostRules("127.0.0.1/32"), InitArgs: []string{"--no-sync"},
	})
	if err != nil {
		return "", nil, err
	}
	return server.URL(), func() error { return server.Stop(context.Background()) }, nil
}
