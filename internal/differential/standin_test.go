package differential

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

//go:embed testdata/tables.sql
var tables string

//go:embed testdata/standins.sql
var standIns string

// plan is a way in which PostgreSQL may be led to run a statement.
type plan struct {
	name     string
	settings string
	// analysed: the tables' statistics were gathered.
	analysed bool
	// from is the schema of the stand-ins for calls in FROM.
	from string
}

// plans are the ways that are tried. Each setting is met with either kind of statistics
// and of function somewhere, not with all of them.
var plans = []plan{
	{"as it comes", "", false, "standin_set"},
	{"as it comes, analysed", "", true, "standin_one"},
	{"no nested loop", "-c enable_nestloop=off", true, "standin_set"},
	{"no hash join", "-c enable_hashjoin=off", false, "standin_one"},
	{"no merge join", "-c enable_mergejoin=off -c enable_hashagg=off", true, "standin_set"},
	{"nested loops", "-c enable_hashjoin=off -c enable_mergejoin=off -c enable_material=off", true, "standin_one"},
	{"nested loops over many", "-c enable_hashjoin=off -c enable_mergejoin=off", false, "standin_set"},
	{"hash joins", "-c enable_nestloop=off -c enable_mergejoin=off", false, "standin_one"},
	{"merge joins", "-c enable_nestloop=off -c enable_hashjoin=off -c enable_sort=off", true, "standin_one"},
	{"no materialization", "-c enable_material=off -c enable_memoize=off", false, "standin_set"},
	{"no sequential scan", "-c enable_seqscan=off", true, "standin_set"},
	{"no index scan", "-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off", false, "standin_one"},
	{"joins as written", "-c join_collapse_limit=1 -c from_collapse_limit=1", true, "standin_one"},
}

// names are all pools and keys that the corpus may use.
var names = []string{"p", "q", "r", "x", "k", "k0", "k1", "k2", "k3", "k4", "k8", "k9", "p1", "p2", "p3", "p7", "p8", "p9", "p:1", "p:2", "k:14A", "k:14B", "it's", "b\\k", "seen"}

// database makes a database of its own for the test and fills it.
func database(t *testing.T, name string, scripts ...string) {
	t.Helper()
	admin := connect(t, "postgres", "", nil)
	defer admin.Close(context.Background())
	run(t, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	run(t, admin, "CREATE DATABASE "+name+" ENCODING 'UTF8' TEMPLATE template0")
	run(t, admin, "ALTER DATABASE "+name+" SET timezone = 'UTC'")
	inside := connect(t, name, "", nil)
	defer inside.Close(context.Background())
	for _, script := range scripts {
		run(t, inside, script)
	}
	run(t, inside, "CALL refill()")
}

// connect connects straight to PostgreSQL: as its superuser if user is "".
func connect(t *testing.T, database, user string, also func(*pgconn.Config)) *pgconn.PgConn {
	t.Helper()
	config, err := pgconn.ParseConfig(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Database = database
	if user != "" {
		config.User, config.Password = user, wiretest.PostgresTarget(t, nil).Passwords[user]
	}
	if also != nil {
		also(config)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if err := execute(t.Context(), conn, sql); err != nil {
		t.Fatal(err)
	}
}

func execute(ctx context.Context, conn *pgconn.PgConn, sqls ...string) error {
	for _, sql := range sqls {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%.200s: %w", sql, err)
		}
	}
	return nil
}

// tablesOf looks at the tables of a database and fills them anew.
type tablesOf struct {
	admin, side *pgconn.PgConn
	full        string // their contents before a statement
}

func newTables(t *testing.T, database string) *tablesOf {
	d := &tablesOf{admin: connect(t, database, "", nil), side: connect(t, database, "alice", nil)}
	var err error
	if d.full, err = d.contents(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *tablesOf) contents(ctx context.Context) (string, error) {
	r := d.admin.ExecParams(ctx, "SELECT contents()", nil, nil, nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return string(r.Rows[0][0]), nil
}

// after returns the contents after a statement and makes them what they were.
func (d *tablesOf) after(ctx context.Context, s *statement) (string, error) {
	if d.side.TxStatus() != 'I' {
		if err := execute(ctx, d.side, "ROLLBACK"); err != nil {
			return "", err
		}
	}
	if !s.writes() && !s.contains("BEGIN") {
		return "", nil
	}
	contents, err := d.contents(ctx)
	if err == nil && contents != d.full {
		err = execute(ctx, d.admin, "CALL refill()")
	}
	return contents, err
}

// direct is a session with the stand-ins, under one plan.
type direct struct {
	plan  plan
	conn  *pgconn.PgConn
	on    *tablesOf
	calls []call // of the step that runs
	reset string // of what the stand-ins keep
}

func newDirect(t *testing.T, p plan, database string, on *tablesOf) *direct {
	t.Helper()
	d := &direct{plan: p, on: on}
	d.conn = connect(t, database, "alice", func(c *pgconn.Config) {
		// What is switched off counts as expensive, and what is expensive would be compiled.
		c.RuntimeParams["options"] = "-c jit=off " + p.settings
		c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if told, ok := strings.CutPrefix(n.Message, "call: "); ok {
				d.calls = append(d.calls, call(told))
			}
		}
	})
	var resets []string
	run(t, d.conn, "CREATE TEMP SEQUENCE tokens_given MINVALUE 0")
	resets = append(resets, "setval('pg_temp.tokens_given', 1000, true)")
	for _, name := range names {
		for _, kind := range []string{"pool ", "lock "} {
			sequence := `pg_temp."` + kind + name + `"`
			run(t, d.conn, "CREATE TEMP SEQUENCE "+sequence+" MINVALUE 0 START 0")
			resets = append(resets, "setval('"+strings.ReplaceAll(sequence, "'", "''")+"', 0, false)")
		}
	}
	d.reset = "SELECT " + strings.Join(resets, ", ")
	return d
}

// placeOf finds the calls in the corpus: from.claim(…) stands in FROM, json.claim(…) in
// an expression, row.claim(…) is one of which a column is taken.
var placeOf = regexp.MustCompile(`\b(from|json|row)\.(claim|restock|acquire|release|renew)\(`)

var functionNames = map[string]string{
	"claim": "raisin_inventory_claim", "restock": "raisin_inventory_release",
	"acquire": "raisin_lock_acquire", "release": "raisin_lock_release", "renew": "raisin_lock_renew",
}

// shorthands for the calls that most statements have.
var shorthands = strings.NewReplacer(
	"{C}", "from.claim('p', 1, 10)", "{D}", "from.claim('q', 2, 5)", "{L}", "from.acquire('k', 60000)",
	"{c}", "json.claim('p', 1, 10)", "{d}", "json.claim('q', 2, 5)", "{l}", "json.acquire('k', 60000)",
)

// spelled writes the calls of a step: for the proxy by their names alone.
func spelled(step string, schema func(place string) string) string {
	return placeOf.ReplaceAllStringFunc(shorthands.Replace(step), func(found string) string {
		m := placeOf.FindStringSubmatch(found)
		return schema(m[1]) + functionNames[m[2]] + "("
	})
}

func asProxied(string) string { return "" }

func (d *direct) spelled(step string) string {
	return spelled(step, func(place string) string {
		return map[string]string{"from": d.plan.from, "json": "standin_json", "row": "standin_one"}[place] + "."
	})
}

// run says a statement's steps and returns the answers, and the tables afterwards.
func (d *direct) run(ctx context.Context, s *statement, p protocol) (o outcome, err error) {
	o.plan = d.plan.String()
	if err := execute(ctx, d.conn, d.reset); err != nil {
		return o, err
	}
	for _, step := range p.steps(s) {
		var a answer
		sql, side := onTheSide(d.spelled(step))
		d.calls = nil
		if side {
			err = execute(ctx, d.on.side, sql)
		} else if a = ask(ctx, d.conn, p, sql, s.params); a.code == lost {
			err = fmt.Errorf("%s: %s", sql, a.text)
		}
		if err != nil {
			return o, err
		}
		a.calls = d.calls
		o.answers = append(o.answers, a)
	}
	if err := d.tidy(ctx, s, p); err != nil {
		return o, err
	}
	o.contents, err = d.on.after(ctx, s)
	return o, err
}

// tidy makes the session what it was.
func (d *direct) tidy(ctx context.Context, s *statement, p protocol) error {
	var tidying []string
	if d.conn.TxStatus() != 'I' {
		tidying = append(tidying, "ROLLBACK")
	}
	if s.settles() {
		tidying = append(tidying, "CLOSE ALL", "RESET ALL", "DROP TABLE IF EXISTS pg_temp.made")
	}
	if s.settles() || p == prepared {
		tidying = append(tidying, "DEALLOCATE ALL")
	}
	return execute(ctx, d.conn, tidying...)
}

// directs are sessions under all plans.
func directs(t *testing.T) []*direct {
	t.Helper()
	on := map[bool]*tablesOf{}
	for analysed, name := range databases {
		database(t, name, tables, standIns)
		on[analysed] = newTables(t, name)
		if analysed {
			run(t, on[analysed].admin, "ANALYZE")
		}
	}
	var all []*direct
	for _, p := range plans {
		all = append(all, newDirect(t, p, databases[p.analysed], on[p.analysed]))
	}
	return all
}

var databases = map[bool]string{false: "differential_plain", true: "differential_analysed"}

const proxiedDatabase = "differential_proxied"

func (p plan) String() string { return fmt.Sprintf("%s (%s)", p.name, p.from) }
