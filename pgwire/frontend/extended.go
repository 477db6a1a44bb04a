package frontend

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// FailPipeline answers an error in the extended protocol: what follows is dropped
// up to Sync.
func (s *Session) FailPipeline(err error) drive.Verdict {
	s.Fail(err)
	s.Skipping = true
	return NeedInput
}

// Parse makes a prepared statement.
func (s *Session) Parse(m *wire.Message) drive.Verdict {
	s.Refresh() // before the text is read, which depends on settings
	declared := m.Types
	name, nameErr := s.name(m, m.Statement)
	text, textErr := s.View.Text.FromClient(m.Text)
	if err := cmp.Or(nameErr, textErr); err != nil {
		return s.FailPipeline(err)
	}
	script, ok := s.Lookup(s.Read(text), plan.Options{Prepared: true, Types: declared})
	if !ok {
		return NeedPlan
	}
	st, err := s.prepared(script, declared)
	s.BeginImplicit()
	if len(name) == 0 {
		s.Objects.Unnamed = nil // even if the new one fails
		s.Handler.ShadowStatement()
	}
	s.ReportAll(script.Notices)
	if err == nil && SplitOf(st) != nil {
		st, err = s.Handler.Probe(st, declared)
	}
	if err != nil {
		return s.FailPipeline(err)
	}
	if len(name) == 0 {
		s.Objects.Unnamed = st
	} else if err := s.Keep(string(name), st); err != nil {
		return s.FailPipeline(err)
	}
	s.Client.Out.ParseComplete()
	return NeedInput
}

// prepared checks that a script is one statement that may be prepared now.
func (s *Session) prepared(script *plan.Script, declared []datum.Type) (*plan.Statement, error) {
	switch {
	case script.Err != nil:
		return nil, script.Err
	case len(script.Statements) == 0:
		return &plan.Statement{Params: declared}, nil
	case len(script.Statements) > 1:
		return nil, pgerr.Newf(codes.Syntax, "cannot insert multiple commands into a prepared statement")
	}
	st := script.Statements[0]
	if s.TxState() == wire.FailedBlock && !st.EndsTransaction() {
		return nil, ErrAborted
	}
	if err := s.Wrong(st); err != nil {
		return nil, err
	}
	if show, ok := st.Action.(*plan.Show); ok {
		if _, err := s.View.Vars.Show(show.Name); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// name is the name of a statement or portal in UTF-8. The error is what is wrong with it, or with its message.
func (s *Session) name(m *wire.Message, raw []byte) ([]byte, error) {
	if m.Bad != nil {
		return nil, m.Bad
	}
	name, err := s.InUTF8(raw)
	if err == nil {
		err = settings.ValidUTF8(name)
	}
	return name, err
}

// InUTF8 is a name that a client has sent.
func (s *Session) InUTF8(raw []byte) ([]byte, error) {
	if !slices.ContainsFunc(raw, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return raw, nil
	}
	s.Refresh()
	return s.View.Text.FromClient(raw)
}

// maxName is how much of a name of a statement or portal counts: NAMEDATALEN - 1
// bytes, whatever characters they cut.
const maxName = 63

// NameKey is what counts of a name.
func NameKey[T string | []byte](name T) T { return name[:min(len(name), maxName)] }

// ErrStatementExists refuses a second statement of a name.
func ErrStatementExists(name string) error {
	return pgerr.Newf(codes.DuplicatePreparedStatement, "prepared statement \"%s\" already exists", name)
}

// Keep stores a named prepared statement, of the protocol or of SQL: they share
// their names.
func (s *Session) Keep(name string, st *plan.Statement) error {
	if s.Objects.Statements[NameKey(name)] != nil {
		return ErrStatementExists(name)
	}
	if err := s.Handler.CheckStatement(name); err != nil {
		return err
	}
	if err := room(s.Objects.statementBytes, maxStatementBytes, "prepared statements", "DEALLOCATE those that are not needed."); err != nil {
		return err
	}
	s.Objects.Statements[NameKey(name)] = st
	s.Objects.statementBytes += statementBytes(st)
	return nil
}

// statement finds a prepared statement.
func (s *Session) statement(name string) (*plan.Statement, error) {
	if st := s.Objects.Statements[NameKey(name)]; st != nil {
		return st, nil
	}
	return nil, pgerr.Newf(codes.InvalidSQLStatementName, "prepared statement \"%s\" does not exist", name)
}

// statementOf is statement for a name of the protocol, where "" is the unnamed one.
func (s *Session) statementOf(name []byte) (*plan.Statement, error) {
	switch {
	case len(name) == 0 && s.Objects.Unnamed == nil:
		return nil, pgerr.Newf(codes.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	case len(name) == 0:
		return s.Objects.Unnamed, nil
	}
	if st := s.Objects.Statements[string(NameKey(name))]; st != nil {
		return st, nil
	}
	return s.statement(string(name)) // for its error
}

// Bind makes a portal.
func (s *Session) Bind(message *wire.Message) drive.Verdict {
	portalName, portalErr := s.name(message, message.Portal)
	statementName, statementErr := s.name(message, message.Statement)
	if err := cmp.Or(portalErr, statementErr); err != nil {
		return s.FailPipeline(err)
	}
	m := wire.Body{Rest: message.Rest}
	st, err := s.statementOf(statementName)
	if err != nil {
		return s.FailPipeline(err)
	}
	s.BeginImplicit()
	s.Refresh()
	if err := s.parameterFormats(&m, st, statementName); err != nil {
		return s.FailPipeline(err)
	}
	if s.TxState() == wire.FailedBlock && !st.EndsTransaction() {
		return s.FailPipeline(ErrAborted)
	}
	if err := s.Authorize(st); err != nil {
		return s.FailPipeline(err)
	}
	if len(portalName) == 0 {
		s.Handler.ShadowPortal()
	}
	p, err := s.newPortal(portalName, st)
	if err != nil {
		return s.FailPipeline(err)
	}
	if err := s.fillPortal(p, &m); err != nil {
		s.dropPortal(p)
		return s.FailPipeline(err)
	}
	if p != &s.Objects.UnnamedPortal {
		p.kept = portalBytes(p)
		s.Objects.portalBytes += p.kept
	}
	s.Client.Out.BindComplete()
	return NeedInput
}

// parameterFormats reads a Bind up to the values, of which there must be as many as the statement has parameters.
func (s *Session) parameterFormats(m *wire.Body, st *plan.Statement, name []byte) error {
	s.formats = wire.ReadFormats(m, s.formats[:0])
	count := m.Count()
	switch {
	case m.Bad != nil:
		return m.Bad
	case len(s.formats) > 1 && len(s.formats) != count:
		return pgerr.Newf(codes.ProtocolViolation, "bind message has %d parameter formats but %d parameters", len(s.formats), count)
	case count != len(st.Params):
		return pgerr.Newf(codes.ProtocolViolation, "bind message supplies %d parameters, but prepared statement \"%s\" requires %d", count, name, len(st.Params))
	}
	return nil
}

func (s *Session) newPortal(name []byte, st *plan.Statement) (*Portal, error) {
	if len(name) == 0 {
		p := &s.Objects.UnnamedPortal
		s.Handler.ClosePortal(p)
		p.Reset("", st, len(s.Tx.savepoints))
		return p, nil
	}
	if s.Objects.Portals[string(NameKey(name))] != nil {
		return nil, ErrPortalExists(string(name))
	}
	if err := s.Handler.CheckPortal(string(name)); err != nil {
		return nil, err
	}
	if err := room(s.Objects.portalBytes, maxPortalBytes, "portals", "Close those that are not needed, or end the transaction."); err != nil {
		return nil, err
	}
	p := &Portal{}
	p.Reset(string(name), st, len(s.Tx.savepoints))
	s.Objects.Portals[NameKey(p.Name)] = p
	return p, nil
}

func (s *Session) dropPortal(p *Portal) {
	s.Handler.ClosePortal(p)
	p.State = PortalAbsent
	if p != &s.Objects.UnnamedPortal {
		s.DropNamedPortal(NameKey(p.Name))
	}
}

// PortalOf finds a portal; "" is the unnamed one.
func (s *Session) PortalOf(name []byte) (*Portal, error) {
	if len(name) == 0 && s.Objects.UnnamedPortal.State != PortalAbsent {
		return &s.Objects.UnnamedPortal, nil
	}
	if p := s.Objects.Portals[string(NameKey(name))]; p != nil {
		return p, nil
	}
	return nil, pgerr.Newf(codes.InvalidCursorName, "portal \"%s\" does not exist", name)
}

// fillPortal reads the parameter values and the result formats.
func (s *Session) fillPortal(p *Portal, m *wire.Body) error {
	if SplitOf(p.Bound) != nil {
		return s.fillRaw(p, m)
	}
	for i := range p.Bound.Params {
		before, format := m.Rest, s.formats.Of(i)
		v, err := s.Parameter(m, p.Bound.InputType(i, format != wire.TextFormat), format, i+1)
		if err != nil {
			return s.inParameter(err, p.Name, i+1, format, before)
		}
		p.Params = append(p.Params, v)
	}
	if err := s.readResultFormats(p, m); err != nil {
		return err
	}
	if query, ok := p.Bound.Action.(*local.Select); ok {
		p.frame.Bind(s, p.Bound, p.Params)
		return query.Check(&p.frame)
	}
	return nil
}

// readResultFormats reads the rest of a Bind.
func (s *Session) readResultFormats(p *Portal, m *wire.Body) error {
	p.Formats = wire.ReadFormats(m, p.Formats[:0])
	if bad := m.Done(); bad != nil {
		return bad
	}
	columns := s.columnsOf(p.Bound)
	if columns != nil && len(p.Formats) > 1 && len(p.Formats) != len(columns) {
		return pgerr.Newf(codes.ProtocolViolation, "bind message has %d result formats but query has %d columns", len(p.Formats), len(columns))
	}
	return nil
}

// fillRaw keeps the parameters as they are, for the upstream to read.
func (s *Session) fillRaw(p *Portal, m *wire.Body) error {
	for i := range p.Bound.Params {
		v := wire.RawValue{Format: s.formats.Of(i)}
		if length := m.Int32(); length != -1 {
			v.Value = append([]byte{}, m.Bytes(int(length))...)
		}
		p.Raw = append(p.Raw, v)
	}
	return s.readResultFormats(p, m)
}

// Parameter reads one value. The bytes are copied: the buffer is reused.
func (s *Session) Parameter(m *wire.Body, t datum.Type, format int16, number int) (datum.Datum, error) {
	length := m.Int32()
	if length == -1 && m.Bad == nil {
		return datum.Null, nil
	}
	raw := m.Bytes(int(length))
	switch {
	case m.Bad != nil:
		return datum.Null, m.Bad
	case format == wire.BinaryFormat && datum.IsTextArray(t):
		return s.textArray(raw, t, number)
	case format == wire.BinaryFormat && !isText(t):
		return datum.ParseBinary(t, raw, number)
	case format != wire.TextFormat && format != wire.BinaryFormat:
		return datum.Null, pgerr.Newf(codes.InvalidParameterValue, "unsupported format code: %d", format)
	}
	text, err := s.textOf(raw)
	if err != nil {
		return datum.Null, err
	}
	return datum.Parse(t, text)
}

// textOf is what a client has sent as text, in UTF-8.
func (s *Session) textOf(raw []byte) (string, error) {
	text, err := s.View.Text.FromClient(raw)
	if err != nil {
		return "", err
	}
	return string(text), settings.ValidUTF8(text)
}

// textArray reads the binary form of an array of texts.
func (s *Session) textArray(raw []byte, t datum.Type, number int) (datum.Datum, error) {
	elements, err := datum.BinaryTexts(t, raw, number)
	if err != nil {
		return datum.Null, err
	}
	for i := range elements {
		if elements[i].Null {
			continue
		}
		if elements[i].Str, err = s.textOf([]byte(elements[i].Str)); err != nil {
			return datum.Null, err
		}
	}
	return datum.OfTexts(elements), nil
}

// inParameter says in an error which parameter it is about. field is the parameter
// in the message, length and bytes; of a value in text as much is shown as
// log_parameter_max_length_on_error allows: by default nothing.
func (s *Session) inParameter(err error, portal string, number int, format int16, field []byte) error {
	e := *pgerr.From(err)
	name := "unnamed portal"
	if portal != "" {
		name = fmt.Sprintf("portal \"%s\"", portal)
	}
	e.Where = fmt.Sprintf("%s parameter $%d", name, number)
	if format == wire.TextFormat && e.Code != codes.CharacterNotInRepertoire && e.Code != codes.ProtocolViolation {
		m := wire.Body{Rest: field}
		e.Where += " = " + s.abbreviate(string(m.Bytes(int(m.Int32()))))
	}
	return &e
}

func (s *Session) abbreviate(value string) string {
	setting, _ := s.View.Vars.Show("log_parameter_max_length_on_error")
	ellipsis := ""
	if limit, _ := strconv.Atoi(strings.TrimSuffix(setting, "B")); limit >= 0 && limit < len(value) {
		for limit > 0 && !utf8.RuneStart(value[limit]) {
			limit--
		}
		value, ellipsis = value[:limit], "..."
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + ellipsis + "'"
}

// isText says whether the binary form of a type is its text.
func isText(t datum.Type) bool { return t.IsString() || t == datum.Unknown }

// columnsOf are the columns of a statement's result. Those of EXECUTE are the
// columns of the statement that it names, and that of SHOW is called as the
// parameter spells itself.
func (s *Session) columnsOf(st *plan.Statement) []plan.Column {
	st, _, err := s.Target(st)
	if err != nil {
		return nil
	}
	if show, ok := st.Action.(*plan.Show); ok {
		return []plan.Column{{Name: s.View.Vars.Name(show.Name), Type: datum.Text, Typmod: -1}}
	}
	return st.Columns
}

// maxExecutes bounds how far one EXECUTE may lead to another: a statement of the
// protocol may be an EXECUTE, of itself even.
const maxExecutes = 32

var errStackDepth = pgerr.Newf(codes.StatementTooComplex, "stack depth limit exceeded")

// Target is the statement that runs in the end: st itself, or what EXECUTE names. by is the EXECUTE
// that names it; nil: none does.
func (s *Session) Target(st *plan.Statement) (target, by *plan.Statement, err error) {
	for range maxExecutes {
		e, ok := st.Action.(*local.Execute)
		if !ok {
			return st, by, nil
		}
		next, err := s.statement(e.Name)
		if err != nil {
			return nil, nil, err
		}
		st, by = next, st
	}
	return nil, nil, errStackDepth
}

// objectName is the name in a Describe or a Close.
func (s *Session) objectName(m *wire.Message) ([]byte, error) {
	if m.Object == 'P' {
		return s.name(m, m.Portal)
	}
	return s.name(m, m.Statement)
}

// Describe tells about a statement or a portal.
func (s *Session) Describe(m *wire.Message) drive.Verdict {
	name, err := s.objectName(m)
	if err != nil {
		return s.FailPipeline(err)
	}
	s.BeginImplicit()
	s.Refresh()
	var st *plan.Statement
	var p *Portal
	var result wire.Formats
	switch m.Object {
	case 'S':
		st, err = s.statementOf(name)
	case 'P':
		if p, err = s.PortalOf(name); err == nil {
			st, result = p.Bound, p.Formats
		}
	default:
		err = pgerr.Newf(codes.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.Object)
	}
	if err != nil {
		return s.FailPipeline(err)
	}
	columns := s.columnsOf(st)
	if s.TxState() == wire.FailedBlock && columns != nil {
		return s.FailPipeline(ErrAborted)
	}
	if m.Object == 'S' {
		s.Client.Out.ParameterDescription(st.Params)
	}
	target, _, err := s.Target(st)
	if columns == nil {
		s.Client.Out.NoData()
	} else if err == nil && target.Described != nil {
		s.Client.Out.DescribeAs(target.Described, result)
	} else {
		s.describeRows(columns, result)
	}
	return NeedInput
}

// Execute runs a portal.
func (s *Session) Execute(m *wire.Message) drive.Verdict {
	name, err := s.name(m, m.Portal)
	if err != nil {
		return s.FailPipeline(err)
	}
	p, err := s.PortalOf(name)
	if err != nil {
		return s.FailPipeline(err)
	}
	if p.State == PortalReady && (!s.mayWait(s.calls(p.Bound), p.Params, p.Bound) || !s.mayCompute(p.Bound)) {
		return NeedCall
	}
	s.BeginImplicit()
	s.Refresh()
	if p.Bound.Action == nil {
		s.Client.Out.EmptyQueryResponse()
		return NeedInput
	}
	if s.TxState() == wire.FailedBlock && !p.Bound.EndsTransaction() {
		return s.FailPipeline(ErrAborted)
	}
	if err := s.RunPortal(p, int(max(m.MaxRows, 0)), false); err != nil {
		return s.FailPipeline(err)
	}
	s.Tx.Pipelined = true
	return NeedInput
}

// calls says whether running a statement may evaluate calls.
func (s *Session) calls(st *plan.Statement) bool {
	target, _, err := s.Target(st)
	return err == nil && len(target.Calls) > 0
}

// Close drops a statement or a portal; one that does not exist is no error.
func (s *Session) Close(m *wire.Message) drive.Verdict {
	name, err := s.objectName(m)
	if err != nil {
		return s.FailPipeline(err)
	}
	switch {
	case m.Object == 'S' && len(name) == 0:
		s.Objects.Unnamed = nil
	case m.Object == 'S':
		s.dropStatement(string(NameKey(name)))
	case m.Object == 'P':
		if p, err := s.PortalOf(name); err == nil {
			s.dropPortal(p)
		}
	default:
		return s.FailPipeline(pgerr.Newf(codes.ProtocolViolation, "invalid CLOSE message subtype %d", m.Object))
	}
	s.Client.Out.CloseComplete()
	return NeedInput
}

// Sync ends a pipeline, and the implicit transaction that it was.
func (s *Session) Sync(body []byte) {
	switch {
	case len(body) > 0:
		s.Fail(errFormat)
	case !s.Skipping:
		s.Handler.EndImplicit()
	}
	s.Skipping, s.Tx.Pipelined = false, false
	s.Ready()
}

// SplitOf is the plan of a statement that the upstream has a part in; nil for any other.
func SplitOf(st *plan.Statement) *rewrite.Split {
	m, _ := st.Action.(*rewrite.Split)
	return m
}

// ErrPortalExists refuses a second portal of a name.
func ErrPortalExists(name string) error {
	return pgerr.Newf(codes.DuplicateCursor, "cursor \"%s\" already exists", name)
}
