package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// rewriteSetup makes what the statements below are about. In schema scalar are
// stand-ins that answer as a call in an expression does, in JSON; those in public
// answer as in FROM.
const rewriteSetup = `
SET search_path = pg_temp, public;
CREATE TEMP TABLE orders(id int GENERATED ALWAYS AS IDENTITY, flight text, buyer text, seats_left bigint);
CREATE TEMP TABLE seats(id text PRIMARY KEY, buyer varchar(20), fence bigint);
CREATE TEMP TABLE jobs(id int PRIMARY KEY, name text, state text, n bigint);
INSERT INTO seats VALUES ('14A', NULL, NULL), ('14B', 'bob', 7);
INSERT INTO jobs SELECT i, 'job ' || i, CASE WHEN i % 2 = 1 THEN 'ready' ELSE 'done' END, 10 - i FROM generate_series(1, 6) i;
CREATE SCHEMA scalar;
CREATE FUNCTION scalar.raisin_lock_acquire(key text, ttl_ms bigint, wait_ms bigint DEFAULT 0) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_build_object('acquired', true, 'key', $1, 'token', 1795967949651973, 'expires_at_ms', 1788720658677) $$;
CREATE FUNCTION scalar.raisin_inventory_claim(pool text, n bigint, capacity bigint) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_build_object('claimed', true, 'remaining', $3 - $2) $$;
CREATE OR REPLACE FUNCTION public.raisin_locks(prefix text DEFAULT '', max_rows bigint DEFAULT 10000)
RETURNS TABLE (key text, holder text, token bigint, acquired_at timestamptz, expires_at timestamptz, waiters bigint, kind text) VOLATILE LANGUAGE sql
AS $$ SELECT k, NULL, octet_length(k), '2000-01-01 00:00+00'::timestamptz + octet_length(k) * interval '1 microsecond', '2000-01-01 00:00+00'::timestamptz + octet_length(k) * interval '1 microsecond', octet_length(k), NULL
FROM unnest(ARRAY['k1', 'a"b', 'c\d', '{e,f}', 'NULL', '', ' g ', '''h''', E'i\nj', 'schön 中']) k $$;
`

// standIn answers as the stand-ins do.
func standIn(f *sqlfuncs.Function, args []datum.Datum) *sqlfuncs.Row {
	switch f.Name {
	case "raisin_lock_acquire":
		return &sqlfuncs.Row{datum.OfBool(true), args[0], datum.OfInt(1795967949651973), datum.OfInt(1788720658677)}
	case "raisin_inventory_claim":
		return &sqlfuncs.Row{datum.OfBool(true), datum.OfInt(args[2].Int - args[1].Int)}
	case "raisin_inventory_release":
		return &sqlfuncs.Row{args[1]}
	}
	return &sqlfuncs.Row{datum.OfBool(true)}
}

// standIns are the rows of a call.
func standIns(f *sqlfuncs.Function, args []datum.Datum) []sqlfuncs.Row {
	if !f.Set {
		return []sqlfuncs.Row{*standIn(f, args)}
	}
	var rows []sqlfuncs.Row
	for _, name := range setNames {
		row := sqlfuncs.Row{datum.OfText(name)}
		for i, c := range f.Columns[1:] {
			switch c.Type {
			case datum.Text:
				row[i+1] = datum.Null
			default:
				row[i+1] = datum.OfInt(int64(len(name)))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// setNames are texts that an array has to quote.
var setNames = []string{`k1`, `a"b`, `c\d`, `{e,f}`, `NULL`, ``, ` g `, `'h'`, "i\nj", `schön 中`}

func rewriteServer(t *testing.T) *pgconn.PgConn { return serverWith(t, rewriteSetup) }

// serverWith is a connection in a transaction that has run setup.
func serverWith(t *testing.T, setup string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), "postgres://alice@"+wiretest.Postgres(t)+"/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	mustRun(t, conn, "BEGIN")
	mustRun(t, conn, setup)
	mustRun(t, conn, "SAVEPOINT start")
	return conn
}

func mustRun(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// TestRewriteOnPostgres runs statements as they are, with the stand-ins, and as they
// are rewritten: the types of parameters, the descriptions of the results, the rows,
// the tags, and what is in the tables afterwards are the same.
func TestRewriteOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	for _, test := range rewriteCases {
		t.Run(test.sql, func(t *testing.T) {
			direct := runRewriteCase(t, conn, test, executeDirectly)
			rewritten := runRewriteCase(t, conn, test, executeRewritten)
			if direct != rewritten {
				t.Errorf("directly:\n%s\nrewritten:\n%s", direct, rewritten)
			}
		})
	}
}

type rewriteCase struct {
	sql    string
	params string // values, divided by spaces
	scalar bool   // the stand-ins are to answer in JSON
	escape bool   // standard_conforming_strings is off
	before string
	after  string // says what changed
}

var rewriteCases = []rewriteCase{
	{sql: `INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA123', $1, c.remaining FROM raisin_inventory_claim('flight:AA123', 1, 180) c WHERE c.claimed RETURNING flight, buyer, seats_left`,
		params: "bob", after: "SELECT flight, buyer, seats_left FROM orders"},
	{sql: `WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || $1, 5000)) UPDATE seats SET buyer = $2, fence = l.token FROM l WHERE l.acquired AND seats.id = $1 AND coalesce(seats.fence, 0) < l.token RETURNING seats.id`,
		params: "14A ann", after: "SELECT * FROM seats ORDER BY id"},
	{sql: `SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10`, scalar: true},

	{sql: `SELECT * FROM raisin_lock_acquire('k', 1)`},
	{sql: `SELECT * FROM jobs, raisin_lock_acquire(ttl_ms => 5, key => $1) AS l(a, b) WHERE a AND jobs.n = $2 ORDER BY 1`, params: "k 7"},
	{sql: `SELECT l.*, r, ROW(l.*), l.token + $1 FROM raisin_lock_acquire($2, $3) l, raisin_lock_release($2, 1) r`, params: "1 k 5"},
	{sql: `SELECT raisin_lock_renew FROM raisin_lock_renew($1, $2, $3)`, params: "k 1 2"},
	{sql: `SELECT raisin_lock_acquire.token, key FROM public.raisin_lock_acquire('k', 1::smallint) WHERE true`},
	{sql: `SELECT x FROM raisin_inventory_release('p'::varchar(5), 3) x LEFT JOIN seats ON seats.fence > x ORDER BY seats.id`},
	{sql: `SELECT * FROM jobs j RIGHT JOIN (SELECT token FROM raisin_lock_acquire('k', 1)) l ON true ORDER BY j.id`},
	{sql: `SELECT * FROM (SELECT count(*), max(c.remaining) FROM jobs, LATERAL raisin_inventory_claim((SELECT max(name) FROM jobs), (SELECT max(id) FROM jobs), 10) c) q`},
	{sql: `WITH a AS (SELECT token FROM raisin_lock_acquire($2, 1)), b AS (INSERT INTO orders(seats_left, buyer) SELECT remaining, $3 FROM raisin_inventory_claim('p', $1, 10) RETURNING buyer) SELECT * FROM a, b`, params: "3 k ann",
		after: "SELECT buyer, seats_left FROM orders"},
	{sql: `SELECT * FROM jobs, raisin_inventory_claim('x' || $1::int, $1, 10) WHERE id = 1`, params: "3"},
	{sql: `DELETE FROM jobs USING raisin_lock_acquire('k', 1) l WHERE l.acquired AND id = $1 RETURNING *`, params: "3"},
	{sql: `UPDATE seats SET (buyer, fence) = (l.key, l.token) FROM raisin_lock_acquire($1, 1) l WHERE seats.id = $1`, params: "14B", after: "SELECT * FROM seats ORDER BY id"},
	{sql: `MERGE INTO jobs USING raisin_inventory_claim('p', 4, 7) ON jobs.id = remaining WHEN MATCHED THEN UPDATE SET n = remaining WHEN NOT MATCHED THEN DO NOTHING`, after: "SELECT * FROM jobs ORDER BY id"},
	{sql: `SELECT 1 AS one FROM jobs, raisin_lock_acquire('k', 1) l WHERE id = 1 FOR UPDATE`},

	{sql: `SELECT (raisin_lock_acquire($1, $2)).token, now() IS NULL, $3::date`, params: "k 1 2020-01-01"},
	{sql: `SELECT (raisin_lock_acquire('k', 1)).*, upper('x')`},
	{sql: `SELECT (raisin_lock_acquire('k', 1)).* AS ignored, ROW((raisin_inventory_claim('p', 1, 2)).*) WHERE 1 = $1`, params: "1"},
	{sql: `SELECT(((raisin_lock_acquire('k', 1)).*)), ROW(((raisin_inventory_claim('p', 1, 2)).*)), (1, ((raisin_inventory_claim('p', 1, 2)).*))`},
	{sql: `SELECT ((raisin_lock_acquire('k', 1)).token)::numeric(20, 2), CAST(raisin_lock_release('k', 1) AS text), raisin_lock_release('k', 1) x`},
	{sql: `SELECT NOT raisin_lock_release('k', 1), -raisin_inventory_release('p', 4)as n, ((raisin_lock_acquire('k', 1))).key || 'x', ARRAY[raisin_inventory_release('p', 1)]`},
	{sql: `VALUES (raisin_lock_release('k', 1), $1)`, params: "x"},
	{sql: `SELECT raisin_lock_acquire('k', 1), raisin_lock_acquire('b', 1)::text, raisin_lock_acquire('c', 1)->>'token', now() IS NULL`, scalar: true},
	{sql: `INSERT INTO orders(buyer, seats_left) VALUES (raisin_lock_acquire('k', 1)->>'key', raisin_inventory_release('p', 5)) RETURNING *`, scalar: true, before: "ALTER TABLE orders ALTER id RESTART"},
	{sql: `INSERT INTO orders(buyer, seats_left) VALUES ($1, raisin_inventory_release($2, $3))`, params: "ann p 8", after: "SELECT buyer, seats_left FROM orders"},
	{sql: `SELECT raisin_lock_release FROM (SELECT raisin_lock_release('k', 1)) q`},
	{sql: `SELECT raisin_lock_release('k', 1), raisin_inventory_release('p', 1)::int2 INTO TEMP u`, after: "SELECT * FROM u"},

	{sql: `SELECT raisin_lock_release('k', 1) WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = $1)`, params: "2"},
	{sql: `SELECT raisin_lock_release('k', 1) WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = $1) AND now() IS NOT NULL`, params: "20"},
	{sql: `INSERT INTO orders(buyer, seats_left) VALUES ('a', raisin_inventory_release('p', 8)), ($1, raisin_inventory_release('p', 9))`, params: "ann", after: "SELECT buyer, seats_left FROM orders"},
	{sql: `SELECT c.* FROM raisin_inventory_claim('p', 1, 10) c JOIN jobs ON (jobs.id = 2 AND $1 = 1) WHERE c.claimed`, params: "1"},
	{sql: `SELECT coalesce(raisin_lock_release('k', 1), true), CASE raisin_inventory_release('p', 5) WHEN $1 THEN 'five' END, raisin_lock_release('k', 1) AND $2`, params: "5 f"},
	{sql: `INSERT INTO orders(seats_left) SELECT (raisin_inventory_claim('p', 1 / (1 - $1), 10)).remaining WHERE $1 <> 1`, params: "1"},
	{sql: `SELECT c.* FROM raisin_inventory_claim('p', 1, 10) c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM jobs WHERE name = $2) AND ($1 BETWEEN 1 AND 2)`, params: "1 x"},
	{sql: `SELECT c.* FROM raisin_inventory_claim('p', 1, 10) c WHERE $1 AND c.remaining BETWEEN 1 AND 10`, params: "f"},
	{sql: `SELECT id FROM jobs, raisin_inventory_claim('p', 4, 10) c WHERE EXISTS (SELECT 1 FROM seats s WHERE s.fence > c.remaining AND s.id = '14B') ORDER BY id`},

	{sql: `SELECT *, (raisin_lock_acquire('job:' || id, 60000)).token AS t, n + 1 FROM jobs ORDER BY n LIMIT 2`},
	{sql: `SELECT (raisin_inventory_claim('p', n, capacity => 5)).*, j.* FROM jobs j WHERE id < $1 ORDER BY j.id`, params: "4"},
	{sql: `SELECT name, raisin_lock_acquire(name, n)->>'key', raisin_lock_acquire('"' || name, 1)::text, raisin_inventory_release('p', id)::text::varchar(1), raisin_lock_acquire('a', 1)::jsonb->'token' FROM jobs, raisin_lock_release('k', 1) r WHERE r ORDER BY id DESC`, scalar: true},
	{sql: `SELECT (raisin_inventory_claim('p', count(*), $1)).remaining::int4 FROM jobs`, params: "100"},
	{sql: `SELECT raisin_lock_release(name, id) FROM jobs WHERE id = 1 FOR UPDATE SKIP LOCKED`},
	{sql: `SELECT id,raisin_lock_release(state, n), raisin_lock_renew(name, n, 1)FROM jobs ORDER BY n, name`},

	{sql: `SELECT l, l.*, to_jsonb(l.*), row_to_json(l), (l).token, count(*) OVER () FROM raisin_lock_acquire($1, 1) l`, params: "k"},
	{sql: `SELECT l::text, l IS NULL, array_agg(l) FROM jobs, raisin_inventory_claim('p', 1, 9) l(a, b) WHERE b = 8 GROUP BY l.a, l.b, 2`},
	{sql: `SELECT q, row_to_json(q) FROM (SELECT l, l.key AS k FROM raisin_lock_acquire('k', 1) l) q`},
	{sql: `SELECT x.d, c.remaining FROM raisin_inventory_claim('p', 1, 9) c, LATERAL (SELECT c.remaining * 2 AS d) x`},
	{sql: `SELECT g, (raisin_inventory_claim('p' || g, 1, 9)).remaining FROM ROWS FROM (generate_series(1, 3)) g`},
	{sql: `SELECT g, o, (raisin_inventory_claim('p' || g, 1, 9)).remaining FROM LATERAL ROWS FROM (generate_series(1, 3), generate_series(1, 2)) WITH ORDINALITY g(g, h, o) JOIN jobs ON jobs.id = g`},
	{sql: `SELECT * FROM raisin_locks()`},
	{sql: `SELECT l.*, l, ROW(l.*), row_to_json(l), (l).key, raisin_locks.key FROM raisin_locks($1) l, raisin_locks(max_rows => $2)`, params: "p 20"},
	{sql: `SELECT x, x.k, h, token FROM public.raisin_locks('x'::varchar(3), 5::int2) AS x(k, h) WHERE token > 2 ORDER BY k COLLATE "C" LIMIT 3`},
	{sql: `SELECT id, (SELECT count(*) FROM raisin_locks() l WHERE l.waiters = jobs.id) FROM jobs WHERE id IN (SELECT token FROM raisin_locks()) ORDER BY id`},
	{sql: `SELECT key FROM jobs j RIGHT JOIN LATERAL raisin_locks($1) AS l ON l.token = j.id UNION ALL SELECT name FROM jobs ORDER BY 1`, params: "a"},
	{sql: `WITH l AS (SELECT * FROM raisin_locks()) SELECT a.key, b.acquired_at FROM l a JOIN l b USING (key) ORDER BY key, b.id`},
	{sql: `SELECT * FROM (SELECT * FROM raisin_locks()) AS virtual_table LIMIT 1001`},
	{sql: `SELECT "source"."key" AS "key" FROM (SELECT * FROM raisin_locks()) AS "source" LIMIT 1048575`},
	{sql: `INSERT INTO orders(buyer, seats_left) SELECT key, (SELECT max(token) FROM raisin_locks()) FROM raisin_locks($1) WHERE key <> $1 RETURNING buyer`, params: "k1", after: "SELECT buyer, seats_left FROM orders"},
	{sql: `UPDATE jobs SET name = l.key FROM raisin_locks() l WHERE l.token = jobs.id AND l.key IN ('', 'a"b', 'NULL')`, after: "SELECT id, name FROM jobs ORDER BY id"},
	{sql: `DELETE FROM jobs USING raisin_locks() l WHERE l.token = jobs.id AND l.key IN ('', 'a"b', 'NULL') RETURNING jobs.id, l.key`},
	{sql: `MERGE INTO jobs USING raisin_locks() l ON l.key = jobs.name WHEN NOT MATCHED AND l.key = 'NULL' THEN INSERT VALUES (7, l.key) WHEN NOT MATCHED THEN DO NOTHING`, after: "SELECT id, name FROM jobs ORDER BY id"},
	{sql: `CREATE TEMP TABLE made AS SELECT key, acquired_at FROM raisin_locks()`, after: "SELECT *, pg_typeof(key), pg_typeof(acquired_at) FROM made"},
	{sql: `SELECT key, token INTO TEMP made FROM raisin_locks($1)`, params: "x", after: "SELECT * FROM made"},
	{sql: `DECLARE c CURSOR FOR SELECT key, row_number() OVER () FROM raisin_locks()`, after: "FETCH ALL FROM c"},
	{sql: `SELECT l.key, c.remaining FROM raisin_locks() l, raisin_inventory_claim('p', 1, 10) c WHERE l.token < 5`},
	{sql: `SELECT raisin_inventory_release(l.key, 4), token FROM raisin_locks() l WHERE key <> '' ORDER BY key LIMIT 2`},
	{sql: `SELECT count(*) FROM raisin_locks() FOR UPDATE`},
	{sql: `SELECT key FROM raisin_locks() FOR UPDATE`},
	{sql: `SELECT "rows", (raisin_inventory_claim('p', 1, 9)).remaining, "rows" FROM (SELECT 1 AS "rows") q`},

	{sql: `SELECT (raisin_lock_acquire('a\'b' || E'c\'' /* ' */, 1)).key , 'it\'s', U&"\0061" FROM (SELECT 1) AS x(a)`, escape: true},
	{sql: `SELECT (raisin_lock_acquire('\'; DROP TABLE jobs; --', 1)).key, now() IS NULL`, escape: true},
	{sql: `/* é */ SELECT 'é', (raisin_lock_acquire('é', 1)).key -- ü`},
}

// runRewriteCase executes a case and shows all that can be seen of it.
func runRewriteCase(t *testing.T, conn *pgconn.PgConn, test rewriteCase, execute func(*testing.T, *pgconn.PgConn, *rewriteCase) string) string {
	t.Helper()
	mustRun(t, conn, "ROLLBACK TO start")
	if test.scalar {
		mustRun(t, conn, "SET LOCAL search_path = scalar, pg_temp, public")
	}
	if test.escape {
		mustRun(t, conn, "SET LOCAL standard_conforming_strings = off; SET LOCAL escape_string_warning = off")
	}
	if test.before != "" {
		mustRun(t, conn, test.before)
	}
	out := execute(t, conn, &test)
	if test.after == "" || strings.HasPrefix(out, "error") {
		return out
	}
	results, err := conn.Exec(t.Context(), test.after).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return out + "\nafter: " + showResult(results[0])
}

func executeDirectly(t *testing.T, conn *pgconn.PgConn, test *rewriteCase) string {
	t.Helper()
	sd, err := conn.Prepare(t.Context(), "", test.sql, nil)
	if err != nil {
		return showReport(reportOf(t, err))
	}
	result := conn.ExecPrepared(t.Context(), "", test.values(), nil, nil).Read()
	if result.Err != nil {
		return showReport(reportOf(t, result.Err))
	}
	return showDescription(sd.ParamOIDs, sd.Fields) + showResult(result)
}

func (c *rewriteCase) values() (values [][]byte) {
	for v := range strings.FieldsSeq(c.params) {
		values = append(values, []byte(v))
	}
	return values
}

func executeRewritten(t *testing.T, conn *pgconn.PgConn, test *rewriteCase) string {
	t.Helper()
	parsed, syntax := pgparse.Parse(sqltext.New(test.sql, !test.escape))
	if syntax != nil {
		t.Fatal(syntax)
	}
	st := Rewrite(parsed, 0, plan.Options{Prepared: true})
	if st.Err != nil {
		return showReport(st.Err)
	}
	u := &upstreamStatement{t: t, conn: conn, mixed: st.Action.(*Split), values: test.values()}
	out, err := u.execute()
	if err != nil {
		return showReport(err)
	}
	return out
}

// upstreamStatement does what a session does with a Split.
type upstreamStatement struct {
	t      *testing.T
	conn   *pgconn.PgConn
	mixed  *Split
	values [][]byte
}

func (u *upstreamStatement) execute() (string, *pgerr.Error) {
	m := u.mixed
	probe, err := u.conn.Prepare(u.t.Context(), "", m.Probe.SQL, nil)
	if err != nil {
		return "", m.Probe.Translate(reportOf(u.t, err))
	}
	if m.Refused != nil {
		return "", m.Refused
	}
	u.checkFacts()
	rows, guarded, report := u.calls(probe.ParamOIDs)
	if report != nil {
		return "", report
	}
	types := append([]uint32(nil), probe.ParamOIDs...)
	values := u.values
	for i, v := range m.Values(rows, guarded) {
		types = append(types, uint32(m.Hidden[i].Type))
		values = append(values, encodeDatum(m.Hidden[i].Type, v))
	}
	result, report := u.run(&m.Main, types, values)
	if report != nil {
		return "", report
	}
	u.fill(result, len(probe.Fields))
	return showDescription(probe.ParamOIDs, probe.Fields) + showResult(result), nil
}

// calls computes the arguments and makes the calls that run once.
func (u *upstreamStatement) calls(types []uint32) (rows [][]sqlfuncs.Row, guarded bool, report *pgerr.Error) {
	m := u.mixed
	rows = make([][]sqlfuncs.Row, len(m.Calls))
	if m.Args.SQL == "" {
		return rows, true, nil
	}
	result, report := u.run(&m.Args, types, u.values)
	if report != nil {
		return nil, false, report
	}
	u.compareLocal(types, result.Rows)
	if len(result.Rows) == 0 {
		return rows, false, nil
	}
	for i, call := range m.Calls {
		rows[i] = standIns(call.Func, decodeArgs(u.t, call.Func, result.Rows[0], call.Args))
	}
	return rows, true, nil
}

// checkFacts asks for what the plan rests on: all of it is so.
func (u *upstreamStatement) checkFacts() {
	for i, holds := range askFacts(u.t, u.conn, u.mixed.Facts) {
		if f := u.mixed.Facts[i]; holds != (f.Refused != nil) {
			u.t.Errorf("%v: %v", &f, holds)
		}
	}
}

func askFacts(t *testing.T, conn *pgconn.PgConn, facts []place.Fact) (holds []bool) {
	t.Helper()
	q := place.NewFactQuery(facts)
	if q.SQL == "" {
		return nil
	}
	params, types := make([][]byte, len(q.Parameters)), make([]uint32, len(q.Parameters))
	for i, p := range q.Parameters {
		params[i], types[i] = []byte(p), uint32(datum.Text)
	}
	result := conn.ExecParams(t.Context(), q.SQL, params, types, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 || len(result.Rows[0]) != len(facts) {
		t.Fatalf("%s: %d rows, %v", q.SQL, len(result.Rows), result.Err)
	}
	for _, column := range result.Rows[0] {
		holds = append(holds, string(column) == "t")
	}
	return holds
}

// compareLocal computes the arguments here too, where that is possible.
func (u *upstreamStatement) compareLocal(types []uint32, rows [][][]byte) {
	known := make([]datum.Type, len(types))
	params := make([]datum.Datum, len(types))
	for i, t := range types {
		known[i] = datum.Type(t)
		params[i], _ = datum.Parse(known[i], string(u.values[i]))
	}
	local := u.mixed.Local(known)
	if local == nil {
		return
	}
	args, guarded, err := local.Eval(params)
	if err != nil || guarded != (len(rows) == 1) {
		u.t.Errorf("computed here: guards %v, error %v; %d rows there", guarded, err, len(rows))
	}
	for i, call := range u.mixed.Calls {
		if guarded && !reflect.DeepEqual(args[i], decodeArgs(u.t, call.Func, rows[0], call.Args)) {
			u.t.Errorf("computed here: %v", args[i])
		}
	}
}

func (u *upstreamStatement) run(text *Text, types []uint32, values [][]byte) (*pgconn.Result, *pgerr.Error) {
	sd, err := u.conn.Prepare(u.t.Context(), "", text.SQL, types)
	if err != nil {
		return nil, text.Translate(reportOf(u.t, err))
	}
	if !reflect.DeepEqual(sd.ParamOIDs, append([]uint32{}, types...)) {
		u.t.Errorf("parameters of %s: %v, want %v", text.SQL, sd.ParamOIDs, types)
	}
	result := u.conn.ExecPrepared(u.t.Context(), "", values, nil, nil).Read()
	if result.Err != nil {
		return nil, text.Translate(reportOf(u.t, result.Err))
	}
	return result, nil
}

// fill makes the calls for each row and takes the hidden columns away.
func (u *upstreamStatement) fill(result *pgconn.Result, visible int) {
	perRow := u.mixed.Rows
	if perRow == nil {
		return
	}
	if len(result.FieldDescriptions) != visible+len(perRow.Hidden) {
		u.t.Errorf("%d columns, want %d and %d", len(result.FieldDescriptions), visible, len(perRow.Hidden))
	}
	for i, row := range result.Rows {
		var rows []sqlfuncs.Row
		for _, call := range perRow.Calls {
			rows = append(rows, *standIn(call.Func, decodeArgs(u.t, call.Func, row[visible:], call.Args)))
		}
		for _, item := range perRow.Items {
			value, err := item.Value(rows)
			if err != nil {
				u.t.Error(err)
			}
			column := item.Column(visible)
			if got := result.FieldDescriptions[column].DataTypeOID; got != uint32(item.Type) {
				u.t.Errorf("column %d is of type %d, not %d", column, got, item.Type)
			}
			row[column] = encodeDatum(item.Type, value)
		}
		result.Rows[i] = row[:visible]
	}
}

func decodeArgs(t *testing.T, f *sqlfuncs.Function, row [][]byte, columns []int) []datum.Datum {
	t.Helper()
	args := make([]datum.Datum, len(columns))
	for i, c := range columns {
		if c == LeftOut {
			args[i] = *f.Args[i].Default
			continue
		}
		if args[i] = datum.Null; row[c] == nil {
			continue
		}
		v, err := datum.Parse(f.Args[i].Type, string(row[c]))
		if err != nil {
			t.Fatal(err)
		}
		args[i] = v
	}
	return args
}

func encodeDatum(t datum.Type, v datum.Datum) []byte {
	if v.Null {
		return nil
	}
	return datum.AppendText([]byte{}, t, v, nil)
}

func showDescription(types []uint32, fields []pgconn.FieldDescription) string {
	var out strings.Builder
	fmt.Fprintf(&out, "parameters %v\n", types)
	for _, f := range fields {
		fmt.Fprintf(&out, "%s %d %d %d %d\n", f.Name, f.DataTypeOID, f.TypeModifier, f.TableOID, f.TableAttributeNumber)
	}
	return out.String()
}

func showResult(result *pgconn.Result) string {
	var out strings.Builder
	for _, row := range result.Rows {
		fmt.Fprintf(&out, "%s\n", bytes.Join(row, []byte(" | ")))
	}
	return out.String() + result.CommandTag.String()
}

func reportOf(t *testing.T, err error) *pgerr.Error {
	t.Helper()
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		t.Fatal(err)
	}
	return &pgerr.Error{Code: codes.Code(report.Code), Message: report.Message, Detail: report.Detail, Hint: report.Hint, Position: int(report.Position)}
}

func showReport(e *pgerr.Error) string {
	return fmt.Sprintf("error: %s at %d: %s (%s) (%s)", e.Code, e.Position, e.Message, e.Detail, e.Hint)
}

// TestRewriteErrorsOnPostgres: what is wrong with a statement is reported in the
// words of PostgreSQL, with the place in the user's text.
func TestRewriteErrorsOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	for _, sql := range []string{
		"SELECT * FROM jobs, raisin_lock_acquire('k', 1.5) l",
		"SELECT 'é', * FROM jobs, raisin_lock_acquire(1, 'x') l",
		"SELECT * FROM jobs, public.raisin_lock_acquire(key => 'k', ttl_ms => now()) l",
		"SELECT * FROM jobs, raisin_inventory_claim(capacity => 1, pool => 'k', n => '1'::text) l",
		"SELECT * FROM jobs, raisin_inventory_claim('p', 1, 1.5) l",
		"SELECT * FROM jobs, raisin_lock_acquire('k') l",
		"SELECT * FROM jobs, raisin_lock_acquire('k', 1, 2) l",
		"SELECT * FROM jobs, raisin_lock_acquire(key => 'k', key => 'l') l",
		"SELECT * FROM jobs, raisin_lock_acquire(key => 'k', 1) l",
		"SELECT * FROM jobs, raisin_lock_acquire(name => 'k', ttl_ms => 1) l",
		"SELECT * FROM jobs, raisin_lock_acquire('k', VARIADIC ARRAY[1]) l",
		"SELECT raisin_lock_release(*), now()",
		"SELECT raisin_lock_release('k', 'x1'), now()",
		"SELECT raisin_lock_release('k', '99999999999999999999'), now()",
		"SELECT raisin_lock_release($1, 1) FROM jobs WHERE id = $1",
		"SELECT raisin_lock_release($1::int::text, 1), $1 = true",
		"SELECT (raisin_lock_release('k', 1)).nope, now()",
		"SELECT (raisin_lock_acquire('k', 1)).nope, now()",
		"SELECT * FROM jobs, raisin_lock_acquire(nope, 1) l",
		"SELECT nope FROM jobs, raisin_lock_acquire('k', 1) l",
		"SELECT token.x FROM jobs, raisin_lock_acquire('k', 1) l",
		"SELECT l.nope FROM jobs, raisin_lock_acquire('k', 1) l",
		"SELECT 1 FROM jobs l, raisin_lock_acquire('k', 1) l",
		"SELECT 1 FROM jobs, raisin_lock_acquire('k', 1) l(a, b, c, d, e)",
		"SELECT token FROM raisin_lock_acquire('k', 1) a, raisin_lock_acquire('k', 1) b",
		"SELECT * FROM nope, raisin_lock_acquire('k', 1) a",
		"INSERT INTO orders(seats_left) SELECT key FROM raisin_lock_acquire('k', 1) a",
		"INSERT INTO orders(nope) VALUES (raisin_lock_release('k', 1))",
		"UPDATE seats SET fence = 1 FROM raisin_lock_acquire(seats.id, 1) l",
		"SELECT raisin_lock_release('k' || hashtextextended('x', 1.5), 1), now()",
		"SELECT name, raisin_lock_release(nope, 1) FROM jobs",
		"SELECT name, count(*), raisin_lock_release(name, 1) FROM jobs",
		"SELECT * FROM jobs, raisin_lock_acquire('k', 1) AS l(a bool)",
		"SELECT * FROM jobs, raisin_lock_release('k', 1) AS l(a bool)",
		"SELECT 1 FROM jobs, raisin_lock_acquire('k', 1) l FOR UPDATE OF l",
		"SELECT 1 / (id - 1), r FROM jobs, raisin_lock_release('k', 1 / (SELECT 0)) r",
		"SELECT 1 / (id - 1), r FROM jobs, raisin_lock_release('k', 1) r",
		"SELECT 1 FROM jobs, raisin_lock_release('k', id) r, nope",
	} {
		test := rewriteCase{sql: sql}
		direct := runRewriteCase(t, conn, test, executeDirectly)
		rewritten := runRewriteCase(t, conn, test, executeRewritten)
		if direct != rewritten {
			t.Errorf("%s\n directly %s\nrewritten %s", sql, direct, rewritten)
		}
	}
}

// TestCopyOnPostgres: values become literals, and no part of one is ever executed.
func TestCopyOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	const sql = "COPY (SELECT (raisin_lock_acquire('k', 1)).*, raisin_lock_acquire('b', 2), now() IS NULL WHERE 1 = 1) TO STDOUT"
	for _, standard := range []bool{true, false} {
		mustRun(t, conn, fmt.Sprintf("SET standard_conforming_strings = %t", standard))
		for _, key := range []string{`k`, `'`, `\`, `\'; SELECT 1/0; --`, `''\''`, "\n\t", `é$1"`, ``} {
			m := splitOf(t, sql, standard, plan.Options{})
			row := &sqlfuncs.Row{datum.OfBool(true), datum.OfText(key), datum.OfInt(-1 << 63), datum.Null}
			var out bytes.Buffer
			text := m.CopySQL(m.Values([][]sqlfuncs.Row{{*row}, {*row}}, true))
			if _, err := conn.CopyTo(t.Context(), &out, text.SQL); err != nil {
				t.Fatalf("%s: %v", text.SQL, err)
			}
			scalar := string(m.Calls[0].Func.AppendScalar(nil, row))
			escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`)
			want := fmt.Sprintf("t\t%s\t-9223372036854775808\t\\N\t%s\tf\n", escape.Replace(key), escape.Replace(scalar))
			if out.String() != want {
				t.Errorf("%s\n got %q\nwant %q", text.SQL, out.String(), want)
			}
		}
		m := splitOf(t, sql, standard, plan.Options{})
		var out bytes.Buffer
		if _, err := conn.CopyTo(t.Context(), &out, m.CopySQL(m.Values([][]sqlfuncs.Row{nil, nil}, false)).SQL); err != nil || out.Len() > 0 {
			t.Errorf("a guard that is false: %q, %v", out.String(), err)
		}
	}
}

func splitOf(t *testing.T, sql string, standard bool, o plan.Options) *Split {
	t.Helper()
	parsed, err := pgparse.Parse(sqltext.New(sql, standard))
	if err != nil {
		t.Fatal(err)
	}
	st := Rewrite(parsed, 0, o)
	if st.Err != nil {
		t.Fatal(st.Err)
	}
	if p, ok := st.Action.(*PrepareSplit); ok {
		return p.Split
	}
	return st.Action.(*Split)
}

// TestExplainOnPostgres: the plan is that of a statement with calls whose results
// are not known, and not that of one with constants.
func TestExplainOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	m := splitOf(t, "EXPLAIN (COSTS OFF) SELECT j.id, raisin_lock_acquire(name, 1) FROM raisin_lock_acquire($1, 5) l, jobs j WHERE l.acquired AND j.id = l.token", true, plan.Options{Prepared: true})
	probe, err := conn.Prepare(t.Context(), "", m.Probe.SQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	result := conn.ExecParams(t.Context(), m.Main.SQL, [][]byte{[]byte("k")}, probe.ParamOIDs, nil, nil).Read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	explained := showResult(result)
	if !strings.Contains(explained, "InitPlan") || strings.Contains(explained, "One-Time Filter: false") {
		t.Error(explained)
	}
}

// TestPrepareOnPostgres: PostgreSQL tells the declared types.
func TestPrepareOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	mustRun(t, conn, "CREATE DOMAIN positive AS int NOT NULL CHECK (VALUE > 0)")
	parsed, _ := pgparse.Parse(sqltext.New("PREPARE q (varchar(5), numeric(10, 2)[], jobs, bigint, positive) AS SELECT $2, token FROM raisin_lock_acquire($1, 5) WHERE ($3).id = $4 + $5", true))
	p := Rewrite(parsed, 0, plan.Options{}).Action.(*PrepareSplit)
	types, err := conn.Prepare(t.Context(), "", p.Types.SQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	var declared []uint32
	var found []datum.Type
	for _, oid := range types.ParamOIDs {
		found = append(found, datum.Type(oid))
	}
	for _, t := range p.Declare(found) {
		declared = append(declared, uint32(t))
	}
	mustRun(t, conn, "PREPARE q (varchar(5), numeric(10, 2)[], jobs, bigint, positive) AS SELECT $2, token FROM raisin_lock_acquire($1, 5) WHERE ($3).id = $4 + $5")
	direct, err := conn.Exec(t.Context(), "SELECT array_agg(t::oid ORDER BY i) FROM pg_prepared_statements, unnest(parameter_types) WITH ORDINALITY u(t, i) WHERE name = 'q'").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(declared), strings.NewReplacer("{", "[", "}", "]", ",", " ").Replace(string(direct[0].Rows[0][0])); got != want {
		t.Errorf("types %s, want %s", got, want)
	}
	if _, err := conn.Prepare(t.Context(), "", p.Split.Probe.SQL, declared); err != nil {
		t.Error(err)
	}
}

// TestNotAloneOnPostgres: what an argument names is known to PostgreSQL, but is not
// there before the statement runs.
func TestNotAloneOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	for sql, position := range map[string]int{
		"SELECT 'é', l.* FROM jobs j, raisin_lock_acquire(j.name, 1) l":                                                30,
		"SELECT 'é', l.* FROM jobs j, raisin_lock_acquire((SELECT max(s.id) FROM seats s WHERE s.fence = j.id), 1) l":  97,
		"SELECT 'é', l.* FROM jobs j, raisin_lock_acquire((SELECT max(buyer) FROM seats WHERE seats.id = state), 1) l": 97,
		"UPDATE jobs SET n = l.token FROM seats, raisin_lock_acquire(buyer, 1) l WHERE jobs.name = seats.buyer":        41,
	} {
		got := runRewriteCase(t, conn, rewriteCase{sql: sql}, executeRewritten)
		want := fmt.Sprintf("error: 0A000 at %d: an argument of raisin_", position)
		if !strings.HasPrefix(got, want) || !strings.Contains(got, "in the SELECT list of a statement of its own") {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}
