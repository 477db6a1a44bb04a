package planner

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// recorder notes what is called.
type recorder struct {
	fixedEnv
	calls []string
}

func (r *recorder) Call(f *sqlfuncs.Function, args []datum.Datum, row *sqlfuncs.Row) error {
	r.calls = append(r.calls, fmt.Sprintf("%s%v", f.Name, args))
	return r.fixedEnv.Call(f, args, row)
}

// execution is all that a client sees of a text.
type execution struct {
	Err, Text string
	Start     int
	Columns   []plan.Column
	Calls     []string
	Rows      []string
}

func execute(script *plan.Script) (x execution) {
	if script.Err != nil {
		return execution{Err: fmt.Sprintf("%+v", script.Err)}
	}
	for _, st := range script.Statements {
		x.Text, x.Start, x.Columns = st.Text, st.Start, st.Columns
		if st.Err != nil {
			x.Err += fmt.Sprintf("%+v", st.Err)
			continue
		}
		env, f := &recorder{}, &local.Frame{}
		f.Bind(env, st, make([]datum.Datum, len(st.Params)))
		if query, ok := st.Action.(*local.Select); ok {
			x.Rows = append(x.Rows, rows(query, f, len(st.Columns))...)
		}
		x.Calls = append(x.Calls, env.calls...)
	}
	return x
}

func rows(query *local.Select, f *local.Frame, columns int) (rows []string) {
	if err := query.Check(f); err != nil {
		return []string{err.Error()}
	}
	if err := query.Open(f); err != nil {
		return []string{err.Error()}
	}
	for {
		more, err := query.Next(f)
		if !more {
			return append(rows, fmt.Sprint(err))
		}
		for i := range columns {
			v, err := query.Column(f, i)
			rows = append(rows, fmt.Sprint(v, err))
		}
	}
}

// shapedTexts are statements, and %s where a literal stands.
var shapedTexts = []string{
	"SELECT * FROM raisin_lock_acquire(%s, %s)",
	"  /* é */ SELECT token FROM raisin_lock_acquire(%s, %s) ; ",
	"select (raisin_lock_acquire(key => %s, ttl_ms => %s)).token, %s",
	"SELECT raisin_lock_acquire('seat:' || %s, 1000 + %s)->>%s",
	"SELECT raisin_lock_release(%s, %s), raisin_lock_release(%s, %s)",
	"SELECT RAISIN_inventory_claim(%s::text, %s::bigint, %s)",
	"SELECT raisin_lock_acquire(%s::varchar(3), %s) LIMIT %s",
	"SELECT raisin_lock_renew((%s), (2 * (%s)), %s) AS x",
	"WITH l AS (SELECT * FROM raisin_lock_acquire(%s, %s)) SELECT l.*, l.* FROM l",
	"SELECT raisin_lock_acquire(raisin_lock_acquire(%s, 5)->>'key', %s)",
	"SELECT raisin_lock_acquire(N%s, -%s)",
	"SELECT raisin_inventory_release(bigint %s, %s)",
	"SELECT raisin_inventory_release(%s, CASE WHEN true THEN %s END)",
	"VALUES (raisin_lock_release(%s, %s))",
	"SELECT raisin_lock_acquire(%s, %s); SELECT raisin_lock_release(%s, %s)",
	"SELECT raisin_lock_acquire($1, %s), raisin_lock_release(%s, $2)",
	"PREPARE p AS SELECT raisin_lock_acquire(%s, %s)",
	"SELECT raisin_lock_acquire(%s %s, %s)",
	"SELECT raisin_nothing(%s, %s)",
}

var shapeLiterals = []string{
	"'a'", "'seat:14A'", "''", "'5'", "'5000'", "' 7 '", "'-3'", "'é'", "'it''s'", `'a\b'`, `E'a\nb'`, "U&'d!0061t!+000061' UESCAPE '!'", "'a'\n'b'", "$$x$$", "'\x00s'", "\x00s", "'\xff'",
	"0", "5", "5000", "007", "2147483647", "2147483648", "9007199254740991", "9223372036854775807", "9223372036854775808", "1.5", "1e3", "0x1F", "1_000", "5a", "- 5", "NULL", "true", "$1", "date '2020-01-01'", "'a' || 'b'", "(1)",
}

// TestShapesChangeNothing: the plan of a text means what it would mean had no other text
// of its shape been planned before.
func TestShapesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(shapedTexts).Draw(t, "shape")
		scs, o := rapid.Bool().Draw(t, "standard"), plan.Options{Prepared: strings.Contains(text, "$1")}
		p := New(Config{CacheBytes: 1 << 20})
		for range 6 {
			var args []any
			for range strings.Count(text, "%s") {
				args = append(args, rapid.SampledFrom(shapeLiterals).Draw(t, "literal"))
			}
			written := fmt.Sprintf(text, args...)
			script, ok := p.Cached(sqltext.New(written, scs), o)
			if !ok {
				script = p.Plan(sqltext.New(written, scs), o)
			}
			fresh := New(Config{}).plan(sqltext.New(written, scs), o)
			if got, want := execute(script), execute(fresh); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\nis  %+v\nnot %+v", written, got, want)
			}
		}
	})
}

// TestShapesAreShared: of texts that differ in the literals of their calls alone, only
// the first is parsed, and the cache holds one plan for them.
func TestShapesAreShared(t *testing.T) {
	for _, text := range []string{
		"SELECT * FROM raisin_lock_acquire('seat:%d', 5%03d)",
		"SELECT raisin_lock_release('seat:%d', 1795973876149%03d)",
		"SELECT raisin_lock_acquire('seat:' || '%d', 5%03d)->>'token'",
		"SELECT (raisin_inventory_claim('flight:%d', 1, 1%03d)).claimed AS ok",
		"WITH l AS (SELECT * FROM raisin_lock_acquire('%d'::text, '1%03d')) SELECT l.token FROM l LIMIT 1",
	} {
		p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{}
		for i := range 100 {
			written := fmt.Sprintf(text, i, i)
			if _, ok := p.Cached(standard(written), o); ok != (i > 0) {
				t.Errorf("%s: found: %t", written, ok)
			}
			if i == 0 {
				p.Plan(standard(written), o)
			}
		}
		if n := p.Stats().Parses; n != 1 || len(p.cache.plans) != 1 {
			t.Errorf("%s: %d parses, %d plans", text, n, len(p.cache.plans))
		}
	}
}

// TestATextThatLooksLikeAShape is not taken for one, and does not disturb it.
func TestATextThatLooksLikeAShape(t *testing.T) {
	p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{}
	const text, alike = "SELECT * FROM raisin_lock_acquire('a', '5')", "SELECT * FROM raisin_lock_acquire(\x00s, \x00s)"
	for range 2 {
		for _, text := range []string{text, alike} {
			script, ok := p.Cached(standard(text), o)
			if !ok {
				script = p.Plan(standard(text), o)
			}
			if got, want := execute(script), execute(New(Config{}).plan(standard(text), o)); !reflect.DeepEqual(got, want) {
				t.Errorf("%q\nis  %+v\nnot %+v", text, got, want)
			}
		}
	}
}

// TestShapesKeepTexts: what a plan says does not change when the caller's text does.
func TestShapesKeepTexts(t *testing.T) {
	p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{}
	p.Plan(standard("SELECT raisin_lock_acquire('a', 1)"), o)
	buffer := []byte("SELECT raisin_lock_acquire('b', 2)")
	script, ok := p.Cached(standard(viewOf(buffer)), o)
	if !ok {
		t.Fatal("not found")
	}
	before := execute(script)
	clear(buffer)
	if after := execute(script); !reflect.DeepEqual(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
}

func viewOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
