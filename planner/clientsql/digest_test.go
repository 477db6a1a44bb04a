package clientsql

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
)

const sampleStatement = "testdata/digest.sql"

var (
	statement = flag.String("statement", sampleStatement, "the file of TestDigestOfAFile")
	varying   = flag.String("varying", "", "the places of the literals that vary in it, separated by commas")
)

// TestDigestOfAFile prints the digest of each statement of a file, for an Answer;
// the package comment says how it is called.
func TestDigestOfAFile(t *testing.T) {
	sql, err := os.ReadFile(*statement)
	if err != nil {
		t.Fatal(err)
	}
	var places []int
	for place := range strings.SplitSeq(*varying, ",") {
		if n, err := strconv.Atoi(place); err == nil {
			places = append(places, n)
		}
	}
	var digests []string
	text := sqltext.New(string(sql), true)
	statements := text.Statements()
	for st, ok := statements.Next(); ok; st, ok = statements.Next() {
		statement := text.SQL[st.Start:st.End]
		folded, groups, ok := fold(text.Normalise(st.Start, st.End))
		if !ok {
			t.Fatalf("%s: the literals do not fit", statement)
		}
		digests = append(digests, digest(folded, groups, places))
		t.Logf("%.40s…\ndigest %s", statement, digests[len(digests)-1])
		for place, values := range groups {
			t.Logf("literal %d: %q", place, values)
		}
	}
	if *statement != sampleStatement {
		return
	}
	// When this digest changes, those of the answers are worth nothing, too.
	const want = "dabf292a13f28a1996212eaae3136e213d6387b1deda4efe7c6fc75dc3b1424f"
	if digests[1] != want {
		t.Errorf("digest %s, not %s", digests[1], want)
	}
}

func TestADigestStandsForAText(t *testing.T) {
	const sql = "SELECT a FROM b WHERE c IN ('x', 'y') AND d = 'z' AND e = 7"
	folded, groups, _ := fold(normalise(sql))
	rows := func(c Call) ([][]datum.Datum, error) {
		return [][]datum.Datum{{datum.OfText(strings.Join(c.Literals[0], "+") + c.Literals[1][0])}}, nil
	}
	answer := Answer{Digest: digest(folded, groups, []int{0, 1}), Lists: []int{0}, Free: []int{1}, Rows: rows}
	index := newIndex([]Answer{answer})
	for sql, want := range map[string]string{
		sql: "x+yz",
		"select a from b where c in ('w') and d = 'v' and e = 7 -- seven": "wv",
		"SELECT a FROM b WHERE c IN ('x', 'y') AND d = 'z' AND e = 8":     "",
		"SELECT a FROM b WHERE c IN ('x') AND d = 'z', 'z' AND e = 7":     "",
		"SELECT a FROM b WHERE c IN ('x', 'y') AND d = 'z' OR e = 7":      "",
	} {
		got := ""
		if match, ok := index.Find(normalise(sql)); ok {
			rows, _ := match.Rows(Call{Literals: match.Literals})
			got = rows[0][0].Str
		}
		if got != want {
			t.Errorf("%s: %q, not %q", sql, got, want)
		}
	}
}
