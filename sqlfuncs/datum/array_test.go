package datum

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
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
}

// TestParseTextArray has the answers of PostgreSQL 15.
func TestParseTextArray(t *testing.T) {
	for text, want := range map[string]string{
		"{a,b c, d }":        `{a,"b c",d}`,
		`{"a","b,c","d\"e"}`: `{a,"b,c","d\"e"}`,
		`{NULL,null,"NULL"}`: `{NULL,NULL,"NULL"}`,
		"[2:3]={a,b}":        "[2:3]={a,b}",
		"[1:1]={a}":          "{a}",
		`{"a" , "b"} `:       "{a,b}",
		`{a\,b,\NULL,\ x\ }`: `{"a,b","NULL"," x "}`,
		`{a\\}`:              `{"a\\"}`,
		`{\"}`:               `{"\""}`,
		`{"\a"}`:             "{a}",
		`{nu\ll}`:            `{"null"}`,
		"{ a\tb }":           "{\"a\tb\"}",
		"{ü,'}":              "{ü,'}",
		"":                   `22P02 Array value must start with "{" or dimension information.`,
		"a":                  `22P02 Array value must start with "{" or dimension information.`,
		"{a":                 "22P02 Unexpected end of input.",
		"{":                  "22P02 Unexpected end of input.",
		`{"a}`:               "22P02 Unexpected end of input.",
		`{a\}`:               "22P02 Unexpected end of input.",
		`{"a\"}`:             "22P02 Unexpected end of input.",
		"{a,}":               `22P02 Unexpected "}" character.`,
		"{,a}":               `22P02 Unexpected "," character.`,
		"{a,,b}":             `22P02 Unexpected "," character.`,
		"{a{b}}":             `22P02 Unexpected "{" character.`,
		`{a"b"}`:             "22P02 Unexpected array element.",
		`{"a"b}`:             "22P02 Unexpected array element.",
		"{a}b":               "22P02 Junk after closing right brace.",
		"{}}":                "22P02 Junk after closing right brace.",
		"[1:2]={a}":          "22P02 Specified array dimensions do not match array contents.",
		"[1:1]={}":           "22P02 Specified array dimensions do not match array contents.",
		"{{a},{b}}":          "0A000", // which PostgreSQL takes
	} {
		d, err := Parse(TextArray, text)
		got := d.Str
		if e, ok := errors.AsType[*pgerr.Error](err); ok {
			got = strings.TrimSpace(string(e.Code) + " " + e.Detail)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
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

// TestBinaryTexts: the answers are those of PostgreSQL 15 to the same bytes.
func TestBinaryTexts(t *testing.T) {
	int4 := func(numbers ...int32) (b []byte) {
		for _, n := range numbers {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
		return b
	}
	one := func(element int32, text string) []byte {
		return append(int4(1, 0, element, 1, 1, int32(len(text))), text...)
	}
	for name, test := range map[string]struct {
		b    []byte
		want []Datum
		code string
	}{
		"one":                 {one(25, "a b"), []Datum{OfText("a b")}, ""},
		"none":                {int4(0, 0, 25), nil, ""},
		"empty and NULL":      {int4(1, 1, 25, 2, 1, 0, -1), []Datum{OfText(""), Null}, ""},
		"other bounds":        {append(int4(1, 0, 25, 1, -5, 1), 'x'), []Datum{OfText("x")}, ""},
		"of integers":         {append(int4(1, 0, 23, 1, 1, 4), 0, 0, 0, 7), nil, "42804"},
		"of varchar":          {one(1043, "a"), nil, "42804"},
		"two dimensions":      {int4(2, 0, 25, 1, 1, 1, 1, 0), nil, "0A000"},
		"nothing":             {nil, nil, "08P01"},
		"a header cut off":    {int4(1, 0), nil, "08P01"},
		"strange flags":       {int4(1, 2, 25, 0, 1), nil, "22P03"},
		"negative dimensions": {int4(-1, 0, 25), nil, "22P03"},
		"negative count":      {int4(1, 0, 25, -1, 1), nil, "22P03"},
		"an element cut off":  {int4(1, 0, 25, 1, 1, 5), nil, "22P03"},
		"a negative length":   {int4(1, 0, 25, 1, 1, -2), nil, "22P03"},
		"fewer than counted":  {int4(1, 0, 25, 2_000_000_000, 1, 0), nil, "08P01"},
		"more than counted":   {append(one(25, "a"), 0), nil, "22P03"},
	} {
		got, err := BinaryTexts(TextArray, test.b, 1)
		code := ""
		if e, ok := errors.AsType[*pgerr.Error](err); ok {
			code = string(e.Code)
		}
		if code != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, %v; want %+v, SQLSTATE %q", name, got, err, test.want, test.code)
		}
	}
}
