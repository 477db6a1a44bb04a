package sqltext

import "strings"

// Normalise reduces a part of a text to what its meaning depends on: its words, without
// comments, those that are not quoted in lower case, quoted identifiers with their quotes
// if they need them, `?` in the place of every number and string, and no semicolon at the
// end. literals are the values of those numbers and strings, in order, without quotes and
// escapes. Digests depend on every byte of it.
func (t *Text) Normalise(start, end int) (words, literals []string) {
	for _, token := range t.Between(start, end) {
		word := t.Word(token)
		switch token.Kind {
		case Ident:
			word = FoldName(word)
		case QuotedIdent:
			word = quoteIdent(unquoted(word))
		case String:
			literals = append(literals, strings.ReplaceAll(word[1:len(word)-1], "''", "'"))
			word = "?"
		case Integer, Float, EscapeString, UnicodeString, DollarString, BitString:
			literals = append(literals, word)
			word = "?"
		}
		words = append(words, word)
	}
	if last := len(words) - 1; last >= 0 && words[last] == ";" {
		words = words[:last]
	}
	return words, literals
}
