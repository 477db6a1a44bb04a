package catalog

import (
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Arrays are kept as text, as PostgreSQL writes them, and taken apart where they are
// used. Those of more than one dimension, and of other lower bounds, are not read.

// elements takes an array apart. t is its type.
func (x *execution) elements(t datum.Type, array datum.Datum) ([]datum.Datum, error) {
	of := element(t)
	if t == typeInt2Vector || t == typeOIDVector {
		var all []datum.Datum
		for field := range strings.FieldsSeq(array.Str) {
			d, err := x.input(of, field)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		return all, nil
	}
	items, err := splitArray(array.Str)
	if err != nil {
		return nil, err
	}
	all := make([]datum.Datum, len(items))
	for i, item := range items {
		if item.null {
			all[i] = datum.Null
		} else if all[i], err = x.input(of, item.text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

type arrayItem struct {
	text string
	null bool
}

func splitArray(s string) ([]arrayItem, error) {
	malformed := pgerr.Newf(codes.InvalidTextRepresentation, "malformed array literal: \"%s\"", s)
	_, rest := bounds(strings.TrimSpace(s))
	if len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return nil, malformed.WithDetail("Array value must start with \"{\" or dimension information.")
	}
	rest = strings.TrimSpace(rest[1 : len(rest)-1])
	var items []arrayItem
	for rest != "" || len(items) > 0 {
		var item arrayItem
		var ok bool
		if item, rest, ok = cutItem(rest); !ok {
			return nil, refusal("this form of an array")
		}
		items = append(items, item)
		if rest == "" {
			break
		}
		rest = strings.TrimSpace(rest[1:]) // the comma
	}
	return items, nil
}

// cutItem reads to the next comma.
func cutItem(s string) (item arrayItem, rest string, ok bool) {
	var b strings.Builder
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ',')
		if end < 0 {
			end = len(s)
		}
		text := strings.TrimSpace(s[:end])
		null := strings.EqualFold(text, "NULL")
		return arrayItem{text, null}, s[end:], text != "" && !strings.ContainsAny(text, `"\{}`)
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			rest = strings.TrimSpace(s[i+1:])
			return arrayItem{text: b.String()}, rest, rest == "" || rest[0] == ','
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return item, "", false
}

// array makes an array of values of type of.
func (x *execution) array(of datum.Type, values []datum.Datum) (datum.Datum, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		if v.Null {
			b.WriteString("NULL")
			continue
		}
		text, err := x.output(of, v)
		if err != nil {
			return datum.Null, err
		}
		b.WriteString(QuoteItem(text))
	}
	b.WriteByte('}')
	return datum.OfText(b.String()), nil
}

// QuoteItem quotes an item where array_out does.
func QuoteItem(s string) string {
	if s != "" && !strings.EqualFold(s, "NULL") && !strings.ContainsAny(s, "\"\\{}, \t\n\r\v\f") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// bounds takes the bounds off an array of one dimension, such as [0:1]={a,b}.
func bounds(s string) (lower int64, rest string) {
	if before, after, ok := strings.Cut(s, "]="); ok && strings.HasPrefix(before, "[") {
		first, _, _ := strings.Cut(before[1:], ":")
		if n, err := strconv.ParseInt(first, 10, 64); err == nil {
			return n, after
		}
	}
	return 1, s
}

// lowerBound is where the subscripts of an array begin.
func lowerBound(t datum.Type, array datum.Datum) int64 {
	if t == typeInt2Vector || t == typeOIDVector {
		return 0
	}
	lower, _ := bounds(array.Str)
	return lower
}

// withBounds is an array as array_out writes it: with bounds that are not those of ARRAY[…].
func withBounds(lower int64, n int, array datum.Datum) datum.Datum {
	if lower == 1 || n == 0 {
		return array
	}
	return datum.OfText("[" + itoa(lower) + ":" + itoa(lower+int64(n)-1) + "]=" + array.Str)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
