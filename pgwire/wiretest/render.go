package wiretest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// view says how much of a message a command shows.
type view struct {
	oids   bool // every field of T and t as a number
	fields bool // every field of E and N, but F, L and R
	brief  bool // long lines cut, rows beyond three counted

	hide string // message types that are not shown
}

// Authentication requests, see
// https://www.postgresql.org/docs/15/protocol-message-formats.html.
const (
	authOK           = 0
	authCleartext    = 3
	authMD5          = 5
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12
)

var authNames = map[uint32]string{
	authOK: "Ok", authCleartext: "CleartextPassword", authMD5: "MD5Password", authSASL: "SASL",
	authSASLContinue: "SASLContinue", authSASLFinal: "SASLFinal",
}

// render shows a message on one line. columns describe the row of a D, as far
// as they are known; own is the connection's process id, as it was told at start-up.
func (m *message) render(v view, columns []column, own uint32) string {
	line := string(m.typ)
	switch m.typ {
	case 'A':
		from := "other"
		if m.number == own {
			from = "own"
		}
		line += " from=" + from + " " + quote(m.texts[0]) + " " + quote(m.texts[1])
	case 'C':
		line += " " + m.texts[0]
	case 'd':
		line += " " + quote(string(m.data))
	case 'D', 'V':
		line += " " + m.renderRow(columns)
	case 'E', 'N':
		line += m.renderDiagnostics(v)
	case 'G', 'H', 'W':
		line += fmt.Sprintf(" %d %v", m.status, m.formats)
	case 'R':
		line += " " + authNames[m.number]
		if m.number == authSASL {
			line += " " + strings.Join(m.texts, " ")
		}
	case 'S':
		line += " " + m.texts[0] + "=" + m.texts[1]
	case 't':
		words := []string{line}
		for _, oid := range m.oids {
			if v.oids {
				words = append(words, number(oid))
			} else {
				words = append(words, typeName(oid))
			}
		}
		line = strings.Join(words, " ")
	case 'T':
		words := []string{line}
		for _, c := range m.columns {
			words = append(words, c.render(v))
		}
		line = strings.Join(words, " ")
	case 'v':
		line += fmt.Sprintf(" %d %v", m.number, m.texts)
	case 'Z':
		line += " " + string(m.status)
	}
	return line
}

func (m *message) renderRow(columns []column) string {
	values := make([]string, len(m.row))
	for i, value := range m.row {
		var c column
		if i < len(columns) {
			c = columns[i]
		}
		switch {
		case value == nil:
			values[i] = "NULL"
		case c.format == 1:
			values[i] = renderBinary(c.oid, value)
		default:
			values[i] = renderText(c.oid, value)
		}
	}
	return "[" + strings.Join(values, " ") + "]"
}

func (c column) render(v view) string {
	name := quote(c.name)
	if bare := name[1 : len(name)-1]; bare == c.name && bare != "" && !strings.ContainsAny(bare, " :\"") {
		name = bare
	}
	if v.oids {
		return fmt.Sprintf("%s{table=%s att=%d oid=%s len=%d mod=%d fmt=%d}",
			name, number(c.table), c.attnum, number(c.oid), c.length, c.typmod, c.format)
	}
	switch c.format {
	case 0:
		return name + ":" + typeName(c.oid)
	case 1:
		return name + ":" + typeName(c.oid) + "/b"
	default:
		return fmt.Sprintf("%s:%s/%d", name, typeName(c.oid), c.format)
	}
}

// diagnosticNames are the fields that a script shows after severity, SQLSTATE
// and message; those of the second half only when it asks for them.
var diagnosticNames = []struct {
	code byte
	name string
	rare bool
}{
	{'D', "detail", false}, {'H', "hint", false}, {'P', "position", false},
	{'p', "internal_position", true}, {'q', "internal_query", true}, {'W', "where", true}, {'s', "schema", true},
	{'t', "table", true}, {'c', "column", true}, {'d', "type", true}, {'n', "constraint", true},
}

func (m *message) renderDiagnostics(v view) string {
	severity := m.field('S')
	if fixed := m.field('V'); fixed != severity {
		severity += "/" + fixed
	}
	line := " " + severity + " " + m.field('C') + " " + quote(m.field('M'))
	for _, d := range diagnosticNames {
		has := slices.ContainsFunc(m.diag, func(f diagnostic) bool { return f.code == d.code })
		if !has || d.rare && !v.fields {
			continue
		}
		if d.code == 'P' || d.code == 'p' {
			line += " " + d.name + "=" + m.field(d.code)
		} else {
			line += " " + d.name + "=" + quote(m.field(d.code))
		}
	}
	return line
}

// shorten is the brief form of an answer.
func shorten(lines []string) []string {
	const width, rows = 160, 3
	var short []string
	kind, run := "", 0
	flush := func() {
		if run > rows {
			short = append(short, fmt.Sprintf("… %d more %s", run-rows, kind))
		}
		run = 0
	}
	for _, line := range lines {
		next, _, _ := strings.Cut(line, " ")
		if next != kind {
			flush()
		}
		kind = next
		if kind == "D" || kind == "d" {
			run++
		}
		if run > rows {
			continue
		}
		if n := utf8.RuneCountInString(line); n > width {
			line = fmt.Sprintf("%.*s… %d more characters", width, line, n-width)
		}
		short = append(short, line)
	}
	flush()
	return short
}
