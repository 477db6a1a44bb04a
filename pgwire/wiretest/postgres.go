package wiretest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"raisinproxy/internal/containers"
)

// Passwords are those of the users that have one on the servers of scripts about
// authentication; everyone else is trusted there. The user `ghost` is asked for a
// password and does not exist.
var Passwords = map[string]string{
	"carol": "pencil",
	"dave":  "I\u00adX",       // a soft hyphen: SASLprep takes it away
	"erin":  "pen\u00a0cil",   // a no-break space: SASLprep makes it a space
	"frank": "p@ss/w#rd %41;", // what URLs and config files trip over
	"grace": "hopper",
}

// Cleartext is the one of them whom the PostgreSQL that the tests start asks for it in clear.
const Cleartext = "grace"

// Postgres returns the address (host:port) of a real PostgreSQL with a database
// `shop`, the roles `alice`, `bob` and `walter`, who may replicate, and stand-ins for
// the proxy's functions. It is the
// server of RAISIN_TEST_POSTGRES_URL (a superuser's URL) if that is set, else one
// that is started here. It trusts everyone except the users of Passwords, is started once for
// each test process and ends with it however it ends: in a container where a Docker
// engine answers, else by the programs of this machine. Without any the test fails.
func Postgres(t testing.TB) string {
	t.Helper()
	return need(t, sharedPostgres).addr
}

// PostgresURL is a superuser's URL of the server that Postgres returns.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return need(t, sharedPostgres).url
}

// PostgresTarget is a NewTarget for the server that Postgres returns. Scripts that
// say `server auth=…` get the one that is started here, whose rules are known: alice, bob and
// walter are trusted, the users of Passwords and ghost are asked for a password.
func PostgresTarget(t *testing.T, options map[string]string) Target {
	t.Helper()
	server := sharedPostgres
	if options["auth"] != "" {
		server = ownPostgres
	}
	target := Target{Addr: need(t, server).addr}
	if server().end == nil {
		target.Passwords = map[string]string{"alice": rolePassword, "bob": rolePassword, "walter": rolePassword}
	}
	return target
}

// Exclusive keeps the server that Postgres returns to one test among all that ask for
// it, in every process, until the test ends. Scripts that create tables and listen to
// channels need it, since they use the same names wherever they run.
func Exclusive(t testing.TB) {
	t.Helper()
	config, err := pgconn.ParseConfig(PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	// Held until the connection ends.
	if err := exec1(t.Context(), conn, "SELECT pg_advisory_lock(7247)"); err != nil {
		t.Fatal(err)
	}
}

func need(t testing.TB, start func() *postgresServer) *postgresServer {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it needs a PostgreSQL")
	}
	server := start()
	if server.err != nil {
		t.Fatalf("a real PostgreSQL is needed: %v\n"+
			"Set RAISIN_TEST_POSTGRES_URL to a superuser's URL, start a Docker engine, or install the "+
			"server's binaries (Debian: apt-get install postgresql).", server.err)
	}
	return server
}

// Main is a TestMain that ends the PostgreSQL started here and then looks for leaked goroutines.
func Main(m *testing.M, options ...goleak.Option) { goleak.VerifyTestMain(tests{m}, options...) }

// tests are those of a package, and the end of the PostgreSQL started here after them.
type tests struct{ *testing.M }

// Run implements goleak.TestingM.
func (t tests) Run() (code int) {
	code = t.M.Run()
	if err := endPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, "wiretest: end of PostgreSQL:", err)
		code = max(code, 1)
	}
	return code
}

// rolePassword is what alice, bob and walter have, for a server that does not trust them.
const rolePassword = "raisin-test"

type postgresServer struct {
	addr, url string
	end       func() error // nil: it was not started here
	err       error
}

var sharedPostgres = sync.OnceValue(func() *postgresServer {
	url := os.Getenv("RAISIN_TEST_POSTGRES_URL")
	if url == "" {
		return ownPostgres()
	}
	server := &postgresServer{url: url}
	server.err = server.prepare()
	return server
})

var ownPostgres = sync.OnceValue(func() *postgresServer {
	server := &postgresServer{}
	inContainer, err := containers.Chosen()
	switch {
	case err != nil:
		server.err = err
	case inContainer:
		server.url, server.end, server.err = startContainer()
	default:
		server.url, server.end, server.err = startLocal()
	}
	if server.err == nil {
		running.Store(server)
		server.err = server.prepare()
	}
	return server
})

// running lets the end see whether there was a start, without causing one.
var running atomic.Pointer[postgresServer]

func endPostgres() error {
	if server := running.Load(); server != nil {
		return server.end()
	}
	return nil
}

//go:embed postgres.sql
var standIns string

// prepare makes the database, the roles and the functions. Several test processes
// may do so on one server at once.
func (s *postgresServer) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config, err := pgconn.ParseConfig(s.url)
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	var setup []string
	for _, role := range []string{"alice", "bob", "walter"} {
		setup = append(setup, createRole(role, rolePassword))
	}
	setup = append(setup, "ALTER ROLE walter REPLICATION")
	if s.end != nil {
		for _, role := range slices.Sorted(maps.Keys(Passwords)) {
			setup = append(setup, createRole(role, Passwords[role]))
		}
	}
	return withConn(ctx, config, func(conn *pgconn.PgConn) error {
		// Held until the connection ends.
		if err := exec1(ctx, conn, "SELECT pg_advisory_lock(7246)"); err != nil {
			return err
		}
		for _, sql := range setup {
			if err := exec1(ctx, conn, sql); err != nil {
				return err
			}
		}
		var duplicate *pgconn.PgError
		err := exec1(ctx, conn, "CREATE DATABASE shop OWNER alice ENCODING 'UTF8' TEMPLATE template0")
		if err != nil && (!errors.As(err, &duplicate) || duplicate.Code != "42P04") {
			return err
		}
		// What scripts show must not hang on the server's own configuration.
		for _, setting := range []string{"timezone = 'UTC'", "datestyle = 'ISO, MDY'", "statement_timeout = 0", "lock_timeout = 0", "deadlock_timeout = '50ms'"} {
			if err := exec1(ctx, conn, "ALTER DATABASE shop SET "+setting); err != nil {
				return err
			}
		}
		shop := config.Copy()
		shop.Database = "shop"
		return withConn(ctx, shop, func(conn *pgconn.PgConn) error { return exec1(ctx, conn, standIns) })
	})
}

func createRole(name, password string) string {
	return fmt.Sprintf("DO $$ BEGIN CREATE ROLE %[1]s LOGIN PASSWORD '%[2]s'; "+
		"EXCEPTION WHEN duplicate_object THEN ALTER ROLE %[1]s LOGIN PASSWORD '%[2]s'; END $$", name, password)
}

func withConn(ctx context.Context, config *pgconn.Config, use func(*pgconn.PgConn) error) error {
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return errors.Join(use(conn), conn.Close(ctx))
}

func exec1(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	_, err := conn.Exec(ctx, sql).ReadAll()
	return err
}
