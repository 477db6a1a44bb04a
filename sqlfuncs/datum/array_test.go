package datum

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"raisinproxy/sqlfuncs/pgerr"
)

func TestTextElements(t *testing.T) {
	for text, want := range map[string][]Datum{
		"{}":                           nil,
		" { } ":                        nil,
		"{a}":                          {OfText("a")},
		"{a,b c, d }":                  {OfText("a"), OfText("b c"), OfText("d")},
		`{"a","b,c","d\"e","f\\g",""}`: {OfText("a"), OfText("b,c"), OfText(`d"e`), OfText(`f\g`), OfText("")},
		`{NULL,null,"NULL"}`:           {{Null: true, Str: "NULL"}, {Null: true, Str: "null"}, OfText("NULL")},
		"[2:3]={a,b}":                  {OfText("a"), OfText("b")},
	} {
		if got, err := TextElements(OfText(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":          "22P02",
		"a":         "22P02",
		"{a":        "22P02",
		"{{a},{b}}": "0A000",
		`{"a}`:      "0A000",
		"{a,}":      "0A000",
		"{,a}":      "0A000",
		`{a"b"}`:    "0A000",
		`{"a"b}`:    "0A000",
	} {
		_, err := TextElements(OfText(text))
		if e, ok := errors.AsType[*pgerr.Error](err); !ok || string(e.Code) != want {
			t.Errorf("%s: %v, want SQLSTATE %s", text, err, want)
		}
	}
}

// TestTextElementsAreThoseOfPgtype: an independent writer of arrays.
func TestTextElementsAreThoseOfPgtype(t *testing.T) {
	for _, want := range [][]string{{"a"}, {"a b", "", "NULL", `"`, `\`, "{}", ",", " x ", "ü", "'"}} {
		text, err := pgtype.NewMap().Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, want, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := TextElements(OfText(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, d := range got {
			texts = append(texts, d.Str)
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%s: %q, want %q", text, texts, want)
		}
	}
}
