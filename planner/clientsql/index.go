package clientsql

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
)

// Index finds the answer to a statement. It is safe for concurrent use.
type Index struct {
	byDigest map[string]*Answer
	// varying are the places of the literals that vary, each set of them once.
	varying [][]int
}

// NewIndex prepares the search. It panics if the answers are not well formed.
func NewIndex() *Index { return newIndex(parseAnswers(answersSQL)) }

func newIndex(answers []*Answer) *Index {
	index := &Index{byDigest: make(map[string]*Answer)}
	for _, a := range answers {
		for _, digest := range a.Digests {
			if index.byDigest[digest] != nil {
				panic(fmt.Sprintf("clientsql: %s has two answers, %s", digest, a.Source))
			}
			index.byDigest[digest] = a
		}
		if !slices.ContainsFunc(index.varying, func(v []int) bool { return slices.Equal(v, a.Varies) }) {
			index.varying = append(index.varying, a.Varies)
		}
	}
	return index
}

// Find finds the query that answers a statement, and its parameters, given what
// sqltext.Normalise makes of the statement. They depend on nothing but the text, so that
// they may be kept with the plan of a prepared statement.
func (x *Index) Find(words, literals []string) (query *catalog.Query, args []datum.Datum, ok bool) {
	key, groups, ok := fold(words, literals)
	if !ok {
		return nil, nil, false
	}
	for _, varying := range x.varying {
		answer := x.byDigest[digest(key, groups, varying)]
		if answer == nil || slices.ContainsFunc(varying, func(i int) bool { return i >= len(groups) }) {
			continue
		}
		for _, i := range varying {
			args = append(args, array(groups[i]))
		}
		return answer.Query(), args, true
	}
	return nil, nil, false
}

// array is a list of literals as the text of an array.
func array(literals []string) datum.Datum {
	items := make([]string, len(literals))
	for i, s := range literals {
		items[i] = datum.QuoteElement(s)
	}
	return datum.OfText("{" + strings.Join(items, ",") + "}")
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
