package datum

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// epoch is PostgreSQL's zero of timestamps.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// OfTime makes a timestamptz, to the microsecond.
func OfTime(t time.Time) Datum { return OfInt(t.Sub(epoch).Microseconds()) }

// Time reads a timestamptz.
func (d Datum) Time() time.Time { return epoch.Add(time.Duration(d.Int) * time.Microsecond) }

// AppendText appends the text form of a value that is not NULL to dst. form is
// the session's; only timestamptz looks at it.
func AppendText(dst []byte, t Type, d Datum, form *TimeForm) []byte {
	switch t {
	case Bool:
		if d.Int != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case Int2, Int4, Int8, OID:
		return strconv.AppendInt(dst, d.Int, 10)
	case Timestamptz:
		return form.append(dst, d.Time())
	case Void:
		return dst
	}
	return append(dst, d.Str...)
}

// JSONBVersion is the first byte of jsonb's binary form.
const JSONBVersion = 1

// AppendBinary appends the binary form of a value that is not NULL to dst. It
// fails for the types whose binary form is not written here.
func AppendBinary(dst []byte, t Type, d Datum) ([]byte, error) {
	switch t {
	case Bool:
		return append(dst, byte(d.Int)), nil
	case Int2:
		return binary.BigEndian.AppendUint16(dst, uint16(d.Int)), nil
	case Int4, OID:
		return binary.BigEndian.AppendUint32(dst, uint32(d.Int)), nil
	case Int8, Timestamptz:
		return binary.BigEndian.AppendUint64(dst, uint64(d.Int)), nil
	case Text, Varchar, Name, Bpchar, Unknown, JSON:
		return append(dst, d.Str...), nil
	case Char:
		return append(dst, charByte(d.Str)), nil
	case JSONB:
		return append(append(dst, JSONBVersion), d.Str...), nil
	case Void:
		return dst, nil
	case Numeric:
		return appendNumeric(dst, d.Str), nil
	case UUID:
		return hex.AppendDecode(dst, []byte(strings.ReplaceAll(d.Str, "-", "")))
	}
	if isReg(t) {
		return binary.BigEndian.AppendUint32(dst, uint32(d.Int)), nil
	}
	if codec, ok := codecArray(arrayType(t)); ok && d.Str == "{}" { // an array of no dimensions
		for _, header := range []uint32{0, 0, codec.ElementType.OID} {
			dst = binary.BigEndian.AppendUint32(dst, header)
		}
		return dst, nil
	}
	if t == int2Vector || t == oidVector {
		return appendVector(dst, t, d.Str)
	}
	return appendByCodec(dst, t, d.Str)
}

// The types of keys of indexes and of arguments of functions.
const (
	int2Vector Type = 22
	oidVector  Type = 30
)

// appendVector writes numbers between blanks as an array whose subscripts begin at 0.
func appendVector(dst []byte, t Type, text string) ([]byte, error) {
	element, fields := OID, strings.Fields(text)
	if t == int2Vector {
		element = Int2
	}
	for _, header := range []uint32{1, 0, uint32(element), uint32(len(fields)), 0} { // dimensions, NULLs, type, length, first
		dst = binary.BigEndian.AppendUint32(dst, header)
	}
	for _, field := range fields {
		d, err := Parse(element, field)
		if err != nil {
			return nil, err
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(element.Len()))
		if dst, err = AppendBinary(dst, element, d); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// appendByCodec turns the text form of the less common types, which occur in the
// answers about the catalogue, into their binary form.
func appendByCodec(dst []byte, t Type, text string) ([]byte, error) {
	codecs := pgtype.NewMap()
	typ, ok := codecs.TypeForOID(uint32(t))
	if !ok || !typ.Codec.FormatSupported(pgtype.BinaryFormatCode) {
		return nil, noBinaryForm(t)
	}
	if items, first, ok := CutBound(text); ok {
		start := len(dst)
		out, err := appendByCodec(dst, t, items)
		if err == nil {
			const lowerBound = 16 // after dimensions, NULLs, type and length
			binary.BigEndian.PutUint32(out[start+lowerBound:], uint32(first))
		}
		return out, err
	}
	value, err := typ.Codec.DecodeValue(codecs, uint32(t), pgtype.TextFormatCode, []byte(text))
	if err != nil {
		return nil, noBinaryForm(t)
	}
	out, err := codecs.Encode(uint32(t), pgtype.BinaryFormatCode, value, dst)
	if err != nil {
		return nil, noBinaryForm(t)
	}
	return out, nil
}

// arrayType is nil for a type that pgtype does not know.
func arrayType(t Type) *pgtype.Type {
	typ, _ := pgtype.NewMap().TypeForOID(uint32(t))
	return typ
}

func codecArray(t *pgtype.Type) (*pgtype.ArrayCodec, bool) {
	if t == nil {
		return nil, false
	}
	codec, ok := t.Codec.(*pgtype.ArrayCodec)
	return codec, ok
}

// textByCodec is its opposite, for the parameters of such answers.
func textByCodec(t Type, b []byte, param int) (Datum, error) {
	codecs := pgtype.NewMap()
	typ, ok := codecs.TypeForOID(uint32(t))
	if isReg(t) {
		typ, ok = codecs.TypeForOID(uint32(OID))
	}
	_, isArray := codecArray(typ)
	if !ok || !isArray && t != Char && t != Bpchar && !isReg(t) {
		return Datum{}, unsupported(t)
	}
	value, err := typ.Codec.DecodeValue(codecs, typ.OID, pgtype.BinaryFormatCode, b)
	if err == nil {
		b, err = codecs.Encode(typ.OID, pgtype.TextFormatCode, value, nil)
	}
	if err != nil {
		return Datum{}, pgerr.Newf(codes.InvalidBinaryRepresentation, "incorrect binary data format in bind parameter %d", param)
	}
	return OfText(string(b)), nil
}

func noBinaryForm(t Type) error {
	return pgerr.Newf(codes.UndefinedFunction, "no binary output function available for type %s", t)
}
