package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// whoMay are the ways of each row of the table of docs/operations.md. Each comer has to stand in the
// table once for each of its methods and each value of allow_anonymous, and nobody else.
func whoMay(t *testing.T) []attempt {
	t.Helper()
	var attempts []attempt
	stands := map[string]int{}
	for _, r := range readTable(t) {
		for _, method := range quoted(r.method) {
			at := slices.IndexFunc(comers, func(c comer) bool {
				return c.user == r.user && slices.Contains(strings.Fields(c.methods), method)
			})
			if at < 0 {
				t.Fatalf("no test knows how this user comes under %s: %s", method, r.user)
			}
			for _, anonymous := range quoted(r.anonymous) {
				stands[method+"|"+r.user+"|"+anonymous]++
				for _, w := range comers[at].ways {
					if w.tls == "bound" && method != "scram-sha-256" {
						continue // there is nothing else to bind
					}
					attempts = append(attempts, attempt{way: w, method: method, anonymous: anonymous, login: r.login, call: r.call})
				}
			}
		}
	}
	for _, c := range comers {
		for method := range strings.FieldsSeq(c.methods) {
			for _, anonymous := range []string{"false", "true"} {
				want := 1
				if method == "--dev-mode" && anonymous == "false" {
					want = 0 // it implies true
				}
				if key := method + "|" + c.user + "|" + anonymous; stands[key] != want {
					t.Fatalf("the table of docs/operations.md has this %d times: %s", stands[key], key)
				}
			}
		}
	}
	return attempts
}

// whoMayRow is a row of the table. An empty cell of its first columns means the one above it.
type whoMayRow struct{ method, user, anonymous, login, call string }

func readTable(t *testing.T) []whoMayRow {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Who may do what\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var rows []whoMayRow
	var last whoMayRow
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 5 {
			t.Fatalf("not five cells: %s", line)
		}
		if cells[0] == "method" || cells[0] == "---" {
			continue
		}
		r := whoMayRow{method: cells[0], user: cells[1], anonymous: cells[2], login: outcome(t, cells[3])}
		if r.login == "" {
			r.call = outcome(t, cells[4])
		}
		if r.method == "" {
			r.method = last.method
		}
		if r.user == "" {
			r.user = last.user
		}
		rows, last = append(rows, r), r
	}
	return rows
}

// outcome reads "yes" as no SQLSTATE and "no: `SQLSTATE` …" as that.
func outcome(t *testing.T, cell string) string {
	t.Helper()
	if cell == "yes" {
		return ""
	}
	if states := quoted(cell); strings.HasPrefix(cell, "no: ") && len(states) == 1 {
		return states[0]
	}
	t.Fatalf("neither yes nor no with an SQLSTATE: %q", cell)
	return ""
}

var inBackticks = regexp.MustCompile("`([^`]+)`")

func quoted(cell string) []string {
	var texts []string
	for _, m := range inBackticks.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts
}
