package planner

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// lexerSeeds are texts with something in them that a lexer may get wrong.
var lexerSeeds = []string{
	"", ";", " ;; ", "-- c", "/* ping */", "/* a /* b */ c */ select 1", "/*/ */ x", "/* open", "select 1 -- c\n, 2",
	"select raisin_lock_acquire('seat:14A', 1000)", "SELECT * FROM public . Raisin_Lock_Acquire ( key => $1, ttl_ms := $2 )",
	`select "raisin_lock_acquire"(1), "Raisin_Lock_Acquire"(1), U&"\0072aisin_lock_acquire"(1), u&"!0072aisin_lock_acquire" UESCAPE '!'`,
	`select 'raisin_lock_acquire(1)', E'\'raisin_lock_acquire(1)', $a$ raisin_lock_acquire(1) $b$ $a$, "raisin_lock_acquire(1)" /* raisin_lock_acquire(1) /* */ */`,
	"select 'a'\n'b' -- c\n 'd'", "select 'a' 'b'", "select E'a\\'b'\n'c\\'d'", `select U&'d\0061t\+000061' uescape '!'`, "select N'x', n'y\\'', B'01' X'1F', b'1'\n'0', x'1''2'",
	"select 1..2, 1.5.6, .5e-3, 1e5, 1_000, 0x1F_a, 0o17, 0b11, 1., $1, $2::int, a[1:2], 1.e9",
	"select 1=-1, a<=b, a<>b, a!=b, a=>b, @-1, 1+-+2, 3*-4, a->>'b', a #>> '{}', a||-b, a /**/ + --\n b", "select a+/**/b, +--\n-1, a?|b, ~~*x",
	`select "a""b", "", "größe", größe, a$b, $1a, $$ $ $$, $x$ $$ $y$ $x$, $ x`, "select 'it''s', '', ''''", `select '\', 'x'`, `select '\'', 'x'`,
	"USE BRANCH main", "use branch 'feature/x'; select 1", `USE /**/ BRANCH "X"`, "USE BRANCH E'a\\x62'", "use branch a b", "use branch", "use branch 1; select",
	"set app.branch = 'x'", `show "app" . "Branch"`, "select set_config('app.branch', 'x', false)",
	"create function f() returns int begin atomic select case a when 1 then 2 end; select 2; end; select 3",
	"select case when a then b else c end, (select case x when 1 then 'y' end)", "select a between 1 and not b between 1 and not c", "select a.and + a.or, 1 as case, 2",
	"select 1 union select 2 union all (values (1), (2)) order by 1", "select * from a join b using (c) cross join d left join (e natural join f) on g and h or i",
	"insert into t values ($1, $2), ($3, raisin_inventory_claim('p', 1, 180))", "with a as (select 1), b as (select 2) select * from a, b where a[1][2] is not null",
	"select not /* c */ between, nulls /**/ first, a not /**/ between 1 and 2", "select U&'a' /* c */ uescape '!'", "selekt 1", "select 1 limit 1, 2", `select E'\xff', E'\u00e4', E'\ud800\udc00', E'\000'`,
	"select 'ä', ö ö ö", "select \xff", "select '\x00'", "select a\vb", "select\f1\r;\t-- x\rselect 2", "select 1;;select 2;--;\n;select (3;4);", "select -+-+-+-1, - - -1, not not a",
}

// FuzzLexer compares the lexer with PostgreSQL's, which pg_query.Scan is, for
// the texts that it takes. Two differences are known and are handled here:
//
//   - Scan returns comments as tokens, and takes a string that goes on after a
//     comment for two. So it gets the text that parserWriter makes.
//   - Scan's End is wrong for U&'…' and U&"…".
func FuzzLexer(f *testing.F) {
	for _, seed := range lexerSeeds {
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
	tokens := lexAll(t, text, scs)
	if checkEncoding(text) != nil {
		return false
	}
	w := newParserWriter(text, scs)
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

// lexAll checks what holds for the tokens of any text.
func lexAll(t *testing.T, text string, scs bool) []token {
	t.Helper()
	var tokens []token
	l := newLexer(text, scs)
	end := 0
	for {
		tok := l.next()
		if tok.Start < end || tok.End < tok.Start || tok.End > len(text) {
			t.Fatalf("%q: token %v after %d", text, tok, end)
		}
		if tok.Kind == tokenEnd {
			break
		}
		if tok.Start == tok.End {
			t.Fatalf("%q: empty token %v", text, tok)
		}
		tokens = append(tokens, tok)
		end = tok.End
	}
	if again := l.next(); again.Kind != tokenEnd {
		t.Fatalf("%q: %v after the end", text, again)
	}
	return tokens
}

func sameKind(ours tokenKind, theirs pg_query.Token) bool {
	switch theirs {
	case pg_query.Token_IDENT:
		return ours == tokenIdent || ours == tokenQuotedIdent
	case pg_query.Token_UIDENT:
		return ours == tokenUnicodeIdent
	case pg_query.Token_SCONST:
		return ours == tokenString || ours == tokenEscapeString || ours == tokenDollarString
	case pg_query.Token_USCONST:
		return ours == tokenUnicodeString
	case pg_query.Token_BCONST, pg_query.Token_XCONST:
		return ours == tokenBitString
	case pg_query.Token_FCONST: // an integer too large for 32 bits too
		return ours == tokenFloat || ours == tokenInteger
	case pg_query.Token_ICONST:
		return ours == tokenInteger
	case pg_query.Token_PARAM:
		return ours == tokenParam
	case pg_query.Token_Op, pg_query.Token_LESS_EQUALS, pg_query.Token_GREATER_EQUALS, pg_query.Token_NOT_EQUALS:
		return ours == tokenOperator
	case pg_query.Token_TYPECAST, pg_query.Token_DOT_DOT, pg_query.Token_COLON_EQUALS, pg_query.Token_EQUALS_GREATER:
		return ours == tokenPunct
	}
	if theirs < 128 { // a character
		if strings.ContainsRune("()[],;:.", rune(theirs)) {
			return ours == tokenPunct
		}
		return ours == tokenOperator || ours == tokenOther
	}
	return ours == tokenIdent // a keyword
}

// FuzzScan checks that the scan of a text neither panics nor loses a token, and
// is not deceived by what stands in strings and comments.
func FuzzScan(f *testing.F) {
	for _, seed := range lexerSeeds {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	named := func(name string) bool { return name == "raisin_lock_acquire" }
	f.Fuzz(func(t *testing.T, text string, scs bool) {
		tokens := lexAll(t, text, scs)
		all := scanText(text, scs, named)

		// The statements have every token but semicolons, in order.
		i, end := 0, 0
		s := newStatementScanner(text, scs, named)
		for st, ok := s.next(); ok; st, ok = s.next() {
			for text[tokens[i].Start:tokens[i].End] == ";" {
				i++
			}
			if st.Start < end || st.Tokens == 0 || tokens[i].Start != st.Start || tokens[i+st.Tokens-1].End != st.End {
				t.Fatalf("%q: statement %+v, tokens %v", text, st, tokens[i:])
			}
			i += st.Tokens
			end = st.End
		}
		for ; i < len(tokens); i++ {
			if text[tokens[i].Start:tokens[i].End] != ";" {
				t.Fatalf("%q: token %v is in no statement", text, tokens[i])
			}
		}
		if all.Empty() != (all.Statements == 0) {
			t.Fatalf("%q: %+v", text, all)
		}
		if (all.Mentions || all.Branch || all.Use) && !concerns(text) {
			t.Fatalf("%q: %+v, but of no concern", text, all)
		}

		// Hidden calls change nothing, visible ones do.
		if len(tokens) > 0 && tokens[len(tokens)-1].Kind == tokenUnterminated {
			return
		}
		for _, hidden := range []string{
			"raisin_lock_acquire(1)", "/* ' */ raisin_lock_acquire(1)", "$$ \" raisin_lock_acquire -- (1)",
		} {
			for _, hiding := range []string{
				"\n; " + strings.ReplaceAll("/* $ */", "$", strings.ReplaceAll(hidden, "*", "")),
				"\n; -- " + hidden,
				"\n; '" + strings.ReplaceAll(hidden, "'", "''") + "'",
				"\n; E'\\'" + strings.ReplaceAll(hidden, "'", "\\'") + "'",
				"\n; \"" + strings.ReplaceAll(hidden, "\"", "\"\"") + "x\"",
				"\n; $q$ " + hidden + " $q$",
			} {
				if got := scanText(text+hiding, scs, named); got.Mentions != all.Mentions {
					t.Fatalf("%q: %v became %v", text+hiding, all.Mentions, got.Mentions)
				}
			}
		}
		if !scanText(text+"\n; select RAISIN_lock_acquire(1)", scs, named).Mentions {
			t.Fatalf("%q hides a call behind it", text)
		}
		if q := "$q7$"; !strings.Contains(text+q, "q7$"+q) && !strings.Contains(text, q) && scanText(q+text+" "+q, scs, named).Mentions {
			t.Fatalf("%q: mentioned in a dollar quote", text)
		}
	})
}

// FuzzParse checks that no text ends the process in C, that reports point into
// the text, and that a parse tree is never higher than its bound.
func FuzzParse(f *testing.F) {
	for _, seed := range lexerSeeds {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, scs bool) {
		parsed, err := parseSQL(text, scs)
		if err != nil {
			if err.Code == "" || err.Message == "" || err.Position < 0 || err.Position > utf8.RuneCountInString(text)+1 {
				t.Fatalf("%q: %+v", text, err)
			}
			return
		}
		size := scanText(text, scs, noNames)
		if size.Statements != len(parsed.Statements) {
			t.Fatalf("%q: %d statements, parsed %d", text, size.Statements, len(parsed.Statements))
		}
		s := newStatementScanner(text, scs, noNames)
		for _, got := range parsed.Statements {
			want, _ := s.next()
			if got.Start != want.Start || got.End != want.End || want.Use != (got.Node == nil) {
				t.Fatalf("%q: statement %+v, want %+v", text, got, want)
			}
			if got.Node == nil {
				continue
			}
			if height := messageHeight(got.Node.ProtoReflect()); height > maxMessages(want.Height) {
				t.Fatalf("%q: a tree of %d messages for a height of %d", text, height, want.Height)
			}
		}
	})
}

// maxMessages bounds how many messages of a parse tree are nested in each
// other, for a statementScan's Height. Each takes about 180 bytes of the stack.
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
