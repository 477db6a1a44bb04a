package planner

import "strings"

// MayCommit says whether a text of one statement is a CALL or a DO, which can end
// transactions on its own and go on.
func MayCommit(text string, standardConformingStrings bool) bool {
	l := newLexer(text, standardConformingStrings)
	t := l.next()
	for t.Kind == tokenPunct && text[t.Start] == ';' {
		t = l.next()
	}
	word := text[t.Start:t.End]
	return t.Kind == tokenIdent && (strings.EqualFold(word, "call") || strings.EqualFold(word, "do"))
}
