package identity

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"raisinproxy/pgwire/wiretest"
)

// askedRole is a role whom the servers of wiretest ask for a password. A server of
// RAISIN_TEST_POSTGRES_URL must do so too (scram-sha-256 in its pg_hba.conf).
const askedRole = "carol"

// postgres gives a real PostgreSQL and a superuser's connection to it.
func postgres(t *testing.T) (*url.URL, *pgx.Conn) {
	t.Helper()
	raw := wiretest.PostgresURL(t)
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal("the URL of PostgreSQL is not one")
	}
	conn, err := pgx.Connect(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return u, conn
}

// setPassword makes askedRole if it is not there, gives it a password or a verifier,
// and returns what the server keeps of it.
func setPassword(t *testing.T, conn *pgx.Conn, password string) (verifier string) {
	t.Helper()
	literal := "'" + strings.ReplaceAll(password, "'", "''") + "'"
	_, err := conn.Exec(t.Context(), "SET password_encryption = 'scram-sha-256'; "+
		"DO $$ BEGIN CREATE ROLE "+askedRole+"; EXCEPTION WHEN duplicate_object THEN NULL; END $$; "+
		"ALTER ROLE "+askedRole+" LOGIN PASSWORD "+literal)
	if err != nil {
		t.Fatal(err)
	}
	err = conn.QueryRow(t.Context(), "SELECT rolpassword FROM pg_authid WHERE rolname = $1", askedRole).Scan(&verifier)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

// psql logs in and sends an empty query.
func psql(t *testing.T, u *url.URL, user, password string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("psql")
	if err != nil {
		t.Fatal("no psql: apt-get install postgresql-client")
	}
	cmd := exec.CommandContext(t.Context(), path, "-X", "-h", u.Hostname(), "-p", u.Port(), "-U", user, "-d", "postgres", "-c", ";")
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "PGSSLMODE=disable", "PGGSSENCMODE=disable", "PGCONNECT_TIMEOUT=10")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
