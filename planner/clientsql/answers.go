package clientsql

import (
	_ "embed"
	"fmt"
	"strings"

	"raisinproxy/planner/catalog"
	"raisinproxy/planner/sqltext"
)

// answersSQL is the data of this package.
//
//go:embed answers.sql
var answersSQL string

// Answer is what answers a catalogue query of a driver's.
type Answer struct {
	// Source says where the query comes from, for people: the client, its version, and what
	// makes it ask.
	Source string
	// SQL is the query as the client sends it. It runs on PostgreSQL as it stands. "" if only
	// digests are known.
	SQL string
	// Digests are those of the texts that are answered so.
	Digests []string
	// Varies are the places of the literals that may be any, and any number of them. They
	// are the parameters of Query, each an array.
	Varies []int
	// OwnSQL is a query with the same answer that package catalog evaluates, and Query
	// compiles it, once.
	OwnSQL string
	Query  func() *catalog.Query
}

// parseAnswers reads the paragraphs of a file like answers.sql. It panics if one is not well
// formed.
func parseAnswers(text string) (answers []*Answer) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if a := parseAnswer(paragraph); a.OwnSQL != "" {
			answers = append(answers, a)
		}
	}
	return answers
}

func parseAnswer(paragraph string) *Answer {
	a := &Answer{}
	sql, own, _ := strings.Cut(strings.TrimSpace(paragraph), "\n-- answer\n")
	var client []string
	for line := range strings.SplitSeq(sql, "\n") {
		digest, isDigest := strings.CutPrefix(line, "-- digest ")
		places, varies := strings.CutPrefix(line, "-- varies ")
		source, comment := strings.CutPrefix(line, "-- ")
		switch {
		case isDigest:
			a.Digests = append(a.Digests, strings.Fields(digest)[0])
		case varies:
			a.Varies = numbers(places)
		case comment && a.Source == "":
			a.Source = source
		case !comment:
			client = append(client, line)
		}
	}
	a.SQL, a.OwnSQL = strings.Join(client, "\n"), own
	a.Query = catalog.Own(own)
	if a.SQL != "" {
		a.Digests = append(a.Digests, a.digestOfSQL())
	}
	return a
}

func (a *Answer) digestOfSQL() string {
	key, literals, ok := fold(sqltext.New(a.SQL, true).Normalise(0, len(a.SQL)))
	if !ok || len(a.Varies) > len(literals) {
		panic(fmt.Sprintf("clientsql: the literals of %q do not fit", a.SQL))
	}
	return digest(key, literals, a.Varies)
}

// numbers are those of a list.
func numbers(list string) (all []int) {
	for word := range strings.FieldsSeq(list) {
		var n int
		if _, err := fmt.Sscan(word, &n); err != nil {
			panic(fmt.Sprintf("clientsql: %q is no place of a literal", word))
		}
		all = append(all, n)
	}
	return all
}
