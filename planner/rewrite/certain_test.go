package rewrite

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
)

// certainSetup makes stand-ins that count how often PostgreSQL calls them. A sequence
// counts, which no rollback takes back.
const certainSetup = `
CREATE SCHEMA counting;
SET search_path = counting, pg_catalog;
CREATE SEQUENCE calls;
CREATE FUNCTION raisin_inventory_claim(pool text, n bigint, capacity bigint, OUT claimed bool, OUT remaining bigint) LANGUAGE plpgsql
AS $$ BEGIN PERFORM nextval('counting.calls'); claimed := true; remaining := capacity - n; END $$;
CREATE FUNCTION raisin_lock_release(key text, token bigint) RETURNS bool LANGUAGE plpgsql
AS $$ BEGIN PERFORM nextval('counting.calls'); RETURN true; END $$;
CREATE FUNCTION raisin_inventory_release(pool text, n bigint) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN PERFORM nextval('counting.calls'); RETURN n; END $$;
CREATE FUNCTION raisin_inventory_pools(prefix text DEFAULT '', max_rows bigint DEFAULT 10000, OUT pool text, OUT capacity bigint, OUT remaining bigint, OUT reserved bigint)
RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN pool := 'p'; capacity := 10; remaining := 9; reserved := 0; RETURN NEXT; END $$;
CREATE TYPE state AS ENUM ('ready', 'done');
CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
CREATE TABLE jobs(id int PRIMARY KEY, key text, state state, n bigint, done bool, parts int[], info jsonb);
INSERT INTO jobs SELECT i, 'k' || i, 'ready', i, i = 3, ARRAY[i], '{}' FROM generate_series(1, 3) i;
CREATE TABLE orders(id int PRIMARY KEY, idem text, n bigint);
INSERT INTO orders VALUES (1, 'seen', 1);
CREATE TABLE token(token_id int);
CREATE VIEW nobody AS SELECT * FROM jobs WHERE false;
CREATE TABLE parted(id int, v text) PARTITION BY LIST (id);
CREATE TABLE part1 PARTITION OF parted FOR VALUES IN (1);
INSERT INTO parted VALUES (1, 'x');
CREATE TABLE parent(id int);
CREATE TABLE child() INHERITS (parent);
CREATE TABLE ruled(id bigint);
CREATE RULE ruled AS ON INSERT TO ruled DO INSTEAD NOTHING;
CREATE VIEW orders_view AS SELECT * FROM orders;
CREATE VIEW ruled_view AS SELECT * FROM ruled;
CREATE SEQUENCE sq;
CREATE FUNCTION nobodys(int) RETURNS SETOF int STABLE LANGUAGE sql AS 'SELECT 1 WHERE false';
CREATE FUNCTION unknown(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT NULL::int';
CREATE FUNCTION no() RETURNS bool STABLE LANGUAGE plpgsql AS 'BEGIN RETURN false; END';
CREATE FUNCTION perhaps() RETURNS bool VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN false; END';
CREATE FUNCTION later(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE OPERATOR ### (RIGHTARG = int, FUNCTION = later);
ANALYZE;`

// certainCase is a statement, how often PostgreSQL makes a call for it, and whether it
// is refused here. C stands for a claim, R for a bool and I for a bigint that is a call.
type certainCase struct {
	sql     string
	calls   int
	refused bool
}

const yes, no = false, true

// TestCertainOnPostgres: where a call is made here, PostgreSQL makes as many; and where
// it might make fewer, the statement is refused.
func TestCertainOnPostgres(t *testing.T) {
	conn := serverWith(t, certainSetup)
	for _, test := range certainCases {
		sql := expandCalls(test.sql)
		if got := callsOnPostgres(t, conn, sql); got != test.calls {
			t.Errorf("%s\nPostgreSQL makes %d calls, want %d", test.sql, got, test.calls)
		}
		got, why := callsHere(t, conn, sql)
		switch {
		case test.refused && why == "":
			t.Errorf("%s\nis not refused, but makes %d calls", test.sql, got)
		case !test.refused && why != "":
			t.Errorf("%s\nis refused: %s", test.sql, why)
		case !test.refused && got != test.calls:
			t.Errorf("%s\nmakes %d calls, PostgreSQL %d", test.sql, got, test.calls)
		}
	}
}

// TestBuiltInOperatorsAreNotVolatile: that is why only those of users are asked about.
func TestBuiltInOperatorsAreNotVolatile(t *testing.T) {
	conn := serverWith(t, "")
	for _, sql := range []string{
		"SELECT count(*) FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE o.oid < 16384 AND p.provolatile = 'v'",
		"SELECT count(*) FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc WHERE c.oid < 16384 AND p.provolatile = 'v'",
	} {
		result, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if n := string(result[0].Rows[0][0]); n != "0" {
			t.Errorf("%s: %s", sql, n)
		}
	}
}

func expandCalls(sql string) string {
	return strings.NewReplacer("@C", "raisin_inventory_claim('p', 1, 10)", "@R", "raisin_lock_release('k', 1)", "@I", "raisin_inventory_release('p', 1)").Replace(sql)
}

func callsOnPostgres(t *testing.T, conn *pgconn.PgConn, sql string) int {
	t.Helper()
	mustRun(t, conn, "ALTER SEQUENCE calls RESTART")
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Errorf("%s: %v", sql, err)
		mustRun(t, conn, "ROLLBACK TO start")
	}
	result, err := conn.Exec(t.Context(), "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, conn, "ROLLBACK TO start")
	n, _ := strconv.Atoi(string(result[0].Rows[0][0]))
	return n
}

// callsHere is how many calls would be made here, or why the statement is refused.
func callsHere(t *testing.T, conn *pgconn.PgConn, sql string) (calls int, why string) {
	t.Helper()
	parsed, err := pgparse.Parse(sqltext.New(sql, true))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	st := Rewrite(parsed, 0, plan.Options{})
	if st.Err != nil {
		return 0, st.Err.Error()
	}
	m := st.Action.(*Split)
	if m.Refused != nil {
		return 0, m.Refused.Error()
	}
	for i, holds := range askFacts(t, conn, m.Facts) {
		if f := m.Facts[i]; f.Refused != nil && !holds {
			return 0, f.Refused.Error()
		}
	}
	result := conn.ExecParams(t.Context(), m.Args.SQL, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatalf("%s: %v", m.Args.SQL, result.Err)
	}
	singles := 0
	for _, call := range m.Calls {
		if !call.Func.Set {
			singles++
		}
	}
	return singles * len(result.Rows), ""
}

// TestSetsRunOnce: a call of a function that returns rows is made once, wherever its FROM
// stands and however often PostgreSQL would come to it, since it changes nothing.
func TestSetsRunOnce(t *testing.T) {
	conn := serverWith(t, certainSetup)
	for _, test := range []struct {
		sql  string
		sets int
	}{
		{"SELECT * FROM @P", 1},
		{"SELECT * FROM @P LIMIT 0", 1},
		{"SELECT * FROM @P WHERE false", 1},
		{"SELECT * FROM @P a, @P b", 2},
		{"SELECT * FROM jobs j LEFT JOIN @P p ON p.pool = j.key", 1},
		{"SELECT * FROM jobs j FULL JOIN @P p ON p.pool = j.key", 1},
		{"SELECT (SELECT max(pool) FROM @P) FROM jobs", 1},
		{"SELECT CASE WHEN id = 0 THEN (SELECT max(pool) FROM @P) END FROM jobs", 1},
		{"SELECT * FROM jobs WHERE key IN (SELECT pool FROM @P) OR EXISTS (SELECT FROM @P p WHERE p.remaining = jobs.n)", 2},
		{"SELECT * FROM jobs, LATERAL (SELECT * FROM @P p WHERE p.remaining > jobs.n) x", 1},
		{"SELECT pool FROM @P UNION SELECT pool FROM @P EXCEPT SELECT key FROM jobs", 2},
		{"WITH p AS (SELECT * FROM @P) SELECT * FROM p a, p b", 1},
		{"WITH p AS (SELECT * FROM @P) SELECT 1", 1},
		{"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, @P WHERE n < 3) SELECT * FROM r", 1},
		{"SELECT count(*) FROM @P GROUP BY GROUPING SETS ((pool), ()) HAVING count(*) > 1 LIMIT (SELECT max(capacity) FROM @P)", 2},
		{"INSERT INTO orders SELECT 9, pool, remaining FROM @P ON CONFLICT (id) DO UPDATE SET n = (SELECT max(capacity) FROM @P) RETURNING (SELECT 1 FROM @P)", 3},
		{"INSERT INTO ruled SELECT capacity FROM @P", 1},
		{"UPDATE jobs SET n = (SELECT max(capacity) FROM @P) FROM @P p WHERE p.pool = jobs.key", 2},
		{"SELECT p.pool FROM @P p, nobody", 1},
		{"SELECT @R FROM @P", 1},
		{"SELECT p.pool, c.* FROM @P p, @C c", 1},
		{"SELECT * FROM raisin_inventory_pools(lower('A') || 1::text)", 1},
		{"CREATE TEMP TABLE made AS SELECT * FROM @P", 1},
		{"SELECT * FROM raisin_inventory_pools(later(1)::text)", 0},
		{"SELECT * FROM raisin_inventory_pools((### 1)::text)", 0},
		{"SELECT * FROM raisin_inventory_pools((SELECT idem FROM orders_view))", 0},
		{"SELECT * FROM raisin_inventory_pools((SELECT idem FROM orders LIMIT 1))", 1},
		{"SELECT * FROM raisin_inventory_pools('ready'::state::text)", 1},
		{"SELECT * FROM raisin_inventory_pools('1'::positive::text)", 0},
		{"SELECT * FROM @P p, raisin_inventory_pools(p.pool)", 0},
		{"SELECT * FROM @C c, @P p WHERE c.claimed AND no()", 0},
		{"SELECT * FROM @C c WHERE EXISTS (SELECT FROM @P)", 0},
	} {
		sql := expandCalls(strings.ReplaceAll(test.sql, "@P", "raisin_inventory_pools()"))
		if got := setsHere(t, conn, sql); got != test.sets {
			t.Errorf("%s\nreads %d times, want %d (0: it is refused)", test.sql, got, test.sets)
		}
	}
}

// setsHere is how often rows are read for a statement; 0 if it is refused.
func setsHere(t *testing.T, conn *pgconn.PgConn, sql string) (sets int) {
	t.Helper()
	parsed, err := pgparse.Parse(sqltext.New(sql, true))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	st := Rewrite(parsed, 0, plan.Options{})
	if st.Err != nil {
		return 0
	}
	m := st.Action.(*Split)
	if m.Refused != nil {
		return 0
	}
	for i, holds := range askFacts(t, conn, m.Facts) {
		if m.Facts[i].Refused != nil && !holds {
			return 0
		}
	}
	for _, call := range m.Calls {
		if call.Func.Set {
			sets++
		}
	}
	return sets
}

var certainCases = []certainCase{
	// Beside functions that return rows.
	{"SELECT * FROM raisin_inventory_pools() p, @C c", 1, yes},
	{"SELECT * FROM @C c LEFT JOIN raisin_inventory_pools() p ON p.pool = 'x'", 1, yes},
	{"SELECT * FROM raisin_inventory_pools() p LEFT JOIN @C c ON p.pool = 'x'", 1, no},
	{"WITH p AS (SELECT * FROM raisin_inventory_pools()) SELECT * FROM @C c, p", 1, yes},
	{"SELECT * FROM @C c, (SELECT pool FROM raisin_inventory_pools()) p WHERE p.pool = 'p'", 1, yes},
	{"SELECT @R WHERE EXISTS (SELECT FROM raisin_inventory_pools())", 1, no},
	{"SELECT raisin_lock_release((SELECT pool FROM raisin_inventory_pools()), 1)", 1, no},
	{"INSERT INTO orders SELECT 9, p.pool, c.remaining FROM raisin_inventory_pools() p, @C c", 1, yes},
	// Lists without rows.
	{"SELECT @R", 1, yes},
	{"SELECT @R, @I, NOT @R, @I::text, @I || 'x', 'x' || @I, @I > 5, 5 <> @I, @R IS TRUE, @I IS NOT NULL, -@I, @I + 1", 12, yes},
	{"SELECT @R LIMIT 1", 1, yes},
	{"SELECT @R OFFSET 1", 1, yes},
	{"SELECT @R LIMIT 1 OFFSET 1", 1, yes},
	{"SELECT @R LIMIT ALL", 1, yes},
	{"SELECT @R ORDER BY 1", 1, yes},
	{"SELECT @R LIMIT 0", 0, no},
	{"SELECT @R LIMIT (SELECT 0)", 0, no},
	{"SELECT @R ORDER BY 1 FETCH FIRST 1 ROW WITH TIES", 1, no},
	{"SELECT @R = NULL", 0, no},
	{"SELECT NULL || @I", 0, no},
	{"SELECT @I + nullif(1, 1)", 0, no},
	{"SELECT @I + unknown(1)", 0, no},
	{"SELECT @I + abs(-1)", 1, no},
	{"SELECT @I + later(1)", 1, yes},
	{"SELECT @I || ('a' || 'b')", 1, yes},
	{"SELECT @I || current_user", 1, yes},
	{"SELECT ROW(@R, 1), ARRAY[@I, 2], ROW(ARRAY[@I])", 3, yes},
	{"SELECT ROW(@R, 1) IS NULL", 0, no},
	{"SELECT ROW(@R, 1) = ROW(@R, 2)", 0, no},
	{"SELECT ARRAY[@I] IS NULL", 1, no},
	{"SELECT @R AND false", 0, no},
	{"SELECT @R AND 1 = 2", 0, no},
	{"SELECT @R OR true", 0, no},
	{"SELECT @R AND (SELECT false)", 1, yes},
	{"SELECT @R AND EXISTS (SELECT 1 FROM jobs)", 1, yes},
	{"SELECT EXISTS (SELECT 1 FROM jobs) AND @R", 1, no},
	{"SELECT @R OR current_user = 'nobody'", 1, yes},
	{"SELECT NOT (@R AND current_user = 'nobody')", 1, yes},
	{"SELECT coalesce(@R, true)", 1, yes},
	{"SELECT coalesce(true, @R)", 0, no},
	{"SELECT CASE WHEN @R THEN 1 ELSE 2 END", 1, yes},
	{"SELECT CASE @I WHEN 1 THEN 'a' END", 1, yes},
	{"SELECT CASE @I WHEN NULL THEN 'a' END", 0, no},
	{"SELECT CASE WHEN true THEN 1 ELSE @I END", 0, no},
	{"SELECT CASE WHEN false THEN 1 WHEN @R THEN 1 END", 1, no},
	{"SELECT abs(@I)", 1, no},
	{"SELECT unknown(@I::int)", 0, no},
	{"SELECT @R, generate_series(1, 3)", 4, no},
	{"SELECT @R, generate_series(1, 0)", 1, no},
	{"SELECT @R, count(*)", 1, no},
	{"SELECT @R, now(), current_user, (SELECT count(*) FROM jobs), ARRAY(SELECT generate_series(1, 3))", 1, yes},
	{"SELECT DISTINCT @R", 1, no},
	{"SELECT @R UNION ALL SELECT true", 1, no},
	{"SELECT @I::positive, @I::text::state IS NULL WHERE false", 0, yes},
	{"SELECT @I::positive", 1, yes},
	{"SELECT (SELECT @R)", 1, no},
	{"VALUES (@I), (@I)", 2, yes},
	{"VALUES (1, @I), (2, 3)", 1, yes},
	{"VALUES (@I), (@I) LIMIT 1", 1, no},
	{"SELECT * FROM (VALUES (@I), (@I)) v LIMIT 1", 1, no},
	{"SELECT * FROM (VALUES (@I), (@I)) v WHERE column1 > 5", 2, yes},
	{"INSERT INTO orders SELECT 5, 'a', @I", 1, yes},
	{"INSERT INTO orders VALUES (5, 'a', @I), (6, DEFAULT, @I), (7, 'c', 1)", 2, yes},
	{"INSERT INTO orders VALUES (1, 'a', @I) ON CONFLICT DO NOTHING", 1, yes},
	{"INSERT INTO orders_view SELECT 5, 'a', @I", 1, yes},
	{"INSERT INTO ruled SELECT @I", 0, no},
	{"INSERT INTO ruled_view SELECT @I", 0, no},
	{"INSERT INTO parted SELECT @I, 'y'", 1, yes},

	// What runs before the arguments.
	{"SELECT nextval('sq'), raisin_lock_release('k' || currval('sq'), 1)", 1, no},
	{"VALUES (nextval('sq'), true), (1, raisin_lock_release('k' || currval('sq'), 1))", 1, no},
	{"SELECT nextval('sq'), @R", 1, yes},
	{"SELECT now(), raisin_lock_release('k' || abs(1), 1)", 1, yes},
	{"SELECT raisin_lock_release('k' || nextval('sq'), 1), raisin_lock_release('k' || currval('sq'), 1), currval('sq')", 2, yes},

	// FROM, and what stands beside.
	{"SELECT * FROM @C c", 1, yes},
	{"SELECT * FROM @C c, jobs j", 1, yes},
	{"SELECT * FROM jobs j, @C c ORDER BY 1 LIMIT 1", 1, yes},
	{"SELECT * FROM jobs j, @C c LIMIT 0", 0, no},
	{"SELECT count(*) FROM jobs j, @C c GROUP BY j.state", 1, yes},
	{"SELECT count(*) FROM @C c HAVING false", 0, no},
	{"SELECT count(*) FROM @C c GROUP BY GROUPING SETS ((), (c.claimed))", 1, no},
	{"SELECT * FROM jobs j LEFT JOIN @C c ON true", 1, no},
	{"SELECT * FROM @C c LEFT JOIN jobs j ON j.id = c.remaining", 1, yes},
	{"SELECT * FROM jobs j RIGHT JOIN @C c ON j.id = c.remaining", 1, yes},
	{"SELECT * FROM jobs j FULL JOIN @C c ON j.id = c.remaining", 1, yes},
	{"SELECT * FROM @C c LEFT JOIN jobs j ON false", 1, no},
	{"SELECT * FROM @C c LEFT JOIN jobs j ON false WHERE j.id = 1", 0, no},
	{"SELECT * FROM @C c LEFT JOIN (SELECT 1 AS a FROM jobs WHERE false) j ON true WHERE j.a = 1", 0, no},
	{"SELECT * FROM @C c, (SELECT 1 FROM jobs WHERE false) j", 0, no},
	{"SELECT * FROM @C c, (SELECT id FROM jobs WHERE n = 5 LIMIT 1) j", 1, yes},
	{"SELECT * FROM @C c, nobody", 0, no},
	{"SELECT * FROM @C c, parted p WHERE p.id = 5", 0, no},
	{"SELECT * FROM @C c, parent", 1, no},
	{"SELECT * FROM @C c, generate_series(1, 3) g", 1, yes},
	{"SELECT * FROM @C c, nobodys(1) g", 0, no},
	{"SELECT * FROM @C c, upper('x') u WHERE u = 'y'", 0, no},
	{"SELECT * FROM @C c, (SELECT 1 AS x) s WHERE s.x = 2", 0, no},
	{"SELECT * FROM @C c, (VALUES (1)) s(x) WHERE s.x = 2", 0, no},
	{"SELECT * FROM @C c, (VALUES (1), (2)) s(x)", 1, yes},
	{"SELECT * FROM @C c, (SELECT j.id AS x FROM jobs j) s WHERE s.x = 99", 1, yes},
	{"SELECT * FROM @C c, (SELECT j.id AS x, j.id AS y FROM jobs j) s WHERE s.x = 1 AND s.y = 2", 0, no},
	{"SELECT * FROM @C c, (SELECT j.id AS x FROM jobs j WHERE j.id = 1) s WHERE s.x = 2", 0, no},
	{"SELECT * FROM jobs j, LATERAL (SELECT * FROM @C c) s", 1, no},
	{"SELECT * FROM @C c, jobs j, LATERAL (SELECT o.id FROM orders o WHERE o.n = j.n) o", 1, yes},
	{"SELECT * FROM @C c, jobs j FOR UPDATE OF j", 1, yes},
	{"SELECT * FROM @C c UNION ALL SELECT true, 1", 1, no},
	{"WITH e AS (SELECT 1 FROM jobs WHERE false) SELECT * FROM @C c, e", 0, no},
	{"WITH e AS (SELECT id FROM jobs) SELECT * FROM @C c, e WHERE e.id = 99", 1, yes},
	{"WITH d AS (DELETE FROM orders RETURNING id) SELECT * FROM @C c, d", 1, yes},

	// Ways.
	{"SELECT * FROM (SELECT * FROM @C) c", 1, yes},
	{"SELECT * FROM (SELECT * FROM @C LIMIT 0) c", 0, no},
	{"SELECT * FROM (SELECT * FROM @C LIMIT 1) c LIMIT 0", 0, no},
	{"SELECT s.one FROM (SELECT @R AS ok, 1 AS one) s", 1, yes},
	{"SELECT * FROM (SELECT @R AS ok, 1 AS one) s WHERE s.one = 2", 0, no},
	{"SELECT * FROM (SELECT @R AS ok, 1 AS one) s WHERE NOT s.ok", 1, yes},
	{"WITH c AS (SELECT * FROM @C) SELECT * FROM c", 1, yes},
	{"WITH c AS (SELECT * FROM @C) SELECT 1", 0, no},
	{"WITH c AS (SELECT * FROM @C) SELECT 1 FROM c, jobs WHERE 1 = 0", 0, yes},
	{"WITH c AS (SELECT * FROM @C) SELECT 1 FROM c LIMIT 0", 0, no},
	{"WITH c AS (SELECT * FROM @C) SELECT * FROM c a, c b", 1, no},
	{"WITH c AS (SELECT * FROM @C) SELECT coalesce(1, (SELECT remaining FROM c))", 0, no},
	{"WITH c AS (SELECT * FROM @C) SELECT CASE WHEN true THEN 1 ELSE (SELECT remaining FROM c) END", 0, no},
	{"WITH c AS (SELECT * FROM @C), d AS (SELECT * FROM c) SELECT * FROM d", 1, yes},
	{"WITH c AS (SELECT * FROM @C), d AS (SELECT * FROM c) SELECT * FROM jobs LEFT JOIN d ON true", 1, no},
	{"WITH RECURSIVE c AS (SELECT * FROM @C) SELECT * FROM c", 1, no},
	{"WITH x AS (INSERT INTO orders SELECT 7, 'a', c.remaining FROM @C c RETURNING id) SELECT 1 WHERE false", 1, yes},
	{"WITH x AS (INSERT INTO orders SELECT 7, 'a', c.remaining FROM @C c RETURNING id) SELECT * FROM x LIMIT 0", 1, yes},
	{"WITH x AS (INSERT INTO orders SELECT 7, 'a', c.remaining FROM @C c WHERE now() IS NULL RETURNING id) SELECT 1", 0, yes},
	{"WITH x AS (INSERT INTO orders SELECT 7, 'a', c.remaining FROM @C c WHERE 1 = 0 RETURNING id) SELECT * FROM @C", 1, no},
	{"UPDATE orders SET n = c.remaining FROM @C c WHERE orders.id = 1", 1, yes},
	{"UPDATE orders SET n = c.remaining FROM @C c WHERE orders.id = 1 AND orders.id = 2", 0, no},
	{"DELETE FROM orders USING @C c WHERE c.claimed AND id = 1", 1, yes},
	{"DELETE FROM parted USING @C c WHERE c.claimed AND id = 7", 0, no},
	{"MERGE INTO orders o USING @C c ON o.id = c.remaining WHEN MATCHED THEN DELETE", 1, yes},
	{"MERGE INTO orders o USING @C c ON false WHEN MATCHED THEN DELETE", 0, no},

	// Filters.
	{"SELECT * FROM @C c WHERE c.claimed", 1, yes},
	{"SELECT * FROM @C c WHERE NOT claimed", 1, yes},
	{"SELECT * FROM @C c WHERE c.claimed IS NULL", 1, yes},
	{"SELECT * FROM @C c WHERE c.claimed = NULL", 0, no},
	{"SELECT * FROM @C c WHERE c.remaining = 1 AND c.remaining = 2", 0, no},
	{"SELECT * FROM @C c WHERE c.remaining > 1 AND c.remaining < 1", 1, yes},
	{"SELECT * FROM @C c WHERE c.claimed AND NOT c.claimed", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 1 AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 1 AND j.id = 1", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 99 AND j.key = 'k'", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.n + 1 = 1 AND j.n + 1 = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE NOT (j.id <> 1) AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id IN (1) AND j.id IN (2)", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id IN (98, 99) AND j.id IN (1, 2)", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.id = (SELECT 1) AND j.id = (SELECT 2)", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id = (SELECT max(id) + 99 FROM orders)", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE (j.id = 1 AND j.n = 1 OR j.id = 1 AND j.n = 2) AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE (j.id = 98 OR j.id = 99) AND j.n = 1", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE (j.id = 1 OR 1 = 0) AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 99 OR NULL", 1, no},
	{"SELECT * FROM @C c, jobs j JOIN orders o USING (id) WHERE o.id = 1 AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j NATURAL JOIN orders o WHERE o.id = 1 AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j JOIN orders o ON o.id = j.id WHERE o.id = 1 AND j.id = 2", 0, no},
	{"SELECT * FROM @C c, jobs j, orders o WHERE o.id = 98 AND j.id = 99", 1, yes},
	{"SELECT * FROM @C c, jobs j, orders o WHERE o.n = 98 AND j.id = 99", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.done AND j.state = 'done' AND j.key LIKE 'x%' AND j.parts[1] = 9 AND j.info->>'a' = 'b'", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.n BETWEEN 7 AND 9 AND j.id = ANY(ARRAY[8]) AND j.key IS NULL AND coalesce(j.n, 0) > 8", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE coalesce(1, j.n) = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE unknown(j.id) = 2", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE CASE WHEN true THEN false ELSE j.done END", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE lower(j.key) = 'x' AND j.state = 'done'::state AND j.n::int = 7", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.id = substring('a' FROM 'b')::int", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE now() - interval '1 day' > '2999-01-01' OR j.id = 99", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = j.id AND o.n = 99)", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = j.id AND false)", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = j.id)", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = j.id AND o.id = 5) AND j.id = 6", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE EXISTS (SELECT 1 FROM nobody o WHERE o.id = j.id)", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id IN (SELECT id FROM orders WHERE false)", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id IN (SELECT o.id FROM orders o WHERE o.n = 99)", 1, yes},
	{"SELECT * FROM @C c WHERE c.remaining IN (SELECT n FROM orders)", 1, yes},

	{"SELECT * FROM @C c, (SELECT 1 LIMIT 0) s", 1, no},
	{"SELECT * FROM (SELECT 1 LIMIT 0) s, @C c", 0, no},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 99 OR current_user = 'nobody'", 1, yes},
	{"SELECT * FROM @C c, jobs j WHERE j.id = 99 AND current_user = 'x' OR current_user = 'nobody'", 1, no},
	{"SELECT * FROM @C c, jobs j WHERE NOT (j.id = 99 OR current_user <> 'nobody')", 0, no},

	// Guards.
	{"SELECT * FROM @C c WHERE no() AND 1 / (SELECT count(*) FROM token) > 0", 0, yes},
	{"SELECT * FROM @C c WHERE false AND 1 / 0 > 0", 0, yes},
	{"SELECT @R WHERE false AND 1 / 0 > 0", 0, yes},
	{"SELECT raisin_lock_release(generate_series(1, 3)::text, 1)", 3, no},
	{"SELECT raisin_lock_release('k', count(*)) WHERE false", 1, no},
	{"SELECT @R WHERE false", 0, yes},
	{"SELECT @R WHERE true", 1, yes},
	{"SELECT @R WHERE NULL", 0, yes},
	{"SELECT @R WHERE NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 0, yes},
	{"SELECT @R WHERE EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 1, yes},
	{"SELECT * FROM @C c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 0, yes},
	{"SELECT * FROM @C c WHERE (c.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen'))", 0, yes},
	{"SELECT * FROM @C c WHERE md5('x') = 'y'", 0, yes},
	{"SELECT * FROM @C c WHERE no()", 0, yes},
	{"SELECT * FROM @C c WHERE perhaps()", 1, no},
	{"SELECT * FROM @C c WHERE ### 1 = 2", 1, no},
	{"SELECT * FROM @C c WHERE random() < 0", 1, no},
	{"SELECT * FROM @C c, jobs j WHERE NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 0, yes},
	{"SELECT * FROM @C c, jobs j WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')", 0, yes},
	{"SELECT * FROM @C c, jobs j WHERE NOT EXISTS (SELECT 1 FROM orders WHERE key = 'k1')", 1, no},
	{"SELECT * FROM @C token WHERE NOT EXISTS (SELECT 1 FROM token WHERE token IS NOT NULL)", 1, no},
	{"SELECT * FROM @C c(a, token) WHERE NOT EXISTS (SELECT 1 FROM token WHERE token IS NOT NULL)", 1, no},
	{"SELECT * FROM @C c JOIN jobs j ON j.id = c.remaining AND 1 = 0", 0, yes},
	{"SELECT * FROM @C c JOIN jobs j ON now() IS NULL JOIN orders o ON true WHERE o.id = 1", 0, yes},
	{"SELECT * FROM (@C c JOIN jobs j ON 1 = 0) FULL JOIN orders o ON true", 0, no},
	{"SELECT * FROM @C c WHERE EXISTS (SELECT 1 FROM nobody)", 0, no},
	{"SELECT * FROM @C c WHERE EXISTS (SELECT 1 FROM jobs TABLESAMPLE BERNOULLI (100))", 1, no},
	{"WITH w AS (SELECT 1 AS a) SELECT @R WHERE EXISTS (SELECT 1 FROM w WHERE a = 2)", 0, no},
	{"WITH c AS (SELECT * FROM @C) INSERT INTO orders SELECT 9, 'a', c.remaining FROM c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 0, yes},
	{"INSERT INTO orders SELECT 9, j.key, c.remaining FROM jobs j, @C c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", 0, yes},
	{"SELECT count(*) FROM (SELECT * FROM @C c WHERE now() IS NULL) s WHERE now() IS NOT NULL", 0, no},
	{"SELECT * FROM @C a, (SELECT * FROM @C c WHERE now() IS NULL) b", 0, no},
}
