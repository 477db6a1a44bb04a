package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

// TestStubViews: the views of the functions that return rows are these rows through the proxy, in
// whatever words they are named, and say where to ask to whoever connects past it. A relation of
// the user's own by such a name stays what it is.
func TestStubViews(t *testing.T) {
	upstream, err := url.Parse(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	createDatabase(t, upstream.String(), "stub_views")
	upstream.Path = "/stub_views"
	direct, err := pgconn.Connect(t.Context(), upstream.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close(t.Context()) })
	var text strings.Builder
	if err := errors.Join(stubs(&text), stubViews(&text)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it finds them there
		if _, err := direct.Exec(t.Context(), text.String()).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	address := serveUpstream(t, "method = \"trust\"", fmt.Sprintf("url = %q", upstream))
	conn := connect(t, address, "user=alice sslmode=disable")
	mustExec(t, conn, "SELECT raisin_lock_acquire('k1', 60000), raisin_lock_acquire('k2', 60000), raisin_inventory_claim('p', 2, 10)")
	for _, test := range []struct{ sql, want string }{
		{`SELECT key FROM raisin_locks ORDER BY key`, "k1 k2"},
		{`SELECT count(*) FROM public.raisin_locks`, "2"},
		{`SELECT "public"."raisin_locks"."key" AS "key" FROM "public"."raisin_locks" ORDER BY "public"."raisin_locks"."key" DESC LIMIT 1`, "k2"},
		{`SELECT public.raisin_locks.* FROM public.raisin_locks LIMIT 0`, ""},
		{`SELECT l.key FROM raisin_locks AS l, raisin_inventory_pools p WHERE p.pool = 'p' ORDER BY 1`, "k1 k2"},
		{`SELECT x.a FROM Raisin_Inventory_Pools x(a)`, "p"},
		{`SELECT remaining FROM (SELECT * FROM raisin_inventory_pools) AS virtual_table LIMIT 1001`, "8"},
		{`WITH r AS (TABLE raisin_inventory_pools) SELECT capacity FROM r`, "10"},
		{`SELECT (SELECT max(key) FROM raisin_locks), pool FROM raisin_inventory_pools('') WHERE EXISTS (SELECT FROM raisin_locks WHERE key = 'k1')`, "k2"},
		{`SELECT l.key FROM raisin_locks l JOIN raisin_lock_get('k1') g ON g.key = l.key`, "k1"},
		{`WITH raisin_locks AS (SELECT 'with' AS key) SELECT key FROM raisin_locks`, "with"},
		{`WITH raisin_locks AS (SELECT 'with' AS key) SELECT l.key FROM public.raisin_locks l ORDER BY 1`, "k1 k2"},
		{`INSERT INTO held SELECT key FROM raisin_locks RETURNING key`, "k1 k2"},
		{`UPDATE held SET note = l.holder FROM raisin_locks l WHERE l.key = held.key RETURNING note`, "alice alice"},
		{`DELETE FROM held USING public.raisin_locks l WHERE l.key = held.key AND l.key = 'k1' RETURNING held.key`, "k1"},
		{`MERGE INTO held USING raisin_locks l ON l.key = held.key WHEN NOT MATCHED THEN INSERT VALUES (l.key)`, ""},
		{`SELECT held.key FROM held ORDER BY 1`, "k1 k2"},
		{`CREATE TEMP TABLE made AS SELECT key FROM raisin_locks`, ""},
		{`SELECT count(*) FROM made`, "2"},
		{`SELECT relkind FROM pg_class WHERE oid = 'raisin_locks'::regclass`, "v"},
		{`SELECT count(*) FROM information_schema.columns WHERE table_name = 'raisin_locks'`, "7"},
		{`SELECT row_to_json(raisin_inventory_pools)->>'pool' FROM raisin_inventory_pools`, "p"},
		{`SELECT public.raisin_locks.key FROM public.raisin_locks, held raisin_locks`, "0A000"},
		{`SELECT nothing FROM raisin_locks`, "42703"},
		{`EXPLAIN ANALYZE SELECT * FROM raisin_locks`, "0A000"},
		{`SELECT * FROM ONLY raisin_locks`, "0A000"}, // left to the upstream, where it is the stub
		{`INSERT INTO raisin_locks(key) VALUES ('k')`, "55000"},
		{`CREATE VIEW mine AS SELECT key FROM raisin_locks`, ""},
		{`SELECT * FROM mine`, "0A000"},
		// A relation of the user's own.
		{`CREATE SCHEMA own CREATE TABLE raisin_locks (key text, n int)`, ""},
		{`INSERT INTO own.raisin_locks VALUES ('own', 1)`, ""},
		{`SELECT key FROM own.raisin_locks`, "own"},
		{`SELECT key FROM raisin_locks ORDER BY 1`, "k1 k2"},
		{`SET search_path = own, public`, ""},
		{`SELECT key FROM raisin_locks`, "own"},
		{`EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT key FROM raisin_locks`, "Seq Scan on raisin_locks (actual rows=1 loops=1)"},
		{`SELECT key FROM public.raisin_locks ORDER BY 1`, "k1 k2"},
		{`SELECT n, (raisin_lock_get(key)).held FROM raisin_locks`, "1"},
		{`RESET search_path`, ""},
		{`CREATE TEMP TABLE raisin_locks AS SELECT 'temp' AS key`, ""},
		{`SELECT key FROM raisin_locks`, "temp"},
		{`DROP TABLE pg_temp.raisin_locks`, ""},
		// A view of the user's own is none, nor is what was ours.
		{`CREATE OR REPLACE VIEW public.raisin_locks AS SELECT * FROM public.raisin_locks() WHERE kind <> 'x'`, ""},
		{`SELECT key FROM raisin_locks`, "0A000"},
		{`DROP VIEW mine, public.raisin_locks`, ""},
		{`SELECT key FROM raisin_locks`, "42P01"},
		{`CREATE TABLE public.raisin_locks AS SELECT 'table' AS key`, ""},
		{`SELECT key FROM raisin_locks`, "table"},
	} {
		if strings.HasPrefix(test.sql, "INSERT INTO held") {
			mustExec(t, conn, "CREATE TEMP TABLE held (key text, note text)")
		}
		if got := firstColumn(conn.Exec(t.Context(), test.sql).ReadAll()); got != test.want {
			t.Errorf("%s\n%s, want %s", test.sql, got, test.want)
		}
		if strings.HasPrefix(test.sql, "SELECT") {
			result := conn.ExecParams(t.Context(), test.sql, nil, nil, nil, nil).Read()
			if got := firstColumn([]*pgconn.Result{result}, result.Err); got != test.want {
				t.Errorf("%s, prepared\n%s, want %s", test.sql, got, test.want)
			}
		}
	}
	_, err = direct.Exec(t.Context(), "SELECT * FROM raisin_inventory_pools").ReadAll()
	if err == nil || !strings.Contains(err.Error(), "raisin_inventory_pools cannot be called by PostgreSQL itself") {
		t.Errorf("directly: %v", err)
	}
}

// TestStubViewsOfAStatement: a statement that was prepared when a name meant a view is refused
// once it means something else.
func TestStubViewsOfAStatement(t *testing.T) {
	upstream, err := url.Parse(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	createDatabase(t, upstream.String(), "stub_statement")
	upstream.Path = "/stub_statement"
	address := serveUpstream(t, "method = \"trust\"", fmt.Sprintf("url = %q", upstream))
	conn := connect(t, address, "user=alice sslmode=disable")
	var text strings.Builder
	if err := errors.Join(stubs(&text), stubViews(&text)); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, text.String()) // through the proxy, which lets it pass
	if _, err := conn.Prepare(t.Context(), "s", "SELECT pool FROM raisin_inventory_pools", nil); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "SELECT raisin_inventory_claim('p', 2, 10)")
	prepared := func() string {
		result := conn.ExecPrepared(t.Context(), "s", nil, nil, nil).Read()
		return firstColumn([]*pgconn.Result{result}, result.Err)
	}
	if got := prepared(); got != "p" {
		t.Errorf("the view: %s", got)
	}
	mustExec(t, conn, "CREATE TEMP TABLE raisin_inventory_pools AS SELECT 'temp' AS pool")
	if got := prepared(); got != "0A000" {
		t.Errorf("a table in its place: %s", got)
	}
	mustExec(t, conn, "DROP TABLE raisin_inventory_pools; PREPARE sql AS SELECT pool FROM raisin_inventory_pools")
	if got := firstColumn(conn.Exec(t.Context(), "EXECUTE sql").ReadAll()); got != "p" {
		t.Errorf("SQL's PREPARE: %s", got)
	}
}

func mustExec(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// firstColumn shows the first column of the first result, or the code of the error.
func firstColumn(results []*pgconn.Result, err error) string {
	if err != nil {
		return sqlState(err)
	}
	var values []string
	for _, row := range results[0].Rows {
		values = append(values, string(row[0]))
	}
	return strings.Join(values, " ")
}
