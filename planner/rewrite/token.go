package rewrite

import (
	"sort"

	"raisinproxy/planner/sqltext"
)

// nestedToken is a token and how many brackets are open around it. Brackets are
// not inside themselves.
type nestedToken struct {
	sqltext.Token
	depth int
}

func nestedTokens(text *sqltext.Text, start, end int) (tokens []nestedToken) {
	depth := 0
	for _, t := range text.Between(start, end) {
		bracket := ""
		if t.Kind == sqltext.Punct {
			bracket = text.Word(t)
		}
		if bracket == ")" || bracket == "]" {
			depth--
		}
		tokens = append(tokens, nestedToken{t, depth})
		if bracket == "(" || bracket == "[" {
			depth++
		}
	}
	return tokens
}

// tokenAt is the token that begins at this byte of the user's text; -1 if none does.
func (r *rewriter) tokenAt(offset int) int {
	if i := r.tokenFrom(offset); i < len(r.tokens) && r.tokens[i].Start == offset {
		return i
	}
	return -1
}

// tokenFrom is the first token that begins at this byte or after it.
func (r *rewriter) tokenFrom(offset int) int {
	return sort.Search(len(r.tokens), func(i int) bool { return r.tokens[i].Start >= offset })
}

// closing is the bracket that closes the one at token i; -1 if there is none.
func (r *rewriter) closing(i int) int {
	for j := i + 1; j < len(r.tokens); j++ {
		if r.tokens[j].depth == r.tokens[i].depth {
			return j
		}
	}
	return -1
}

func (r *rewriter) text(i int) string { return r.user[r.tokens[i].Start:r.tokens[i].End] }

func (r *rewriter) is(i int, punct string) bool {
	return i >= 0 && i < len(r.tokens) && r.tokens[i].Kind == sqltext.Punct && r.text(i) == punct
}

func (r *rewriter) isWord(i int, word string) bool {
	return i >= 0 && i < len(r.tokens) && r.tokens[i].Kind == sqltext.Ident && sqltext.FoldsTo(r.text(i), word)
}

// wordBefore is the last token before i that is the keyword, not a name or label
// of that spelling, and that stands within depth brackets; any number for -1.
func (r *rewriter) wordBefore(i int, word string, depth int) int {
	for i--; i >= 0; i-- {
		if r.keyword(i) == word && (depth < 0 || r.tokens[i].depth == depth) {
			return i
		}
	}
	return -1
}

// keyword is the word that a token is, unless it is certain to be a name or label; else "".
func (r *rewriter) keyword(i int) string {
	if r.tokens[i].Kind != sqltext.Ident || r.is(i-1, ".") || r.isWord(i-1, "as") {
		return ""
	}
	return sqltext.FoldName(r.text(i))
}

// itemEnd is where an item of a list ends that token i is in or directly after,
// and that stands within depth brackets.
func (r *rewriter) itemEnd(i, depth int) int {
	for ; i < len(r.tokens); i++ {
		if t := r.tokens[i]; t.depth < depth || t.depth == depth && (r.is(i, ",") || clauseWords[r.keyword(i)]) {
			break
		}
	}
	return r.tokens[i-1].End
}

// clauseWords are the keywords that no expression has outside brackets, so that a clause
// ends there.
var clauseWords = map[string]bool{
	"from": true, "into": true, "where": true, "group": true, "having": true, "window": true, "union": true,
	"intersect": true, "except": true, "order": true, "limit": true, "offset": true, "fetch": true, "for": true,
	"on": true, "returning": true,
}
