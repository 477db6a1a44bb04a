package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs"
)

// formerStub is the function of the version that had no wait_ms.
const formerStub = `CREATE FUNCTION public.raisin_lock_acquire(key text, ttl_ms bigint)
  RETURNS TABLE (acquired boolean, key text, token bigint, expires_at_ms bigint) VOLATILE LANGUAGE sql AS
  $$ SELECT NULL::boolean, NULL::text, NULL::bigint, NULL::bigint $$`

// TestStubsOnPostgres: they can be run on an empty database, over those of an earlier version and
// over themselves, and there is one function of each name.
func TestStubsOnPostgres(t *testing.T) {
	wiretest.Exclusive(t)
	var text strings.Builder
	if err := stubs(&text); err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string][]string{
		"empty": nil, "of an earlier version": {formerStub}, "twice": {text.String()}, "all": {formerStub, text.String()},
	} {
		t.Run(name, func(t *testing.T) {
			conn := stubsDatabase(t)
			for _, sql := range append(before, text.String()) {
				if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range sqlfuncs.Functions {
				var args []string
				for _, a := range f.Args {
					arg := a.Name + " " + a.Type.String()
					if a.Default != nil {
						arg += " DEFAULT " + a.DefaultSQL()
					}
					args = append(args, arg)
				}
				found := conn.ExecParams(t.Context(), "SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname = $1",
					[][]byte{[]byte(f.Name)}, nil, nil, nil).Read()
				if want := strings.Join(args, ", "); found.Err != nil || len(found.Rows) != 1 || string(found.Rows[0][0]) != want {
					t.Errorf("%s has the arguments %q, %v; want %s", f.Name, found.Rows, found.Err, want)
				}
			}
			for _, call := range []string{"raisin_lock_acquire('k', 1)", "raisin_lock_acquire('k', 1, wait_ms => 1)", "raisin_lock_acquire_first('{k}', 1)", "raisin_locks()"} {
				if _, err := conn.Exec(t.Context(), "SELECT * FROM "+call).ReadAll(); !ended(err, "0A000") {
					t.Errorf("%s: %v, want 0A000", call, err)
				}
			}
		})
	}
}

// stubsDatabase is a connection to an empty database.
func stubsDatabase(t *testing.T) *pgconn.PgConn {
	t.Helper()
	config, err := pgconn.ParseConfig(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	dial := func() *pgconn.PgConn {
		conn, err := pgconn.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		return conn
	}
	admin := dial()
	const name = "raisin_stubs"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := admin.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	config.Database = name
	return dial()
}
