package place

import (
	"strings"
	"testing"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/sqltext"
)

// TestPlaces places the call f of each statement by the table of where calls may
// stand. f stands for raisin_lock_release('k', 1), g for a call in FROM.
func TestPlaces(t *testing.T) {
	const refused = Place(-1)
	for _, test := range []struct {
		sql  string
		want []Place
	}{
		{"SELECT f", []Place{InList}},
		{"SELECT NOT f, f::text, (g).token, g->>'token', 'x' || f", []Place{InList, InList, InList, InList, InList}},
		{"SELECT COALESCE(f, true), CASE WHEN f THEN 1 END, f AND $1, f OR current_user = 'x'", []Place{InList, InList, InList, InList}},
		{"SELECT f LIMIT 1", []Place{InList}},
		{"VALUES (f), (f)", []Place{InList, InList}},
		{"EXPLAIN (ANALYZE false) SELECT f", []Place{Explained}},
		{"EXPLAIN (ANALYZE, ANALYZE off) SELECT f", []Place{Explained}},
		{"SELECT f WHERE NOT EXISTS (SELECT 1 FROM t)", []Place{InList}},
		{"VALUES (f, 1)", []Place{InList}},
		{"INSERT INTO t VALUES (f)", []Place{InList}},
		{"INSERT INTO t SELECT f", []Place{InList}},
		{"SELECT * FROM g", []Place{InFrom}},
		{"SELECT * FROM t, g AS l WHERE l.acquired ORDER BY 1 LIMIT 5", []Place{InFrom}},
		{"SELECT * FROM t JOIN g ON true", []Place{InFrom}},
		{"SELECT * FROM (SELECT * FROM g) q", []Place{InFrom}},
		{"WITH l AS (SELECT * FROM g) SELECT * FROM l", []Place{InFrom}},
		{"WITH l AS (SELECT * FROM g) UPDATE t SET x = l.token FROM l", []Place{InFrom}},
		{"WITH l AS (INSERT INTO t SELECT f) SELECT 1", []Place{InList}},
		{"UPDATE t SET x = l.token FROM g l", []Place{InFrom}},
		{"DELETE FROM t USING g l WHERE l.acquired", []Place{InFrom}},
		{"MERGE INTO t USING g l ON l.token = t.x WHEN MATCHED THEN DELETE", []Place{InFrom}},
		{"SELECT id, f FROM t ORDER BY id LIMIT 10", []Place{PerRow}},
		{"SELECT (g).token, g->>'token', g::text FROM t", []Place{PerRow, PerRow, PerRow}},
		{"COPY (SELECT f) TO STDOUT", []Place{InList}},
		{"EXPLAIN SELECT f, g FROM t", []Place{Explained, Explained}},
		{"PREPARE p AS SELECT f", []Place{InList}},
		{"CREATE VIEW v AS SELECT f", nil},
		{"DO $$SELECT f$$", nil},

		{"SELECT CASE WHEN true THEN f END", []Place{refused}},
		{"SELECT upper('x' || f)", []Place{refused}},
		{"SELECT f AND NULL", []Place{refused}},
		{"SELECT COALESCE(true, f)", []Place{refused}},
		{"SELECT f LIMIT $1", []Place{refused}},
		{"SELECT f LIMIT 0", []Place{refused}},
		{"VALUES (f), (f) LIMIT 1", []Place{refused}},
		{"INSERT INTO t SELECT f FROM s", []Place{refused}},
		{"SELECT * FROM t LEFT JOIN g ON true", []Place{refused}},
		{"SELECT * FROM t, LATERAL (SELECT * FROM g) l", []Place{refused}},
		{"WITH l AS (SELECT * FROM g) SELECT * FROM l, l m", []Place{refused}},
		{"WITH l AS (SELECT * FROM g) SELECT COALESCE(1, (SELECT token FROM l))", []Place{refused}},
		{"SELECT * FROM g HAVING true", []Place{refused}},
		{"DECLARE c CURSOR FOR SELECT f", []Place{refused}},
		{"SELECT NULLIF(f, true)", []Place{refused}},
		{"SELECT GREATEST(f, true)", []Place{refused}},
		{"SELECT f AND true", []Place{refused}},
		{"SELECT NOT (true OR f)", []Place{refused}},
		{"SELECT f IN (true)", []Place{refused}},
		{"SELECT (SELECT f)", []Place{refused}},
		{"SELECT ARRAY(SELECT f)", []Place{refused}},
		{"SELECT EXISTS (SELECT * FROM g)", []Place{refused}},
		{"SELECT 1 WHERE f", []Place{refused}},
		{"SELECT * FROM t WHERE f", []Place{refused}},
		{"SELECT * FROM t WHERE id IN (SELECT token FROM g)", []Place{refused}},
		{"SELECT * FROM t GROUP BY f", []Place{refused}},
		{"SELECT 1 HAVING f", []Place{refused}},
		{"SELECT * FROM t ORDER BY f", []Place{refused}},
		{"SELECT 1 LIMIT (SELECT token FROM g)", []Place{refused}},
		{"SELECT DISTINCT f", []Place{refused}},
		{"SELECT DISTINCT f FROM t", []Place{refused}},
		{"SELECT f FROM t GROUP BY 1", []Place{refused}},
		{"SELECT f UNION SELECT true", []Place{refused}},
		{"SELECT * FROM g UNION SELECT * FROM g", []Place{refused}},
		{"SELECT * FROM g LIMIT 0", []Place{refused}},
		{"WITH l AS (SELECT * FROM g) SELECT 1", []Place{refused}},
		{"WITH RECURSIVE l AS (SELECT * FROM g) SELECT * FROM l", []Place{refused}},
		{"SELECT f + 1 FROM t", []Place{refused}},
		{"SELECT f FROM t ORDER BY 1 OFFSET 5", []Place{refused}},
		{"SELECT f FROM t ORDER BY id FETCH FIRST 1 ROW WITH TIES", []Place{refused}},
		{"SELECT count(f)", []Place{refused}},
		{"SELECT * FROM t JOIN s ON f", []Place{refused}},
		{"SELECT * FROM ROWS FROM (g, generate_series(1, 2))", []Place{refused}},
		{"SELECT * FROM g WITH ORDINALITY", []Place{refused}},
		{"SELECT * FROM generate_series(1, (g).token)", []Place{refused}},
		{"UPDATE t SET x = f", []Place{refused}},
		{"UPDATE t SET x = 1 WHERE f", []Place{refused}},
		{"DELETE FROM t WHERE f", []Place{refused}},
		{"DELETE FROM t RETURNING f", []Place{refused}},
		{"INSERT INTO t VALUES (1) ON CONFLICT (x) DO UPDATE SET x = (g).token", []Place{refused}},
		{"MERGE INTO t USING s ON f WHEN MATCHED THEN DELETE", []Place{refused}},
		{"EXPLAIN ANALYZE SELECT f", []Place{refused}},
		{"EXPLAIN (ANALYZE) SELECT * FROM g", []Place{refused}},
		{"DECLARE c CURSOR FOR SELECT f FROM t", []Place{refused}},
		{"COPY (SELECT f FROM t) TO STDOUT", []Place{refused}},
		{"EXECUTE p(f)", []Place{refused}},
	} {
		sql := strings.NewReplacer("f", "raisin_lock_release('k', 1)", "g", "raisin_lock_acquire('k', 1)").Replace(lone(test.sql))
		parsed, err := pgparse.Parse(sqltext.New(sql, true))
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		placed, err := Calls(parsed.Statements[0].Node, parsed.Char)
		if len(test.want) == 1 && test.want[0] == refused {
			if err == nil || err.Code != "0A000" || err.Hint == "" || err.Position == 0 {
				t.Errorf("%s: got %v, want 0A000 with a hint and a position", test.sql, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.sql, err)
			continue
		}
		var got []Place
		for _, p := range placed.Calls {
			got = append(got, p.Place)
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: got %v, want %v", test.sql, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: got %v, want %v", test.sql, got, test.want)
			}
		}
	}
}

// lone keeps the letters f and g that stand alone, and spells all others so that
// they are not replaced.
func lone(sql string) string {
	var out strings.Builder
	for i := range len(sql) {
		c := sql[i]
		word := func(j int) bool {
			return j >= 0 && j < len(sql) && (sql[j] == '_' || sql[j] >= 'a' && sql[j] <= 'z' || sql[j] >= 'A' && sql[j] <= 'Z')
		}
		if (c == 'f' || c == 'g') && (word(i-1) || word(i+1)) {
			c -= 'a' - 'A'
		}
		out.WriteByte(c)
	}
	return out.String()
}
