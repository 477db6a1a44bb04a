package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"raisinproxy/planner/catalog"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// fixedEnv is a session that knows nothing.
type fixedEnv struct{ calls int }

func (e *fixedEnv) Call(_ *sqlfuncs.Function, _ []datum.Datum, row *sqlfuncs.Row) error {
	e.calls++
	*row = sqlfuncs.Row{datum.OfBool(true), datum.OfText("k"), datum.OfInt(1), datum.OfInt(2)}
	return nil
}
func (*fixedEnv) Rows(*sqlfuncs.Function, []datum.Datum) ([]sqlfuncs.Row, error) { return nil, nil }
func (*fixedEnv) Info(plan.InfoKind) datum.Datum                                 { return datum.OfText("x") }
func (*fixedEnv) Now(plan.TimeKind) time.Time                                    { return time.UnixMicro(0) }
func (*fixedEnv) Setting(string) (string, bool)                                  { return "", false }
func (*fixedEnv) Settings() []catalog.Setting                                    { return nil }
func (*fixedEnv) SetSetting(_, value string, _ bool) (string, error)             { return value, nil }

// TestCacheIsBounded: however many texts are planned, the cache stays within its
// bytes, and a text that is used all the time is not forgotten.
func TestCacheIsBounded(t *testing.T) {
	p := New(Config{CacheBytes: 64 << 10})
	hot := "select 1"
	p.Plan(standard(hot), plan.Options{})
	for i := range 500 {
		p.Plan(standard(fmt.Sprintf("select %d as n", i)), plan.Options{})
		if _, ok := p.Cached(standard(hot), plan.Options{}); !ok {
			t.Fatalf("the hot text was forgotten after %d others", i)
		}
	}
	if p.cache.bytes > 64<<10 {
		t.Errorf("the cache holds %d bytes", p.cache.bytes)
	}
	if stats := p.Stats(); stats.Evicted == 0 || stats.Parses != 501 {
		t.Errorf("stats %+v", stats)
	}
	p.Plan(standard("select '"+strings.Repeat("x", 64<<10)+"'"), plan.Options{})
	if _, ok := p.Cached(standard(hot), plan.Options{}); !ok {
		t.Error("one long text pushed out everything else")
	}
}

// TestCacheKeys: what a plan depends on tells plans apart.
func TestCacheKeys(t *testing.T) {
	p := New(Config{CacheBytes: 1 << 20})
	for i, test := range []struct {
		standard bool
		options  plan.Options
	}{
		{true, plan.Options{}},
		{false, plan.Options{}},
		{true, plan.Options{Prepared: true}},
		{true, plan.Options{Prepared: true, Types: []datum.Type{datum.Int2}}},
		{true, plan.Options{Prepared: true, Types: []datum.Type{datum.Int4}}},
	} {
		text := sqltext.New("select 1", test.standard)
		if _, ok := p.Cached(text, test.options); ok {
			t.Errorf("option %d found the plan of another", i)
		}
		p.Plan(text, test.options)
		if _, ok := p.Cached(text, test.options); !ok {
			t.Errorf("option %d: its own plan was not found", i)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	p := New(Config{CacheBytes: 8 << 10})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 200 {
				text := fmt.Sprintf("select raisin_lock_acquire('k%d', 1)", i%20)
				script, ok := p.Cached(standard(text), plan.Options{})
				if !ok {
					script = p.Plan(standard(text), plan.Options{})
				}
				f := &local.Frame{}
				f.Bind(&fixedEnv{}, script.Statements[0], nil)
				if err := script.Statements[0].Action.(*local.Select).Open(f); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// FuzzPlan: no text makes the planner panic, a plan can be evaluated, and calls
// are made as often as the plan says, which is never for a text that mentions
// none.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{
		"select raisin_lock_acquire('k', 5000)", "select * from raisin_inventory_claim($1, 1, 180) c where c.claimed",
		"with l as (select * from raisin_lock_acquire('k', 1)) select * from l, (values (1), (2)) v(x)", "select (raisin_lock_acquire('k', 1)).*",
		"begin; savepoint a; rollback to a; commit", "set local app.branch = 'x'; show all; reset all", "use branch 'x'; select 1",
		"prepare q(int) as select $1 + 1; execute q('5')", "select -9223372036854775808 / -1, 'x' || 1, 1 = any(array[1])", "values (1, 'a'), (2, null)",
		"explain select raisin_lock_release('k', 1)", "select 1::varchar(3), '1e400'::numeric, null::bool is not true", "select U&'\\00e9' uescape '!'",
		"select raisin_lock_release(token => 1, key => 'a') from generate_series(1,2)", "select t.oid, typarray from pg_type t join pg_namespace ns on typnamespace = ns.oid where typname = 'hstore'",
	} {
		f.Add(seed, true, true)
		f.Add(seed, false, false)
	}
	p := New(Config{CacheBytes: 1 << 20})
	f.Fuzz(func(t *testing.T, text string, scs, prepared bool) {
		script := p.Plan(sqltext.New(text, scs), plan.Options{Prepared: prepared})
		if script.Err != nil {
			return
		}
		mentions := sqltext.New(text, scs).Mentions()
		for _, st := range script.Statements {
			query, ok := st.Action.(*local.Select)
			if !ok || st.Err != nil {
				continue
			}
			if len(st.Calls) > 0 && !mentions {
				t.Errorf("%q has calls but mentions none", text)
			}
			env := &fixedEnv{}
			frame := &local.Frame{}
			frame.Bind(env, st, make([]datum.Datum, len(st.Params)))
			for i := range frame.Params {
				frame.Params[i] = datum.Null
			}
			evaluate(query, frame, st)
			if env.calls > len(st.Calls) {
				t.Errorf("%q: %d calls, the plan says %d", text, env.calls, len(st.Calls))
			}
		}
	})
}

// evaluate reads a query to its end; errors of values are as good as rows.
func evaluate(query *local.Select, frame *local.Frame, st *plan.Statement) {
	if query.Check(frame) != nil || query.Open(frame) != nil {
		return
	}
	for {
		more, err := query.Next(frame)
		if err != nil || !more {
			return
		}
		for i := range st.Columns {
			if _, err := query.Column(frame, i); err != nil {
				return
			}
		}
	}
}

// standard is a text as most clients send it.
func standard(sql string) *sqltext.Text { return sqltext.New(sql, true) }

// TestATextIsReadOnce: on its way through a front end to its plan, a text's tokens are
// looked for once. Only sqltext can look for them. A package that makes a Text anew could
// have it read again, so the sources are searched for one.
func TestATextIsReadOnce(t *testing.T) {
	for _, upstream := range []bool{false, true} {
		p := New(Config{CacheBytes: 1 << 20, Upstream: upstream})
		for i, sql := range []string{
			"SELECT * FROM raisin_lock_acquire('seat:14A', 60000)", "SELECT * FROM raisin_lock_acquire('seat:14B', 60000)",
			"INSERT INTO t SELECT token FROM raisin_lock_acquire('a', 1) l WHERE l.acquired -- c", "USE BRANCH x; SELECT 1",
			"select t.oid, typarray from pg_type t join pg_namespace ns on typnamespace = ns.oid where typname = 'hstore'",
		} {
			text := standard(sql)
			_, found := p.Cached(text, plan.Options{})
			text.Concerns()
			text.UsesPrepared()
			text.ControlsTransaction()
			if found != (i == 1) {
				t.Errorf("%s: found: %t", sql, found)
			}
			kept := text.Keep()
			p.Plan(kept, plan.Options{})
			if n := kept.Passes(); n != 1 {
				t.Errorf("%s, upstream %t: read %d times", sql, upstream, n)
			}
			again := standard(sql)
			if _, ok := p.Cached(again, plan.Options{}); ok && again.Passes() > 1 {
				t.Errorf("%s, upstream %t: read %d times to be found", sql, upstream, again.Passes())
			}
		}
	}
	sources, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range append(sources, own...) {
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		// clientsql reads the texts that it has as data.
		if !strings.HasSuffix(source, "_test.go") && source != "clientsql/answers.go" && strings.Contains(string(content), "sqltext.New(") {
			t.Errorf("%s has a text read", source)
		}
	}
}

// TestParameterOfASubqueryIsNoConstant: a condition on what a subquery passes on of a parameter is not
// computed while it is planned.
func TestParameterOfASubqueryIsNoConstant(t *testing.T) {
	p := New(Config{CacheBytes: 1 << 20})
	text := "SELECT x.b FROM (SELECT $1::bool AS b) x WHERE x.b"
	script := p.Plan(standard(text), plan.Options{Prepared: true})
	if script.Err != nil || script.Statements[0].Err != nil {
		t.Fatalf("%v, %v", script.Err, script.Statements[0].Err)
	}
	query, f := script.Statements[0].Action.(*local.Select), &local.Frame{}
	for _, want := range []bool{true, false} {
		f.Bind(&fixedEnv{}, script.Statements[0], []datum.Datum{datum.OfBool(want)})
		if err := query.Open(f); err != nil {
			t.Fatal(err)
		}
		if row, err := query.Next(f); row != want || err != nil {
			t.Errorf("with %v: a row %v, %v", want, row, err)
		}
	}
}
