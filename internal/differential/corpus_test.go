package differential

import "strings"

// section is a part of the corpus.
type section struct {
	name       string
	statements []*statement
}

// corpus is every statement once, by what it is about. Steps are divided by " ;; ", and
// what may be gone after an error follows " -- keeps ";
// placeOf and shorthands say how calls are written.
func corpus() []section {
	sections := []section{
		{"certain", certain()},
		{"guards", guardStatements()},
		{"sources", sourceStatements()},
		{"tails", tailStatements()},
		{"expressions", expressionStatements()},
		{"rows", perRowStatements()},
		{"with", texts(withQueries)},
		{"writes", texts(writing)},
		{"refused places", texts(places)},
		{"locks", texts(locking)},
		{"utilities", texts(utilities)},
		{"explain", explained()},
		{"parameters", parameterStatements()},
		{"transactions", texts(transactions)},
		{"failures", failing()},
		{"left of a call", texts(leftOfCalls)},
		{"pipelines", pipelines()},
	}
	seen := map[string]bool{}
	for i := range sections {
		var once []*statement
		for _, s := range sections[i].statements {
			if !seen[s.String()] {
				seen[s.String()] = true
				once = append(once, s)
			}
		}
		sections[i].statements = once
	}
	return sections
}

func texts(all []string) (statements []*statement) {
	for _, text := range all {
		text, keeps, _ := strings.Cut(text, " -- keeps ")
		statements = append(statements, &statement{steps: strings.Split(text, " ;; "), keeps: keeps})
	}
	return statements
}

// certain are forms of which it is promised that they are answered.
func certain() (all []*statement) {
	for _, text := range []string{
		"SELECT * FROM {C} c",
		"SELECT * FROM {L} l WHERE l.acquired",
		"SELECT c.remaining, j.id FROM {C} c, jobs j",
		"SELECT c.remaining, j.id FROM jobs j, {C} c WHERE c.claimed",
		"SELECT c.remaining, j.id FROM jobs j JOIN {C} c ON j.n = c.remaining",
		"SELECT c.remaining, j.id FROM {C} c LEFT JOIN jobs j ON j.n = c.remaining",
		"SELECT c.remaining, j.id FROM jobs j RIGHT JOIN {C} c ON j.n = c.remaining",
		"SELECT c.remaining FROM {C} c, jobs j LIMIT 1",
		"SELECT * FROM (SELECT * FROM {C} c WHERE c.claimed) q, jobs",
		"WITH c AS (SELECT * FROM {C}) SELECT * FROM c",
		"WITH c AS (SELECT * FROM {C}) SELECT c.remaining, j.id FROM c, jobs j WHERE c.claimed",
		"SELECT {c}", "SELECT {c}, {l}", "SELECT json.release('k', 1)", "SELECT {c}->>'remaining'", "SELECT (row.claim('p', 1, 10)).remaining", "SELECT json.release('k', 1)::text, upper('x')",
		"SELECT {c} || '{\"a\": 1}'", "SELECT (row.claim('p', 1, 10)).remaining > (SELECT count(*) FROM jobs)",
		"VALUES ({c})", "VALUES ({c}), ({c})", "VALUES (1, {c}), (2, {d})",
		"INSERT INTO orders(idem, remaining) VALUES ('new', (row.claim('p', 1, 10)).remaining)",
		"INSERT INTO orders(idem, remaining) VALUES ('a', (row.claim('p', 1, 10)).remaining), ('b', (row.claim('p', 1, 10)).remaining)",
		"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE c.claimed RETURNING idem, remaining",
		"INSERT INTO orders(idem, remaining) SELECT j.key, c.remaining FROM jobs j, {C} c WHERE c.claimed",
		"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM c WHERE c.claimed RETURNING *",
		"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
		"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new')",
		"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = 'new')",
		"SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
		"SELECT * FROM {C} c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
		"SELECT * FROM {C} c WHERE 1 = 0", "SELECT c.* FROM {C} c, jobs WHERE false",
		"UPDATE seats SET fence = l.token FROM {L} l WHERE l.acquired AND seats.id = '14A'",
		"WITH l AS (SELECT * FROM from.acquire('k:' || '14A', 5000)) UPDATE seats SET buyer = 'alice', fence = l.token FROM l WHERE l.acquired AND seats.id = '14A' AND coalesce(seats.fence, 0) < l.token RETURNING seats.id",
		"DELETE FROM seats USING {L} l WHERE l.acquired AND seats.fence > l.token RETURNING seats.id",
		"SELECT id, json.acquire('k' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10",
		"SELECT id, (row.acquire('k' || id, 60000)).token FROM jobs ORDER BY id", "SELECT id, json.acquire('k' || id, 60000)->>'token' FROM jobs ORDER BY id DESC LIMIT 1", "SELECT id, {c} FROM jobs ORDER BY id LIMIT 2",
		"COPY (SELECT * FROM {C}) TO STDOUT", "COPY (SELECT json.acquire('it''s', 1000), json.acquire(E'b\\\\k', 1000)) TO STDOUT",
		"SELECT id FROM jobs ;; SELECT c.remaining, j.id FROM jobs j, {C} c ORDER BY j.id",
		"BEGIN ;; SELECT c.remaining, j.id FROM jobs j, {C} c ORDER BY j.id ;; ROLLBACK ;; SELECT * FROM {C} c",
	} {
		all = append(all, &statement{steps: strings.Split(text, " ;; "), certain: true})
	}
	for _, s := range []*statement{
		{steps: []string{"SELECT * FROM from.claim($1, $2, 10) c"}, params: []string{"p", "1"}},
		{steps: []string{"INSERT INTO orders(idem, remaining) SELECT $1, c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $1)"}, params: []string{"seen"}},
		{steps: []string{"INSERT INTO orders(idem, remaining) SELECT $1, c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $1)"}, params: []string{"new"}},
		{steps: []string{"SELECT id, json.acquire($1 || id, 60000) FROM jobs ORDER BY id"}, params: []string{"k"}},
	} {
		s.certain = true
		all = append(all, s)
	}
	return all
}

var withQueries = []string{
	"WITH c AS (SELECT * FROM {C}) SELECT 1",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM c a, c b",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM c UNION ALL SELECT * FROM c",
	"WITH c AS MATERIALIZED (SELECT * FROM {C}) SELECT * FROM c a, c b",
	"WITH c AS NOT MATERIALIZED (SELECT * FROM {C}) SELECT a.remaining FROM c a, c b",
	"WITH c AS MATERIALIZED (SELECT * FROM {C}) SELECT * FROM c",
	"WITH c AS NOT MATERIALIZED (SELECT * FROM {C}) SELECT * FROM c",
	"WITH c AS MATERIALIZED (SELECT * FROM {C}) SELECT * FROM c LIMIT 0",
	"WITH c AS MATERIALIZED (SELECT * FROM {C}) SELECT * FROM c, nothing",
	"WITH c AS MATERIALIZED (SELECT * FROM {C}) SELECT * FROM nothing LEFT JOIN c ON true",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs j LEFT JOIN c ON c.remaining = j.n",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs j LEFT JOIN c ON false",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT * FROM c) SELECT * FROM d",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT * FROM c) SELECT * FROM c",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT * FROM c) SELECT 1",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT * FROM c WHERE c.claimed) SELECT * FROM d, jobs",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT * FROM {D}) SELECT * FROM c, d",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT d.* FROM c, {D} d WHERE c.claimed) SELECT * FROM d",
	"WITH c AS (SELECT * FROM {C}), d AS (SELECT d.* FROM {D} d WHERE EXISTS (SELECT 1 FROM c)) SELECT * FROM d",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM {D} d WHERE EXISTS (SELECT 1 FROM c WHERE c.claimed)",
	"WITH orders AS (SELECT 1 AS idem WHERE false) SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o)",
	"WITH orders AS (SELECT 1 AS idem) SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o)",
	"WITH o AS (SELECT * FROM orders) SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.idem = 'seen')",
	"WITH c AS (SELECT * FROM {C}) SELECT COALESCE((SELECT n FROM jobs WHERE id = 1), (SELECT remaining FROM c))",
	"WITH c AS (SELECT * FROM {C}) SELECT COALESCE((SELECT n FROM jobs WHERE id = 70), (SELECT remaining FROM c))",
	"WITH c AS (SELECT * FROM {C}) SELECT CASE WHEN false THEN (SELECT remaining FROM c) END",
	"WITH c AS (SELECT * FROM {C}) SELECT CASE WHEN id = 70 THEN (SELECT remaining FROM c) END FROM jobs",
	"WITH c AS (SELECT * FROM {C}) SELECT (SELECT remaining FROM c)",
	"WITH c AS (SELECT * FROM {C}) SELECT (SELECT remaining FROM c) FROM jobs",
	"WITH c AS (SELECT * FROM {C}) SELECT (SELECT remaining FROM c) FROM nothing",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs WHERE n = (SELECT remaining FROM c)",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs WHERE n IN (SELECT remaining FROM c)",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs WHERE EXISTS (SELECT 1 FROM c)",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs WHERE false AND EXISTS (SELECT 1 FROM c)",
	"WITH c AS (SELECT * FROM {C}) SELECT 1 WHERE EXISTS (SELECT 1 FROM c WHERE c.claimed)",
	"WITH c AS (SELECT * FROM {C}) SELECT 1 WHERE 1 = 0 AND (SELECT claimed FROM c)",
	"WITH c AS (SELECT * FROM {C} LIMIT 0) SELECT * FROM c",
	"WITH c AS (SELECT * FROM {C} WHERE false) SELECT * FROM c",
	"WITH c AS (SELECT * FROM {C} ORDER BY 1 LIMIT 1) SELECT * FROM c",
	"WITH c AS (SELECT {c} AS v) SELECT v FROM c",
	"WITH c AS (SELECT {c} AS v) SELECT 1 FROM c",
	"WITH c AS (SELECT {c} AS v) SELECT v->>'remaining', v->>'claimed' FROM c",
	"WITH c AS (SELECT {c} AS v) SELECT v FROM c WHERE false",
	"WITH c AS (SELECT {c} AS v) SELECT v FROM c LIMIT 0",
	"WITH c AS (VALUES ({c})) SELECT * FROM c",
	"WITH c AS (VALUES ({c}), ({c})) SELECT * FROM c",
	"WITH c AS (VALUES ({c}), ({c})) SELECT 1 FROM c",
	"WITH c AS (VALUES ({c}), ({c})) SELECT * FROM c LIMIT 1",
	"WITH c AS (SELECT id, {c} AS v FROM jobs) SELECT * FROM c",
	"WITH c AS (SELECT id, {c} AS v FROM jobs) SELECT id FROM c",
	"WITH c AS (SELECT id, {c} AS v FROM jobs) SELECT * FROM c LIMIT 1",
	"WITH c AS (SELECT id, {c} AS v FROM jobs) SELECT * FROM c WHERE id = 1",
	"WITH RECURSIVE c AS (SELECT * FROM {C}) SELECT * FROM c",
	"WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 3) SELECT i, c.remaining FROM t, {C} c",
	"WITH RECURSIVE t(i) AS (SELECT remaining FROM {C} UNION ALL SELECT i - 1 FROM t WHERE i > 7) SELECT i FROM t",
	"WITH RECURSIVE t(i) AS (SELECT 1::bigint UNION ALL SELECT i + c.remaining FROM t, {C} c WHERE i < 30) SELECT i FROM t",
	"WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 3) SELECT i, {c} FROM t",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c RETURNING idem) SELECT 1",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c RETURNING idem) SELECT * FROM w",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c RETURNING idem) SELECT * FROM w WHERE false",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c RETURNING idem) SELECT * FROM w LIMIT 0",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c RETURNING idem) SELECT a.* FROM w a, w b",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen') RETURNING idem) SELECT * FROM w",
	"WITH w AS (INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c WHERE c.claimed RETURNING idem) SELECT * FROM w WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
	"WITH w AS (UPDATE seats SET fence = c.remaining FROM {C} c WHERE id = '14A' RETURNING id) SELECT 1 WHERE false",
	"WITH w AS (DELETE FROM seats USING {C} c WHERE id = '14A' AND c.claimed RETURNING id) SELECT * FROM w, jobs",
	"WITH w AS (DELETE FROM orders RETURNING idem) SELECT * FROM {C} c",
	"WITH w AS (DELETE FROM orders RETURNING idem) SELECT * FROM {C} c, w",
	"WITH w AS (DELETE FROM orders RETURNING idem) SELECT * FROM {C} c WHERE EXISTS (SELECT 1 FROM w)",
	"WITH w AS (DELETE FROM orders RETURNING idem) SELECT * FROM {C} c WHERE EXISTS (SELECT 1 FROM orders o)",
	"WITH w AS (INSERT INTO orders(idem) VALUES ('new') RETURNING idem) SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new')",
	"WITH w AS (INSERT INTO orders(idem) VALUES ('seen') RETURNING idem) SELECT * FROM {C} c",
	"WITH c AS (SELECT * FROM {C}), w AS (INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM c RETURNING idem) SELECT 1",
	"WITH c AS (SELECT * FROM {C}), w AS (INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM c WHERE claimed RETURNING idem) SELECT * FROM c",
	"WITH c AS (SELECT * FROM {C}), w AS (INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM c WHERE 1 = 0 RETURNING idem) SELECT * FROM w",
	"SELECT * FROM (WITH c AS (SELECT * FROM {C}) SELECT * FROM c) q",
	"SELECT * FROM (WITH c AS (SELECT * FROM {C}) SELECT 1) q",
	"SELECT * FROM jobs j, LATERAL (WITH c AS (SELECT * FROM {C}) SELECT * FROM c) q",
	"SELECT * FROM jobs j, LATERAL (WITH c AS (SELECT * FROM {C}) SELECT * FROM c WHERE j.id = 1) q",
	"WITH a AS (WITH b AS (SELECT * FROM {C}) SELECT * FROM b) SELECT * FROM a",
	"WITH a AS (WITH b AS (SELECT * FROM {C}) SELECT 1) SELECT * FROM a",
	"WITH a AS (WITH b AS (SELECT * FROM {C}) SELECT * FROM b, b b2) SELECT * FROM a",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM (SELECT * FROM c) x",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM jobs j JOIN LATERAL (SELECT * FROM c WHERE j.id = 70) x ON true",
	"WITH jobs AS (SELECT * FROM {C}) SELECT * FROM jobs",
	"WITH jobs AS (SELECT * FROM {C}) SELECT * FROM public.jobs",
	"WITH c AS (SELECT * FROM {C}) SELECT * FROM c FOR UPDATE",
	"WITH c(a, b) AS (SELECT * FROM {C}) SELECT b FROM c WHERE a",
	"WITH c AS (SELECT * FROM {C}) SELECT remaining, {d} FROM c",
	"WITH c AS (SELECT * FROM {C}) SELECT remaining, {d} FROM c WHERE remaining > 100",
	"WITH c AS (SELECT * FROM {C}) VALUES (1)",
	"WITH c AS (SELECT * FROM {C}) VALUES ((SELECT remaining FROM c))",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(remaining) VALUES (1)",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(remaining) VALUES ((SELECT remaining FROM c))",
	"WITH c AS (SELECT * FROM {C}) UPDATE seats SET fence = (SELECT remaining FROM c)",
	"WITH c AS (SELECT * FROM {C}) UPDATE seats SET fence = (SELECT remaining FROM c) WHERE false",
	"WITH c AS (SELECT * FROM {C}) UPDATE seats SET fence = 1 WHERE id = '14A'",
	"WITH c AS (SELECT * FROM {C}) DELETE FROM seats WHERE fence = (SELECT remaining FROM c)",
	"WITH c AS (SELECT * FROM {C}) DELETE FROM seats USING c WHERE NOT c.claimed",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM c ON CONFLICT DO NOTHING",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM c ON CONFLICT (idem) DO UPDATE SET remaining = excluded.remaining RETURNING *",
	"WITH c AS (SELECT * FROM {C}) INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM c ON CONFLICT DO NOTHING RETURNING *",
}

var writing = []string{
	"INSERT INTO orders(remaining) VALUES ((row.claim('p', 1, 10)).remaining)",
	"INSERT INTO orders(idem, remaining) VALUES ('new', (row.claim('p', 1, 10)).remaining) RETURNING *",
	"INSERT INTO orders(idem, remaining) VALUES ('seen', (row.claim('p', 1, 10)).remaining) ON CONFLICT DO NOTHING",
	"INSERT INTO orders(idem, remaining) VALUES ('seen', 1) ON CONFLICT (idem) DO UPDATE SET remaining = (row.claim('p', 1, 10)).remaining",
	"INSERT INTO orders(idem, remaining) VALUES ('new', 1) ON CONFLICT (idem) DO UPDATE SET remaining = (row.claim('p', 1, 10)).remaining",
	"INSERT INTO orders(idem, remaining) VALUES ('new', 1) RETURNING {c}",
	"INSERT INTO orders(idem, remaining) SELECT 'new', 1 WHERE false RETURNING {c}",
	"INSERT INTO orders(idem, remaining) SELECT 'new', (row.claim('p', 1, 10)).remaining WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')",
	"INSERT INTO orders(idem, remaining) SELECT 'new', (row.claim('p', 1, 10)).remaining WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new')",
	"INSERT INTO orders(idem, remaining) SELECT key, (row.claim('p', 1, 10)).remaining FROM jobs",
	"INSERT INTO orders(idem, remaining) SELECT key, (row.claim('p', 1, 10)).remaining FROM jobs WHERE false",
	"INSERT INTO orders(idem, remaining) SELECT key, (row.claim('p', 1, 10)).remaining FROM jobs ORDER BY id LIMIT 2",
	"INSERT INTO orders SELECT 'new', 'p', c.remaining FROM {C} c",
	"INSERT INTO orders(idem, remaining) SELECT 'seen', c.remaining FROM {C} c ON CONFLICT DO NOTHING",
	"INSERT INTO orders(idem, remaining) SELECT 'seen', c.remaining FROM {C} c ON CONFLICT (idem) DO UPDATE SET remaining = excluded.remaining WHERE orders.remaining > 100",
	"INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c LIMIT 0",
	"INSERT INTO orders(idem, remaining) SELECT j.key, c.remaining FROM jobs j, {C} c, nothing n",
	"INSERT INTO orders(idem, remaining) SELECT j.key, c.remaining FROM jobs j LEFT JOIN {C} c ON j.id = 1",
	"INSERT INTO orders(idem, remaining) (SELECT 'a', remaining FROM {C}) UNION ALL (SELECT 'b', remaining FROM {C})",
	"INSERT INTO orders(idem, remaining) SELECT 'new', q.r FROM (SELECT (row.claim('p', 1, 10)).remaining AS r) q",
	"INSERT INTO orders(idem, remaining) SELECT 'new', q.r FROM (SELECT (row.claim('p', 1, 10)).remaining AS r) q WHERE q.r < 0",
	"INSERT INTO ready_jobs(id, key, n) SELECT 9, 'k9', c.remaining FROM {C} c",
	"INSERT INTO parted SELECT 3, c.remaining FROM {C} c",
	"INSERT INTO owned SELECT 3, 'alice' FROM {C} c",
	"INSERT INTO nothing(id) SELECT c.remaining FROM {C} c",
	"INSERT INTO orders(remaining, nope) SELECT c.remaining, 1 FROM {C} c",
	"INSERT INTO missing SELECT c.remaining FROM {C} c",
	"INSERT INTO orders DEFAULT VALUES RETURNING {c}",
	"UPDATE seats SET fence = (row.claim('p', 1, 10)).remaining",
	"UPDATE seats SET fence = (row.claim('p', 1, 10)).remaining WHERE false",
	"UPDATE seats SET fence = (row.claim('p', 1, 10)).remaining WHERE id = '14A'",
	"UPDATE seats SET fence = (SELECT remaining FROM {C})",
	"UPDATE seats SET fence = (SELECT remaining FROM {C}) WHERE id = 'none'",
	"UPDATE seats SET fence = c.remaining FROM {C} c",
	"UPDATE seats SET fence = c.remaining FROM {C} c WHERE fence > 100",
	"UPDATE seats SET fence = c.remaining FROM {C} c WHERE c.claimed AND id = '14A' RETURNING *",
	"UPDATE seats SET fence = c.remaining FROM {C} c, nothing WHERE seats.id = '14A'",
	"UPDATE seats s SET fence = c.remaining FROM jobs j, {C} c WHERE j.n = s.fence AND c.claimed",
	"UPDATE seats s SET fence = c.remaining FROM jobs j LEFT JOIN {C} c ON j.id = 1 WHERE j.n = s.fence",
	"UPDATE seats SET fence = c.remaining FROM {C} c WHERE false",
	"UPDATE seats SET fence = c.remaining FROM {C} c WHERE seats.id = '14A' AND seats.id = '14B'",
	"UPDATE seats SET fence = 1 WHERE fence > (row.claim('p', 1, 10)).remaining",
	"UPDATE seats SET fence = 1 WHERE EXISTS (SELECT 1 FROM {C} c WHERE c.claimed)",
	"UPDATE seats SET fence = 1 WHERE fence > 100 AND EXISTS (SELECT 1 FROM {C} c WHERE c.claimed)",
	"UPDATE seats SET fence = 1 WHERE id = '14A' RETURNING {c}",
	"UPDATE seats SET (buyer, fence) = (SELECT 'x', remaining FROM {C}) WHERE id = '14A'",
	"UPDATE nothing SET id = c.remaining FROM {C} c",
	"UPDATE parted SET v = c.remaining FROM {C} c WHERE id = 1",
	"UPDATE parted SET v = c.remaining FROM {C} c WHERE id = 100",
	"UPDATE owned SET id = c.remaining FROM {C} c WHERE id > 100",
	"UPDATE jobs SET n = c.remaining FROM {C} c WHERE key = 'k1'",
	"DELETE FROM seats USING {C} c WHERE c.claimed",
	"DELETE FROM seats USING {C} c WHERE c.claimed AND fence > 100",
	"DELETE FROM seats USING {C} c WHERE false",
	"DELETE FROM seats USING jobs j, {C} c WHERE j.n = seats.fence RETURNING seats.id, c.remaining",
	"DELETE FROM seats WHERE (row.claim('p', 1, 10)).claimed",
	"DELETE FROM seats WHERE fence > 100 AND (row.claim('p', 1, 10)).claimed",
	"DELETE FROM seats WHERE id = '14A' RETURNING {c}",
	"DELETE FROM nothing USING {C} c RETURNING c.remaining",
	"MERGE INTO seats s USING {C} c ON s.fence = c.remaining WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES ('new', 'x', c.remaining)",
	"MERGE INTO seats s USING {C} c ON s.fence = c.remaining WHEN MATCHED THEN DELETE",
	"MERGE INTO seats s USING {C} c ON s.id = '14A' WHEN MATCHED AND c.claimed THEN UPDATE SET fence = c.remaining",
	"MERGE INTO seats s USING {C} c ON false WHEN NOT MATCHED THEN INSERT VALUES ('new', 'x', c.remaining)",
	"MERGE INTO nothing s USING {C} c ON s.id = c.remaining WHEN MATCHED THEN DELETE",
	"MERGE INTO seats s USING (SELECT * FROM {C} WHERE claimed) c ON s.id = '14B' WHEN MATCHED THEN UPDATE SET fence = c.remaining",
	"MERGE INTO seats s USING (SELECT * FROM {C} WHERE 1 = 0) c ON s.id = '14B' WHEN MATCHED THEN UPDATE SET fence = c.remaining",
	"MERGE INTO seats s USING jobs j ON s.fence = j.n WHEN MATCHED THEN UPDATE SET fence = (row.claim('p', 1, 10)).remaining",
	"MERGE INTO seats s USING jobs j ON s.fence = j.n WHEN NOT MATCHED THEN INSERT VALUES (j.key, 'x', (row.claim('p', 1, 10)).remaining)",
	"MERGE INTO seats s USING jobs j ON s.fence = j.n AND (row.claim('p', 1, 10)).claimed WHEN MATCHED THEN DELETE",
	"WITH c AS (SELECT * FROM {C}) MERGE INTO seats s USING c ON s.id = '14B' WHEN MATCHED THEN UPDATE SET fence = c.remaining",
	"WITH c AS (SELECT * FROM {C}) MERGE INTO seats s USING jobs j ON s.fence = j.n WHEN MATCHED THEN DELETE",
	"CREATE TEMP TABLE made AS SELECT * FROM {C} c ;; SELECT * FROM made ;; DROP TABLE made",
	"CREATE TEMP TABLE made AS SELECT * FROM {C} c WITH NO DATA ;; SELECT * FROM made ;; DROP TABLE made",
	"SELECT * INTO TEMP made FROM {C} c ;; SELECT * FROM made ;; DROP TABLE made",
}

var places = []string{
	"SELECT * FROM jobs WHERE (row.claim('p', 1, 10)).claimed",
	"SELECT * FROM jobs WHERE id = 1 AND (row.claim('p', 1, 10)).claimed",
	"SELECT * FROM jobs WHERE id = 70 AND (row.claim('p', 1, 10)).claimed",
	"SELECT 1 WHERE (row.claim('p', 1, 10)).claimed",
	"SELECT 1 WHERE false AND (row.claim('p', 1, 10)).claimed",
	"SELECT 1 WHERE json.release('k', 5)",
	"SELECT * FROM jobs WHERE json.release('k', id)",
	"SELECT * FROM jobs j JOIN seats s ON json.release('k', 5)",
	"SELECT id FROM jobs ORDER BY json.release('k', id), id",
	"SELECT id FROM jobs ORDER BY id LIMIT (row.claim('p', 1, 10)).remaining",
	"SELECT id FROM jobs ORDER BY id OFFSET (row.claim('p', 1, 10)).remaining",
	"SELECT count(*) FROM jobs GROUP BY json.release('k', id)",
	"SELECT state FROM jobs GROUP BY state HAVING json.release('k', 5)",
	"SELECT count(*) FILTER (WHERE json.release('k', id)) FROM jobs",
	"SELECT sum(n) OVER (PARTITION BY json.release('k', id)) FROM jobs",
	"SELECT sum(n) OVER w FROM jobs WINDOW w AS (ORDER BY json.release('k', id))",
	"SELECT DISTINCT ON (json.release('k', id)) state FROM jobs",
	"SELECT count(json.release('k', id)) FROM jobs",
	"SELECT array_agg({c}) FROM jobs",
	"SELECT json.release('k', 5) OVER () FROM jobs",
	"SELECT json.release(DISTINCT 'k', 5)",
	"SELECT json.release('k', 5) FILTER (WHERE true)",
	"SELECT id, (SELECT {c}) FROM jobs ORDER BY id",
	"SELECT id, (SELECT {c} WHERE jobs.id = 1) FROM jobs ORDER BY id",
	"SELECT id, (SELECT c.remaining FROM {C} c) FROM jobs ORDER BY id",
	"SELECT id, (SELECT c.remaining FROM from.claim('p', jobs.id, 10) c) FROM jobs ORDER BY id",
	"SELECT id, EXISTS (SELECT 1 FROM {C} c) FROM jobs ORDER BY id",
	"SELECT id, CASE WHEN id = 1 THEN {c} END FROM jobs ORDER BY id",
	"SELECT id, COALESCE(n, (row.claim('p', 1, 10)).remaining) FROM jobs ORDER BY id",
	"SELECT id, COALESCE((row.claim('p', 1, 10)).remaining, n) FROM jobs ORDER BY id",
	"SELECT id, id = 1 AND json.release('k', 5) FROM jobs ORDER BY id",
	"SELECT id, json.release('k', 5) AND id = 1 FROM jobs ORDER BY id",
	"SELECT id, {c}->'remaining' FROM jobs ORDER BY id",
	"SELECT id, ({c}->>'remaining')::int + 1 FROM jobs ORDER BY id",
	"SELECT id, {c} - 'claimed' FROM jobs ORDER BY id",
	"SELECT id, {c}, {c} FROM jobs ORDER BY id",
	"SELECT id, {c}, {d} FROM jobs ORDER BY id",
	"SELECT id, {c} FROM jobs, {D} d ORDER BY id",
	"SELECT d.remaining, {c} FROM {D} d",
	"SELECT d.remaining, {c} FROM {D} d WHERE NOT d.claimed",
	"SELECT d.remaining, {c} FROM {D} d LIMIT 0",
	"SELECT {c} FROM jobs, nothing",
	"SELECT {c} WHERE false", "SELECT {c} WHERE 1 = 0", "SELECT {c} LIMIT 0", "SELECT {c} LIMIT 1", "SELECT {c} OFFSET 1", "SELECT {c} OFFSET 0", "SELECT {c} ORDER BY 1", "SELECT {c} ORDER BY 1 LIMIT 1", "SELECT DISTINCT {c}", "SELECT {c} UNION ALL SELECT {d}", "SELECT {c} UNION SELECT {c}", "SELECT {c} EXCEPT SELECT {c}", "SELECT {c} GROUP BY ()", "SELECT {c} HAVING true", "SELECT {c} HAVING false", "SELECT {c} FOR UPDATE",
	"SELECT {c}, generate_series(1, 3)", "SELECT {c}, generate_series(1, 0)", "SELECT {c}, unnest('{}'::int[])", "SELECT generate_series(1, 2), {c}, {d}", "SELECT {c}, abs(generate_series(1, 2))", "SELECT {c}, count(*)", "SELECT {c}, row_number() OVER ()", "SELECT {c}, (SELECT count(*) FROM jobs)", "SELECT {c}, (SELECT 1 / 0)", "SELECT {c}, 1 / (SELECT count(*) FROM nothing)", "SELECT {c}, random() IS NULL", "SELECT {c}, pg_sleep(0) IS NULL",
	"VALUES ({c}), (NULL)", "VALUES ({c}) LIMIT 0", "VALUES ({c}), ({c}) LIMIT 1", "VALUES ({c}), ({c}) OFFSET 1", "VALUES ({c}), ({c}), ({d}) ORDER BY 1", "VALUES (1, {c}), (1 / 0, {d})", "VALUES ({c}, 1 / (SELECT count(*) FROM nothing))", "VALUES (generate_series(1, 2), {c})", "SELECT * FROM (VALUES ({c}), ({d})) v", "SELECT * FROM (VALUES ({c}), ({d})) v(x) WHERE false", "SELECT * FROM (VALUES ({c}), ({d})) v(x) LIMIT 1", "SELECT 1 FROM (VALUES ({c})) v(x)", "SELECT * FROM jobs, (VALUES ({c})) v(x)", "SELECT * FROM nothing, (VALUES ({c})) v(x)", "VALUES ({c}) UNION ALL VALUES ({d})",
	"SELECT * FROM (SELECT {c}) q", "SELECT 1 FROM (SELECT {c}) q", "SELECT q.* FROM (SELECT {c} AS v) q, jobs", "SELECT q.* FROM (SELECT {c} AS v) q, nothing", "SELECT q.v, q.v FROM (SELECT {c} AS v) q", "SELECT q.v->'claimed', q.v->'remaining' FROM (SELECT {c} AS v) q", "SELECT q.v FROM (SELECT {c} AS v) q WHERE q.v IS NULL", "SELECT q.v FROM (SELECT {c} AS v) q WHERE q.v = NULL", "SELECT q.v FROM (SELECT {c} AS v) q LIMIT 0", "SELECT j.id, q.v FROM jobs j LEFT JOIN (SELECT {c} AS v) q ON j.id = 1", "SELECT j.id, q.v FROM jobs j, LATERAL (SELECT json.claim('p', j.id, 10) AS v) q", "SELECT * FROM (SELECT {c} OFFSET 0) q, nothing", "SELECT q.a FROM (SELECT 1 AS a, {c} AS v) q", "SELECT (SELECT v FROM (SELECT {c} AS v) q)",
	"SELECT raisin FROM json.release('k', 5) raisin", "SELECT * FROM json.restock('p', 1)", "SELECT * FROM {C} c, json.restock('p', c.remaining)", "SELECT * FROM {C} c, LATERAL json.restock('p', c.remaining) r", "SELECT json.restock('p', (row.claim('p', 1, 10)).remaining)", "SELECT json.release('k', (row.acquire('k', 1000)).token)", "SELECT * FROM from.claim('p', (row.claim('q', 2, 5)).remaining, 10)", "SELECT * FROM generate_series(1, (row.claim('p', 1, 10)).remaining)", "SELECT * FROM unnest(ARRAY[{c}, {d}]) u",
	"SELECT max((SELECT remaining FROM {C})) FROM jobs", "SELECT * FROM jobs WHERE n = (SELECT remaining FROM {C})", "SELECT * FROM jobs WHERE n IN (SELECT remaining FROM {C})", "SELECT * FROM jobs WHERE n NOT IN (SELECT remaining FROM {C})", "SELECT * FROM nothing WHERE id = (SELECT remaining FROM {C})", "SELECT * FROM jobs j WHERE EXISTS (SELECT 1 FROM {C} c WHERE c.remaining = j.n)", "SELECT 1 = (SELECT remaining FROM {C})", "SELECT ARRAY(SELECT remaining FROM {C})", "SELECT 1 FROM jobs HAVING (SELECT claimed FROM {C})",
	"TABLE jobs UNION ALL SELECT 1, 'a', 'b', remaining FROM {C}", "SELECT * FROM {C} UNION ALL SELECT * FROM {D}", "SELECT * FROM {C} INTERSECT SELECT * FROM {D}", "SELECT * FROM {C} WHERE false UNION ALL SELECT * FROM {D}", "(SELECT * FROM {C}) LIMIT 0", "(SELECT * FROM {C}) ORDER BY 1", "(SELECT * FROM {C} LIMIT 1) LIMIT 0", "((SELECT * FROM {C}))",
	"SELECT json.nope('k')", "SELECT json.release('k')", "SELECT json.release('k', 'x')", "SELECT json.release('k', 1.5)", "SELECT json.release(1, 1)", "SELECT json.release(NULL, 1)", "SELECT json.acquire('', 1)", "SELECT json.acquire('k', 0)", "SELECT {c}, json.acquire('k', 0)", "SELECT {C}.remaining", "SELECT * FROM {C} c(a, b, d)", "SELECT * FROM {C} AS c(a int)", "SELECT c.claimed.x FROM {C} c", "SELECT (c).remaining FROM {C} c", "SELECT c.*::text FROM {C} c", "SELECT row_to_json(c) FROM {C} c", "SELECT row_to_json(q) FROM (SELECT * FROM {C}) q", "SELECT count(c) FROM {C} c", "SELECT x.d FROM {C} c, LATERAL (SELECT c.remaining * 2 AS d) x", "SELECT c.remaining::posint FROM {C} c", "SELECT c.remaining + j.n FROM {C} c, jobs j ORDER BY j.id DESC", "SELECT c.remaining IN (SELECT n FROM jobs) FROM {C} c", "SELECT x.* FROM {C} c CROSS JOIN LATERAL (VALUES (c.remaining), (1)) x(v)", "SELECT c.remaining, g FROM {C} c, LATERAL generate_series(1, c.remaining) g WHERE g < 3",
}

var locking = []string{
	"SELECT * FROM {L} l", "SELECT * FROM {L} l ;; SELECT * FROM {L} l ;; SELECT * FROM from.release('k', 1001) ;; SELECT * FROM {L} l",
	"SELECT {l} ;; SELECT {l} ;; SELECT json.renew('k', 1001, 5000) ;; SELECT json.release('k', 1001)",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE key = 'k1')",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.key = 'k1')",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.key = l.key)",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE token IS NOT NULL)",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM orders WHERE token IS NOT NULL)",
	"SELECT * FROM {L} l WHERE NOT EXISTS (SELECT 1 FROM orders WHERE idem = key)",
	"SELECT 1 FROM {L} l WHERE NOT l.acquired", "SELECT 1 FROM {L} l WHERE l.token IS NULL", "SELECT l.token FROM {L} l WHERE l.acquired IS NULL",
	"SELECT {l} ;; SELECT 1 FROM {L} l WHERE NOT l.acquired",
	"SELECT l.token, j.id FROM {L} l, jobs j WHERE j.key = l.key", "SELECT l.token, j.id FROM from.acquire('k1', 1000) l JOIN jobs j USING (key)", "SELECT l.token, j.id FROM from.acquire('k1', 1000) l NATURAL JOIN jobs j", "SELECT l.token FROM from.acquire('k1', 1000) l NATURAL JOIN nothing",
	"UPDATE seats SET fence = l.token FROM {L} l WHERE l.acquired AND id = '14A'", "UPDATE seats SET fence = l.token FROM {L} l WHERE l.acquired AND fence > 100", "UPDATE seats SET fence = token FROM {L} l WHERE acquired AND id = '14A' AND coalesce(fence, 0) < token RETURNING fence",
	"SELECT id, json.acquire('k' || id, 1000) FROM jobs WHERE state = 'ready' ORDER BY id ;; SELECT id, json.acquire('k' || id, 1000) FROM jobs ORDER BY id",
	"SELECT (row.acquire('k', 1000)).token, (row.acquire('k2', 1000)).token", "SELECT (row.acquire('k', 1000)).nope", "SELECT (row.acquire('k', 1000)).key || 'x'",
	"WITH l AS (SELECT * FROM {L}) SELECT * FROM l WHERE acquired AND NOT EXISTS (SELECT 1 FROM jobs WHERE key = 'k1')",
	"WITH l AS (SELECT * FROM {L}) UPDATE seats SET fence = l.token FROM l WHERE l.acquired AND id = '14A'", "WITH l AS (SELECT * FROM {L}) DELETE FROM seats WHERE id = 'none'",
	"SELECT j.id, l.token FROM jobs j, LATERAL from.acquire('k' || j.id, 1000) l WHERE l.acquired LIMIT 1", "SELECT j.id, l.token FROM jobs j CROSS JOIN LATERAL from.acquire(j.key, 1000) l WHERE j.id = 2",
	"SELECT g, json.acquire('k' || g, 100) FROM ROWS FROM (generate_series(1, 3)) g", "SELECT g, json.acquire('k' || g, 100) FROM generate_series(1, 3) g WHERE g > 1",
	"SELECT json.acquire('k' || (SELECT count(*) FROM jobs), 1000)", "SELECT json.acquire(key, 1000) FROM jobs ORDER BY id", "SELECT json.acquire(j.key, 1000) FROM jobs j ORDER BY j.n LIMIT 2", "SELECT json.acquire(max(key), 1000) FROM jobs", "SELECT json.acquire(key => 'k', ttl_ms => 1000)", "SELECT json.acquire(ttl_ms := 1000, key := 'k')",
}

var utilities = []string{
	"COPY (SELECT * FROM {C}) TO STDOUT", "COPY (SELECT * FROM {C} LIMIT 0) TO STDOUT", "COPY (SELECT * FROM {C} WHERE false) TO STDOUT", "COPY (SELECT * FROM {C} c, jobs ORDER BY id) TO STDOUT", "COPY (SELECT * FROM {C}) TO STDOUT (FORMAT csv, HEADER)", "COPY (SELECT {c}) TO STDOUT", "COPY (SELECT id, {c} FROM jobs ORDER BY id) TO STDOUT", "COPY (INSERT INTO orders(remaining) SELECT remaining FROM {C} RETURNING remaining) TO STDOUT", "COPY (WITH c AS (SELECT * FROM {C}) SELECT * FROM c) TO STDOUT", "COPY (WITH c AS (SELECT * FROM {C}) SELECT 1) TO STDOUT", "COPY (VALUES ({c}), ({d})) TO STDOUT", "COPY (SELECT 1 / 0, c.* FROM {C} c) TO STDOUT", "COPY (SELECT json.acquire('it''s', 100)) TO STDOUT", `COPY (SELECT json.acquire(E'b\\k', 100)) TO STDOUT`, "COPY (SELECT * FROM {C}) TO '/nowhere/at/all'", "COPY (SELECT * FROM jobs, {C} WHERE n = NULL) TO STDOUT",
	"PREPARE s AS SELECT * FROM {C} ;; EXECUTE s ;; EXECUTE s", "PREPARE s AS SELECT * FROM {C} ;; SELECT 1", "PREPARE s(int) AS SELECT * FROM {C} c WHERE $1 = 0 ;; EXECUTE s(1) ;; EXECUTE s(0)", "PREPARE s(int) AS SELECT * FROM {C} c LIMIT $1 ;; EXECUTE s(0) ;; EXECUTE s(1)", "PREPARE s(text) AS SELECT * FROM from.claim($1, 1, 10) c ;; EXECUTE s('p') ;; EXECUTE s('q') ;; EXECUTE s(NULL)", "PREPARE s(text) AS INSERT INTO orders(idem, remaining) SELECT $1, c.remaining FROM {C} c WHERE c.claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $1) ;; EXECUTE s('seen') ;; EXECUTE s('new') ;; EXECUTE s('new')", "PREPARE s AS SELECT id, {c} FROM jobs ORDER BY id ;; EXECUTE s ;; EXECUTE s", "PREPARE s(posint) AS INSERT INTO orders(idem, remaining) SELECT 'n' || $1, c.remaining FROM {C} c ;; EXECUTE s(-5) ;; EXECUTE s(5)", "PREPARE s AS SELECT 1 ;; PREPARE s AS SELECT * FROM {C}", "PREPARE s AS SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'new') ;; EXECUTE s ;; INSERT INTO orders(idem) VALUES ('new') ;; EXECUTE s", "PREPARE s AS SELECT * FROM {C} ;; EXPLAIN (COSTS off) EXECUTE s", "PREPARE s AS SELECT * FROM {C} ;; CREATE TEMP TABLE made AS EXECUTE s", "PREPARE s AS SELECT * FROM {C} ;; DEALLOCATE s ;; EXECUTE s", "PREPARE s AS SELECT {c} ;; BEGIN ;; EXECUTE s ;; ROLLBACK ;; EXECUTE s", "EXECUTE nothing_prepared({c})",
	"BEGIN ;; DECLARE cu CURSOR FOR SELECT * FROM {C} ;; FETCH 0 FROM cu ;; CLOSE cu ;; COMMIT", "BEGIN ;; DECLARE cu CURSOR FOR SELECT * FROM {C} ;; FETCH 1 FROM cu ;; FETCH 1 FROM cu ;; CLOSE cu ;; COMMIT", "DECLARE cu CURSOR FOR SELECT * FROM {C}", "BEGIN ;; DECLARE cu CURSOR FOR SELECT * FROM {C} ;; COMMIT", "DECLARE cu CURSOR WITH HOLD FOR SELECT * FROM {C} ;; FETCH ALL FROM cu ;; CLOSE cu", "BEGIN ;; DECLARE cu CURSOR FOR SELECT id, {c} FROM jobs ORDER BY id ;; FETCH 1 FROM cu ;; COMMIT", "BEGIN ;; DECLARE cu SCROLL CURSOR FOR SELECT id, {c} FROM jobs ORDER BY id ;; FETCH LAST FROM cu ;; FETCH FIRST FROM cu ;; COMMIT", "BEGIN ;; DECLARE cu CURSOR FOR SELECT {c} ;; FETCH 0 FROM cu ;; MOVE 1 FROM cu ;; COMMIT", "BEGIN ;; DECLARE cu CURSOR FOR SELECT id FROM jobs ORDER BY id ;; FETCH 1 FROM cu ;; SELECT * FROM {C} ;; FETCH 1 FROM cu ;; COMMIT",
	"DO $$ BEGIN PERFORM 1; END $$", "SELECT 'raisin_lock_acquire(''k'', 1)'", "SELECT 1 /* raisin_lock_acquire('k', 1) */", "SET LOCAL search_path = public ;; SELECT * FROM {C}",
}

// explained are never run, so no call is made. What the plan looks like is not compared.
func explained() []*statement {
	all := texts([]string{
		"EXPLAIN SELECT * FROM {C}", "EXPLAIN SELECT * FROM {C} c, jobs j WHERE c.claimed", "EXPLAIN SELECT {c}", "EXPLAIN SELECT id, {c} FROM jobs", "EXPLAIN VALUES ({c})", "EXPLAIN (ANALYZE false) SELECT * FROM {C}", "EXPLAIN (ANALYZE off, COSTS off) SELECT {c}", "EXPLAIN (VERBOSE, FORMAT json) SELECT * FROM {C} c, jobs", "EXPLAIN INSERT INTO orders(remaining) SELECT remaining FROM {C}", "EXPLAIN UPDATE seats SET fence = c.remaining FROM {C} c",
		"EXPLAIN SELECT * FROM jobs WHERE (row.claim('p', 1, 10)).claimed", "EXPLAIN SELECT COALESCE(1, (row.claim('p', 1, 10)).remaining)", "EXPLAIN WITH c AS (SELECT * FROM {C}) SELECT 1", "EXPLAIN SELECT * FROM {C} LIMIT 0", "EXPLAIN SELECT nope FROM {C}", "EXPLAIN SELECT * FROM jobs j, LATERAL from.claim('p', j.id, 10) c", "EXPLAIN DECLARE cu CURSOR FOR SELECT * FROM {C}", "EXPLAIN CREATE TABLE made AS SELECT * FROM {C}", "EXPLAIN (ANALYZE) SELECT * FROM {C}", "EXPLAIN ANALYZE SELECT {c} WHERE false", "EXPLAIN (ANALYZE true, COSTS off) INSERT INTO orders(remaining) SELECT remaining FROM {C}",
		"BEGIN ;; EXPLAIN SELECT * FROM {C} ;; EXPLAIN SELECT id, {c} FROM jobs ;; COMMIT", "PREPARE s AS SELECT * FROM {C} ;; EXPLAIN EXECUTE s", "EXPLAIN SELECT * FROM {C}; EXPLAIN SELECT {c}",
	})
	for _, s := range all {
		s.untold = true
	}
	return all
}

func parameterStatements() (all []*statement) {
	add := func(sql string, params ...string) {
		all = append(all, &statement{steps: strings.Split(sql, " ;; "), params: params})
	}
	add("SELECT * FROM from.claim($1, 1, 10)", "p")
	add("SELECT * FROM from.claim($1, $2, $3) c, jobs j WHERE j.id = $4", "p", "1", "10", "2")
	add("SELECT * FROM from.claim($1, $2, 10) c", "p", "0")
	add("SELECT * FROM from.claim($1, $2, 10) c", "p", "x")
	add("SELECT * FROM from.claim('p' || $1, 1, 10) c", "1")
	add("SELECT * FROM from.claim('p' || $1::int, $1::int, 10) c", "2")
	add("SELECT $1::int, {c}", "5")
	add("SELECT $1, {c}", "5")
	add("SELECT json.claim($1, 1, 10) WHERE $2 = 0", "p", "1")
	add("SELECT json.claim($1, 1, 10) WHERE $2 = 1", "p", "1")
	add("SELECT c.remaining FROM {C} c, jobs j LIMIT $1", "0")
	add("SELECT c.remaining FROM {C} c, jobs j LIMIT $1", "2")
	add("SELECT c.remaining FROM {C} c, jobs j LIMIT $1 OFFSET $2", "1", "5")
	add("SELECT c.remaining FROM {C} c, jobs j WHERE j.id = $1", "2")
	add("SELECT c.remaining FROM {C} c, jobs j WHERE j.id = $1", "70")
	add("SELECT c.remaining FROM {C} c, jobs j WHERE c.remaining = $1 AND c.remaining = $2", "1", "2")
	add("SELECT c.remaining FROM {C} c WHERE c.remaining = $1 AND c.remaining = 2", "1")
	add("SELECT c.remaining FROM {C} c WHERE c.remaining = $1", "9")
	add("SELECT c.remaining FROM {C} c WHERE c.claimed AND $1", "false")
	add("SELECT c.remaining FROM {C} c WHERE c.claimed AND $1", "true")
	add("SELECT c.remaining FROM {C} c WHERE c.claimed OR $1", "true")
	add("SELECT c.remaining FROM {C} c JOIN jobs j ON j.id = $1", "1")
	add("SELECT c.remaining FROM {C} c LEFT JOIN jobs j ON j.id = $1", "70")
	add("SELECT c.remaining FROM jobs j LEFT JOIN {C} c ON $1", "false")
	add("SELECT id, json.claim($1, id, 10) FROM jobs ORDER BY id", "p")
	add("SELECT id, json.claim('p', id, 10) FROM jobs WHERE id < $1 ORDER BY id LIMIT $2", "3", "1")
	add("SELECT id, json.claim('p', id, 10) FROM jobs ORDER BY id LIMIT $1", "0")
	add("INSERT INTO orders(idem, remaining) VALUES ($1, (row.claim($2, 1, 10)).remaining)", "new", "p")
	add("INSERT INTO orders(idem, remaining) VALUES ($1, (row.claim($2, 1, 10)).remaining)", "seen", "p")
	add("UPDATE seats SET fence = l.token FROM from.acquire('k:' || $1, 1000) l WHERE l.acquired AND id = $1", "14A")
	add("UPDATE seats SET fence = l.token FROM from.acquire('k:' || $1, $2) l WHERE l.acquired AND id = $1 RETURNING *", "14B", "1000")
	add("WITH c AS (SELECT * FROM from.claim($1, 1, 10)) INSERT INTO orders(idem, remaining) SELECT $2, remaining FROM c WHERE claimed AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = $2)", "p", "seen")
	add("WITH c AS (SELECT * FROM from.claim($1, 1, 10)) INSERT INTO orders(idem, remaining) SELECT $2, remaining FROM c WHERE claimed AND NOT EXISTS (SELECT 1 FROM orders WHERE idem = $2)", "p", "seen")
	add("SELECT COALESCE($1, (row.claim('p', 1, 10)).remaining)", "5")
	add("SELECT CASE WHEN $1 THEN (row.claim('p', 1, 10)).remaining END", "false")
	add("SELECT $1 AND json.release('k', 5)", "false")
	add("SELECT c.remaining / $1 FROM {C} c", "0")
	add("SELECT * FROM {C} c WHERE 1 / $1::int > 0", "0")
	add("SELECT * FROM {C} c, jobs j WHERE 1 / $1::int > 0", "0")
	add("SELECT * FROM {C} c FETCH FIRST $1 ROWS ONLY", "0")
	add("SELECT * FROM from.claim('p', (SELECT count(*) FROM jobs WHERE id < $1), 10)", "3")
	add("SELECT * FROM {C} c WHERE $1::text IS NULL", "x")
	add("SELECT * FROM {C} c WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.id = $1)", "70")
	add("SELECT * FROM {C} c WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.id = $1)", "1")
	add("SELECT * FROM {C} c WHERE $1 IN (SELECT j.id FROM jobs j)", "70")
	add("MERGE INTO seats s USING from.claim($1, 1, 10) c ON s.id = $2 WHEN MATCHED THEN UPDATE SET fence = c.remaining", "p", "14A")
	return all
}

var transactions = []string{
	"BEGIN ;; SELECT * FROM {C} ;; COMMIT", "BEGIN ;; SELECT * FROM {C} ;; ROLLBACK ;; SELECT * FROM {C}", "BEGIN ;; INSERT INTO orders(idem) SELECT 'a' FROM {C} ;; ROLLBACK ;; SELECT count(*) FROM orders",
	"BEGIN ;; SELECT 1 / 0 ;; SELECT * FROM {C} ;; ROLLBACK", "BEGIN ;; SELECT 1 / 0 ;; SELECT {c} ;; COMMIT", "BEGIN ;; SAVEPOINT a ;; SELECT c.*, 1 / 0 FROM {C} c ;; ROLLBACK TO a ;; SELECT * FROM {C} ;; COMMIT", "BEGIN ;; SAVEPOINT a ;; SELECT * FROM {C} ;; ROLLBACK TO a ;; SELECT * FROM {C} ;; RELEASE a ;; COMMIT", "SAVEPOINT a ;; SELECT * FROM {C}",
	"BEGIN READ ONLY ;; SELECT * FROM {C} ;; COMMIT", "BEGIN READ ONLY ;; SELECT c.* FROM {C} c, jobs WHERE id = 1 ;; COMMIT", "BEGIN READ ONLY ;; INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM {C} ;; ROLLBACK", "BEGIN READ ONLY ;; UPDATE seats SET fence = c.remaining FROM {C} c ;; ROLLBACK", "BEGIN READ ONLY ;; DELETE FROM seats USING {C} c ;; ROLLBACK", "BEGIN READ ONLY ;; MERGE INTO seats s USING {C} c ON s.id = '14A' WHEN MATCHED THEN DELETE ;; ROLLBACK", "BEGIN READ ONLY ;; WITH c AS (SELECT * FROM {C}) INSERT INTO orders(remaining) SELECT remaining FROM c ;; ROLLBACK", "BEGIN READ ONLY ;; WITH w AS (INSERT INTO orders(remaining) SELECT remaining FROM {C} RETURNING *) SELECT * FROM w ;; ROLLBACK", "BEGIN READ ONLY ;; INSERT INTO orders(idem, remaining) VALUES ('new', (row.claim('p', 1, 10)).remaining) ;; ROLLBACK", "BEGIN READ ONLY ;; SELECT * FROM jobs, {C} c FOR UPDATE OF jobs ;; ROLLBACK", "BEGIN READ ONLY ;; SELECT nextval('sq'), c.* FROM {C} c ;; ROLLBACK", "BEGIN READ ONLY ;; SELECT * INTO made FROM {C} ;; ROLLBACK", "BEGIN READ ONLY ;; CREATE TEMP TABLE made AS SELECT * FROM {C} ;; SELECT * FROM made ;; ROLLBACK",
	"SET default_transaction_read_only = on ;; INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM {C}", "SET default_transaction_read_only = on ;; SELECT * FROM {C}", "BEGIN ;; SET TRANSACTION READ ONLY ;; INSERT INTO orders(idem, remaining) SELECT 'new', remaining FROM {C} ;; ROLLBACK",
	"BEGIN ISOLATION LEVEL SERIALIZABLE ;; SELECT c.*, j.id FROM jobs j, {C} c ;; COMMIT", "BEGIN ISOLATION LEVEL REPEATABLE READ ;; SELECT id FROM jobs WHERE id = 1 ;; side: UPDATE jobs SET n = 100 WHERE id = 1 ;; UPDATE jobs SET n = c.remaining FROM {C} c WHERE id = 1 ;; ROLLBACK",
	"BEGIN ;; SELECT j.id, c.remaining FROM jobs j, {C} c ORDER BY j.id ;; TRUNCATE jobs ;; ROLLBACK", "BEGIN ;; SELECT id, {c} FROM jobs ORDER BY id ;; TRUNCATE jobs ;; ROLLBACK", "BEGIN ;; SELECT id, {c} FROM jobs ORDER BY id ;; ALTER TABLE jobs ADD COLUMN extra int ;; SELECT count(extra) FROM jobs ;; ROLLBACK", "BEGIN ;; CREATE TEMP TABLE made(i int) ON COMMIT DROP ;; INSERT INTO made SELECT c.remaining FROM {C} c ;; SELECT * FROM made ;; DROP TABLE made ;; COMMIT",
	"SELECT 1; SELECT * FROM {C}; SELECT 2", "SELECT * FROM {C}; SELECT * FROM {C}", "INSERT INTO orders(idem) VALUES ('a'); INSERT INTO orders(idem, remaining) SELECT 'b', remaining FROM {C}; SELECT count(*) FROM orders", "BEGIN; SELECT * FROM {C}; COMMIT", "BEGIN; SELECT * FROM {C}; ROLLBACK; SELECT * FROM {C}", "SELECT c.*, j.id FROM jobs j, {C} c ORDER BY id; TRUNCATE jobs; SELECT count(*) FROM jobs", "SELECT {c}; COPY (SELECT 1) TO STDOUT; SELECT {c}", "SELECT {c}; SAVEPOINT a", "SELECT {c}; syntax error", "SELECT {c};; SELECT {c};", "SELECT 1; COMMIT; SELECT {c}",
}

// failing are statements that fail after or before calls.
func failing() []*statement {
	all := texts([]string{
		"SELECT c.remaining, 1 / 0 FROM {C} c", "SELECT c.remaining, 1 / (c.remaining - 9) FROM {C} c", "SELECT {c}, 1 / 0", "SELECT 1 / 0, {c}", "SELECT {c}, 1 / (SELECT count(*) FROM nothing)", "SELECT {l}, 'x'::int", "SELECT {l}, ('x' || now())::int", "SELECT id, {c}, 1 / (id - 3) FROM jobs ORDER BY id", "SELECT id, json.acquire('k' || id, 1000), 1 / (id - 3) FROM jobs ORDER BY id",
		"INSERT INTO orders(idem, remaining) SELECT 'seen', c.remaining FROM {C} c", "INSERT INTO orders(idem, remaining) VALUES ('seen', (row.claim('p', 1, 10)).remaining)", "INSERT INTO orders(idem, remaining) SELECT 'seen', c.remaining FROM {C} c, jobs WHERE id = 1", "INSERT INTO positive SELECT c.remaining FROM {C} c", "INSERT INTO parted SELECT 100, c.remaining FROM {C} c", "INSERT INTO owned SELECT 3, 'bob' FROM {C} c", "INSERT INTO seats(id, fence) SELECT NULL, c.remaining FROM {C} c", "UPDATE seats SET id = '14B', fence = c.remaining FROM {C} c WHERE id = '14A'", "INSERT INTO nothing(id) SELECT c.remaining * 10000000000 FROM {C} c", "INSERT INTO jobs(id, n) SELECT 1, c.remaining FROM {C} c",
		"INSERT INTO secret SELECT c.remaining FROM {C} c", "SELECT * FROM secret, {C} c", "SELECT id, {c} FROM secret", "UPDATE secret SET id = c.remaining FROM {C} c", "DELETE FROM secret USING {C} c", "INSERT INTO read_only_rows SELECT c.remaining FROM {C} c", "DELETE FROM read_only_rows USING {C} c WHERE id = 1", "UPDATE read_only_rows SET id = c.remaining FROM {C} c", "SELECT * FROM read_only_rows, {C} c", "SELECT * FROM read_only_rows, {C} c FOR UPDATE", "WITH w AS (INSERT INTO secret SELECT remaining FROM {C} RETURNING id) SELECT * FROM w", "MERGE INTO secret s USING {C} c ON s.id = c.remaining WHEN MATCHED THEN DELETE", "INSERT INTO orders(remaining) SELECT c.remaining FROM {C} c WHERE EXISTS (SELECT 1 FROM secret)", "INSERT INTO orders(remaining) SELECT c.remaining FROM {C} c RETURNING (SELECT max(id) FROM secret)", "SELECT nextval('sq'), c.* FROM secret, {C} c", "COPY (SELECT * FROM secret, {C} c) TO STDOUT",
		"INSERT INTO missing SELECT c.remaining FROM {C} c", "SELECT nope FROM {C} c", "SELECT c.nope FROM jobs, {C} c", "SELECT no_such_function(c.remaining) FROM {C} c", "SELECT c.remaining + 'x' FROM {C} c", "SELECT c.remaining::date FROM {C} c", "SELECT * FROM {C} c GROUP BY c.claimed", "SELECT * FROM {C} c WHERE c.remaining", "SELECT * FROM {C} c, {C} c", "SELECT FROM WHERE {C}", "SELECT id, {c} FROM missing",
		"SELECT * FROM from.claim('p', 0, 10)", "SELECT * FROM {C} c, from.claim('q', 0, 10) d", "SELECT * FROM from.claim('q', 0, 10) d, {C} c", "SELECT {c}, json.claim('q', 0, 10)", "SELECT {c}, json.restock('x', 1)", "SELECT {c} ;; SELECT json.restock('p', 5), json.restock('x', 1)", "VALUES ({c}), (json.claim('q', 0, 10))", "SELECT id, json.claim('p', 3 - id, 10) FROM jobs ORDER BY id", "SELECT id, json.acquire(CASE WHEN id < 3 THEN 'k' || id ELSE '' END, 1000) FROM jobs ORDER BY id",
		"INSERT INTO later SELECT 1 FROM {C} c", "INSERT INTO later SELECT c.remaining FROM {C} c", "BEGIN ;; INSERT INTO later SELECT 1 FROM {C} c ;; COMMIT", "BEGIN ;; SELECT * FROM {C} ;; INSERT INTO later VALUES (1) ;; COMMIT", "BEGIN ;; INSERT INTO later SELECT 1 FROM {C} c ;; SET CONSTRAINTS ALL IMMEDIATE ;; ROLLBACK", "UPDATE later SET k = c.remaining FROM {C} c",
		"SELECT {c}; SELECT 1 / 0", "SELECT * FROM {C}; SELECT * FROM {D}; SELECT 1 / 0", "SELECT * FROM {C}; INSERT INTO orders(idem) VALUES ('seen')", "SELECT 1 / 0; SELECT {c}", "INSERT INTO orders(idem, remaining) SELECT 'a', remaining FROM {C}; INSERT INTO orders(idem, remaining) SELECT 'b', remaining FROM {C}; INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {C}; SELECT 1", "SELECT {c}; SELECT json.claim('q', 0, 10)", "SELECT {l}; INSERT INTO later VALUES (1)", "SELECT {c}; COMMIT; SELECT {d}; SELECT 1 / 0 -- keeps 1 of pool p", "BEGIN; SELECT {c}; SELECT 1 / 0; COMMIT -- keeps 1 of pool p", "SELECT {c}; SELECT * FROM secret", "SELECT {c}; SELECT nope", "SELECT id, {c} FROM jobs ORDER BY id; SELECT 1 / 0",
		"BEGIN ;; SELECT {c} ;; SELECT {d}, 1 / 0 ;; ROLLBACK", "BEGIN ;; SELECT * FROM {C} ;; SAVEPOINT a ;; INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {D} ;; ROLLBACK TO a ;; SELECT * FROM {D} ;; COMMIT", "BEGIN ;; INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {C} ;; COMMIT", "PREPARE s AS INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {C} ;; EXECUTE s ;; EXECUTE s",
		"side: BEGIN ;; side: SELECT id FROM jobs WHERE id = 1 FOR UPDATE ;; SELECT id, c.remaining FROM jobs, {C} c WHERE id = 1 FOR UPDATE OF jobs NOWAIT ;; side: ROLLBACK",
		"side: BEGIN ;; side: UPDATE seats SET buyer = 'x' ;; SET lock_timeout = '20ms' ;; UPDATE seats SET fence = c.remaining FROM {C} c WHERE id = '14A' ;; side: ROLLBACK",
		"side: BEGIN ;; side: INSERT INTO orders(idem) VALUES ('new') ;; SET lock_timeout = '20ms' ;; INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c ;; side: ROLLBACK",
		"side: BEGIN ;; side: LOCK TABLE seats ;; SET lock_timeout = '20ms' ;; SELECT * FROM seats, {C} c ;; side: ROLLBACK",
		"BEGIN ISOLATION LEVEL REPEATABLE READ ;; SELECT id FROM jobs WHERE id = 1 ;; side: UPDATE jobs SET n = 100 WHERE id = 1 ;; UPDATE jobs SET n = c.remaining FROM {C} c WHERE id = 1 ;; ROLLBACK ;; SELECT * FROM {C}",
	})
	for _, s := range texts([]string{
		"SET statement_timeout = '60ms' ;; SELECT c.remaining, pg_sleep(10) FROM {C} c",
		"SET statement_timeout = '60ms' ;; SELECT c.remaining, pg_sleep(10) FROM {C} c, jobs",
		"SET statement_timeout = '60ms' ;; SELECT {c}, pg_sleep(10)",
		"SET statement_timeout = '60ms' ;; SELECT id, {c}, pg_sleep(10) FROM jobs",
		"SET statement_timeout = '60ms' ;; INSERT INTO orders(idem, remaining) SELECT 'new', c.remaining FROM {C} c, pg_sleep(10)",
		"SET statement_timeout = '60ms' ;; WITH c AS (SELECT * FROM {C}) SELECT c.*, pg_sleep(10) FROM c",
		"SET statement_timeout = '60ms' ;; BEGIN ;; SELECT c.remaining, pg_sleep(10) FROM {L} l, {C} c ;; ROLLBACK ;; SELECT * FROM {L} l",
		"SET statement_timeout = '60ms' ;; SELECT {c}; SELECT pg_sleep(10)",
	}) {
		s.slow = true
		all = append(all, s)
	}
	return all
}

// pipelines are steps that are sent together and end with one Sync, as drivers send batches.
func pipelines() []*statement {
	all := texts([]string{
		"SELECT * FROM {C} ;; SELECT * FROM {C}",
		"SELECT 1 ;; SELECT * FROM {C} ;; SELECT id FROM jobs ORDER BY id",
		"INSERT INTO orders(idem, remaining) SELECT 'a', remaining FROM {C} ;; INSERT INTO orders(idem, remaining) SELECT 'b', remaining FROM {C}",
		"INSERT INTO orders(idem, remaining) SELECT 'a', remaining FROM {C} ;; INSERT INTO orders(idem, remaining) SELECT 'b', remaining FROM {C} ;; INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {C}",
		"INSERT INTO orders(idem, remaining) SELECT 'seen', remaining FROM {C} ;; INSERT INTO orders(idem, remaining) SELECT 'b', remaining FROM {C}",
		"SELECT {c} ;; SELECT 1 / 0", "SELECT {c} ;; SELECT nope", "SELECT {c} ;; SELECT 1 / 0 ;; SELECT {d}", "SELECT 1 / 0 ;; SELECT {c}", "SELECT {c} ;; SELECT * FROM secret", "SELECT {l} ;; INSERT INTO later VALUES (1)", "SELECT {l} ;; SELECT id FROM jobs ;; SELECT json.claim('q', 0, 10)", "SELECT id, {c} FROM jobs ORDER BY id ;; SELECT 1 / 0", "INSERT INTO orders(idem) VALUES ('a') ;; SELECT * FROM {C} c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'a')",
		"BEGIN ;; SELECT * FROM {C} ;; COMMIT", "BEGIN ;; SELECT * FROM {C} ;; SELECT 1 / 0 -- keeps 1 of pool p", "BEGIN ;; INSERT INTO later SELECT 1 FROM {C} ;; COMMIT -- keeps 1 of pool p", "SELECT * FROM {C} ;; COMMIT ;; SELECT 1 / 0 -- keeps 1 of pool p", "SELECT c.*, j.id FROM jobs j, {C} c ORDER BY id ;; TRUNCATE jobs", "SELECT id, {c} FROM jobs ORDER BY id ;; TRUNCATE jobs ;; SELECT count(*) FROM jobs", "PREPARE s AS SELECT * FROM {C} ;; EXECUTE s ;; EXECUTE s ;; SELECT 1 / 0", "DECLARE cu CURSOR FOR SELECT * FROM {C} ;; FETCH 1 FROM cu", "SELECT {c} ;; SAVEPOINT a", "EXPLAIN SELECT * FROM {C} ;; SELECT 1 / 0",
	})
	for _, s := range all {
		s.pipelined = true
		s.steps = []string{strings.Join(s.steps, stepDivider)}
		s.untold = strings.HasPrefix(s.steps[0], "EXPLAIN")
	}
	return all
}

// leftOfCalls have a volatile function before or beside a call.
var leftOfCalls = []string{
	"SELECT nextval('sq'), json.claim('p:' || currval('sq'), 1, 10)", "SELECT json.claim('p:' || nextval('sq'), 1, 10)", "SELECT json.claim('p:' || nextval('sq'), 1, 10), currval('sq')", "SELECT nextval('sq'), json.claim('p:' || nextval('sq'), 1, 10)", "SELECT nextval('sq'), {c}", "SELECT {c}, nextval('sq')", "SELECT setval('sq', 2), json.claim('p:' || nextval('sq') - 1, 1, 10)", "SELECT nextval('sq') + (row.claim('p', 1, 10)).remaining", "SELECT nextval('sq'), c.* FROM from.claim('p:' || nextval('sq'), 1, 10) c",
	"SELECT nextval('sq'), c.* FROM {C} c", "SELECT c.*, nextval('sq') FROM from.claim('p', nextval('sq'), 10) c, jobs", "SELECT id, nextval('sq'), json.claim('p', nextval('sq'), 10) FROM jobs ORDER BY id", "SELECT id, json.claim('p', nextval('sq'), 10) FROM jobs ORDER BY id", "SELECT id, nextval('sq'), json.claim('p', currval('sq'), 10) FROM jobs ORDER BY id", "VALUES (nextval('sq'), json.claim('p:' || currval('sq'), 1, 10))", "VALUES (nextval('sq'), {c}), (nextval('sq'), {c})", "INSERT INTO orders(fence, remaining) VALUES (nextval('sq'), (row.claim('p:' || currval('sq'), 1, 10)).remaining)", "INSERT INTO orders(fence, remaining) SELECT nextval('sq'), c.remaining FROM {C} c",
	"SELECT set_config('app.x', '2', false), json.claim('p:' || current_setting('app.x'), 1, 10)", "SELECT yes_v(), json.claim('p', yes_v()::int, 10)", "SELECT yes_s(), json.claim('p', yes_s()::int, 10)", "SELECT random() IS NULL, {c}", "SELECT now() IS NULL, json.claim('p', 1 + (now() IS NULL)::int, 10)", "SELECT json.claim('p', (SELECT count(*) FROM jobs), 10), (SELECT count(*) FROM jobs)", "SELECT setseed(0.5) IS NULL, json.claim('p', (random() * 0)::int + 1, 10)",
	"SELECT {c}, json.claim('p', 2, 10), {d}", "SELECT {c}, ({c}->>'remaining')::int, {c}", "SELECT json.restock('p', 1), {c}", "SELECT {c}, json.restock('p', 1)", "SELECT {l}, json.release('k', 1001), {l}", "SELECT a.remaining, b.remaining FROM {C} a, {C} b", "SELECT a.remaining, {c} FROM {C} a", "SELECT (SELECT nextval('sq')), json.claim('p:' || currval('sq'), 1, 10)", "SELECT pg_advisory_xact_lock(1) IS NULL, {c}", "WITH n AS (SELECT nextval('sq') AS v) SELECT n.v, json.claim('p', n.v, 10) FROM n", "WITH n AS (SELECT nextval('sq') AS v) SELECT n.v, c.* FROM n, {C} c", "SELECT n.v, json.claim('p', n.v, 10) FROM (SELECT nextval('sq') AS v) n", "SELECT nextval('sq'), {c} WHERE nextval('sq') > 0", "SELECT {c} WHERE nextval('sq') > 0", "SELECT c.* FROM {C} c WHERE nextval('sq') > 0", "SELECT c.* FROM from.claim('p', nextval('sq'), 10) c WHERE c.claimed", "SELECT c.* FROM from.claim('p', nextval('sq'), 10) c WHERE 1 = 0", "SELECT c.* FROM from.claim('p', nextval('sq'), 10) c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.idem = 'seen')", "SELECT c.* FROM from.claim('p', nextval('sq'), 10) c WHERE (SELECT true)",
}
