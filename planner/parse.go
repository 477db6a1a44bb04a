package planner

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/sqlfuncs/pgerr"
)

// What pg_query may see. It recurses in C over the parse tree, and a stack that
// overflows there ends the process; nor can a parse be interrupted.
//
// Measured with pg_query_go 5.1 on x86-64 (parse_test.go has the shapes): a tree
// takes at most 360 bytes of stack for one of Height, so 540 kB at maxHeight. That
// is a fifteenth of the usual 8 MiB, and a quarter of the 2 MiB that threads get
// under `ulimit -s unlimited`. Were Height wrong for some shape, maxTokens alone
// would keep it below 7.2 MB. A parse at the limits takes some 80 ms of one processor, and
// planning what it gives three times as much (worst_test.go has the shapes): both grow no
// faster than the text. (musl gives threads 128 KiB unless the linker is told otherwise.)
const (
	maxTextBytes = 256 << 10
	// maxLongBytes is for texts without a call, which an embedded server has to
	// read too: their length may be in a few long strings. Height is not measured
	// in them, so maxHeight bounds their tokens.
	maxLongBytes = 4 << 20
	maxTokens    = 20000
	maxDepth     = 256
	maxHeight    = 1500
	// maxWork bounds the product of tokens and Height: pg_query writes its tree in a time
	// that grows with the square of how deep it is.
	maxWork = 7_500_000
)

// parsedText is a text that pg_query has parsed.
type parsedText struct {
	Statements []parsedStatement // in the order of the text, none empty
	positions
}

// parsedStatement is a statement of PostgreSQL's grammar, or USE BRANCH.
type parsedStatement struct {
	Node       *pg_query.Node // nil for USE BRANCH
	Branch     string         // of USE BRANCH
	Start, End int            // bytes in the user's text, from the first token to the end of the last
}

// parseSQL parses a text as a session would that has the given setting of
// standard_conforming_strings. Goroutines may call it at once. It holds its
// thread until it is done, for milliseconds at worst.
//
// Errors: 54001 for a text beyond the limits, 22021 for one that is not UTF-8,
// else what PostgreSQL's parser reports.
func parseSQL(text string, standardConformingStrings bool) (*parsedText, *pgerr.Error) {
	if err := checkLimits(text, standardConformingStrings); err != nil {
		return nil, err
	}
	if err := checkEncoding(text); err != nil {
		return nil, err
	}
	w := newParserWriter(text, standardConformingStrings)
	w.write()
	tree, err := callParser(w.parsed)
	if err != nil {
		report := w.report(err)
		if report.Position != 0 {
			w.refuse(report)
			report = w.refused
		}
		return nil, report
	}
	if w.params {
		w.refuseParams(tree.ProtoReflect())
	}
	if w.refused != nil {
		return nil, w.refused
	}
	return w.result(tree), nil
}

func checkLimits(text string, standardConformingStrings bool) *pgerr.Error {
	size := scanText(text, standardConformingStrings, isFunction)
	switch {
	case !size.Mentions && (len(text) > maxLongBytes || size.Tokens > maxTokens || len(text) > maxTextBytes && size.Tokens > maxHeight):
		return upstreamError("a statement of this size")
	case len(text) > maxTextBytes && (size.Mentions || size.Tokens > maxHeight):
		return tooComplex("%d bytes", maxTextBytes)
	case size.Tokens > maxTokens:
		return tooComplex("%d tokens", maxTokens)
	case size.Depth > maxDepth:
		return tooComplex("%d levels of brackets and CASE", maxDepth)
	case size.Height > min(maxHeight, maxWork/max(1, size.Tokens)):
		return tooComplex("%d tokens in an expression and all that it is nested in", min(maxHeight, maxWork/size.Tokens))
	}
	return nil
}

func tooComplex(limit string, n int) *pgerr.Error {
	return pgerr.Newf(codes.StatementTooComplex, "statement too complex for the proxy to plan").
		WithHint("A text that the proxy plans itself may have at most "+limit+".", n)
}

// checkEncoding keeps from C what it would misread: bytes that are not UTF-8,
// and NUL, where it would see the end of the text.
func checkEncoding(text string) *pgerr.Error {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return pgerr.InvalidUTF8(text[i:])
		}
		i += n
	}
	return nil
}

// parserSlots bounds how many threads are in C at once: more than there are
// processors gain nothing, and Go never gives a thread back.
var parserSlots = make(chan struct{}, runtime.GOMAXPROCS(0))

func callParser(text string) (*pg_query.ParseResult, error) {
	parserSlots <- struct{}{}
	defer func() { <-parserSlots }()
	return pg_query.Parse(text)
}

// A parserWriter writes the text that pg_query gets, which differs from the
// user's in places but not in meaning:
//
//   - Comments become spaces. The scanner of pg_query 5.1 returns them as tokens,
//     so that it refuses them where PostgreSQL looks ahead (NOT /**/ BETWEEN) and
//     between the parts of a string.
//   - With standard_conforming_strings off, 'a\b' becomes E'a\b': pg_query_go has
//     no such setting.
//   - USE BRANCH 'x' becomes SELECT 'x', which keeps its place among the
//     statements and leaves the string to PostgreSQL's rules.
type parserWriter struct {
	positions
	lex  lexer
	out  strings.Builder
	uses []useBranch
	// params says that there is a $1 in the text.
	params bool
	// refused is the first error that pg_query cannot find by itself. One that
	// it finds before has precedence, as PostgreSQL reads from left to right.
	refused *pgerr.Error
}

// useBranch is a USE BRANCH statement.
type useBranch struct {
	start, end int    // bytes in the user's text
	branch     string // "" if a string says it
}

func newParserWriter(text string, standardConformingStrings bool) *parserWriter {
	w := &parserWriter{
		positions: positions{user: text},
		lex:       newLexer(text, standardConformingStrings),
	}
	statements := newStatementScanner(text, standardConformingStrings, noNames)
	for st, ok := statements.next(); ok; st, ok = statements.next() {
		if st.Use {
			w.uses = append(w.uses, w.readUse(st))
		}
	}
	return w
}

// readUse checks a USE BRANCH and reads the branch, unless it is a string.
func (w *parserWriter) readUse(st statementScan) useBranch {
	use := useBranch{start: st.Start, end: st.End}
	value := w.user[st.value.Start:st.value.End]
	switch st.value.Kind {
	case tokenEnd:
		w.refuse(w.syntaxError(w.tokenFrom(st.End)))
		return use
	case tokenIdent:
		use.branch = foldName(value)
	case tokenQuotedIdent:
		use.branch = strings.ReplaceAll(value[1:len(value)-1], `""`, `"`)
		if use.branch == "" {
			w.refuse(w.errorAt(st.value, "zero-length delimited identifier"))
		}
	case tokenString, tokenEscapeString, tokenUnicodeString, tokenDollarString, tokenUnterminated:
	default:
		w.refuse(w.syntaxError(st.value))
	}
	if excess := w.tokenFrom(st.value.End); st.Tokens > 3 && excess.Kind != tokenUnterminated {
		w.refuse(w.syntaxError(excess))
	}
	return use
}

// write makes parsed of the user's text.
func (w *parserWriter) write() {
	w.out.Grow(len(w.user) + 32)
	uses := w.uses
	var last token
	for t := w.lex.next(); ; t = w.lex.next() {
		w.blank(last.End, t.Start)
		if t.Kind == tokenEnd {
			break
		}
		if len(uses) > 0 && uses[0].end <= t.Start {
			uses = uses[1:]
		}
		if len(uses) > 0 && uses[0].start <= t.Start {
			w.writeUse(t, last, uses[0])
		} else {
			w.writeToken(t, last)
		}
		last = t
	}
	w.parsed = w.out.String()
}

// blank writes spaces for a part of the user's text. Line breaks become spaces
// too, or 'a' /* …line break… */ 'b' would become one string.
func (w *parserWriter) blank(start, end int) {
	for range end - start {
		w.out.WriteByte(' ')
	}
}

// writeUse writes a token of a USE BRANCH statement.
func (w *parserWriter) writeUse(t, last token, use useBranch) {
	switch t.Kind {
	case tokenString, tokenEscapeString, tokenUnicodeString, tokenDollarString, tokenUnterminated:
		w.writeToken(t, last)
		return
	}
	if t.Start > use.start && last.Start == use.start {
		w.out.WriteString("SELECT") // for BRANCH
		return
	}
	w.blank(t.Start, t.End)
}

// writeToken writes a token of any other statement.
func (w *parserWriter) writeToken(t, last token) {
	text := w.user[t.Start:t.End]
	switch t.Kind {
	case tokenString:
		if w.lex.backslashes && strings.IndexByte(text, '\\') >= 0 {
			w.insertEscapePrefix(t, last)
		}
		w.writeString(t, w.lex.backslashes)
	case tokenEscapeString:
		w.writeString(t, true)
	case tokenUnicodeString:
		if w.lex.backslashes {
			w.refuse(w.unsafeUnicode(t))
		}
		w.writeString(t, false)
	case tokenBitString:
		w.writeString(t, false)
	case tokenUnterminated:
		w.writeUnterminated(t, last)
	case tokenInteger, tokenFloat, tokenParam:
		w.params = w.params || t.Kind == tokenParam
		w.refuseJunk(t)
		w.out.WriteString(text)
	default:
		w.out.WriteString(text)
	}
}

// refuseJunk refuses 1a and $1a, as PostgreSQL does since version 15. pg_query
// takes the second for two tokens, and may cut a character of the first in two.
func (w *parserWriter) refuseJunk(t token) {
	if t.End == len(w.user) || byteClasses[w.user[t.End]]&classIdentStart == 0 {
		return
	}
	message := "trailing junk after numeric literal"
	if t.Kind == tokenParam {
		message = "trailing junk after parameter"
	}
	junk := t
	for junk.End < len(w.user) && byteClasses[w.user[junk.End]]&classIdentPart != 0 {
		junk.End++
	}
	if t.Kind != tokenParam && foldsTo(w.user[t.End:junk.End], "e") {
		if sign := w.lex.byteAt(junk.End); sign == '+' || sign == '-' {
			junk.End++
		}
	}
	w.refuse(w.errorAt(junk, message))
}

// writeUnterminated sees to it that pg_query finds no end either, and says so.
func (w *parserWriter) writeUnterminated(t, last token) {
	text := w.user[t.Start:t.End]
	switch text[0] {
	case '\'':
		if w.lex.backslashes {
			w.insertEscapePrefix(t, last)
		}
		w.writeString(t, w.lex.backslashes)
	case 'e', 'E':
		w.writeString(t, true)
	case 'b', 'B', 'x', 'X':
		t.Kind = tokenBitString
		w.writeString(t, false)
	case 'u', 'U':
		if text[2] == '"' {
			w.out.WriteString(text)
			return
		}
		t.Kind = tokenUnicodeString
		w.writeToken(t, last)
	case '/':
		// Not what is in it: PostgreSQL's scanner reads /*/*/*… to its end for each /*.
		w.out.WriteString("/*")
		w.blank(t.Start+2, t.End)
	default:
		w.out.WriteString(text)
	}
}

func (w *parserWriter) unsafeUnicode(t token) *pgerr.Error {
	return pgerr.Newf(codes.FeatureNotSupported, "unsafe use of string constant with Unicode escapes").
		WithDetail("String constants with Unicode escapes cannot be used when standard_conforming_strings is off.").
		At(w.character(t.Start))
}

// insertEscapePrefix makes an E'…' of the plain string that follows. N'…' is
// NCHAR and a plain string.
func (w *parserWriter) insertEscapePrefix(t, last token) {
	prefix := " E"
	if last.Kind == tokenIdent && last.End == t.Start && foldsTo(w.user[last.Start:last.End], "n") {
		prefix = "CHAR E"
	}
	w.insert(w.out.Len(), len(prefix))
	w.out.WriteString(prefix)
}

// writeString writes a string, blanks for the comments between its parts.
func (w *parserWriter) writeString(t token, backslashes bool) {
	start := t.Start
	open := start + strings.IndexByte(w.user[start:], '\'')
	for {
		end := w.lex.quoteEnd(open, backslashes, t.Kind != tokenBitString)
		if end < 0 || end == t.End {
			w.out.WriteString(w.user[start:t.End])
			return
		}
		w.out.WriteString(w.user[start:end])
		open = w.lex.continuation(end)
		w.out.WriteByte('\n')
		w.blank(end+1, open)
		start = open
	}
}

func (w *parserWriter) refuse(err *pgerr.Error) {
	if w.refused == nil || err.Position < w.refused.Position {
		w.refused = err
	}
}

// tokenFrom is the next token of the user's text from a position on.
func (w *parserWriter) tokenFrom(pos int) token {
	l := w.lex
	l.pos, l.signsEnd = pos, 0
	return l.next()
}

func (w *parserWriter) syntaxError(t token) *pgerr.Error { return w.errorAt(t, "syntax error") }

// errorAt words an error as scanner_yyerror does.
func (w *parserWriter) errorAt(t token, message string) *pgerr.Error {
	where := "end of input"
	if t.Kind != tokenEnd {
		where = `or near "` + w.user[t.Start:t.End] + `"`
	}
	return pgerr.Newf(codes.Syntax, "%s at %s", message, where).At(w.character(t.Start))
}

// refuseParams refuses $1 where only the grammar of pg_query has it: date $1,
// SET x = $1, PASSWORD $1, extract($1 FROM x).
func (w *parserWriter) refuseParams(m protoreflect.Message) {
	switch n := m.Interface().(type) {
	case *pg_query.TypeCast:
		// A cast that is written as such has a location, and a type that the
		// grammar implies has none.
		if n.Location < 0 && n.TypeName.GetLocation() >= 0 {
			w.refuseParam(n.Arg)
		}
	case *pg_query.VariableSetStmt:
		for _, arg := range n.Args {
			w.refuseParam(arg)
		}
	case *pg_query.DefElem:
		w.refuseParam(n.Arg)
	case *pg_query.FuncCall:
		if n.Funcformat == pg_query.CoercionForm_COERCE_SQL_SYNTAX && len(n.Funcname) == 2 &&
			n.Funcname[1].GetString_().GetSval() == "extract" {
			w.refuseParam(n.Args[0])
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				w.refuseParams(value.List().Get(i).Message())
			}
		default:
			w.refuseParams(value.Message())
		}
		return true
	})
}

func (w *parserWriter) refuseParam(n *pg_query.Node) {
	if ref := n.GetParamRef(); ref != nil {
		w.refuse(w.syntaxError(w.tokenFrom(w.Offset(ref.Location))))
	}
}

// result gives the statements their places in the user's text.
func (w *parserWriter) result(tree *pg_query.ParseResult) *parsedText {
	p := &parsedText{positions: w.positions}
	uses := w.uses
	for _, raw := range tree.Stmts {
		end := len(w.parsed)
		if raw.StmtLen > 0 {
			end = int(raw.StmtLocation + raw.StmtLen)
		}
		inside := w.parsed[raw.StmtLocation:end]
		trimmed := strings.TrimLeft(inside, blanks)
		start := end - len(trimmed)
		end = start + len(strings.TrimRight(trimmed, blanks))
		st := parsedStatement{
			Node:  raw.Stmt,
			Start: w.Offset(int32(start)),
			End:   w.Offset(int32(end)),
		}
		if len(uses) > 0 && uses[0].start <= st.Start {
			st = uses[0].statement(raw.Stmt)
			uses = uses[1:]
		}
		p.Statements = append(p.Statements, st)
	}
	return p
}

// statement is the USE BRANCH for which pg_query saw n, a SELECT of a string or
// of nothing.
func (u useBranch) statement(n *pg_query.Node) parsedStatement {
	st := parsedStatement{Branch: u.branch, Start: u.start, End: u.end}
	if targets := n.GetSelectStmt().GetTargetList(); len(targets) > 0 {
		st.Branch = targets[0].GetResTarget().GetVal().GetAConst().GetSval().GetSval()
	}
	return st
}

// report makes a report to the client of an error of pg_query.
func (w *parserWriter) report(err error) *pgerr.Error {
	var failure *parser.Error
	if !errors.As(err, &failure) {
		return pgerr.From(fmt.Errorf("parse tree: %w", err))
	}
	code, hint := parserErrorCode(failure)
	report := &pgerr.Error{Code: code, Message: failure.Message, Hint: hint}
	if failure.Cursorpos > 0 {
		location := int32(byteOffset(w.parsed, failure.Cursorpos-1))
		report.Position = w.Char(location)
		what, _, ok := strings.Cut(failure.Message, " at or near ")
		if ok && (what == "syntax error" || strings.HasPrefix(what, "unterminated ")) {
			// It quotes what we wrote; the user's token may be another.
			return w.errorAt(w.tokenFrom(w.Offset(location)), what)
		}
	}
	return report
}

// byteOffset is where the character with this number, from 0, begins.
func byteOffset(text string, character int) int {
	for i := range text {
		if character == 0 {
			return i
		}
		character--
	}
	return len(text)
}

const blanks = " \t\n\r\f"

func noNames(string) bool { return false }

// positions leads from the text that pg_query got back to the user's.
type positions struct {
	user, parsed string
	inserts      []insertion // in parsed, in its order
}

type insertion struct {
	at, length int
	before     int // the lengths of those before it
}

// insert notes that the parsed text has so many bytes at a place that the user's has not.
func (p *positions) insert(at, length int) {
	in := insertion{at: at, length: length}
	if n := len(p.inserts); n > 0 {
		in.before = p.inserts[n-1].before + p.inserts[n-1].length
	}
	p.inserts = append(p.inserts, in)
}

// Offset is where in the user's text, in bytes, a location in the parse tree
// is; -1 if there is none.
func (p *positions) Offset(location int32) int {
	after, _ := slices.BinarySearchFunc(p.inserts, int(location), func(in insertion, at int) int { return cmp.Compare(in.at, at) })
	if after == 0 {
		return int(location)
	}
	last := p.inserts[after-1]
	return int(location) - last.before - min(last.length, int(location)-last.at)
}

// Char is the position of a location in the parse tree as an error report gives
// it: in characters of the user's text, from 1; 0 if there is none.
func (p *positions) Char(location int32) int {
	if location < 0 {
		return 0
	}
	return p.character(p.Offset(location))
}

// character is the position in characters of an offset in the user's text.
func (p *positions) character(offset int) int {
	return utf8.RuneCountInString(p.user[:min(offset, len(p.user))]) + 1
}

// characters counts the characters of a text up to places that come in about their order,
// so that thousands of statements do not each count from its beginning. It is for one
// goroutine.
type characters struct {
	*positions

	offset, count int // of the last place, in bytes and in characters
}

// before is how many characters there are before an offset in the user's text.
func (c *characters) before(offset int) int {
	offset = min(offset, len(c.user))
	if offset < c.offset {
		c.count -= utf8.RuneCountInString(c.user[offset:c.offset])
	} else {
		c.count += utf8.RuneCountInString(c.user[c.offset:offset])
	}
	c.offset = offset
	return c.count
}

// Char is that of positions.
func (c *characters) Char(location int32) int {
	if location < 0 {
		return 0
	}
	return c.before(c.Offset(location)) + 1
}

// parserErrorCode tells the SQLSTATE and hint of an error, which pg_query
// reports without them, by its message. All that gram.y and scan.l raise and
// that are no 42601 are here.
func parserErrorCode(err *parser.Error) (code codes.Code, hint string) {
	message := err.Message
	if user := strings.IndexAny(message, `":`); user >= 0 { // from there on it may be the user's text
		message = message[:user]
	}
	for _, known := range parserErrors {
		if strings.Contains(message, known.message) && (known.function == "" || known.function == err.Funcname) {
			return known.code, known.hint
		}
	}
	return codes.Syntax, ""
}

var parserErrors = []struct {
	message, function string
	code              codes.Code
	hint              string
}{
	{"invalid Unicode escape", "core_yylex", codes.InvalidEscapeSequence, `Unicode escapes must be \uXXXX or \UXXXXXXXX.`},
	{"invalid Unicode escape", "str_udeescape", codes.Syntax, `Unicode escapes must be \XXXX or \+XXXXXX.`},
	{"invalid byte sequence for encoding", "", codes.CharacterNotInRepertoire, ""},
	{"LIMIT #,# syntax is not supported", "", codes.Syntax, "Use separate LIMIT and OFFSET clauses."},
	{"missing argument", "", codes.Syntax, "Use NONE to denote the missing argument of a unary operator."},
	{"unrecognized row security option", "", codes.Syntax, "Only PERMISSIVE or RESTRICTIVE policies are supported currently."},
	{"UNENCRYPTED PASSWORD is no longer supported", "", codes.FeatureNotSupported, "Remove UNENCRYPTED to store the password in encrypted form instead."},
	{"cannot include schema elements", "", codes.FeatureNotSupported, ""},
	{"current database cannot be changed", "", codes.FeatureNotSupported, ""},
	{"MATCH PARTIAL not yet implemented", "", codes.FeatureNotSupported, ""},
	{"is only supported for ON DELETE actions", "", codes.FeatureNotSupported, ""},
	{"CREATE EXTENSION ... FROM is no longer supported", "", codes.FeatureNotSupported, ""},
	{"CREATE OR REPLACE CONSTRAINT TRIGGER is not supported", "", codes.FeatureNotSupported, ""},
	{"CREATE ASSERTION is not yet implemented", "", codes.FeatureNotSupported, ""},
	{"aggregates cannot have output arguments", "", codes.FeatureNotSupported, ""},
	{"WITH CHECK OPTION not supported on recursive views", "", codes.FeatureNotSupported, ""},
	{"UNIQUE predicate is not yet implemented", "", codes.FeatureNotSupported, ""},
	{"an ordered-set aggregate with a VARIADIC direct argument", "", codes.FeatureNotSupported, ""},
	{" constraints cannot be marked ", "", codes.FeatureNotSupported, ""},
	{"column number must be in range", "", codes.InvalidParameterValue, ""},
	{"precision for type float", "", codes.InvalidParameterValue, ""},
	{"unrecognized partitioning strategy", "", codes.InvalidParameterValue, ""},
	{"for hash partition provided more than once", "", codes.DuplicateObject, ""},
	{"role name ", "", codes.ReservedName, ""},
	{"frame start", "", codes.Windowing, ""},
	{"frame end", "", codes.Windowing, ""},
}
