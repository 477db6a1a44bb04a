package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// statement is one entry of the corpus: what a session says, step by step, and the values
// of $1, $2, … in it.
type statement struct {
	steps  []string
	params []string
	// certain: the form is one of those that are always answered.
	certain bool
	// perRow: the call stands in a SELECT list over a table.
	perRow bool
	// slow: it waits for a time-out, so one plan is enough.
	slow bool
	// pipelined: all steps are sent together, in the extended protocol.
	pipelined bool
	// untold: what is answered is a matter of its own (EXPLAIN), only errors and calls count.
	untold bool
	// keeps is what may be gone after an error: what was committed before it, or taken by
	// an earlier statement of a block.
	keeps string
}

func (s *statement) String() string {
	text := strings.ReplaceAll(strings.Join(s.steps, " ;; "), stepDivider, " ;; ")
	if len(s.params) > 0 {
		text += fmt.Sprintf(" -- %q", s.params)
	}
	return text
}

func (s *statement) contains(words ...string) bool {
	return slices.ContainsFunc(s.steps, func(step string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return strings.Contains(strings.ToUpper(step), word)
		})
	})
}

// writes says whether the tables may be other ones afterwards.
func (s *statement) writes() bool {
	return s.contains("INSERT", "UPDATE", "DELETE", "MERGE", "NEXTVAL", "COPY", "CREATE", "INTO", "TRUNCATE", "ALTER", "EXECUTE")
}

// under says whether a statement is to be run under a plan. What reads nothing has but one.
func (s *statement) under(p plan) bool {
	simple := s.slow || !s.contains("FROM", "USING", "JOIN", "TABLE")
	return !simple || p.settings == "" && (p.analysed || !s.slow)
}

// settles says whether the session may be another one afterwards, prepared statements of
// the protocol aside.
func (s *statement) settles() bool {
	return s.contains("SET ", "PREPARE", "DECLARE", "TEMP", "CURSOR", "CONFIG")
}

// protocol is how statements are sent.
type protocol string

const (
	simple    protocol = "simple"
	extended  protocol = "extended"
	prepared  protocol = "prepared" // once, and executed again
	limited   protocol = "limited"  // to one row, in the extended protocol
	pipelined protocol = "pipelined"
)

// protocols are those in which a statement is tried.
func protocols(s *statement) []protocol {
	switch {
	case s.pipelined:
		return []protocol{pipelined}
	case s.certain || len(s.params) > 0:
		return []protocol{simple, extended, prepared}
	case s.perRow:
		return []protocol{simple, extended, limited}
	}
	return []protocol{simple, extended}
}

// steps are those of a statement, as they are sent.
func (p protocol) steps(s *statement) []string {
	if p != prepared {
		return s.steps
	}
	var steps []string
	for _, step := range s.steps {
		steps = append(steps, step, again+step)
	}
	return steps
}

// again marks the step that executes what the one before has prepared.
const again = "again: "

// takes says whether a statement can be sent so: parameters have no values in a simple
// query, and several statements are no text of the extended protocol.
func (p protocol) takes(s *statement) bool {
	for _, step := range s.steps {
		sql, _ := onTheSide(step)
		if p == simple && len(s.params) > 0 || p != simple && strings.Contains(sql, ";") {
			return false
		}
	}
	return true
}

// answer is what a step was told.
type answer struct {
	// text is the description of the result, its rows, tags, and the SQLSTATE.
	text string
	code string // SQLSTATE; lost: of no answer
	// rows that were returned or changed.
	rows int64
	// calls that the stand-ins, or the store, were asked for; undone are those of the
	// proxy that gave something back.
	calls    []call
	warnings []string
}

const lost = "the connection was lost"

// onTheSide: a step "side: …" is said on another connection, before the stand-ins and
// behind the proxy alike.
func onTheSide(step string) (sql string, side bool) { return strings.CutPrefix(step, "side: ") }

// ask sends one statement and collects the answer but for the calls.
func ask(ctx context.Context, conn *pgconn.PgConn, p protocol, sql string, params []string) answer {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var a answer
	var out strings.Builder
	err := send(ctx, conn, p, sql, params, func(r *pgconn.Result) { a.note(&out, r, !strings.Contains(strings.ToUpper(sql), "ORDER BY")) })
	var told *pgconn.PgError
	switch {
	case errors.As(err, &told) && !conn.IsClosed():
		a.code = told.Code
		fmt.Fprintf(&out, "error %s", told.Code)
	case err != nil:
		a.code = lost
		fmt.Fprintf(&out, "%s: %v", lost, err)
	}
	a.text = strings.TrimSuffix(out.String(), "\n")
	return a
}

func send(ctx context.Context, conn *pgconn.PgConn, p protocol, sql string, params []string, note func(*pgconn.Result)) error {
	if copies := strings.HasPrefix(sql, "COPY") && strings.Contains(sql, "STDOUT") && !strings.Contains(sql, ";"); copies && p == simple {
		var lines bytes.Buffer
		tag, err := conn.CopyTo(ctx, &lines, sql)
		r := &pgconn.Result{CommandTag: tag}
		for line := range strings.Lines(lines.String()) {
			r.Rows = append(r.Rows, [][]byte{[]byte(strings.TrimSuffix(line, "\n"))})
		}
		note(r)
		return err
	}
	if p == pipelined {
		return sendTogether(ctx, conn, strings.Split(sql, stepDivider), note)
	}
	if p == simple {
		results := conn.Exec(ctx, sql)
		for results.NextResult() {
			note(results.ResultReader().Read())
		}
		return results.Close()
	}
	sql, repeated := strings.CutPrefix(sql, again)
	values := make([][]byte, min(len(params), parameters(sql)))
	for i := range values {
		values[i] = []byte(params[i])
	}
	if p == extended {
		r := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
		note(r)
		return r.Err
	}
	if p == limited {
		return sendLimited(ctx, conn, sql, values, note)
	}
	if !repeated {
		if _, err := conn.Prepare(ctx, sql, sql, nil); err != nil {
			return err
		}
	}
	r := conn.ExecPrepared(ctx, sql, values, nil, nil).Read()
	note(r)
	return r.Err
}

// stepDivider stands between the statements of a pipeline, which is one step.
const stepDivider = "\x00"

func sendTogether(ctx context.Context, conn *pgconn.PgConn, sqls []string, note func(*pgconn.Result)) error {
	var batch pgconn.Batch
	for _, sql := range sqls {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	results := conn.ExecBatch(ctx, &batch)
	for results.NextResult() {
		note(results.ResultReader().Read())
	}
	return results.Close()
}

// sendLimited asks for one row and leaves the portal to end with the transaction.
func sendLimited(ctx context.Context, conn *pgconn.PgConn, sql string, values [][]byte, note func(*pgconn.Result)) error {
	front := conn.Frontend()
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Parse{Query: sql}, &pgproto3.Bind{Parameters: values}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{},
	} {
		front.Send(m)
	}
	if err := front.Flush(); err != nil {
		return err
	}
	r := &pgconn.Result{}
	for {
		m, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			row := make([][]byte, len(m.Values))
			for i, v := range m.Values {
				row[i] = slices.Clone(v)
			}
			r.Rows = append(r.Rows, row)
		case *pgproto3.PortalSuspended:
			r.CommandTag = pgconn.NewCommandTag("SUSPENDED")
		case *pgproto3.CommandComplete:
			r.CommandTag = pgconn.NewCommandTag(string(m.CommandTag))
		case *pgproto3.ErrorResponse:
			r.Err = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			note(r)
			return r.Err
		}
	}
}

// parameters is the greatest number of a parameter in a text.
func parameters(sql string) int {
	n := 9
	for n > 0 && !strings.Contains(sql, "$"+strconv.Itoa(n)) {
		n--
	}
	return n
}

// note adds a result to an answer. Rows in no order of the statement's are sorted.
func (a *answer) note(out *strings.Builder, r *pgconn.Result, anyOrder bool) {
	for _, field := range r.FieldDescriptions {
		fmt.Fprintf(out, "%s:%s ", field.Name, typeName(field.DataTypeOID))
	}
	if len(r.FieldDescriptions) > 0 {
		out.WriteByte('\n')
	}
	lines := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		values := make([]string, len(row))
		for j, v := range row {
			values[j] = "NULL"
			if v != nil {
				values[j] = string(v)
			}
		}
		lines[i] = "  " + strings.Join(values, " | ") + "\n"
	}
	if anyOrder {
		slices.Sort(lines)
	}
	out.WriteString(strings.Join(lines, ""))
	if tag := r.CommandTag.String(); tag != "" {
		out.WriteString(tag + "\n")
	}
	a.rows += max(r.CommandTag.RowsAffected(), int64(len(r.Rows)))
}

// typeName is the number of a type that both databases number alike. A row of a stand-in has a
// type with a name.
func typeName(oid uint32) string {
	if oid >= 16384 || oid == pgtype.RecordOID {
		return "its own"
	}
	return strconv.FormatUint(uint64(oid), 10)
}

// call is one call of a function, as a stand-in tells of it: "claim p 1 10".
type call string

// count says how often each call was made.
func count(calls []call) map[call]int {
	m := map[call]int{}
	for _, c := range calls {
		m[c]++
	}
	return m
}
