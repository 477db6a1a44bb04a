package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// TestRewrite shows what becomes of statements: testdata/rewrite has one file for
// each kind of place where a call may stand.
func TestRewrite(t *testing.T) {
	datadriven.Walk(t, "testdata/rewrite", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			o := plan.Options{Prepared: d.Cmd == "prepared"}
			parsed, err := pgparse.Parse(sqltext.New(d.Input, !d.HasArg("escapes")))
			if err != nil {
				return err.Error()
			}
			var out strings.Builder
			for i := range parsed.Statements {
				showRewritten(&out, Rewrite(parsed, i, o))
			}
			return out.String()
		})
	})
}

func showRewritten(out *strings.Builder, s *plan.Statement) {
	switch {
	case s == nil:
		out.WriteString("relayed\n")
		return
	case s.Err != nil:
		fmt.Fprintf(out, "error: %s at %d: %s\n", s.Err.Code, s.Err.Position, s.Err.Message)
		return
	case s.Foreign != nil:
		fmt.Fprintf(out, "in database: %s\n", s.Database)
	}
	m, ok := s.Action.(*Split)
	if p, prepares := s.Action.(*PrepareSplit); prepares {
		m, ok = p.Split, true
		fmt.Fprintf(out, "prepare: %s %v %s\n", p.Name, p.Declared, p.Types.SQL)
	}
	if ok {
		showMixed(out, m)
	}
}

func showMixed(out *strings.Builder, m *Split) {
	if m.Views != nil {
		for _, f := range m.Views.Facts {
			fmt.Fprintf(out, "if:    %v\n", &f)
		}
		showRewritten(out, m.Views.ours)
		out.WriteString("else\n")
		showRewritten(out, m.Views.theirs)
		return
	}
	fmt.Fprintf(out, "probe: %s\n", m.Probe.SQL)
	if m.Args.SQL != "" {
		fmt.Fprintf(out, "args:  %s\n", m.Args.SQL)
	}
	fmt.Fprintf(out, "main:  %s\n", m.Main.SQL)
	if m.Refused != nil {
		fmt.Fprintf(out, "refused: %s at %d: %s\n", m.Refused.Code, m.Refused.Position, m.Refused.Message)
	}
	for _, c := range m.Calls {
		fmt.Fprintf(out, "call:  %s at %d, arguments %v", c.Func.Name, c.Position, c.Args)
		out.WriteByte('\n')
	}
	for i, h := range m.Hidden {
		fmt.Fprintf(out, "$%d:    %s\n", m.Params+1+i, showHidden(m, h))
	}
	for _, f := range m.Facts {
		fmt.Fprintf(out, "fact:  %v\n", &f)
	}
	showRows(out, m)
	if m.Explain != nil {
		fmt.Fprintf(out, "explain: text=%v %q\n", m.Explain.Text, m.Explain.Lines)
	}
}

func showHidden(m *Split, h Hidden) string {
	switch {
	case h.Call < 0:
		return h.Type.TypName() + ", guards"
	case h.Column == AsScalar:
		return fmt.Sprintf("%s, call %d", h.Type.TypName(), h.Call)
	}
	f := m.Calls[h.Call].Func
	column := f.Columns[h.Column]
	if f.Set {
		return fmt.Sprintf("%s[], call %d %s", column.Type.TypName(), h.Call, column.Name)
	}
	return fmt.Sprintf("%s, call %d %s", h.Type.TypName(), h.Call, column.Name)
}

func showRows(out *strings.Builder, m *Split) {
	if m.Rows == nil {
		return
	}
	for _, c := range m.Rows.Calls {
		fmt.Fprintf(out, "row call: %s at %d, arguments %v\n", c.Func.Name, c.Position, c.Args)
	}
	for _, i := range m.Rows.Items {
		fmt.Fprintf(out, "row item: column %d %s\n", i.column, i.Type.TypName())
	}
}

// TestEveryArgumentCanBeProbed: by a function with a signature, or by itself.
func TestEveryArgumentCanBeProbed(t *testing.T) {
	for _, f := range sqlfuncs.Functions {
		for _, arg := range f.Args {
			if single[arg.Type].function == "" {
				t.Errorf("no built-in function has an argument as %s of %s", arg.Name, f.Name)
			}
		}
	}
}

// TestRewriteLimits: what PostgreSQL or the protocol can count.
func TestRewriteLimits(t *testing.T) {
	for _, test := range []struct{ sql, code string }{
		{"SELECT $65530, raisin_lock_acquire('k', 1) FROM t", ""},
		{"SELECT $65531, * FROM t, raisin_lock_acquire('k', 1) l", ""},
		{"SELECT $65532, * FROM t, raisin_lock_acquire('k', 1) l", "54000"},
		{"SELECT $70000, * FROM t, raisin_lock_acquire('k', 1) l", "54000"},
		{"SELECT $2147483647, * FROM t, raisin_lock_acquire('k', 1) l", "54000"},
		{"SELECT $0, * FROM t, raisin_lock_acquire('k', 1) l", "42P02"},
		{"SELECT " + strings.Repeat("raisin_lock_release('',1),", 554) + "1 FROM t", ""},
		{"SELECT " + strings.Repeat("raisin_lock_release('',1),", 554) + "1,2,3 FROM t", "54011"},
	} {
		parsed, err := pgparse.Parse(sqltext.New(test.sql, true))
		if err != nil {
			t.Fatal(err)
		}
		st := Rewrite(parsed, 0, plan.Options{Prepared: true})
		code := ""
		if st.Err != nil {
			code = string(st.Err.Code)
		}
		if code != test.code {
			t.Errorf("%.60s: got %v, want %s", test.sql, st.Err, test.code)
		}
	}
	parsed, _ := pgparse.Parse(sqltext.New("SELECT * FROM t, raisin_lock_release('k', 1)", true))
	for declared, code := range map[int]string{65534: "", 65535: "54000"} {
		st := Rewrite(parsed, 0, plan.Options{Prepared: true, Types: make([]datum.Type, declared)})
		if got := st.Err; (got == nil) != (code == "") || got != nil && string(got.Code) != code {
			t.Errorf("%d declared parameters: %v", declared, got)
		}
	}
}

// TestVoidParameter: JDBC declares a result that PostgreSQL leaves out of the call.
func TestVoidParameter(t *testing.T) {
	parsed, _ := pgparse.Parse(sqltext.New("SELECT * FROM t, raisin_lock_acquire($1, $2, ttl_ms => $3) AS result", true))
	types := []datum.Type{datum.Void, datum.Text, datum.Int8}
	m := Rewrite(parsed, 0, plan.Options{Prepared: true, Types: types}).Action.(*Split)
	if want := "SELECT ($2)::pg_catalog.text, ($3)::pg_catalog.int8"; m.Args.SQL != want || m.Params != 3 {
		t.Errorf("%s of %d parameters, want %s", m.Args.SQL, m.Params, want)
	}
	local := m.Local(types)
	if local == nil {
		t.Fatal("the arguments are not computed here")
	}
	args, _, err := local.Eval([]datum.Datum{{}, datum.OfText("k"), datum.OfInt(5)})
	if err != nil || fmt.Sprint(args) != fmt.Sprint([][]datum.Datum{{datum.OfText("k"), datum.OfInt(5), datum.OfInt(0)}}) {
		t.Errorf("arguments %v, %v", args, err)
	}
}
