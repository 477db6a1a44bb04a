package clientsql

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"raisinproxy/planner/sqltext"
)

// Index finds the answer to a statement. It is safe for concurrent use.
type Index struct {
	byText   map[string][]entry
	byDigest map[string]*Answer
	// varying are the places of the literals that vary in the texts of byDigest,
	// each set of them once.
	varying [][]int
}

type entry struct {
	answer   *Answer
	literals [][]string
}

// Match is a statement that has an answer. It depends on nothing but the text, so
// that it may be kept with the plan of a prepared statement.
type Match struct {
	*Answer
	// Literals are the values of those that may vary, in the order of the text.
	Literals [][]string
}

// NewIndex prepares the search. It panics if Answers are not well formed.
func NewIndex() *Index { return newIndex(Answers) }

func newIndex(answers []Answer) *Index {
	index := &Index{byText: make(map[string][]entry), byDigest: make(map[string]*Answer)}
	for i := range answers {
		answer := &answers[i]
		if answer.Digest != "" {
			index.addDigest(answer)
			continue
		}
		key, literals, ok := fold(sqltext.New(answer.SQL, true).Normalise(0, len(answer.SQL)))
		if !ok || slices.ContainsFunc(answer.varying(), func(i int) bool { return i < 0 || i >= len(literals) }) {
			panic(fmt.Sprintf("clientsql: the literals of %q do not fit", answer.SQL))
		}
		index.byText[key] = append(index.byText[key], entry{answer, literals})
	}
	return index
}

func (x *Index) addDigest(answer *Answer) {
	if answer.SQL != "" || x.byDigest[answer.Digest] != nil {
		panic(fmt.Sprintf("clientsql: the digest %s has a text, or another answer", answer.Digest))
	}
	x.byDigest[answer.Digest] = answer
	varying := answer.varying()
	if !slices.ContainsFunc(x.varying, func(v []int) bool { return slices.Equal(v, varying) }) {
		x.varying = append(x.varying, varying)
	}
}

// varying are the places of the literals that are not constant.
func (a *Answer) varying() []int { return slices.Sorted(slices.Values(slices.Concat(a.Free, a.Lists))) }

// Find finds the answer to a statement, given what sqltext.Normalise makes of it.
func (x *Index) Find(words, literals []string) (Match, bool) {
	key, groups, ok := fold(words, literals)
	if !ok {
		return Match{}, false
	}
	for _, e := range x.byText[key] {
		if varying, ok := e.accept(groups); ok {
			return Match{e.answer, varying}, true
		}
	}
	for _, v := range x.varying {
		answer := x.byDigest[digest(key, groups, v)]
		if answer == nil {
			continue
		}
		if varying, ok := (entry{answer, groups}).accept(groups); ok {
			return Match{answer, varying}, true
		}
	}
	return Match{}, false
}

// digest is the SHA-256 of a folded text and its literals, except the values of
// those that vary.
func digest(folded string, literals [][]string, varying []int) string {
	constants := slices.Clone(literals)
	for _, i := range varying {
		if i < len(constants) {
			constants[i] = nil
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\n%q", folded, constants)))
}

// accept compares the constants and picks the literals that may vary.
func (e entry) accept(literals [][]string) (varying [][]string, ok bool) {
	for i, values := range literals {
		switch {
		case slices.Contains(e.answer.Lists, i):
			varying = append(varying, values)
		case slices.Contains(e.answer.Free, i) && len(values) == 1:
			varying = append(varying, values)
		case slices.Contains(e.answer.Free, i), !slices.Equal(values, e.literals[i]):
			return nil, false
		}
	}
	return varying, true
}

// marker stands for a literal in normalised text.
const marker = "?"

// fold makes lists of literals, and of groups of them, alike whatever their
// length: `( ? , ? )` becomes `( ? )`. It returns the text that is left and the
// literals of each marker in it. It fails for a text whose markers are not its
// literals, such as one with an operator of that name.
func fold(words, literals []string) (folded string, groups [][]string, ok bool) {
	f := folder{}
	for _, token := range words {
		if token == marker {
			if len(literals) == 0 {
				return "", nil, false
			}
			f.literal(literals[0])
			literals = literals[1:]
			continue
		}
		f.tokens = append(f.tokens, token)
		if token == ")" {
			f.closeGroup()
		}
	}
	return strings.Join(f.tokens, " "), f.groups, len(literals) == 0
}

type folder struct {
	tokens []string
	groups [][]string
}

// literal adds a literal: to the list before it if there is one.
func (f *folder) literal(value string) {
	if f.signed() {
		value = "-" + value
		f.tokens = f.tokens[:len(f.tokens)-1]
	}
	if n := len(f.tokens); n > 1 && f.tokens[n-1] == "," && f.tokens[n-2] == marker {
		f.tokens = f.tokens[:n-1]
		last := len(f.groups) - 1
		f.groups[last] = append(f.groups[last], value)
		return
	}
	f.tokens = append(f.tokens, marker)
	f.groups = append(f.groups, []string{value})
}

// signed says whether a minus sign that is no operator between two values comes
// last.
func (f *folder) signed() bool {
	n := len(f.tokens)
	return n > 1 && f.tokens[n-1] == "-" && slices.Contains([]string{"(", ",", "="}, f.tokens[n-2])
}

// closeGroup removes the parenthesised group that ends here if it is one of a list
// whose groups are alike, and adds its literals to those of the one before it.
func (f *folder) closeGroup() {
	second := f.openBefore(len(f.tokens) - 1)
	if second < 2 || f.tokens[second-1] != "," || f.tokens[second-2] != ")" {
		return
	}
	first := f.openBefore(second - 2)
	group := f.tokens[second:]
	if first < 0 || !slices.Equal(f.tokens[first:second-1], group) {
		return
	}
	n := 0
	for _, token := range group {
		if token == marker {
			n++
		}
	}
	if n == 0 {
		return
	}
	added := f.groups[len(f.groups)-n:]
	f.groups = f.groups[:len(f.groups)-n]
	for i, values := range added {
		at := len(f.groups) - n + i
		f.groups[at] = append(f.groups[at], values...)
	}
	f.tokens = f.tokens[:second-1]
}

// openBefore is the place of the parenthesis that the one at end closes, or -1 if
// others lie between them.
func (f *folder) openBefore(end int) int {
	for i := end - 1; i >= 0; i-- {
		switch f.tokens[i] {
		case "(":
			return i
		case ")":
			return -1
		}
	}
	return -1
}
