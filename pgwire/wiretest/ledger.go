package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// debt is a front-end message and what the server still owes for it.
type debt struct {
	kind      byte // P, B, C, E, S, Q, F; D: Describe of a statement, p: of a portal
	statement string
	portal    string
	formats   []int16 // B: the result formats asked for
	maxRows   int     // E
	inCopy    bool    // S: sent before the end of the data of a COPY, if one begins

	phase   phase
	rows    int
	columns []column // of the rows that are coming; nil: not known
}

// phase is how far the answer to an Execute or a Query has come.
type phase int

const (
	fresh      phase = iota // nothing yet
	between                 // Query: one statement answered, another may follow
	inRows                  // Query: after RowDescription
	feeding                 // after CopyInResponse
	copying                 // after CopyOutResponse or CopyBothResponse
	copied                  // after the server's CopyDone
	concluding              // only ReadyForQuery may follow
)

// portal is what the client knows of one.
type portal struct {
	statement string
	formats   []int16
	columns   []column
}

// ledger knows what a server owes a client, so that every message out of place
// is noticed. See https://www.postgresql.org/docs/15/protocol-flow.html.
type ledger struct {
	owed       []*debt
	discarding bool // an error of the extended protocol waits for its Sync
	unchecked  bool // frames were sent by hand: anything may come
	ending     bool // a FATAL error came: only the end of the connection may

	statements map[string][]column
	portals    map[string]*portal
}

func newLedger() *ledger {
	return &ledger{statements: map[string][]column{}, portals: map[string]*portal{}}
}

// sent notes a message that the server will see.
func (l *ledger) sent(d *debt) {
	if l.discarding && len(l.owed) == 0 && d.kind != 'S' {
		return
	}
	l.owed = append(l.owed, d)
}

// feeding is true while the server waits for the data of a COPY, and would wait for
// ever: no message that breaks the COPY is under way.
func (l *ledger) feeding() bool {
	return len(l.owed) > 0 && l.owed[0].phase == feeding &&
		!slices.ContainsFunc(l.owed[1:], func(d *debt) bool { return d.kind != 'S' })
}

// copyEnds notes that the client sends a CopyDone or CopyFail. Every Sync between the
// Execute and it is ignored, if that Execute begins a COPY: drivers send Sync with
// Execute before they can know. It is true where the server answers without more.
func (l *ledger) copyEnds() bool {
	for _, d := range slices.Backward(l.owed) {
		if d.kind != 'S' {
			break
		}
		d.inCopy = true
	}
	if len(l.owed) == 0 {
		return false
	}
	head := l.owed[0]
	if head.phase == feeding {
		l.ignoreSyncs()
	}
	return head.kind == 'Q' && (head.phase == feeding || head.phase == copying)
}

// ignoreSyncs forgets those behind the COPY that is owed first.
func (l *ledger) ignoreSyncs() {
	for len(l.owed) > 1 && l.owed[1].inCopy {
		l.owed = slices.Delete(l.owed, 1, 2)
	}
}

// received checks a message against what is owed. The columns are those of the
// row that m is, as far as they are known.
func (l *ledger) received(m *message) (columns []column, err error) {
	if l.ending {
		return nil, fmt.Errorf("message %q after a FATAL error", m.typ)
	}
	switch m.typ {
	case 'N', 'S', 'A':
		return nil, nil
	case 'E':
		return nil, l.failed(m)
	}
	if l.unchecked {
		return nil, nil
	}
	if len(l.owed) == 0 {
		return nil, fmt.Errorf("message %q, and nothing was owed", m.typ)
	}
	head := l.owed[0]
	done, err := l.answer(head, m)
	if err != nil {
		return nil, fmt.Errorf("%w, as an answer to %q", err, head.kind)
	}
	if done {
		l.owed = l.owed[1:]
	}
	return head.columns, nil
}

func (l *ledger) failed(m *message) error {
	switch severity := m.field('V'); {
	case severity == "FATAL" || severity == "PANIC":
		l.owed, l.ending = nil, true
	case l.unchecked:
	case len(l.owed) == 0:
		return fmt.Errorf("error, and nothing was owed")
	case l.owed[0].phase == concluding:
		return fmt.Errorf("a second error in the answer to %q", l.owed[0].kind)
	case strings.IndexByte("QSF", l.owed[0].kind) >= 0:
		l.owed[0].phase = concluding
	default:
		l.discarding = true
		for len(l.owed) > 0 && l.owed[0].kind != 'S' {
			l.owed = l.owed[1:]
		}
		if len(l.owed) > 0 {
			l.owed[0].phase = concluding
		}
	}
	return nil
}

func misplaced(m *message) error { return fmt.Errorf("message %q out of place", m.typ) }

// answer takes one message of the answer to d and says whether it was the last.
func (l *ledger) answer(d *debt, m *message) (done bool, err error) {
	switch {
	case d.kind == 'S' && m.typ == 'Z':
		l.discarding = false
		l.ready(m.status)
		return true, nil
	case d.kind == 'Q':
		return l.answerQuery(d, m)
	case d.kind == 'E':
		done, err := l.answerExecute(d, m)
		if d.phase == feeding {
			l.ignoreSyncs()
		}
		return done, err
	case d.kind == 'F' && m.typ == 'V' && d.phase == fresh:
		d.phase, d.columns = concluding, []column{{format: 1}}
		return false, nil
	case d.kind == 'F' && m.typ == 'Z' && d.phase == concluding:
		l.ready(m.status)
		return true, nil
	case d.kind == 'P' && m.typ == '1':
		delete(l.statements, d.statement)
		return true, nil
	case d.kind == 'B' && m.typ == '2':
		l.portals[d.portal] = &portal{statement: d.statement, formats: d.formats}
		return true, nil
	case d.kind == 'C' && m.typ == '3':
		return true, nil
	case d.kind == 'D' && m.typ == 't' && d.phase == fresh:
		d.phase = between
		return false, nil
	case d.kind == 'D' && d.phase == between && (m.typ == 'T' || m.typ == 'n'):
		for _, c := range m.columns {
			if c.format != 0 {
				return false, fmt.Errorf("column %q of a statement described with format %d", c.name, c.format)
			}
		}
		l.statements[d.statement] = m.columns
		return true, nil
	case d.kind == 'p' && (m.typ == 'T' || m.typ == 'n'):
		if p := l.portals[d.portal]; p != nil {
			p.columns = m.columns
		}
		return true, nil
	}
	return false, misplaced(m)
}

// ready notes the end of a transaction, which portals do not outlive.
func (l *ledger) ready(status byte) {
	if status == 'I' {
		clear(l.portals)
	}
}

func (l *ledger) answerQuery(d *debt, m *message) (done bool, err error) {
	next := d.phase
	switch d.phase {
	case fresh, between:
		switch {
		case m.typ == 'T':
			next, d.columns = inRows, m.columns
		case m.typ == 'C':
			next = between
		case m.typ == 'I' && d.phase == fresh:
			next = concluding
		case m.typ == 'G' || m.typ == 'H' || m.typ == 'W':
			next = copyPhase(m)
		case m.typ == 'Z' && d.phase == between:
			l.ready(m.status)
			return true, nil
		default:
			return false, misplaced(m)
		}
	case inRows:
		switch m.typ {
		case 'D':
			return false, d.row(m)
		case 'C':
			next = between
		default:
			return false, misplaced(m)
		}
	case feeding, copying, copied:
		next, err = d.copy(m)
		if m.typ == 'C' {
			next = between
		}
	case concluding:
		if m.typ != 'Z' {
			return false, misplaced(m)
		}
		l.ready(m.status)
		return true, nil
	}
	d.phase = next
	return false, err
}

func (l *ledger) answerExecute(d *debt, m *message) (done bool, err error) {
	if d.phase == feeding || d.phase == copying || d.phase == copied {
		d.phase, err = d.copy(m)
		return m.typ == 'C', err
	}
	switch m.typ {
	case 'D':
		if d.rows == 0 {
			d.columns = l.portalColumns(d.portal, len(m.row))
		}
		return false, d.row(m)
	case 's':
		if d.maxRows <= 0 || d.rows != d.maxRows {
			return false, fmt.Errorf("suspended after %d rows, the limit was %d", d.rows, d.maxRows)
		}
		return true, nil
	case 'C':
		return true, nil
	case 'I':
		if d.rows > 0 {
			return false, misplaced(m)
		}
		return true, nil
	case 'G', 'H', 'W':
		if d.rows > 0 {
			return false, misplaced(m)
		}
		d.phase = copyPhase(m)
		return false, nil
	}
	return false, misplaced(m)
}

// row counts a DataRow and compares it with its description.
func (d *debt) row(m *message) error {
	d.rows++
	if d.kind == 'E' && d.maxRows > 0 && d.rows > d.maxRows {
		return fmt.Errorf("row %d, the limit was %d", d.rows, d.maxRows)
	}
	if d.columns != nil && len(d.columns) != len(m.row) {
		return fmt.Errorf("a row of %d columns, described were %d", len(m.row), len(d.columns))
	}
	return nil
}

func copyPhase(m *message) phase {
	if m.typ == 'G' {
		return feeding
	}
	return copying
}

// copy takes a message during COPY and gives the phase after it.
func (d *debt) copy(m *message) (phase, error) {
	switch {
	case m.typ == 'd' && d.phase == copying:
		return copying, nil
	case m.typ == 'c' && d.phase == copying:
		return copied, nil
	case m.typ == 'C':
		return copied, nil
	}
	return d.phase, misplaced(m)
}

// portalColumns is what the client can know of a portal's rows: their types from
// Describe, their formats from Bind. Of a portal that was never described it
// knows the formats only.
func (l *ledger) portalColumns(name string, width int) []column {
	p := l.portals[name]
	if p == nil {
		return nil
	}
	if p.columns != nil {
		return p.columns
	}
	columns := slices.Clone(l.statements[p.statement])
	if columns == nil {
		columns = make([]column, width)
	}
	for i := range columns {
		columns[i].format = p.format(i)
	}
	return columns
}

func (p *portal) format(i int) int16 {
	switch {
	case len(p.formats) == 1:
		return p.formats[0]
	case i < len(p.formats):
		return p.formats[i]
	}
	return 0
}
