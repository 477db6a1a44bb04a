package catalog

import (
	"errors"
	"strconv"
	"strings"

	"raisinproxy/sqlfuncs/datum"
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
		if item.Null {
			all[i] = datum.Null
		} else if all[i], err = x.input(of, item.Str); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// splitArray takes the text of an array of any type apart, into texts.
func splitArray(s string) ([]datum.Datum, error) {
	items, err := datum.Elements(s)
	if errors.Is(err, datum.ErrArrayForm) {
		return nil, refusal("this form of an array")
	}
	return items, err
}

// array makes an array of values of type of.
func (x *execution) array(of datum.Type, values []datum.Datum) (datum.Datum, error) {
	texts := make([]datum.Datum, len(values))
	for i, v := range values {
		if v.Null {
			texts[i] = datum.Null
			continue
		}
		text, err := x.output(of, v)
		if err != nil {
			return datum.Null, err
		}
		texts[i] = datum.OfText(text)
	}
	return datum.OfTexts(texts), nil
}

// lowerBound is where the subscripts of an array begin.
func lowerBound(t datum.Type, array datum.Datum) int64 {
	if t == typeInt2Vector || t == typeOIDVector {
		return 0
	}
	_, lower, _ := datum.CutBound(array.Str)
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
