package sqltext

import "strings"

// EscapePrefix is what makes an E string of a plain one behind another token.
func EscapePrefix(text string, before, t Token) string {
	if before.Kind == Ident && before.End == t.Start && FoldsTo(text[before.Start:before.End], "n") {
		return "CHAR E" // N'…' is NCHAR '…'
	}
	return " E" // apart from what may stand before it
}

// Portable makes a text that was written under one standard_conforming_strings mean the
// same under both: plain strings with backslashes become E strings. The rest stays as it
// is. Positions behind such a string are not those of the text.
func Portable(text string, standard bool) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	l := newLexer(text, standard)
	written := 0
	var last Token
	for t := l.next(); t.Kind != End; t = l.next() {
		literal, before := text[t.Start:t.End], last
		last = t
		if t.Kind != String || strings.IndexByte(literal, '\\') < 0 {
			continue
		}
		b.WriteString(text[written:t.Start] + EscapePrefix(text, before, t))
		if standard {
			literal = strings.ReplaceAll(literal, `\`, `\\`)
		}
		b.WriteString(literal)
		written = t.End
	}
	b.WriteString(text[written:])
	return b.String()
}
