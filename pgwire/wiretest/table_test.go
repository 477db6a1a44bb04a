package wiretest

import (
	"os"
	"strings"
	"testing"
)

// TestTableIsWrittenAsItIsRead: a rewriting changes answers and nothing else.
func TestTableIsWrittenAsItIsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/malformed.md")
	if err != nil {
		t.Fatal(err)
	}
	tab, err := parseTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := tab.String(); got != string(text) {
		t.Error("the table is written otherwise than it was read")
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| what ") && !strings.HasPrefix(line, "| --- ") {
			rows++
		}
	}
	for _, s := range tab.sections {
		rows -= len(s.rows)
	}
	if rows != 0 {
		t.Errorf("%d rows are in no section that is run", rows)
	}
}

func TestTableFaults(t *testing.T) {
	const section = "## A\n```wire\non here\nconnect\n```\n"
	for text, want := range map[string]string{
		"## A\n```wire\nconnect\n```\n":         "4: no server is named",
		section + "| a | `Q` | closed |\n":      "6: 3 columns",
		section + "| a | `Q` |  | stays |\n":    `6: the connection "stays"`,
		section + "| a | `Q`  |  | closed |\n":  "",
		section + "| a | b | c | d | closed |":  "6: 5 columns",
		"| a table | of | something | else |\n": "",
	} {
		_, err := parseTable(text)
		if got := ""; err == nil && want != got || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestVariants(t *testing.T) {
	r := tableRow{sent: `{Q\x80} len=3`}
	variants, err := r.variants()
	if err != nil || len(variants) != 2 || variants[1].sent != `"\x80" len=3` {
		t.Fatalf("%q, %v", variants, err)
	}
	if got, want := variants[1].generalize("message type 128, not type 1280, type 0x80"), "message type {type}, not type 1280, type {hex}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
