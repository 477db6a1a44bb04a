package differential

import "strings"

// condition is one for WHERE or ON. {a} is the alias of the call.
type condition struct {
	sql    string
	params []string
}

func conditions(sqls ...string) (all []condition) {
	for _, sql := range sqls {
		all = append(all, condition{sql: sql})
	}
	return all
}

// guards beside a claim: what names no row, what looks as if it did, and what does.
var guards = append(conditions(
	// Constants, and what PostgreSQL folds into one.
	"true", "1 = 1", "false", "1 = 0", "NULL", "NULL = NULL", "NOT true", "false OR 1 = 0", "'a' LIKE 'b'", "1 IN (2, 3)",
	"CASE WHEN true THEN false END", "COALESCE(NULL, false)", "ROW(1, 2) = ROW(1, 3)", "md5('x') = 'y'", "length('x') = 1", "upper('a') = 'a'",
	"'2020-01-01'::date > '2021-01-01'", "NULLIF(1, 1) IS NOT NULL", "ARRAY[1] = ARRAY[2]", "1 BETWEEN 2 AND 3", "1 IS DISTINCT FROM 1", "(VALUES (false))",
	// Functions.
	"yes_v()", "no_v()", "yes_s()", "no_s()", "yes_i()", "no_i()", "no_sql()", "public.no_i()", "NOT yes_i()", "NOT yes_s()", "random() < 0", "random() >= 0",
	"now() < 'epoch'", "current_user = 'nobody'", "current_setting('app.none', true) = 'x'", "nextval('sq') > 0", "nextval('sq') < 0",
	"pg_backend_pid() = 0", "has_table_privilege('secret', 'select')", "to_char(now(), 'YYYY') = '1999'", "clock_timestamp() < 'epoch'", "statement_timestamp() > 'epoch'",
	// Subqueries.
	"EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')", "NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
	"EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", "NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')",
	"NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new')", "NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'new')", "EXISTS (SELECT 1 FROM nothing)", "NOT EXISTS (SELECT FROM nothing n)",
	"NOT EXISTS (SELECT 1 FROM tokens WHERE token IS NOT NULL)", "NOT EXISTS (SELECT 1 FROM tokens WHERE remaining = 5)", "NOT EXISTS (SELECT 1 FROM orders WHERE claimed)",
	"NOT EXISTS (SELECT 1 FROM jobs WHERE key = 'k1')", "NOT EXISTS (SELECT 1 FROM jobs x WHERE x.key = 'k1')", "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.key = 'k1')",
	"(SELECT count(*) FROM orders o) = 0", "(SELECT count(*) FROM orders o) = 1", "(SELECT count(*) FROM nothing) > 0", "(SELECT false)", "(SELECT o.remaining FROM orders o) = 4",
	"1 IN (SELECT o.remaining FROM orders o)", "5 IN (SELECT o.remaining FROM orders o)", "1 > ALL (SELECT o.remaining FROM orders o)", "1 = ANY (SELECT n.id FROM nothing n)",
	"NOT EXISTS (SELECT 1 FROM ready_jobs v WHERE v.id = 1)", "EXISTS (SELECT 1 FROM no_jobs v)", "NOT EXISTS (SELECT 1 FROM owned WHERE owner = 'bob')", "EXISTS (SELECT 1 FROM owned o WHERE o.owner = 'bob')",
	"EXISTS (SELECT 1 FROM secret)", "EXISTS (SELECT 1 FROM missing)", "NOT EXISTS (SELECT 1 FROM parted x WHERE x.id = 11)",
	"NOT EXISTS (WITH w AS (SELECT 1 FROM orders o) SELECT 1 FROM w)", "NOT EXISTS (SELECT 1 FROM (SELECT o.idem FROM orders o) q WHERE q.idem = 'seen')",
	"NOT EXISTS (SELECT 1 FROM orders o FOR UPDATE)", "EXISTS (SELECT 1 FROM orders o LIMIT 0)",
	// What fails.
	"1 / 0 > 0", "1 / (SELECT count(*) FROM nothing) > 0", "1 / (SELECT count(*) FROM orders o) > 0", "fails_i()", "false AND 1 / 0 > 0", "no_i() AND 1 / 0 > 0", "no_s() AND 1 / (SELECT count(*) FROM nothing) > 0",
	"EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen') AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.remaining = 5)", "true AND yes_i()", "yes_i() AND NOT EXISTS (SELECT 1 FROM nothing n)",
), append(columnConditions, []condition{
	{"$1 = 0", []string{"1"}}, {"$1 = 1", []string{"1"}}, {"$1 > 5", []string{"1"}}, {"$1 > 5", []string{"70000000000"}}, {"$1::int > 5", []string{"9"}}, {"$1", []string{"false"}}, {"$1", []string{"true"}}, {"$1::boolean", []string{"false"}},
	{"NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $1)", []string{"seen"}}, {"NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $1)", []string{"new"}},
	{"NOT EXISTS (SELECT 1 FROM orders WHERE idem = $1)", []string{"seen"}}, {"$1 = 'x' OR $1 IS NULL", []string{"y"}}, {"1 / $1 > 0", []string{"0"}}, {"$1 BETWEEN 2 AND 3", []string{"1"}}, {"$1 = ANY ('{a,b}')", []string{"c"}},
}...)...)

// columnConditions name the call's columns: rows are filtered after the call, unless
// PostgreSQL sees that there can be none.
var columnConditions = conditions(
	"{a}.claimed", "NOT {a}.claimed", "{a}.remaining >= 0", "{a}.remaining < 0", "claimed", "remaining > 100", "{a}.claimed AND 1 = 0", "{a}.claimed AND false", "{a}.claimed AND no_i()",
	"{a}.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')", "{a}.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'seen')", "{a}.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new')",
	"{a}.remaining = NULL", "{a}.remaining <> NULL", "{a}.remaining = NULL::bigint", "{a}.remaining = 9 AND {a}.remaining = 8", "{a}.remaining = 8 AND {a}.remaining = 7", "{a}.remaining > 9 AND {a}.remaining < 5", "{a}.remaining BETWEEN 20 AND 10",
	"{a}.remaining IN (NULL)", "{a}.claimed = false AND {a}.claimed = true", "{a}.claimed AND NOT {a}.claimed", "{a}.claimed IS NULL", "{a}.claimed IS DISTINCT FROM NULL",
	"{a}.claimed OR true", "{a}.claimed OR 1 = 0", "no_i() OR {a}.claimed", "yes_i() OR {a}.claimed", "false AND {a}.claimed", "NOT ({a}.claimed OR true)", "{a} IS NULL", "{a} IS NOT NULL", "({a}.claimed, {a}.remaining) = (true, NULL)",
	"EXISTS (SELECT 1 FROM orders o WHERE o.remaining = {a}.remaining)", "NOT EXISTS (SELECT 1 FROM nothing n WHERE n.id = {a}.remaining)", "{a}.remaining IN (SELECT n.id FROM nothing n)", "{a}.remaining NOT IN (SELECT o.remaining FROM orders o)", "{a}.remaining = (SELECT max(n.id) FROM nothing n)",
	"COALESCE({a}.claimed, true) = false", "CASE WHEN {a}.claimed THEN false ELSE true END", "CASE WHEN false THEN {a}.claimed END", "NULLIF({a}.claimed, {a}.claimed)", "{a}.claimed = NULL", "{a}.claimed IS TRUE AND NULL", "1 / {a}.remaining > 0", "{a}.remaining / 0 > 0",
	"{a}.remaining::text = 'x'", "{a}.claimed AND random() < 0", "{a}.claimed AND yes_v()", "{a}.remaining > nextval('sq') + 100", "{a}.nope", "nope", "{a}.remaining = 'x'",
)

// guarded are the statements that get each guard. {g} is its place.
var guarded = []string{
	"SELECT * FROM {C} c WHERE {g}",
	"SELECT c.remaining, j.id FROM jobs j, {C} c WHERE {g}",
	"SELECT c.remaining, j.id FROM jobs j CROSS JOIN {C} c WHERE j.id = 1 AND {g}",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM c WHERE {g}",
	"WITH c AS (SELECT * FROM {C}) SELECT c.*, j.id FROM c, jobs j WHERE {g}",
	"WITH w AS (SELECT * FROM {C} c WHERE {g}) SELECT * FROM w",
	"SELECT * FROM (SELECT * FROM {C} c WHERE {g}) q",
	"SELECT * FROM (SELECT * FROM {C}) c WHERE {g}",
	"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE {g}",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM c WHERE {g} RETURNING *",
	"INSERT INTO orders(idem, remaining) SELECT j.key, c.remaining FROM jobs j, {C} c WHERE {g}",
	"UPDATE seats SET fence = c.remaining FROM {C} c WHERE seats.id = '14A' AND {g}",
	"DELETE FROM seats USING {C} c WHERE seats.id = '14A' AND {g} RETURNING seats.id",
	"SELECT c.remaining FROM {C} c JOIN seats s ON {g}",
	"SELECT c.remaining, s.id FROM {C} c LEFT JOIN seats s ON {g}",
}

// generated are the guards beside each statement that may have one.
func guardStatements() (all []*statement) {
	for i, template := range guarded {
		for j, g := range guards {
			// All guards beside the first two, and beside the others in turn.
			if i >= 2 && (i+j)%4 != 0 {
				continue
			}
			sql := strings.ReplaceAll(strings.ReplaceAll(template, "{g}", g.sql), "{a}", "c")
			all = append(all, &statement{steps: []string{sql}, params: g.params})
		}
	}
	return all
}

// sources are FROM clauses with one or more calls. The alias c has a column remaining.
var sources = []string{
	"{C} c", "{C} c, jobs j", "jobs j, {C} c", "jobs j CROSS JOIN {C} c", "{C} c JOIN jobs j ON true", "jobs j JOIN {C} c ON j.id = 1", "jobs j JOIN {C} c ON j.n = c.remaining", "jobs j JOIN {C} c ON j.n = c.remaining AND j.id < 0",
	"{C} c LEFT JOIN jobs j ON j.n = c.remaining", "jobs j LEFT JOIN {C} c ON j.n = c.remaining", "jobs j LEFT JOIN {C} c ON false", "jobs j RIGHT JOIN {C} c ON j.n = c.remaining", "{C} c RIGHT JOIN jobs j ON c.remaining = j.n",
	"jobs j FULL JOIN {C} c ON j.n = c.remaining", "{C} c FULL JOIN nothing n ON n.id = c.remaining", "{C} c NATURAL JOIN tokens j", "{C} c JOIN tokens j USING (remaining)", "{C} c LEFT JOIN LATERAL (SELECT 1 AS id WHERE c.claimed) j ON true",
	"nothing n, {C} c", "{C} c, nothing n", "{C} c LEFT JOIN nothing n ON true", "nothing n LEFT JOIN {C} c ON true", "nothing n RIGHT JOIN {C} c ON true", "{C} c JOIN nothing n ON n.id = c.remaining",
	"{C} c, {D} d", "{C} c JOIN {D} d ON c.claimed", "{C} c LEFT JOIN {D} d ON c.claimed", "{C} c LEFT JOIN {D} d ON NOT c.claimed", "{C} c, {D} d, jobs j", "{C} c, {C} c2", "{C} c, {L} l",
	"jobs j, LATERAL {C} c", "jobs j, LATERAL (SELECT * FROM {C}) c", "jobs j, LATERAL (SELECT * FROM {C} WHERE j.id = 1) c", "jobs j, LATERAL from.claim('p' || j.id, 1, 10) c", "jobs j, from.claim('p', j.id, 10) c", "jobs j LEFT JOIN LATERAL from.claim('p', j.id, 10) c ON true",
	"(SELECT * FROM {C}) c", "(SELECT * FROM {C} x WHERE x.claimed) c, jobs j", "(SELECT * FROM {C} LIMIT 1) c", "(SELECT * FROM {C} LIMIT 0) c", "(SELECT * FROM {C} OFFSET 0) c, nothing n", "(SELECT DISTINCT * FROM {C}) c", "(SELECT * FROM (SELECT * FROM {C}) x) c",
	"(SELECT remaining, count(*) FROM {C} GROUP BY remaining) c", "(SELECT * FROM {C} UNION ALL SELECT * FROM {D}) c", "(SELECT * FROM {C} ORDER BY remaining) c", "(jobs j CROSS JOIN {C} c)", "(jobs j JOIN ({C} c JOIN seats s ON true) ON true)",
	"ROWS FROM ({C}) c", "ROWS FROM ({C}, {D}) c(a, remaining, claimed, b)", "{C} WITH ORDINALITY c", "generate_series(1, 2) g, {C} c", "{C} c, generate_series(1, 0) g", "generate_series(1, 2) g LEFT JOIN {C} c ON g = c.remaining", "{C} c CROSS JOIN unnest('{}'::int[]) g",
	"ready_jobs j, {C} c", "no_jobs j, {C} c", "owned j, {C} c", "secret j, {C} c", "missing j, {C} c", "parted j, {C} c", "{C} c, jobs j TABLESAMPLE SYSTEM (0)", "(VALUES (1), (2)) v(x), {C} c", "(SELECT 1 WHERE false) v, {C} c", "(SELECT 1 WHERE 1 = 0) v(x) JOIN {C} c ON true", "(SELECT 1 LIMIT 0) v CROSS JOIN {C} c",
	"{C} AS c(a, remaining)", "jobs j, from.claim((SELECT max(x.key) FROM jobs x), 1, 10) c", "from.claim('p', (SELECT count(*) FROM jobs), 10) c", "from.claim(n => 2, pool => 'p', capacity => 10) c", "from.claim('p', 0, 10) c, jobs j", "from.claim(NULL, 1, 10) c, jobs j", "nothing n, from.claim('p', 0, 10) c", "nothing n, from.claim('p', 1 / (SELECT count(*) FROM nothing), 10) c",
	"from.claim('p', nextval('sq'), 10) c, jobs j", "jobs j, from.claim('p', yes_v()::int, 10) c", "from.claim('p', random()::int + 1, 0) c, nothing n",
}

// queries get each of the sources. {f} is its place.
var queries = []string{
	"SELECT c.remaining FROM {f}",
	"SELECT count(*) FROM {f}",
	"WITH w AS (SELECT c.remaining FROM {f}) SELECT * FROM w",
	"SELECT 1 FROM {f} WHERE c.remaining IS NOT NULL",
	"INSERT INTO orders(remaining) SELECT c.remaining FROM {f}",
}

func sourceStatements() (all []*statement) {
	for _, query := range queries {
		for _, source := range sources {
			all = append(all, &statement{steps: []string{strings.ReplaceAll(query, "{f}", source)}})
		}
	}
	return all
}

// tails are what may follow FROM, with the SELECT list that it needs; {f} is the FROM.
var tails = []struct {
	sql    string
	params []string
}{
	{"SELECT c.remaining {f} LIMIT 1", nil}, {"SELECT c.remaining {f} LIMIT 0", nil}, {"SELECT c.remaining {f} LIMIT 1 + 0", nil}, {"SELECT c.remaining {f} LIMIT 1 - 1", nil}, {"SELECT c.remaining {f} LIMIT ALL", nil}, {"SELECT c.remaining {f} LIMIT NULL", nil},
	{"SELECT c.remaining {f} LIMIT (SELECT 0)", nil}, {"SELECT c.remaining {f} LIMIT (SELECT count(*) FROM nothing)", nil}, {"SELECT c.remaining {f} LIMIT $1", []string{"0"}}, {"SELECT c.remaining {f} LIMIT $1", []string{"1"}}, {"SELECT c.remaining {f} LIMIT $1::int", []string{"0"}}, {"SELECT c.remaining {f} LIMIT -1", nil},
	{"SELECT c.remaining {f} OFFSET 1", nil}, {"SELECT c.remaining {f} OFFSET 10", nil}, {"SELECT c.remaining {f} LIMIT 1 OFFSET 1", nil}, {"SELECT c.remaining {f} LIMIT 0 OFFSET 1", nil}, {"SELECT c.remaining {f} OFFSET $1", []string{"5"}}, {"SELECT c.remaining {f} LIMIT 10 OFFSET 0", nil}, {"SELECT c.remaining {f} OFFSET -1", nil},
	{"SELECT c.remaining {f} FETCH FIRST ROW ONLY", nil}, {"SELECT c.remaining {f} FETCH FIRST 0 ROWS ONLY", nil}, {"SELECT c.remaining {f} ORDER BY c.remaining FETCH FIRST 1 ROW WITH TIES", nil}, {"SELECT c.remaining {f} ORDER BY 1 FETCH FIRST 0 ROWS WITH TIES", nil},
	{"SELECT c.remaining {f} ORDER BY 1", nil}, {"SELECT c.remaining {f} ORDER BY c.remaining DESC LIMIT 1", nil}, {"SELECT c.remaining {f} ORDER BY 1 LIMIT 0", nil}, {"SELECT 1 {f} ORDER BY c.remaining, 1 / 0", nil},
	{"SELECT DISTINCT c.remaining {f}", nil}, {"SELECT DISTINCT ON (c.remaining) c.remaining {f}", nil}, {"SELECT c.remaining, count(*) {f} GROUP BY c.remaining", nil}, {"SELECT count(*) {f} HAVING false", nil}, {"SELECT count(*) {f} HAVING count(*) > 100", nil}, {"SELECT count(*) {f} HAVING 1 = 0", nil}, {"SELECT 1 {f} HAVING true", nil}, {"SELECT 1 {f} HAVING false", nil},
	{"SELECT c.remaining, count(*) {f} GROUP BY GROUPING SETS ((c.remaining), ())", nil}, {"SELECT count(*) {f} GROUP BY ()", nil}, {"SELECT c.remaining, count(*) {f} GROUP BY ROLLUP (c.remaining) HAVING c.remaining IS NULL", nil}, {"SELECT max(c.remaining) {f}", nil}, {"SELECT c.remaining, row_number() OVER () {f}", nil}, {"SELECT sum(c.remaining) OVER (ORDER BY c.remaining) {f}", nil},
	{"SELECT c.remaining {f} FOR UPDATE", nil}, {"SELECT c.remaining {f} FOR UPDATE OF c", nil}, {"SELECT c.remaining {f} FOR SHARE", nil}, {"SELECT c.remaining {f} UNION ALL SELECT 1", nil}, {"SELECT 1 WHERE false UNION ALL SELECT c.remaining {f}", nil}, {"SELECT c.remaining {f} UNION SELECT 9", nil}, {"SELECT c.remaining {f} EXCEPT SELECT 9", nil}, {"SELECT 1 WHERE false INTERSECT SELECT c.remaining {f}", nil},
	{"SELECT c.remaining, generate_series(1, 2) {f}", nil}, {"SELECT c.remaining, generate_series(1, 0) {f}", nil}, {"SELECT c.remaining, unnest(ARRAY[1, 2]) {f} LIMIT 1", nil}, {"SELECT {f}", nil}, {"SELECT c {f}", nil}, {"SELECT c.* {f}", nil}, {"SELECT to_jsonb(c.*) {f}", nil}, {"SELECT 1 / (c.remaining - 9) {f}", nil}, {"SELECT c.remaining / 0 {f}", nil}, {"SELECT 1 / 0 {f}", nil},
	{"SELECT (SELECT c.remaining) {f}", nil}, {"SELECT (SELECT count(*) FROM jobs x WHERE x.n = c.remaining) {f}", nil}, {"SELECT EXISTS (SELECT 1 {f})", nil}, {"SELECT (SELECT c.remaining {f} LIMIT 1)", nil}, {"SELECT ARRAY(SELECT c.remaining {f})", nil}, {"SELECT 1 WHERE EXISTS (SELECT 1 {f})", nil}, {"SELECT 1 WHERE false AND EXISTS (SELECT 1 {f})", nil},
	{"SELECT CASE WHEN false THEN (SELECT c.remaining {f} LIMIT 1) END", nil}, {"SELECT COALESCE(1, (SELECT c.remaining {f} LIMIT 1))", nil}, {"SELECT c.remaining, now() IS NULL {f}", nil}, {"SELECT c.remaining, pg_typeof(c.remaining) {f}", nil}, {"SELECT c.remaining, nextval('sq') {f}", nil}, {"SELECT * FROM (SELECT c.remaining {f} LIMIT 0) q", nil}, {"SELECT * FROM (SELECT c.remaining {f}) q LIMIT 0", nil}, {"SELECT * FROM (SELECT c.remaining {f}) q WHERE false", nil},
	{"SELECT * FROM (SELECT c.remaining {f}) q WHERE q.remaining = 1 AND q.remaining = 2", nil}, {"SELECT j.id FROM jobs j WHERE j.n IN (SELECT c.remaining {f})", nil}, {"SELECT j.id FROM jobs j WHERE EXISTS (SELECT 1 {f}) AND j.id < 0", nil}, {"SELECT j.id, (SELECT max(c.remaining) {f}) FROM jobs j", nil}, {"SELECT j.id FROM jobs j ORDER BY (SELECT max(c.remaining) {f})", nil}, {"TABLE nothing UNION ALL SELECT c.remaining::int, '' {f}", nil},
}

func tailStatements() (all []*statement) {
	for _, from := range []string{"FROM {C} c", "FROM {C} c, jobs x3"} {
		for _, tail := range tails {
			all = append(all, &statement{steps: []string{strings.ReplaceAll(tail.sql, "{f}", from)}, params: tail.params})
		}
	}
	for i, tail := range tails {
		if i%2 == 0 && !strings.Contains(tail.sql, "FOR ") {
			all = append(all, &statement{steps: []string{"WITH c AS (SELECT * FROM {C}) " + strings.ReplaceAll(tail.sql, "{f}", "FROM c")}, params: tail.params})
		}
	}
	return all
}

// around are expressions with a call {x} of type bigint: those that always evaluate it,
// and those that may not.
var around = []string{
	"{x}", "{x} + 1", "1 - {x}", "-{x}", "{x}::text", "CAST({x} AS numeric)", "{x} || 'a'", "'a' || {x}", "{x} > 5", "{x} = NULL", "NULL = {x}", "NULL + {x}", "{x} IS NULL", "{x} IS NOT NULL", "NOT {x} > 5", "{x} IN (1, 2)", "1 IN (2, {x})", "1 IN (1, {x})", "{x} BETWEEN 1 AND 2", "1 BETWEEN 2 AND {x}",
	"COALESCE({x}, 1)", "COALESCE(1, {x})", "COALESCE(NULL, {x})", "COALESCE(NULL::bigint, {x}, 5)", "NULLIF({x}, 1)", "NULLIF(1, {x})", "GREATEST({x}, 1)", "GREATEST(1, {x})", "LEAST(NULL, {x})", "CASE WHEN {x} > 5 THEN 1 END", "CASE WHEN true THEN 1 ELSE {x} END", "CASE WHEN false THEN {x} ELSE 1 END", "CASE WHEN true THEN {x} END", "CASE {x} WHEN 1 THEN 2 ELSE 3 END", "CASE 1 WHEN {x} THEN 2 END", "CASE WHEN no_s() THEN {x} END",
	"{x} > 5 AND true", "{x} > 5 AND false", "true AND {x} > 5", "false AND {x} > 5", "no_s() AND {x} > 5", "{x} > 5 OR true", "true OR {x} > 5", "false OR {x} > 5", "{x} < 5 OR yes_s()", "yes_s() OR {x} > 5", "NULL AND {x} > 5", "NULL OR {x} > 5",
	"ARRAY[{x}, 1]", "ROW({x}, 1)", "({x}, 1)", "(ARRAY[1, 2])[{x} - 7]", "(SELECT {x})", "(SELECT {x} WHERE false)", "EXISTS (SELECT {x})", "ARRAY(SELECT {x})", "1 IN (SELECT {x})", "{x} IN (SELECT n FROM jobs)", "upper({x}::text)", "abs({x})", "to_jsonb({x})", "format('%s %s', {x}, {x})", "concat({x}, NULL)", "nullif({x}, {x})", "generate_series(1, {x})", "generate_series({x}, 10)", "count({x})", "max({x})", "sum({x}) OVER ()",
	"{x} / 0", "1 / ({x} - 9)", "{x} IS DISTINCT FROM NULL", "{x} = ANY ('{1,2}')", "{x} = ANY (NULL::int[])", "'x' LIKE {x}::text", "{x}::int::boolean", "{x}::posint", "(-{x})::posint", "{x}::text::date", "{x} COLLATE \"C\"", "length({x}::text) + {y}", "{x} + {y}", "{x} = {y}", "COALESCE({x}, {y})", "GREATEST({x}, {y})", "{x} > 5 AND {y} > 1", "{x} > 100 AND {y} > 1", "{x} > 5 OR {y} > 1", "no_i()::int + {x}", "yes_v()::int + {x}",
}

// values are calls of type bigint.
var (
	valueX = "(row.claim('p', 1, 10)).remaining"
	valueY = "(row.claim('q', 2, 5)).remaining"
)

// lists get each of the expressions. {e} is its place.
var lists = []string{
	"SELECT {e}",
	"SELECT {e} AS v, 1 WHERE true",
	"VALUES ({e})",
	"SELECT id, {e} FROM jobs",
}

func expressionStatements() (all []*statement) {
	for i, list := range lists {
		for j, e := range around {
			if i == 1 && j%3 != 0 {
				continue
			}
			sql := strings.NewReplacer("{x}", valueX, "{y}", valueY).Replace(strings.Replace(list, "{e}", e, 1))
			all = append(all, &statement{steps: []string{sql}})
		}
	}
	// Calls whose scalar is their only column.
	for _, e := range []string{"{x}", "NOT {x}", "{x} AND true", "true AND {x}", "false AND {x}", "{x} AND false", "{x} OR true", "true OR {x}", "{x} IS TRUE", "{x} = NULL", "COALESCE({x}, true)", "COALESCE(true, {x})", "CASE WHEN {x} THEN 1 ELSE 2 END", "CASE WHEN true THEN 1 WHEN {x} THEN 2 END", "{x}::text", "{x}::int"} {
		for _, list := range []string{"SELECT {e}", "SELECT id, {e} FROM jobs ORDER BY id", "INSERT INTO orders(idem) SELECT ({e})::text", "INSERT INTO orders(idem) VALUES (({e})::text)"} {
			all = append(all, &statement{steps: []string{strings.ReplaceAll(strings.Replace(list, "{e}", e, 1), "{x}", "json.release('k', 5)")}})
		}
	}
	return all
}

// perRow are statements over tables whose SELECT list has a call; {x} is the call.
var perRow = []string{
	"SELECT id, {x} FROM jobs", "SELECT id, {x} FROM jobs ORDER BY id DESC", "SELECT id, {x} FROM jobs ORDER BY n LIMIT 1", "SELECT id, {x} FROM jobs LIMIT 0", "SELECT id, {x} FROM jobs ORDER BY id OFFSET 1", "SELECT id, {x} FROM jobs ORDER BY id LIMIT 1 OFFSET 1", "SELECT id, {x} FROM jobs ORDER BY id OFFSET 5", "SELECT id, {x} FROM jobs WHERE false", "SELECT id, {x} FROM jobs WHERE id = 1", "SELECT id, {x} FROM nothing", "SELECT id, {x} FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10",
	"SELECT id, {x} AS v FROM jobs ORDER BY v", "SELECT id, {x} FROM jobs ORDER BY 2", "SELECT DISTINCT {x} FROM jobs", "SELECT DISTINCT id, {x} FROM jobs", "SELECT DISTINCT ON (state) id, {x} FROM jobs ORDER BY state, id", "SELECT state, {x} FROM jobs GROUP BY state", "SELECT count(*), {x} FROM jobs", "SELECT id, row_number() OVER (ORDER BY id), {x} FROM jobs ORDER BY id", "SELECT id, {x} FROM jobs UNION ALL SELECT 1, NULL", "SELECT id, {x} FROM jobs FOR UPDATE", "SELECT id, {x} FROM jobs ORDER BY id FETCH FIRST 1 ROW WITH TIES", "SELECT id, {x}, generate_series(1, 2) FROM jobs ORDER BY id", "SELECT id, {x}, generate_series(1, 0) FROM jobs",
	"SELECT j.id, s.id, {x} FROM jobs j JOIN seats s ON j.n = s.fence", "SELECT j.id, {x} FROM jobs j LEFT JOIN seats s ON j.n = s.fence ORDER BY j.id", "SELECT q.id, {x} FROM (SELECT id FROM jobs ORDER BY id LIMIT 2) q", "SELECT * FROM (SELECT id, {x} FROM jobs) q", "SELECT id FROM (SELECT id, {x} FROM jobs) q", "WITH w AS (SELECT id, {x} FROM jobs) SELECT * FROM w", "WITH w AS (SELECT id, {x} FROM jobs) SELECT 1", "WITH w AS (SELECT id, {x} FROM jobs) SELECT count(*) FROM w", "SELECT g, {x} FROM generate_series(1, 3) g", "SELECT g, {x} FROM generate_series(1, 3) WITH ORDINALITY g(g, o) WHERE o > 1", "SELECT v, {x} FROM (VALUES (1), (2)) t(v)", "SELECT id, {x} FROM jobs TABLESAMPLE SYSTEM (100)",
	"INSERT INTO orders(idem) SELECT ({x})::text || id FROM jobs", "SELECT id, {x} INTO TEMP made FROM jobs", "SELECT id, {x} FROM ready_jobs ORDER BY id", "SELECT id, {x} FROM owned", "SELECT id, {x} FROM secret", "SELECT id, {x} FROM parted ORDER BY id", "SELECT id, 1 / (id - 2), {x} FROM jobs ORDER BY id", "SELECT id, {x}, 1 / (id - 2) FROM jobs ORDER BY id", "SELECT id, {x}, nextval('sq') FROM jobs ORDER BY id", "SELECT nextval('sq'), {x} FROM jobs ORDER BY id", "SELECT id, {x} FROM jobs WHERE 1 / 0 > 0", "SELECT id, {x} FROM jobs WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')", "SELECT id, {x} FROM jobs WHERE yes_v() ORDER BY id",
}

func perRowStatements() (all []*statement) {
	for _, template := range perRow {
		for _, x := range []string{"json.claim('p', 1, 10)", "json.acquire('k', 60000)", "(row.claim('p', 1, 10)).remaining", "json.release('k', 5)"} {
			all = append(all, &statement{steps: []string{strings.ReplaceAll(template, "{x}", x)}, perRow: true})
		}
		if strings.Contains(template, "FROM jobs") && strings.Contains(template, "SELECT id") {
			all = append(all, &statement{steps: []string{strings.ReplaceAll(template, "{x}", "json.acquire('k' || id, 60000)")}, perRow: true})
		}
	}
	return all
}
