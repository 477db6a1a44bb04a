package planner

import (
	"fmt"
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

func (e *fixedEnv) Call(*sqlfuncs.Function, []datum.Datum) (sqlfuncs.Row, error) {
	e.calls++
	return sqlfuncs.Row{datum.OfBool(true), datum.OfText("k"), datum.OfInt(1), datum.OfInt(2)}, nil
}
func (*fixedEnv) Info(plan.InfoKind) datum.Datum                     { return datum.OfText("x") }
func (*fixedEnv) Now(plan.TimeKind) time.Time                        { return time.UnixMicro(0) }
func (*fixedEnv) Setting(string) (string, bool)                      { return "", false }
func (*fixedEnv) Settings() []catalog.Setting                        { return nil }
func (*fixedEnv) SetSetting(_, value string, _ bool) (string, error) { return value, nil }

// TestCacheIsBounded: however many texts are planned, the cache stays within its
// bytes, and a text that is used all the time is not forgotten.
func TestCacheIsBounded(t *testing.T) {
	p := New(Config{CacheBytes: 64 << 10})
	hot := "select 1"
	p.Plan(hot, plan.Options{Standard: true})
	for i := range 500 {
		p.Plan(fmt.Sprintf("select %d as n", i), plan.Options{Standard: true})
		if _, ok := p.Cached(hot, plan.Options{Standard: true}); !ok {
			t.Fatalf("the hot text was forgotten after %d others", i)
		}
	}
	if p.cache.bytes > 64<<10 {
		t.Errorf("the cache holds %d bytes", p.cache.bytes)
	}
	if stats := p.Stats(); stats.Evicted == 0 || stats.Parses != 501 {
		t.Errorf("stats %+v", stats)
	}
	p.Plan("select '"+strings.Repeat("x", 64<<10)+"'", plan.Options{Standard: true})
	if _, ok := p.Cached(hot, plan.Options{Standard: true}); !ok {
		t.Error("one long text pushed out everything else")
	}
}

// TestCacheKeys: what a plan depends on tells plans apart.
func TestCacheKeys(t *testing.T) {
	p := New(Config{CacheBytes: 1 << 20})
	options := []plan.Options{
		{Standard: true},
		{Standard: false},
		{Standard: true, Prepared: true},
		{Standard: true, Prepared: true, Types: []datum.Type{datum.Int2}},
		{Standard: true, Prepared: true, Types: []datum.Type{datum.Int4}},
	}
	for i, o := range options {
		if _, ok := p.Cached("select 1", o); ok {
			t.Errorf("option %d found the plan of another", i)
		}
		p.Plan("select 1", o)
		if _, ok := p.Cached("select 1", o); !ok {
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
				script, ok := p.Cached(text, plan.Options{Standard: true})
				if !ok {
					script = p.Plan(text, plan.Options{Standard: true})
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
	f.Fuzz(func(t *testing.T, text string, standard, prepared bool) {
		script := p.Plan(text, plan.Options{Standard: standard, Prepared: prepared})
		if script.Err != nil {
			return
		}
		mentions := sqltext.New(text, standard).Mentions()
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
