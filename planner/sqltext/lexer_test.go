package sqltext

import (
	"strings"
	"testing"
	"time"
)

// kindNames are short for the tables below.
var kindNames = map[Kind]string{
	Ident: "id", QuotedIdent: "qid", UnicodeIdent: "uid", String: "str", EscapeString: "estr",
	UnicodeString: "ustr", DollarString: "dstr", BitString: "bits", Integer: "int", Float: "float",
	Param: "param", Operator: "op", Punct: "punct", Other: "other", Unterminated: "unterminated",
}

// render writes tokens as kind<text>, one space between them.
func render(text string, scs bool) string {
	var out []string
	l := newLexer(text, scs)
	for t := l.next(); t.Kind != End; t = l.next() {
		out = append(out, kindNames[t.Kind]+"<"+text[t.Start:t.End]+">")
	}
	return strings.Join(out, " ")
}

func TestLexer(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blanks and comments", " \t\r\n\f-- c\n/* /* nested */ */", ""},
		{"a comment without its end", "a /* /* */", "id<a> unterminated</* /* */>"},
		{"slash, star, slash opens only", "/*/ b */ c", "id<c>"},
		{"names", "select größe _a1$ b$c", "id<select> id<größe> id<_a1$> id<b$c>"},
		{"quoted names", `"a" "b""c" "" "d`, `qid<"a"> qid<"b""c"> qid<""> unterminated<"d>`},
		{"unicode names", `U&"\0061" u&"" u & "x"`, `uid<U&"\0061"> uid<u&""> id<u> op<&> qid<"x">`},
		{"strings", `'a' 'it''s' ''`, `str<'a'> str<'it''s'> str<''>`},
		{"a string without its end", `'a''`, `unterminated<'a''>`},
		{"a backslash is a character", `'\' 'b'`, `str<'\'> str<'b'>`},
		{"escape strings", `E'\'' e'a\\' E'\`, `estr<E'\''> estr<e'a\\'> unterminated<E'\>`},
		{"a name that ends in e", `ae'b'`, `id<ae> str<'b'>`},
		{"national strings are two tokens", `N'a'`, `id<N> str<'a'>`},
		{"bit strings have no doubled quotes", `B'01' x'1F''2'`, `bits<B'01'> bits<x'1F'> str<'2'>`},
		{"unicode strings", `U&'\0061' UESCAPE '!'`, `ustr<U&'\0061'> id<UESCAPE> str<'!'>`},
		{"strings go on after a line break", "'a'\n'b' 'c'", "str<'a'\n'b'> str<'c'>"},
		{"and after comments", "E'a' -- c\n -- d\n '\\'b' x", "estr<E'a' -- c\n -- d\n '\\'b'> id<x>"},
		{"but not after a block comment", "'a' /* c */\n'b'", "str<'a'> str<'b'>"},
		{"dollar strings", "$$a$b$$ $x$ $$ $y$ $x$ $é$'$é$", "dstr<$$a$b$$> dstr<$x$ $$ $y$ $x$> dstr<$é$'$é$>"},
		{"a dollar string without its end", "$a$ $b$", "unterminated<$a$ $b$>"},
		{"parameters and lone dollars", "$1 $23a $ $x a$1", "param<$1> param<$23> id<a> other<$> other<$> id<x> id<a$1>"},
		{"numbers", "1 1.5 .5 1. 1e5 1.5e-3 .5E+7", "int<1> float<1.5> float<.5> float<1.> float<1e5> float<1.5e-3> float<.5E+7>"},
		{"numbers of other radix", "0x1F 0o17 0B1 1_000 0x_f 0xg", "int<0x1F> int<0o17> int<0B1> int<1_000> int<0x_f> int<0> id<xg>"},
		{"numbers beside points", "1..2 1_0..2 1.5.6 a.1", "int<1> punct<..> int<2> float<1_0.> float<.2> float<1.5> float<.6> id<a> float<.1>"},
		{"numbers beside letters", "1a 1e 1e+ 1__2", "int<1> id<a> int<1> id<e> int<1> id<e> op<+> int<1> id<__2>"},
		{"punctuation", "([,;:.::=..:=])=>", "punct<(> punct<[> punct<,> punct<;> punct<:> punct<.> punct<::> op<=> punct<..> punct<:=> punct<]> punct<)> punct<=>>"},
		{"operators", "a->>b||c <= >= <> != !~~*", "id<a> op<->>> id<b> op<||> id<c> op<<=> op<>=> op<<>> op<!=> op<!~~*>"},
		{"a sign at the end is an operator of its own", "1=-1 2*+-3 @- ?-", "int<1> op<=> op<-> int<1> int<2> op<*> op<+> op<-> int<3> op<@-> op<?->"},
		{"comments end operators", "+/* */- *--c\n+", "op<+> op<-> op<*> op<+>"},
		{"=> with a sign", "a=>-1", "id<a> punct<=>> op<-> int<1>"},
		{"other bytes", "\\ { \v \x00 \x7f", "other<\\> other<{> other<\v> other<\x00> other<\x7f>"},
		{"bytes that are no characters are letters", "\xff\xfe", "id<\xff\xfe>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := render(test.text, true); got != test.want {
				t.Errorf("%q\n got %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

func TestLexerWithoutStandardConformingStrings(t *testing.T) {
	tests := []struct{ text, want string }{
		{`'\' 'b'`, `str<'\' '> unterminated<b'>`},
		{`'\\' 'b'`, `str<'\\'> str<'b'>`},
		{`N'\''`, `id<N> str<'\''>`},
		{`B'\' "\" U&'\'`, `bits<B'\'> qid<"\"> ustr<U&'\'>`},
		{"'a'\n'\\'b'", "str<'a'\n'\\'b'>"},
	}
	for _, test := range tests {
		if got := render(test.text, false); got != test.want {
			t.Errorf("%q\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// TestLexerIsLinear takes texts of megabytes on which a careless lexer, and
// PostgreSQL's too, takes quadratic time. It hangs rather than fails.
func TestLexerIsLinear(t *testing.T) {
	const n = 1 << 17
	start := time.Now()
	for _, text := range []string{
		strings.Repeat("+-", n), strings.Repeat("/*", n), strings.Repeat("/*", n) + strings.Repeat("*/", n),
		strings.Repeat("'a'\n", n), strings.Repeat("'a' --\n", n), strings.Repeat("''", n), strings.Repeat("$a", n), strings.Repeat("$a$", n),
		"E'" + strings.Repeat(`\\`, n), "E'" + strings.Repeat(`\'`, n) + "'", strings.Repeat(`"`, n), strings.Repeat("1..", n), strings.Repeat(`U&"" `, n),
		strings.Repeat("(", n), strings.Repeat("case ", n), strings.Repeat("a and ", n), strings.Repeat(";", n), strings.Repeat("select;", n),
	} {
		for _, scs := range []bool{true, false} {
			l := newLexer(text, scs)
			for t := l.next(); t.Kind != End; {
				t = l.next()
			}
			New(text, scs).Empty()
		}
	}
	t.Logf("%v", time.Since(start))
}

func TestLexerDoesNotAllocate(t *testing.T) {
	text := strings.Join(seeds(t), "\n")
	if n := testing.AllocsPerRun(10, func() {
		l := newLexer(text, true)
		for t := l.next(); t.Kind != End; {
			t = l.next()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
