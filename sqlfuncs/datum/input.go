package datum

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Parse reads the text form of a value, as PostgreSQL's input function of the
// type does: the same leniency, the same errors.
func Parse(t Type, s string) (Datum, error) {
	switch t {
	case Int2, Int4, Int8:
		return parseInt(t, s)
	case OID:
		return parseOID(s)
	case Bool:
		b, ok := ParseBool(s)
		if !ok {
			return Datum{}, invalidInput(t, s)
		}
		return OfBool(b), nil
	case Name:
		return OfText(TruncateName(s)), nil
	case Text, Varchar, Bpchar, Unknown:
		return OfText(s), nil
	case Char:
		return OfText(parseChar(s)), nil
	case Numeric:
		return parseNumeric(s)
	case UUID:
		return parseUUID(s)
	case TextArray, VarcharArray:
		return parseTextArray(s)
	case Void: // whatever it says
		return Datum{}, nil
	}
	return Datum{}, unsupported(t)
}

// Supported says whether values of the type can be read and written here.
func Supported(t Type) bool {
	switch t {
	case Int2, Int4, Int8, OID, Bool, Char, Name, Text, Varchar, Bpchar, Unknown, Numeric, UUID, TextArray, VarcharArray:
		return true
	}
	return false
}

func unsupported(t Type) error {
	return pgerr.Newf(codes.FeatureNotSupported, "a value of type %s needs an [upstream]", t)
}

func invalidInput(t Type, s string) error {
	return pgerr.Newf(codes.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t, s)
}

// parseInt follows int8in: blanks on both sides, a sign, decimal digits. (The
// hexadecimal forms and underscores came with PostgreSQL 16.)
func parseInt(t Type, s string) (Datum, error) {
	digits := strings.Trim(s, " \t\n\r\v\f")
	if !isDecimal(digits) {
		return Datum{}, invalidInput(t, s)
	}
	n, err := strconv.ParseInt(digits, 10, int(t.Len())*8)
	if err != nil {
		return Datum{}, pgerr.Newf(codes.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, t)
	}
	return OfInt(n), nil
}

func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// parseOID follows oidin, which takes a negative number as its two's complement.
func parseOID(s string) (Datum, error) {
	digits := strings.Trim(s, " \t\n\r\v\f")
	if !isDecimal(digits) {
		return Datum{}, invalidInput(OID, s)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxUint32 || n < math.MinInt32 {
		return Datum{}, pgerr.Newf(codes.NumericValueOutOfRange, "value \"%s\" is out of range for type oid", s)
	}
	return OfInt(int64(uint32(n))), nil
}

// ParseBool reads a boolean as boolin does: any unambiguous prefix of true,
// false, yes, no, on, off, or 1 and 0, in any case, with blanks around it.
func ParseBool(s string) (value, ok bool) {
	s = strings.ToLower(strings.Trim(s, " \t\n\r\v\f"))
	if s == "" {
		return false, false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "of", s == "off", s == "0":
		return false, true
	}
	return false, false
}

// maxNameBytes is NAMEDATALEN - 1.
const maxNameBytes = 63

// TruncateName shortens an identifier as PostgreSQL does, without cutting a
// character in two.
func TruncateName(s string) string { return clipBytes(s, maxNameBytes) }

func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// ParseBinary reads the binary form of parameter number param (from 1). A value
// that is too short is a protocol violation and one that is too long a bad
// representation, as PostgreSQL has it.
func ParseBinary(t Type, b []byte, param int) (Datum, error) {
	if t.IsString() || t == Unknown {
		return OfText(string(b)), nil
	}
	width := int(t.Len())
	if t == Numeric {
		return Datum{}, unsupported(t)
	}
	if !Supported(t) || t == TextArray || t == VarcharArray {
		return textByCodec(t, b, param)
	}
	if (t == Bool || t == Char) && len(b) == 0 {
		return Datum{}, pgerr.Newf(codes.ProtocolViolation, "no data left in message")
	}
	if len(b) < width {
		return Datum{}, pgerr.Newf(codes.ProtocolViolation, "insufficient data left in message")
	}
	if len(b) > width {
		return Datum{}, pgerr.Newf(codes.InvalidBinaryRepresentation, "incorrect binary data format in bind parameter %d", param)
	}
	switch t {
	case UUID:
		return OfText(formatUUID(b)), nil
	case Bool:
		return OfBool(b[0] != 0), nil
	case Char:
		return OfText(formatChar(b[0])), nil
	case Int2:
		return OfInt(int64(int16(binary.BigEndian.Uint16(b)))), nil
	case Int4:
		return OfInt(int64(int32(binary.BigEndian.Uint32(b)))), nil
	case OID:
		return OfInt(int64(binary.BigEndian.Uint32(b))), nil
	}
	return OfInt(int64(binary.BigEndian.Uint64(b))), nil
}
