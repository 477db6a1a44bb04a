package wiretest_test

import (
	"testing"

	"raisinproxy/pgwire/wiretest"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

// The scripts that say what the proxy answers in embedded mode are held against
// a real PostgreSQL, whose answers they are.
func TestSameOnPostgres(t *testing.T) {
	wiretest.RunDir(t, "../../testdata/wire/same", wiretest.PostgresTarget)
}

func TestAuthOnPostgres(t *testing.T) {
	wiretest.RunDir(t, "../../testdata/wire/auth", wiretest.PostgresTarget)
}

// The table of malformed messages says what PostgreSQL answers.
func TestMalformedOnPostgres(t *testing.T) {
	wiretest.RunTable(t, "../../docs/malformed.md", "postgres", wiretest.PostgresTarget)
}

// What the runner can do beyond embedded mode.
func TestRunnerOnPostgres(t *testing.T) {
	wiretest.RunDir(t, "testdata/postgres", wiretest.PostgresTarget)
}
