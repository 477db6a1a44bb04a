package rewrite

import (
	"strings"
	"testing"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
)

// TestHintsLeadOn: what a hint shows is not refused in its turn.
func TestHintsLeadOn(t *testing.T) {
	refusal := func(sql string) *plan.Statement {
		t.Helper()
		parsed, err := pgparse.Parse(sqltext.New(sql, true))
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return Rewrite(parsed, 0, plan.Options{})
	}
	for _, test := range []struct{ refused, shows, followed string }{
		{`SELECT id FROM jobs WHERE raisin_lock_release('k', 1)`, "in a statement of its own",
			`SELECT * FROM raisin_lock_release('k', 1) AS c`},
		{`SELECT id, raisin_lock_release('k', id) FROM jobs OFFSET 1`, "Let a subquery choose the rows",
			`SELECT id, raisin_lock_release('k', id) FROM (SELECT id FROM jobs OFFSET 1) AS x`},
		{`DECLARE c CURSOR FOR SELECT * FROM raisin_lock_release('k', 1)`, "without a cursor",
			`SELECT * FROM raisin_lock_release('k', 1)`},
		{`SELECT 1 FROM jobs, raisin_lock_release('k', 1) WHERE 1 = NULL OR id = 1`, "in a statement of its own",
			`SELECT * FROM raisin_lock_release('k', 1) AS c`},
		{`SELECT id FROM jobs WHERE raisin_lock_release(key, 1)`, "for each row in the SELECT list",
			`SELECT raisin_lock_release(key, 1) FROM jobs`},
		{`SELECT upper(raisin_lock_acquire(key, 1)->>'key') FROM jobs`, "for each row in the SELECT list",
			`SELECT raisin_lock_acquire(key, 1)->>'key' FROM jobs`},
		{`UPDATE jobs SET fence = (raisin_lock_acquire(key, 1)).token`, "for each row in the SELECT list",
			`SELECT (raisin_lock_acquire(key, 1)).token FROM jobs`},
		{`SELECT c.claimed FROM raisin_inventory_claim('p', 1, 9) c UNION SELECT true`, "in a statement of its own",
			`SELECT c.claimed FROM raisin_inventory_claim('p', 1, 9) AS c`},
		{`SELECT * FROM ROWS FROM (raisin_lock_release('k', 1)) c`, "in a statement of its own",
			`SELECT * FROM raisin_lock_release('k', 1) AS c`},
		{`WITH q AS (SELECT * FROM raisin_lock_release('k', 1)) SELECT 1`, "in a statement of its own",
			`SELECT * FROM raisin_lock_release('k', 1) AS c`},
		{`CREATE TABLE t AS SELECT * FROM raisin_inventory_claim('p', 1, 9)`, "INSERT INTO",
			`INSERT INTO t SELECT * FROM raisin_inventory_claim('p', 1, 9) AS c`},
		{`EXPLAIN ANALYZE SELECT * FROM raisin_inventory_claim('p', 1, 9)`, "EXPLAIN without ANALYZE",
			`EXPLAIN SELECT * FROM raisin_inventory_claim('p', 1, 9) AS c`},
		{`SELECT raisin_lock_acquire_first(ARRAY[key], 1) FROM jobs`, "all rows at once",
			`SELECT c.* FROM raisin_lock_acquire_first(ARRAY(SELECT key FROM jobs), 1) AS c`},
		{`SELECT 1 FROM jobs WHERE (raisin_lock_acquire_first(ARRAY[key], 1)).acquired`, "all rows at once",
			`SELECT c.* FROM raisin_lock_acquire_first(ARRAY(SELECT key FROM jobs), 1) AS c`},
		{`SELECT raisin_admin_lock_release(key) FROM jobs`, "in a statement of its own",
			`SELECT * FROM raisin_admin_lock_release('k') AS c`},
		{`SELECT raisin_admin_lock_release('k') FROM jobs`, "in a statement of its own",
			`SELECT * FROM raisin_admin_lock_release('k') AS c`},
		{`SELECT 1 FROM jobs WHERE (raisin_lock_get(key)).held`, "for each row in the SELECT list",
			`SELECT (raisin_lock_get(key)).held FROM jobs`},
	} {
		if st := refusal(test.refused); st.Err == nil || !strings.Contains(st.Err.Hint, test.shows) {
			t.Errorf("%s: %v, want the hint %q", test.refused, st.Err, test.shows)
		}
		if st := refusal(test.followed); st.Err != nil {
			t.Errorf("%s, as a hint has it: %v", test.followed, st.Err)
		}
	}
}
