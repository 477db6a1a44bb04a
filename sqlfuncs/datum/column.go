package datum

import "strings"

// ArrayOf is the type of arrays of t, for the types of the product's columns; else Invalid.
func ArrayOf(t Type) Type {
	switch t {
	case Bool:
		return 1000
	case Text:
		return TextArray
	case Int8:
		return 1016
	case Timestamptz:
		return 1185
	}
	return Invalid
}

// OfColumn makes an array of the values of a column. All of them are quoted, so that no text is
// read as anything else, and moments are written so that no setting matters.
func OfColumn(t Type, values []Datum) Datum {
	out := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		if v.Null {
			out = append(out, "NULL"...)
			continue
		}
		out = append(out, '"')
		switch {
		case t == Timestamptz:
			out = v.Time().UTC().AppendFormat(out, "2006-01-02 15:04:05.999999-07")
		case strings.ContainsAny(v.Str, `"\`):
			out = append(out, arrayEscapes.Replace(v.Str)...)
		default:
			out = AppendText(out, t, v, nil)
		}
		out = append(out, '"')
	}
	return OfText(string(append(out, '}')))
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
