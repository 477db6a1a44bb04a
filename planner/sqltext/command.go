package sqltext

import (
	"strings"
	"unicode/utf8"
)

// UsesPrepared says whether a statement of a text may make, run or drop a prepared
// statement.
func (t *Text) UsesPrepared() bool {
	statements := t.Statements()
	for st, ok := statements.Next(); ok; st, ok = statements.Next() {
		switch strings.ToLower(st.Keyword) {
		case "prepare", "execute", "deallocate", "discard", "explain", "create":
			return true
		}
	}
	return false
}

// ControlsTransaction says whether a text is one statement that begins or ends a
// transaction, by its first word.
func (t *Text) ControlsTransaction() bool {
	const longest = 256 // of what is sent in earnest
	if len(t.SQL) > longest {
		return false
	}
	statements := t.Statements()
	st, ok := statements.Next()
	if _, more := statements.Next(); !ok || more {
		return false
	}
	switch strings.ToLower(st.Keyword) {
	case "begin", "start", "commit", "end", "rollback", "abort":
		return true
	}
	return false
}

// MayCommit says whether a text of one statement is a CALL or a DO, which can end
// transactions on its own and go on.
func MayCommit(text string, standardConformingStrings bool) bool {
	l := newLexer(text, standardConformingStrings)
	t := l.next()
	for t.Kind == Punct && text[t.Start] == ';' {
		t = l.next()
	}
	word := text[t.Start:t.End]
	return t.Kind == Ident && (strings.EqualFold(word, "call") || strings.EqualFold(word, "do"))
}

// ExecuteAs is the text of an EXECUTE with another name in it. Positions behind the name
// are shift characters further on than in the text.
func ExecuteAs(text string, standardConformingStrings bool, name string) (sql string, shift int) {
	l := newLexer(text, standardConformingStrings)
	l.next() // EXECUTE
	old := l.next()
	return text[:old.Start] + name + text[old.End:], utf8.RuneCountInString(name) - utf8.RuneCountInString(text[old.Start:old.End])
}
