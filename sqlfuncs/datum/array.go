package datum

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Arrays are kept as text, as PostgreSQL writes them, and taken apart where they are used.

// ErrArrayForm is an array in a form that is not read: of several dimensions, for one.
var ErrArrayForm = errors.New("this form of an array is not read")

// TextElements takes a text[] apart.
func TextElements(d Datum) ([]Datum, error) {
	elements, err := Elements(d.Str)
	if errors.Is(err, ErrArrayForm) {
		return nil, pgerr.Newf(codes.FeatureNotSupported, "the array \"%s\" is not supported: it must have one dimension", d.Str)
	}
	return elements, err
}

// Elements takes the text of an array of one dimension and any type apart, into the texts of its elements. It fails
// with ErrArrayForm, and as PostgreSQL does for what is no array.
func Elements(s string) ([]Datum, error) {
	rest, _, _ := CutBound(strings.TrimSpace(s))
	if len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return nil, pgerr.Newf(codes.InvalidTextRepresentation, "malformed array literal: \"%s\"", s).
			WithDetail("Array value must start with \"{\" or dimension information.")
	}
	rest = strings.TrimSpace(rest[1 : len(rest)-1])
	var elements []Datum
	for rest != "" || len(elements) > 0 {
		var e Datum
		var ok bool
		if e, rest, ok = cutElement(rest); !ok {
			return nil, ErrArrayForm
		}
		elements = append(elements, e)
		if rest == "" {
			break
		}
		rest = strings.TrimSpace(rest[1:]) // the comma
	}
	return elements, nil
}

// cutElement reads to the next comma.
func cutElement(s string) (e Datum, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ',')
		if end < 0 {
			end = len(s)
		}
		text := strings.TrimSpace(s[:end])
		return Datum{Str: text, Null: strings.EqualFold(text, "NULL")}, s[end:], text != "" && !strings.ContainsAny(text, `"\{}`)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			rest = strings.TrimSpace(s[i+1:])
			return OfText(b.String()), rest, rest == "" || rest[0] == ','
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return Datum{}, "", false
}

// CutBound takes the bounds off an array of one dimension that does not begin at 1, such
// as [0:1]={a,b}.
func CutBound(text string) (items string, first int64, ok bool) {
	bounds, items, ok := strings.Cut(text, "]=")
	if !ok || !strings.HasPrefix(bounds, "[") {
		return text, 1, false
	}
	lower, _, _ := strings.Cut(bounds[1:], ":")
	first, err := strconv.ParseInt(lower, 10, 32)
	if err != nil {
		return text, 1, false
	}
	return items, first, true
}
