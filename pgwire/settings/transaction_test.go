package settings

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"raisinproxy/sqlfuncs/pgerr"
)

// testdata/transactions.tsv has random programs and what PostgreSQL 15.18 answered: one step a line with the
// transaction status after it, the error, the ParameterStatus messages of the answer (a change back and forth within
// one step sends none), and SHOW of each of the names below ("=" as before). "fail" is SELECT 1/0.
func TestTransactionsAsPostgreSQL(t *testing.T) {
	names := []string{
		"work_mem", "TimeZone", "DateStyle", "my.x", "transaction_read_only", "transaction_isolation",
		"default_transaction_read_only", "default_transaction_isolation", "transaction_deferrable",
	}
	d := defaults(t)
	var p *program
	var program, shown string
	for _, line := range dataLines(t, "testdata/transactions.tsv") {
		if line == "new" {
			program, shown, p = "", "", newProgram(t, d)
			continue
		}
		f := strings.Split(line, "\t")
		program += f[0] + "\n"
		err := p.step(f[0])
		var reports []string
		for _, r := range p.s.TakeReports() {
			reports = append(reports, r.Name+"="+r.Value)
		}
		if f[4] != "=" {
			shown = f[4]
		}
		now := shown
		if !p.failed {
			now = p.show(names)
		}
		got := []string{string(p.status()), err, strings.Join(reports, "|"), now}
		if want := []string{f[1], f[2], f[3], shown}; !slices.Equal(got, want) {
			t.Fatalf("after\n%s\n got %q\nwant %q", program, got, want)
		}
	}
}

// A program drives a Set as a session would: the implicit transaction, the block and the failed block.
type program struct {
	s             *Set
	block, failed bool
}

func newProgram(t *testing.T, d *Defaults) *program {
	s := New(d, "joe")
	for _, option := range [][2]string{{"work_mem", "5MB"}, {"my.x", "zero"}, {"TimeZone", "America/New_York"}} {
		if err := s.SetStartup(option[0], option[1]); err != nil {
			t.Fatal(err)
		}
	}
	s.Reported()
	return &program{s: s}
}

func (p *program) status() byte {
	switch {
	case p.failed:
		return 'E'
	case p.block:
		return 'T'
	}
	return 'I'
}

func (p *program) show(names []string) string {
	var values []string
	for _, name := range names {
		v, err := p.s.Show(name)
		if err != nil {
			v = err.Error()
		}
		values = append(values, v)
	}
	return strings.Join(values, "|")
}

// step runs "verb name value" and returns the error as PostgreSQL would send it.
func (p *program) step(line string) (failure string) {
	verb, rest, _ := strings.Cut(line, " ")
	s := p.s
	switch verb {
	case "begin":
		p.block = true
		s.Begin()
		return ""
	case "commit", "rollback":
		if verb == "commit" && !p.failed {
			s.Commit()
		} else {
			s.Rollback()
		}
		p.block, p.failed = false, false
		return ""
	case "rollbackto":
		s.RollbackTo(number(rest))
		p.failed = false
		return ""
	}
	s.Begin()
	err := p.change(verb, rest)
	switch {
	case (err != nil || verb == "fail") && p.block:
		s.Fail()
		p.failed = true
	case err != nil || verb == "fail":
		s.Rollback()
	case !p.block:
		s.Commit()
	}
	if err != nil {
		e := pgerr.From(err)
		return string(e.Code) + " " + e.Message
	}
	return ""
}

func (p *program) change(verb, rest string) error {
	name, v, hasValue := strings.Cut(rest, " ")
	switch verb {
	case "set", "local":
		if !hasValue {
			return p.s.SetToDefault(name, verb == "local")
		}
		return p.s.Set(name, v, verb == "local")
	case "resetall":
		p.s.ResetAll()
	case "query", "fail":
		p.s.Queried()
	case "savepoint":
		p.s.Savepoint()
	case "release":
		p.s.ReleaseTo(number(rest))
	}
	return nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
