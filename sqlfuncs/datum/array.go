package datum

import (
	"encoding/binary"
	"errors"
	"fmt"
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

// OfTexts makes an array of the texts of its elements.
func OfTexts(elements []Datum) Datum {
	var b strings.Builder
	b.WriteByte('{')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		if e.Null {
			b.WriteString("NULL")
		} else {
			b.WriteString(QuoteElement(e.Str))
		}
	}
	b.WriteByte('}')
	return OfText(b.String())
}

// textElements are the types of the elements of arrays of texts.
var textElements = map[Type]Type{TextArray: Text, VarcharArray: Varchar, NameArray: Name}

// IsTextArray says whether a type is an array of texts.
func IsTextArray(t Type) bool { return textElements[t] != Invalid }

// BinaryTexts takes the binary form of an array of texts apart, which parameter number param (from 1) has. What its bytes mean
// is for the caller to find out. It fails as PostgreSQL's array_recv does, and refuses several dimensions.
func BinaryTexts(t Type, b []byte, param int) ([]Datum, error) {
	short := pgerr.Newf(codes.ProtocolViolation, "insufficient data left in message")
	malformed := pgerr.Newf(codes.InvalidBinaryRepresentation, "incorrect binary data format in bind parameter %d", param)
	number := func() (n int32) {
		if len(b) < 4 {
			b = nil
			return -2
		}
		n = int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		return n
	}
	dimensions, flags, element := number(), number(), Type(number())
	switch want := textElements[t]; {
	case b == nil:
		return nil, short
	case dimensions < 0 || flags != 0 && flags != 1:
		return nil, malformed
	case element != want:
		return nil, pgerr.Newf(codes.DatatypeMismatch, "binary data has array element type %d (%s) instead of expected %d (%s)", element, element, want, want)
	case dimensions > 1:
		return nil, pgerr.Newf(codes.FeatureNotSupported, "an array of %d dimensions is not supported: it must have one dimension", dimensions)
	case dimensions == 0 && len(b) == 0:
		return nil, nil
	}
	count := number()
	if number(); b == nil { // where its subscripts begin
		return nil, short
	}
	var elements []Datum
	for range count {
		switch length := number(); {
		case b == nil:
			return nil, short
		case length == -1:
			elements = append(elements, Null)
		case length < 0 || int(length) > len(b):
			return nil, malformed
		default:
			elements = append(elements, OfText(string(b[:length])))
			b = b[length:]
		}
	}
	if count < 0 || len(b) != 0 {
		return nil, malformed
	}
	return elements, nil
}

// QuoteElement quotes what would not be read back in an array.
func QuoteElement(s string) string {
	if s != "" && !strings.EqualFold(s, "NULL") && !strings.ContainsAny(s, "{},\"\\ \t\n\v\f\r") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// parseTextArray reads a text[] and writes it as PostgreSQL does.
func parseTextArray(s string) (Datum, error) {
	elements, err := TextElements(OfText(s))
	if err != nil {
		return Datum{}, err
	}
	array := OfTexts(elements)
	if _, first, bounded := CutBound(strings.Trim(s, arraySpace)); bounded && first != 1 {
		array.Str = fmt.Sprintf("[%d:%d]=%s", first, first+int64(len(elements))-1, array.Str)
	}
	return array, nil
}

// Elements takes the text of an array of one dimension and any type apart, into the texts of its elements. It fails
// with ErrArrayForm, and as PostgreSQL does for what is no array.
func Elements(s string) ([]Datum, error) {
	items, bounds, ok := cutBounds(strings.TrimLeft(s, arraySpace))
	if !ok {
		return nil, ErrArrayForm
	}
	r := arrayReader{whole: s, rest: items}
	elements, err := r.read()
	if err == nil && bounds >= 0 && bounds != len(elements) {
		return nil, r.malformed("Specified array dimensions do not match array contents.")
	}
	return elements, err
}

// arraySpace is what array_in takes for blanks.
const arraySpace = " \t\n\r\v\f"

// cutBounds takes the bounds off an array; length is how many elements there have to be, -1 if
// it has no bounds. ok is false for the bounds of several dimensions, and for what is none.
func cutBounds(s string) (items string, length int, ok bool) {
	if !strings.HasPrefix(s, "[") {
		return s, -1, true
	}
	bounds, items, found := strings.Cut(s[1:], "]=")
	lower, upper, both := strings.Cut(bounds, ":")
	first, err1 := strconv.ParseInt(lower, 10, 32)
	last, err2 := strconv.ParseInt(upper, 10, 32)
	if !found || !both || err1 != nil || err2 != nil || last < first {
		return "", 0, false
	}
	return items, int(last - first + 1), true
}

// arrayReader follows array_in, for one dimension.
type arrayReader struct {
	whole, rest string
}

func (r *arrayReader) malformed(detail string) error {
	return pgerr.Newf(codes.InvalidTextRepresentation, "malformed array literal: \"%s\"", r.whole).WithDetail("%s", detail)
}

func (r *arrayReader) skipSpace() { r.rest = strings.TrimLeft(r.rest, arraySpace) }

// take takes the next character, if it is c.
func (r *arrayReader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *arrayReader) read() ([]Datum, error) {
	if !r.take('{') {
		return nil, r.malformed("Array value must start with \"{\" or dimension information.")
	}
	elements := []Datum{}
	r.skipSpace()
	if r.take('}') {
		return elements, r.end()
	}
	for {
		e, err := r.element()
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
		switch {
		case r.take(','):
		case r.take('}'):
			return elements, r.end()
		default:
			return nil, r.unexpected()
		}
	}
}

func (r *arrayReader) end() error {
	r.skipSpace()
	if r.rest != "" {
		return r.malformed("Junk after closing right brace.")
	}
	return nil
}

// unexpected is the error of the next character.
func (r *arrayReader) unexpected() error {
	if r.rest == "" {
		return r.malformed("Unexpected end of input.")
	}
	if c := r.rest[0]; strings.IndexByte(`{},\`, c) >= 0 {
		return r.malformed(fmt.Sprintf("Unexpected \"%c\" character.", c))
	}
	return r.malformed("Unexpected array element.")
}

// element reads an element and the blanks around it.
func (r *arrayReader) element() (Datum, error) {
	r.skipSpace()
	switch {
	case r.rest == "", r.rest[0] == '}', r.rest[0] == ',':
		return Datum{}, r.unexpected()
	case r.rest[0] == '{':
		return Datum{}, ErrArrayForm
	case r.take('"'):
		return r.quoted()
	}
	return r.plain()
}

func (r *arrayReader) quoted() (Datum, error) {
	var b strings.Builder
	for !r.take('"') {
		if !r.character(&b) {
			return Datum{}, r.malformed("Unexpected end of input.")
		}
	}
	r.skipSpace()
	return OfText(b.String()), nil
}

// character reads one, which may be escaped; ok is false at the end.
func (r *arrayReader) character(b *strings.Builder) (ok bool) {
	r.take('\\')
	if r.rest == "" {
		return false
	}
	b.WriteByte(r.rest[0])
	r.rest = r.rest[1:]
	return true
}

// plain reads an element without quotes. Blanks at its end are none of it, unless they are escaped.
func (r *arrayReader) plain() (Datum, error) {
	var b strings.Builder
	end, escaped := 0, false
	for r.rest != "" && strings.IndexByte(`,{}"`, r.rest[0]) < 0 {
		blank := strings.IndexByte(arraySpace, r.rest[0]) >= 0
		escaped = escaped || r.rest[0] == '\\'
		if !r.character(&b) {
			break
		}
		if !blank {
			end = b.Len()
		}
	}
	text := b.String()[:end]
	return Datum{Str: text, Null: !escaped && strings.EqualFold(text, "NULL")}, nil
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
