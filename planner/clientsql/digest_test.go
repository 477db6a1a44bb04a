package clientsql

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"raisinproxy/planner/sqltext"
)

const sampleStatement = "testdata/digest.sql"

var (
	statement = flag.String("statement", sampleStatement, "the file of TestDigestOfAFile")
	varying   = flag.String("varying", "", "the places of the literals that vary in it, separated by commas")
)

// TestDigestOfAFile prints the digest of each statement of a file, for answers.sql;
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
	index := newIndex(parseAnswers("-- a client\n-- varies 0 1\n-- digest " + digest(folded, groups, []int{0, 1}) + " its version\n-- answer\nSELECT 1"))
	for sql, want := range map[string][]string{
		sql: {"{x,y}", "{z}"},
		"select a from b where c in ('w') and d = 'v,' and e = 7 -- seven": {"{w}", `{"v,"}`},
		"SELECT a FROM b WHERE c IN ('x', 'y') AND d = 'z' AND e = 8":      nil,
		"SELECT a FROM b WHERE c IN ('x', 'y') AND d = 'z' OR e = 7":       nil,
	} {
		if got := found(index, sql); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", sql, got, want)
		}
	}
}

// found are the parameters of the answer to a statement; nil if it has none.
func found(index *Index, sql string) []string {
	_, args, ok := index.Find(normalise(sql))
	if !ok {
		return nil
	}
	values := []string{}
	for _, arg := range args {
		values = append(values, arg.Str)
	}
	return values
}
