package settings

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"raisinproxy/sqlfuncs/pgerr"
)

// testdata/values.tsv has what PostgreSQL 15.18 answered, as a role that is not a superuser, to
// BEGIN; SELECT set_config(name, value, false); ROLLBACK for each line.
func TestValuesAsPostgreSQL(t *testing.T) {
	d := defaults(t)
	for _, line := range dataLines(t, "testdata/values.tsv") {
		f := strings.Split(line, "\t")
		name, raw, want := f[0], f[1], f[2]
		value := raw
		if strings.HasPrefix(raw, `"`) {
			value, _ = strconv.Unquote(raw)
		}
		s := New(d, "joe")
		s.Begin()
		s.Queried() // set_config is called by a SELECT
		err := s.Set(name, value, false)
		got := render(err)
		if err == nil {
			shown, _ := s.Show(name)
			got = "= " + strconv.Quote(shown)
		}
		if got != want {
			t.Errorf("%s = %s\n got %s\nwant %s", name, raw, got, want)
		}
	}
}

func render(err error) string {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	text := fmt.Sprintf("! %s %q", e.Code, e.Message)
	if e.Detail != "" {
		text += fmt.Sprintf(" detail=%q", e.Detail)
	}
	if e.Hint != "" {
		text += fmt.Sprintf(" hint=%q", e.Hint)
	}
	return text
}

func defaults(t testing.TB) *Defaults {
	t.Helper()
	d, err := NewDefaults(Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dataLines are the lines that are neither empty nor comments.
func dataLines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
