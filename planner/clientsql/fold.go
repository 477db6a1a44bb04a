package clientsql

import (
	"slices"
	"strings"
)

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
