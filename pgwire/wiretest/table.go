package wiretest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// RunTable runs the rows of a Markdown file that says, message by message, what a server
// answers to what no client should send. server is the name of newTarget's kind of
// server; the sections that it is not on are left out. Each section begins with how its
// connections do, as commands of a script and three of its own:
//
//	```wire
//	on postgres alone       the servers that answer so; the first one's answers count
//	raw                     …
//	then startup …          what, after a row, brings a connection that goes on to a session
//	```
//
// and has a table of four columns: what is wrong, what is sent (frames as those of
// `send`; {PBE} stands for each of these types in turn, eof for the end of what the
// client sends), what comes back ({type} is the type's number), and whether the
// connection goes on. Each row has a connection of its own; after it the server must
// still serve a new one.
//
// With the flag -rewrite the rows of the sections whose first server this is get its
// answers.
func RunTable(t *testing.T, path, server string, newTarget NewTarget) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := parseTable(string(text))
	if err != nil {
		t.Fatalf("%s:%v", path, err)
	}
	ran := false
	for _, s := range tab.sections {
		if slices.Contains(s.servers, server) {
			ran = true
			t.Run(s.name, func(t *testing.T) { s.run(t, server, newTarget) })
		}
	}
	if !ran {
		t.Fatalf("%s has no section for %q", path, server)
	}
	if rewriting() && !t.Failed() {
		if err := os.WriteFile(path, []byte(tab.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// table is a Markdown file, line by line, and what of it is run.
type table struct {
	lines    []string
	sections []*section
}

// section is one table and how the connections of its rows begin.
type section struct {
	name     string
	servers  []string
	options  map[string]string // of `server`
	commands []command
	then     string
	rows     []*tableRow
}

// command is one of a script, with its input.
type command struct {
	line, input string
}

// tableRow is one line of a table. number is its place in the file.
type tableRow struct {
	number                     int
	what, sent, answer, ending string
}

// goesOn and closed are how a row may end.
const (
	goesOn = "goes on"
	closed = "closed"
)

func parseTable(text string) (*table, error) {
	tab := &table{lines: strings.Split(text, "\n")}
	var s *section
	fence := -1 // where the fence began that is open
	for i, line := range tab.lines {
		var err error
		switch {
		case fence >= 0 && line == "```":
			err = s.begin(tab.lines[fence+1 : i])
			fence = -1
		case fence >= 0:
		case strings.HasPrefix(line, "## "):
			s = &section{name: line[3:]}
		case line == "```wire" && s != nil:
			fence = i
			tab.sections = append(tab.sections, s)
		case s != nil && len(s.servers) > 0 && strings.HasPrefix(line, "| "):
			err = s.addRow(i, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	return tab, nil
}

// begin reads how the connections of a section begin.
func (s *section) begin(lines []string) error {
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case name == "on":
			s.servers = strings.Fields(rest)
		case name == "then":
			s.then = rest
		case strings.HasPrefix(line, "    ") && len(s.commands) > 0:
			s.commands[len(s.commands)-1].input += strings.TrimSpace(line) + "\n"
		case name == "server":
			s.options = map[string]string{}
			for option := range strings.FieldsSeq(rest) {
				key, value, _ := strings.Cut(option, "=")
				s.options[key] = value
			}
		default:
			s.commands = append(s.commands, command{line: line})
		}
	}
	if len(s.servers) == 0 {
		return errors.New("no server is named: on …")
	}
	return nil
}

func (s *section) addRow(number int, line string) error {
	cells := strings.Split(strings.Trim(line, "|"), " | ")
	if len(cells) != 4 {
		return fmt.Errorf("%d columns, want 4", len(cells))
	}
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
	}
	if cells[1] == "sent" || strings.HasPrefix(cells[1], "---") {
		return nil // the head of the table
	}
	if cells[3] != goesOn && cells[3] != closed {
		return fmt.Errorf("the connection %q: write %q or %q", cells[3], goesOn, closed)
	}
	s.rows = append(s.rows, &tableRow{number, cells[0], cells[1], cells[2], cells[3]})
	return nil
}

// String is the file with the rows as they are now.
func (t *table) String() string {
	for _, s := range t.sections {
		for _, r := range s.rows {
			answer := r.answer
			if answer != "" {
				answer = "`" + answer + "`"
			}
			t.lines[r.number] = fmt.Sprintf("| %s | `%s` | %s | %s |", r.what, r.sent, answer, r.ending)
		}
	}
	return strings.Join(t.lines, "\n")
}

// eachType are the types that a row is to be tried with.
var eachType = regexp.MustCompile(`\{([^}]+)\}`)

// variants are the rows that a row stands for, one for each type.
func (r *tableRow) variants() ([]variant, error) {
	found := eachType.FindStringSubmatch(r.sent)
	if found == nil {
		return []variant{{sent: r.sent}}, nil
	}
	types, err := strconv.Unquote(`"` + found[1] + `"`)
	if err != nil {
		return nil, fmt.Errorf("the types %q: %w", found[1], err)
	}
	var all []variant
	for _, typ := range []byte(types) {
		sent := strings.ReplaceAll(r.sent, found[0], fmt.Sprintf(`"\x%02x"`, typ))
		all = append(all, variant{sent: sent, number: "type " + strconv.Itoa(int(typ)), hex: fmt.Sprintf("type 0x%02X", typ)})
	}
	return all, nil
}

// variant is a row with one of its types. number and hex are how answers name it.
type variant struct{ sent, number, hex string }

// generalize puts the placeholders of a row's answer for the type of this variant.
func (v variant) generalize(answer string) string {
	if v.number == "" {
		return answer
	}
	answer = regexp.MustCompile(v.number+`\b`).ReplaceAllString(answer, "type {type}")
	return strings.ReplaceAll(answer, v.hex, "type {hex}")
}
