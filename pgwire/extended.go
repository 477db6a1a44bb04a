package pgwire

import (
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

// failPipeline answers an error in the extended protocol: what follows is dropped
// up to Sync.
func (s *session) failPipeline(err error) drive.Verdict {
	s.fail(err)
	s.skipping = true
	return needInput
}

// parse makes a prepared statement.
func (s *session) parse(m *wire.Message) drive.Verdict {
	s.refresh() // before the text is read, which depends on settings
	name, err := s.name(m, m.Statement)
	if err != nil {
		return s.failPipeline(err)
	}
	declared := m.Types
	text, err := s.view.text.FromClient(m.Text)
	if err != nil {
		return s.failPipeline(err)
	}
	script, ok := s.lookup(s.read(text), plan.Options{Prepared: true, Types: declared})
	if !ok {
		return needPlan
	}
	st, err := s.prepared(script, declared)
	asks := err == nil && splitOf(st) != nil
	if asks {
		if v := s.handler.TurnToAsk(); v != ourTurn {
			return v
		}
	}
	s.beginImplicit()
	if len(name) == 0 {
		s.objects.unnamed = nil // even if the new one fails
		s.handler.ShadowStatement()
	}
	s.announce(script)
	if asks {
		st, err = s.handler.Probe(st, declared)
	}
	if err != nil {
		return s.failPipeline(err)
	}
	if len(name) == 0 {
		s.objects.unnamed = st
	} else if err := s.keep(string(name), st); err != nil {
		return s.failPipeline(err)
	}
	s.client.Out.ParseComplete()
	return needInput
}

// emptyStatement is the plan of a text without a statement.
var emptyStatement = &plan.Statement{}

// prepared checks that a script is one statement that may be prepared now.
func (s *session) prepared(script *plan.Script, declared []datum.Type) (*plan.Statement, error) {
	switch {
	case script.Err != nil:
		return nil, script.Err
	case len(script.Statements) == 0 && len(declared) > 0:
		return &plan.Statement{Params: declared}, nil
	case len(script.Statements) == 0:
		return emptyStatement, nil
	case len(script.Statements) > 1:
		return nil, pgerr.Newf(codes.Syntax, "cannot insert multiple commands into a prepared statement")
	}
	st := script.Statements[0]
	if s.txState() == wire.FailedBlock && !st.EndsTransaction() {
		return nil, errAborted
	}
	if err := s.wrong(st); err != nil {
		return nil, err
	}
	if show, ok := st.Action.(*plan.Show); ok {
		if _, err := s.view.vars.Show(show.Name); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// announce sends the notices about a text, which PostgreSQL sends when it reads it.
func (s *session) announce(script *plan.Script) {
	for _, n := range script.Notices {
		s.report(n)
	}
}

// name is the name of a statement or portal in UTF-8. The error is what is wrong with it, or with its message.
func (s *session) name(m *wire.Message, raw []byte) ([]byte, error) {
	if m.Bad != nil {
		return nil, m.Bad
	}
	if !slices.ContainsFunc(raw, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return raw, nil
	}
	s.refresh()
	name, err := s.view.text.FromClient(raw)
	if err == nil {
		err = settings.ValidUTF8(name)
	}
	return name, err
}

// maxName is how much of a name of a statement or portal counts: NAMEDATALEN - 1
// bytes, whatever characters they cut.
const maxName = 63

func nameKey[T string | []byte](name T) T { return name[:min(len(name), maxName)] }

func errStatementExists(name string) error {
	return pgerr.Newf(codes.DuplicatePreparedStatement, "prepared statement \"%s\" already exists", name)
}

// keep stores a named prepared statement, of the protocol or of SQL: they share
// their names.
func (s *session) keep(name string, st *plan.Statement) error {
	taken := s.objects.statements[nameKey(name)] != nil
	if !taken {
		var err error
		if taken, err = s.handler.HasStatement(name); err != nil {
			return err
		}
	}
	if taken {
		return errStatementExists(name)
	}
	if err := s.roomForStatement(); err != nil {
		return err
	}
	s.objects.statements[nameKey(name)] = st
	s.objects.statementBytes += statementBytes(st)
	return nil
}

// statement finds a prepared statement.
func (s *session) statement(name string) (*plan.Statement, error) {
	if st := s.objects.statements[nameKey(name)]; st != nil {
		return st, nil
	}
	return nil, pgerr.Newf(codes.InvalidSQLStatementName, "prepared statement \"%s\" does not exist", name)
}

// statementOf is statement for a name of the protocol, where "" is the unnamed one.
func (s *session) statementOf(name []byte) (*plan.Statement, error) {
	switch {
	case len(name) == 0 && s.objects.unnamed == nil:
		return nil, pgerr.Newf(codes.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	case len(name) == 0:
		return s.objects.unnamed, nil
	}
	if st := s.objects.statements[string(nameKey(name))]; st != nil {
		return st, nil
	}
	return s.statement(string(name)) // for its error
}

// bind makes a portal.
func (s *session) bind(message *wire.Message) drive.Verdict {
	portalName, err := s.name(message, message.Portal)
	if err != nil {
		return s.failPipeline(err)
	}
	statementName, err := s.name(message, message.Statement)
	if err != nil {
		return s.failPipeline(err)
	}
	m := wire.Body{Rest: message.Rest}
	st, err := s.statementOf(statementName)
	if err != nil {
		return s.failPipeline(err)
	}
	s.beginImplicit()
	s.refresh()
	values, err := s.parameterList(&m, st, statementName)
	if err != nil {
		return s.failPipeline(err)
	}
	if s.txState() == wire.FailedBlock && !st.EndsTransaction() {
		return s.failPipeline(errAborted)
	}
	if err := s.authorize(st); err != nil {
		return s.failPipeline(err)
	}
	if len(portalName) == 0 {
		s.handler.ShadowPortal()
	}
	p, err := s.newPortal(portalName, st)
	if err != nil {
		return s.failPipeline(err)
	}
	if err := s.fillPortal(p, &m, values); err != nil {
		s.dropPortal(p)
		return s.failPipeline(err)
	}
	if p != &s.objects.unnamedPortal {
		p.kept = portalBytes(p)
		s.objects.portalBytes += p.kept
	}
	s.client.Out.BindComplete()
	return needInput
}

// parameterValues is where the values of a Bind stand in its body.
type parameterValues struct {
	formats wire.Formats
	count   int
}

// parameterList reads the counts, which must fit the statement, up to the values.
func (s *session) parameterList(m *wire.Body, st *plan.Statement, name []byte) (v parameterValues, err error) {
	s.codes = wire.ReadFormats(m, s.codes[:0])
	v.formats, v.count = s.codes, m.Count()
	switch {
	case m.Bad != nil:
		return v, m.Bad
	case len(v.formats) > 1 && len(v.formats) != v.count:
		return v, pgerr.Newf(codes.ProtocolViolation, "bind message has %d parameter formats but %d parameters", len(v.formats), v.count)
	case v.count != len(st.Params):
		return v, pgerr.Newf(codes.ProtocolViolation, "bind message supplies %d parameters, but prepared statement \"%s\" requires %d", v.count, name, len(st.Params))
	}
	return v, nil
}

func (s *session) newPortal(name []byte, st *plan.Statement) (*portal, error) {
	if len(name) == 0 {
		p := &s.objects.unnamedPortal
		s.handler.ClosePortal(p)
		p.reset("", st, len(s.tx.savepoints))
		return p, nil
	}
	taken := s.objects.portals[string(nameKey(name))] != nil
	if !taken {
		var err error
		if taken, err = s.handler.HasPortal(string(nameKey(name))); err != nil {
			return nil, err
		}
	}
	if taken {
		return nil, errPortalExists(name)
	}
	if err := s.roomForPortal(); err != nil {
		return nil, err
	}
	p := &portal{}
	p.reset(string(name), st, len(s.tx.savepoints))
	s.objects.portals[nameKey(p.name)] = p
	return p, nil
}

func (s *session) dropPortal(p *portal) {
	s.handler.ClosePortal(p)
	p.state = portalAbsent
	if p != &s.objects.unnamedPortal {
		s.dropNamedPortal(nameKey(p.name))
	}
}

func (s *session) portalOf(name []byte) (*portal, error) {
	if len(name) == 0 && s.objects.unnamedPortal.state != portalAbsent {
		return &s.objects.unnamedPortal, nil
	}
	if p := s.objects.portals[string(nameKey(name))]; p != nil {
		return p, nil
	}
	return nil, pgerr.Newf(codes.InvalidCursorName, "portal \"%s\" does not exist", name)
}

// fillPortal reads the parameter values and the result formats.
func (s *session) fillPortal(p *portal, m *wire.Body, values parameterValues) error {
	if splitOf(p.bound) != nil {
		return s.fillRaw(p, m, values)
	}
	for i := range values.count {
		before := m.Rest
		v, err := s.parameter(m, p.bound.InputType(i, values.formats.Of(i) != 0), values.formats.Of(i), i+1)
		if err != nil {
			return s.inParameter(err, p.name, i+1, values.formats.Of(i), before)
		}
		p.params = append(p.params, v)
	}
	if err := s.readResultFormats(p, m); err != nil {
		return err
	}
	if query, ok := p.bound.Action.(*local.Select); ok {
		p.frame.Bind(s, p.bound, p.params)
		return query.Check(&p.frame)
	}
	return nil
}

// readResultFormats reads the rest of a Bind.
func (s *session) readResultFormats(p *portal, m *wire.Body) error {
	p.formats = wire.ReadFormats(m, p.formats[:0])
	if bad := m.Done(); bad != nil {
		return bad
	}
	columns := s.columnsOf(p.bound)
	if columns != nil && len(p.formats) > 1 && len(p.formats) != len(columns) {
		return pgerr.Newf(codes.ProtocolViolation, "bind message has %d result formats but query has %d columns", len(p.formats), len(columns))
	}
	return nil
}

// fillRaw keeps the parameters as they are, for the upstream to read.
func (s *session) fillRaw(p *portal, m *wire.Body, values parameterValues) error {
	for i := range values.count {
		v := wire.RawValue{Format: values.formats.Of(i)}
		if length := m.Int32(); length != -1 {
			v.Value = append([]byte{}, m.Bytes(int(length))...)
		}
		p.raw = append(p.raw, v)
	}
	return s.readResultFormats(p, m)
}

// parameter reads one value. The bytes are copied: the buffer is reused.
func (s *session) parameter(m *wire.Body, t datum.Type, format int16, number int) (datum.Datum, error) {
	length := m.Int32()
	if length == -1 && m.Bad == nil {
		return datum.Null, nil
	}
	raw := m.Bytes(int(length))
	switch {
	case m.Bad != nil:
		return datum.Null, m.Bad
	case format == wire.BinaryFormat && !isText(t):
		return datum.ParseBinary(t, raw, number)
	case format != wire.TextFormat && format != wire.BinaryFormat:
		return datum.Null, pgerr.Newf(codes.InvalidParameterValue, "unsupported format code: %d", format)
	}
	text, err := s.view.text.FromClient(raw)
	if err != nil {
		return datum.Null, err
	}
	if err := settings.ValidUTF8(text); err != nil {
		return datum.Null, err
	}
	return datum.Parse(t, string(text))
}

// inParameter says in an error which parameter it is about. field is the parameter
// in the message, length and bytes; of a value in text as much is shown as
// log_parameter_max_length_on_error allows: by default nothing.
func (s *session) inParameter(err error, portal string, number int, format int16, field []byte) error {
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

func (s *session) abbreviate(value string) string {
	setting, _ := s.view.vars.Show("log_parameter_max_length_on_error")
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
func (s *session) columnsOf(st *plan.Statement) []plan.Column {
	st, err := s.target(st)
	if err != nil {
		return nil
	}
	if show, ok := st.Action.(*plan.Show); ok {
		return []plan.Column{{Name: s.view.vars.Name(show.Name), Type: datum.Text, Typmod: -1}}
	}
	return st.Columns
}

// maxExecutes bounds how far one EXECUTE may lead to another: a statement of the
// protocol may be an EXECUTE, of itself even.
const maxExecutes = 32

var errStackDepth = pgerr.Newf(codes.StatementTooComplex, "stack depth limit exceeded")

// target is the statement that runs in the end: what EXECUTE names, or st itself.
func (s *session) target(st *plan.Statement) (*plan.Statement, error) {
	for range maxExecutes {
		e, ok := st.Action.(*local.Execute)
		if !ok {
			return st, nil
		}
		next, err := s.statement(e.Name)
		if err != nil {
			return nil, err
		}
		st = next
	}
	return nil, errStackDepth
}

// objectName is the name in a Describe or a Close.
func (s *session) objectName(m *wire.Message) ([]byte, error) {
	if m.Object == 'P' {
		return s.name(m, m.Portal)
	}
	return s.name(m, m.Statement)
}

// describe tells about a statement or a portal.
func (s *session) describe(m *wire.Message) drive.Verdict {
	name, err := s.objectName(m)
	if err != nil {
		return s.failPipeline(err)
	}
	s.beginImplicit()
	s.refresh()
	var st *plan.Statement
	var p *portal
	var result wire.Formats
	switch m.Object {
	case 'S':
		st, err = s.statementOf(name)
	case 'P':
		if p, err = s.portalOf(name); err == nil {
			st, result = p.bound, p.formats
		}
	default:
		err = pgerr.Newf(codes.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.Object)
	}
	if err != nil {
		return s.failPipeline(err)
	}
	columns := s.columnsOf(st)
	if s.txState() == wire.FailedBlock && columns != nil {
		return s.failPipeline(errAborted)
	}
	if m.Object == 'S' {
		s.client.Out.ParameterDescription(st.Params)
	}
	target, err := s.target(st)
	if columns == nil {
		s.client.Out.NoData()
	} else if err == nil && target.Described != nil {
		s.client.Out.DescribeAs(target.Described, result)
	} else {
		s.describeRows(columns, result)
	}
	return needInput
}

// execute runs a portal.
func (s *session) execute(m *wire.Message) drive.Verdict {
	name, err := s.name(m, m.Portal)
	if err != nil {
		return s.failPipeline(err)
	}
	p, err := s.portalOf(name)
	if err != nil {
		return s.failPipeline(err)
	}
	if p.state == portalReady && (!s.mayWait(s.calls(p.bound)) || !s.mayCompute(p.bound)) {
		return needCall
	}
	s.beginImplicit()
	s.refresh()
	if p.bound.Action == nil {
		s.client.Out.EmptyQueryResponse()
		return needInput
	}
	if s.txState() == wire.FailedBlock && !p.bound.EndsTransaction() {
		return s.failPipeline(errAborted)
	}
	if err := s.runPortal(p, int(max(m.MaxRows, 0)), false); err != nil {
		return s.failPipeline(err)
	}
	s.tx.pipelined = true
	return needInput
}

// calls says whether running a statement may evaluate calls.
func (s *session) calls(st *plan.Statement) bool {
	target, err := s.target(st)
	return err == nil && len(target.Calls) > 0
}

// close drops a statement or a portal; one that does not exist is no error.
func (s *session) close(m *wire.Message) drive.Verdict {
	name, err := s.objectName(m)
	if err != nil {
		return s.failPipeline(err)
	}
	switch {
	case m.Object == 'S' && len(name) == 0:
		s.objects.unnamed = nil
	case m.Object == 'S':
		s.dropStatement(string(nameKey(name)))
	case m.Object == 'P':
		if p, err := s.portalOf(name); err == nil {
			s.dropPortal(p)
		}
	default:
		return s.failPipeline(pgerr.Newf(codes.ProtocolViolation, "invalid CLOSE message subtype %d", m.Object))
	}
	s.client.Out.CloseComplete()
	return needInput
}

// sync ends a pipeline, and the implicit transaction that it was.
func (s *session) sync(body []byte) {
	switch {
	case len(body) > 0:
		s.fail(errFormat)
	case !s.skipping:
		s.handler.EndImplicit()
	}
	s.skipping, s.tx.pipelined = false, false
	s.ready()
}

// splitOf is the plan of a statement that the upstream has a part in; nil for any other.
func splitOf(st *plan.Statement) *rewrite.Split {
	m, _ := st.Action.(*rewrite.Split)
	return m
}

func errPortalExists(name []byte) error {
	return pgerr.Newf(codes.DuplicateCursor, "cursor \"%s\" already exists", name)
}
