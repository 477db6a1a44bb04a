package wiretest_test

import (
	"testing"

	"raisinproxy/pgwire/wiretest"
)

// What the proxy relays is what PostgreSQL answers: these scripts say what that is.
// Each runs twice, since it has to leave the server as it was.
func TestRelayOnPostgres(t *testing.T) {
	wiretest.Exclusive(t)
	for _, pass := range []string{"first", "again"} {
		t.Run(pass, func(t *testing.T) {
			wiretest.RunDir(t, "../../testdata/wire/relay", wiretest.PostgresTarget)
		})
	}
}
