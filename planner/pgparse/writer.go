package pgparse

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/pgerr"
)

// A writer writes the text that pg_query gets, which differs from the
// user's in places but not in meaning:
//
//   - Comments become spaces. The scanner of pg_query 5.1 returns them as tokens,
//     so that it refuses them where PostgreSQL looks ahead (NOT /**/ BETWEEN) and
//     between the parts of a string.
//   - With standard_conforming_strings off, 'a\b' becomes E'a\b': pg_query_go has
//     no such setting.
//   - USE BRANCH 'x' becomes SELECT 'x', which keeps its place among the
//     statements and leaves the string to PostgreSQL's rules.
type writer struct {
	Positions
	text *sqltext.Text
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

func newWriter(text *sqltext.Text) *writer {
	w := &writer{Positions: Positions{User: text.SQL}, text: text}
	statements := text.Statements()
	for st, ok := statements.Next(); ok; st, ok = statements.Next() {
		if st.Use {
			w.uses = append(w.uses, w.readUse(st))
		}
	}
	return w
}

// readUse checks a USE BRANCH and reads the branch, unless it is a string.
func (w *writer) readUse(st sqltext.Statement) useBranch {
	use := useBranch{start: st.Start, end: st.End}
	if st.Tokens < 3 {
		w.refuse(w.syntaxError(w.text.TokenFrom(st.End)))
		return use
	}
	branch := w.text.Tokens()[st.First+2]
	value := w.text.Word(branch)
	switch branch.Kind {
	case sqltext.Ident:
		use.branch = sqltext.FoldName(value)
	case sqltext.QuotedIdent:
		use.branch = strings.ReplaceAll(value[1:len(value)-1], `""`, `"`)
		if use.branch == "" {
			w.refuse(w.errorAt(branch, "zero-length delimited identifier"))
		}
	case sqltext.String, sqltext.EscapeString, sqltext.UnicodeString, sqltext.DollarString, sqltext.Unterminated:
	default:
		w.refuse(w.syntaxError(branch))
	}
	if excess := w.text.TokenFrom(branch.End); st.Tokens > 3 && excess.Kind != sqltext.Unterminated {
		w.refuse(w.syntaxError(excess))
	}
	return use
}

// write makes parsed of the user's text.
func (w *writer) write() {
	w.out.Grow(len(w.User) + 32)
	uses := w.uses
	var last sqltext.Token
	for _, t := range w.text.Tokens() {
		w.blank(last.End, t.Start)
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
	w.blank(last.End, len(w.User))
	w.parsed = w.out.String()
}

// blank writes spaces for a part of the user's text. Line breaks become spaces
// too, or 'a' /* …line break… */ 'b' would become one string.
func (w *writer) blank(start, end int) {
	for range end - start {
		w.out.WriteByte(' ')
	}
}

// writeUse writes a token of a USE BRANCH statement.
func (w *writer) writeUse(t, last sqltext.Token, use useBranch) {
	switch t.Kind {
	case sqltext.String, sqltext.EscapeString, sqltext.UnicodeString, sqltext.DollarString, sqltext.Unterminated:
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
func (w *writer) writeToken(t, last sqltext.Token) {
	text := w.User[t.Start:t.End]
	switch t.Kind {
	case sqltext.String:
		if !w.text.Standard && strings.IndexByte(text, '\\') >= 0 {
			w.insertEscapePrefix(t, last)
		}
		w.writeString(t)
	case sqltext.UnicodeString:
		if !w.text.Standard {
			w.refuse(w.unsafeUnicode(t))
		}
		w.writeString(t)
	case sqltext.EscapeString, sqltext.BitString:
		w.writeString(t)
	case sqltext.Unterminated:
		w.writeUnterminated(t, last)
	case sqltext.Integer, sqltext.Float, sqltext.Param:
		w.params = w.params || t.Kind == sqltext.Param
		w.refuseJunk(t)
		w.out.WriteString(text)
	default:
		w.out.WriteString(text)
	}
}

// refuseJunk refuses 1a and $1a, as PostgreSQL does since version 15. pg_query
// takes the second for two tokens, and may cut a character of the first in two.
func (w *writer) refuseJunk(t sqltext.Token) {
	junk, ok := w.text.Junk(t)
	if !ok {
		return
	}
	message := "trailing junk after numeric literal"
	if t.Kind == sqltext.Param {
		message = "trailing junk after parameter"
	}
	w.refuse(w.errorAt(junk, message))
}

// writeUnterminated sees to it that pg_query finds no end either, and says so.
func (w *writer) writeUnterminated(t, last sqltext.Token) {
	text := w.User[t.Start:t.End]
	switch text[0] {
	case '\'':
		if !w.text.Standard {
			w.insertEscapePrefix(t, last)
		}
		t.Kind = sqltext.String
		w.writeString(t)
	case 'e', 'E':
		t.Kind = sqltext.EscapeString
		w.writeString(t)
	case 'b', 'B', 'x', 'X':
		t.Kind = sqltext.BitString
		w.writeString(t)
	case 'u', 'U':
		if text[2] == '"' {
			w.out.WriteString(text)
			return
		}
		t.Kind = sqltext.UnicodeString
		w.writeToken(t, last)
	case '/':
		// Not what is in it: PostgreSQL's scanner reads /*/*/*… to its end for each /*.
		w.out.WriteString("/*")
		w.blank(t.Start+2, t.End)
	default:
		w.out.WriteString(text)
	}
}

func (w *writer) unsafeUnicode(t sqltext.Token) *pgerr.Error {
	return pgerr.Newf(codes.FeatureNotSupported, "unsafe use of string constant with Unicode escapes").
		WithDetail("String constants with Unicode escapes cannot be used when standard_conforming_strings is off.").
		At(w.Character(t.Start))
}

// insertEscapePrefix makes an E'…' of the plain string that follows.
func (w *writer) insertEscapePrefix(t, last sqltext.Token) {
	prefix := sqltext.EscapePrefix(w.User, last, t)
	w.insert(w.out.Len(), len(prefix))
	w.out.WriteString(prefix)
}

// writeString writes a string, blanks for the comments between its parts.
func (w *writer) writeString(t sqltext.Token) {
	start := t.Start
	open := start + strings.IndexByte(w.User[start:], '\'')
	for {
		end, next := w.text.Part(open, t.Kind)
		if end < 0 || end == t.End {
			w.out.WriteString(w.User[start:t.End])
			return
		}
		w.out.WriteString(w.User[start:end])
		open = next
		w.out.WriteByte('\n')
		w.blank(end+1, open)
		start = open
	}
}

func (w *writer) refuse(err *pgerr.Error) {
	if w.refused == nil || err.Position < w.refused.Position {
		w.refused = err
	}
}

func (w *writer) syntaxError(t sqltext.Token) *pgerr.Error { return w.errorAt(t, "syntax error") }

// errorAt words an error as scanner_yyerror does.
func (w *writer) errorAt(t sqltext.Token, message string) *pgerr.Error {
	where := "end of input"
	if t.Kind != sqltext.End {
		where = `or near "` + w.User[t.Start:t.End] + `"`
	}
	return pgerr.Newf(codes.Syntax, "%s at %s", message, where).At(w.Character(t.Start))
}

// refuseParams refuses $1 where only the grammar of pg_query has it: date $1,
// SET x = $1, PASSWORD $1, extract($1 FROM x).
func (w *writer) refuseParams(m protoreflect.Message) {
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
}

func (w *writer) refuseParam(n *pg_query.Node) {
	if ref := n.GetParamRef(); ref != nil {
		w.refuse(w.syntaxError(w.text.TokenFrom(w.Offset(ref.Location))))
	}
}
