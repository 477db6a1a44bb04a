package sqltext

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seeds are texts with something in them that a lexer may get wrong.
func seeds(t testing.TB) (texts []string) {
	t.Helper()
	lines, err := os.ReadFile("../testdata/texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(line, err)
		}
		texts = append(texts, text)
	}
	return texts
}

// lexAll checks what holds for the tokens of any text.
func lexAll(t *testing.T, text string, scs bool) []Token {
	t.Helper()
	var tokens []Token
	l := newLexer(text, scs)
	end := 0
	for {
		tok := l.next()
		if tok.Start < end || tok.End < tok.Start || tok.End > len(text) {
			t.Fatalf("%q: token %v after %d", text, tok, end)
		}
		if tok.Kind == End {
			break
		}
		if tok.Start == tok.End {
			t.Fatalf("%q: empty token %v", text, tok)
		}
		tokens = append(tokens, tok)
		end = tok.End
	}
	if again := l.next(); again.Kind != End {
		t.Fatalf("%q: %v after the end", text, again)
	}
	return tokens
}

// FuzzScan checks that the scan of a text neither panics nor loses a token, and
// is not deceived by what stands in strings and comments.
func FuzzScan(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, scs bool) {
		tokens := lexAll(t, text, scs)
		read := New(text, scs)
		if !slices.Equal(read.Tokens(), tokens) {
			t.Fatalf("%q: tokens %v, not %v", text, read.Tokens(), tokens)
		}
		all := read.aboutIt()

		// The statements have every token but semicolons, in order.
		i, end := 0, 0
		s := read.Statements()
		for st, ok := s.Next(); ok; st, ok = s.Next() {
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
		if read.Empty() != (end == 0) {
			t.Fatalf("%q: %+v", text, all)
		}
		if (all.Mentions || all.Branch || all.Use) && !MentionsProxyText(text) {
			t.Fatalf("%q: %+v, but of no concern", text, all)
		}

		// Hidden calls change nothing, visible ones do.
		if len(tokens) > 0 && tokens[len(tokens)-1].Kind == Unterminated {
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
				if got := New(text+hiding, scs).Mentions(); got != all.Mentions {
					t.Fatalf("%q: %v became %v", text+hiding, all.Mentions, got)
				}
			}
		}
		if !New(text+"\n; select RAISIN_lock_acquire(1)", scs).Mentions() {
			t.Fatalf("%q hides a call behind it", text)
		}
		if q := "$q7$"; !strings.Contains(text+q, "q7$"+q) && !strings.Contains(text, q) && New(q+text+" "+q, scs).Mentions() {
			t.Fatalf("%q: mentioned in a dollar quote", text)
		}
	})
}
