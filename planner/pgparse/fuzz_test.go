package pgparse

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/sqltext"
)

// seeds are texts with something in them that a lexer may get wrong.
func seeds(f *testing.F) (texts []string) {
	lines, err := os.ReadFile("../testdata/texts.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			f.Fatal(line, err)
		}
		texts = append(texts, text)
	}
	return texts
}

// FuzzLexer compares the lexer with PostgreSQL's, which pg_query.Scan is, for
// the texts that it takes. Two differences are known and are handled here:
//
//   - Scan returns comments as tokens, and takes a string that goes on after a
//     comment for two. So it gets the text that writer makes.
//   - Scan's End is wrong for U&'…' and U&"…".
func FuzzLexer(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, scs bool) {
		if len(text) <= 2048 {
			compareWithScan(t, text, scs)
		}
	})
}

// compareWithScan says whether there was something to compare.
func compareWithScan(t *testing.T, text string, scs bool) bool {
	t.Helper()
	read := sqltext.New(text, scs)
	tokens := read.Tokens()
	if CheckEncoding(text) != nil {
		return false
	}
	w := newWriter(read)
	w.write()
	scan, err := pg_query.Scan(w.parsed)
	if err != nil || w.refused != nil || len(w.uses) > 0 {
		return false
	}
	if len(scan.Tokens) != len(tokens) {
		t.Fatalf("%q: %d tokens, PostgreSQL has %d: %v, %v", text, len(tokens), len(scan.Tokens), tokens, scan.Tokens)
	}
	for i, want := range scan.Tokens {
		got := tokens[i]
		if got.Start != w.Offset(want.Start) || !sameKind(got.Kind, want.Token) {
			t.Fatalf("%q: token %d is %v, PostgreSQL has %v", text, i, got, want)
		}
		if want.Token != pg_query.Token_USCONST && want.Token != pg_query.Token_UIDENT && got.End != w.Offset(want.End) {
			t.Fatalf("%q: token %d is %v, PostgreSQL has %v", text, i, got, want)
		}
	}
	return true
}

// TestLexerAgainstPostgres strings together what a mutation of bytes hardly finds.
func TestLexerAgainstPostgres(t *testing.T) {
	parts := strings.Fields("' '' \" \"\" $ $$ $a$ $b$ -- /* */ \\ E' e B' X' N n' U&' u&\" U & a ab ö _ $1 1 0 0x 0b1 0o7 1_0 _ . .. , ; : :: := = => < > <= >= <> ! != + - * / % ^ ~ @ # | || ? ` ( ) [ ] e5 e+ e-1 select uescape '!'")
	parts = append(parts, " ", " ", "\n", "\t", "\r", "--\n", "-- c\n", "\n'", "'\n'", "' '", "\f")
	r := rand.New(rand.NewPCG(3, 4))
	compared := 0
	for range 20_000 {
		var text strings.Builder
		for range 1 + r.IntN(12) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		if compareWithScan(t, text.String(), r.IntN(3) > 0) {
			compared++
		}
	}
	if compared < 5000 {
		t.Errorf("only %d compared", compared)
	}
}

func sameKind(ours sqltext.Kind, theirs pg_query.Token) bool {
	switch theirs {
	case pg_query.Token_IDENT:
		return ours == sqltext.Ident || ours == sqltext.QuotedIdent
	case pg_query.Token_UIDENT:
		return ours == sqltext.UnicodeIdent
	case pg_query.Token_SCONST:
		return ours == sqltext.String || ours == sqltext.EscapeString || ours == sqltext.DollarString
	case pg_query.Token_USCONST:
		return ours == sqltext.UnicodeString
	case pg_query.Token_BCONST, pg_query.Token_XCONST:
		return ours == sqltext.BitString
	case pg_query.Token_FCONST: // an integer too large for 32 bits too
		return ours == sqltext.Float || ours == sqltext.Integer
	case pg_query.Token_ICONST:
		return ours == sqltext.Integer
	case pg_query.Token_PARAM:
		return ours == sqltext.Param
	case pg_query.Token_Op, pg_query.Token_LESS_EQUALS, pg_query.Token_GREATER_EQUALS, pg_query.Token_NOT_EQUALS:
		return ours == sqltext.Operator
	case pg_query.Token_TYPECAST, pg_query.Token_DOT_DOT, pg_query.Token_COLON_EQUALS, pg_query.Token_EQUALS_GREATER:
		return ours == sqltext.Punct
	}
	if theirs < 128 { // a character
		if strings.ContainsRune("()[],;:.", rune(theirs)) {
			return ours == sqltext.Punct
		}
		return ours == sqltext.Operator || ours == sqltext.Other
	}
	return ours == sqltext.Ident // a keyword
}

// FuzzParse checks that no text ends the process in C, that reports point into
// the text, and that a parse tree is never higher than its bound.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, scs bool) {
		read := sqltext.New(text, scs)
		parsed, err := Parse(read)
		if err != nil {
			if err.Code == "" || err.Message == "" || err.Position < 0 || err.Position > utf8.RuneCountInString(text)+1 {
				t.Fatalf("%q: %+v", text, err)
			}
			return
		}
		s := read.Statements()
		for _, got := range parsed.Statements {
			want, _ := s.Next()
			if got.Start != want.Start || got.End != want.End || want.Use != (got.Node == nil) {
				t.Fatalf("%q: statement %+v, want %+v", text, got, want)
			}
			if got.Node == nil {
				continue
			}
			var n nesting
			_, bound := n.ofStatement(read, want)
			if height := messageHeight(got.Node.ProtoReflect()); height > maxMessages(bound) {
				t.Fatalf("%q: a tree of %d messages for a height of %d", text, height, bound)
			}
		}
		if more, ok := s.Next(); ok {
			t.Fatalf("%q: statement %+v is not parsed", text, more)
		}
	})
}

// maxMessages bounds how many messages of a parse tree are nested in each
// other, for the Height of its statement. Each takes about 180 bytes of the stack.
func maxMessages(height int) int { return 2*height + 8 }

func messageHeight(m protoreflect.Message) int {
	highest := 0
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				highest = max(highest, messageHeight(v.List().Get(i).Message()))
			}
		default:
			highest = max(highest, messageHeight(v.Message()))
		}
		return true
	})
	return highest + 1
}
