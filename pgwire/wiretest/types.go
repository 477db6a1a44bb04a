package wiretest

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// typeNames are the types that scripts name instead of giving their OID.
var typeNames = map[uint32]string{
	16: "bool", 17: "bytea", 18: "char", 19: "name", 20: "int8", 21: "int2", 23: "int4", 24: "regproc", 25: "text",
	26: "oid", 114: "json", 700: "float4", 701: "float8", 705: "unknown", 1005: "_int2", 1007: "_int4", 1009: "_text",
	1016: "_int8", 1042: "bpchar", 1043: "varchar", 1082: "date", 1083: "time", 1114: "timestamp", 1184: "timestamptz",
	1186: "interval", 1700: "numeric", 2205: "regclass", 2249: "record", 2275: "cstring", 2278: "void", 2950: "uuid",
	3802: "jsonb",
}

func typeName(oid uint32) string {
	if name, ok := typeNames[oid]; ok {
		return name
	}
	return strconv.FormatUint(uint64(oid), 10)
}

// typeOID is the OID for a name or a number.
func typeOID(name string) (uint32, bool) {
	for oid, n := range typeNames {
		if n == name {
			return oid, true
		}
	}
	oid, err := strconv.ParseUint(name, 10, 32)
	return uint32(oid), err == nil
}

// renderText shows a value in text format: bare for a number or a bool that is
// known to be one, quoted otherwise.
func renderText(oid uint32, value []byte) string {
	switch typeNames[oid] {
	case "bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric":
		return string(value)
	}
	return quote(string(value))
}

// renderBinary shows a value in binary format; as hex where the type or the
// length is not known.
func renderBinary(oid uint32, value []byte) string {
	name := typeNames[oid]
	switch {
	case name == "bool" && len(value) == 1 && value[0] <= 1:
		return "b:" + string("ft"[value[0]])
	case name == "int2" && len(value) == 2:
		return "b:" + strconv.Itoa(int(int16(binary.BigEndian.Uint16(value))))
	case name == "int4" && len(value) == 4:
		return "b:" + strconv.Itoa(int(int32(binary.BigEndian.Uint32(value))))
	case name == "int8" && len(value) == 8:
		return "b:" + strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10)
	case name == "oid" && len(value) == 4:
		return "b:" + strconv.FormatUint(uint64(binary.BigEndian.Uint32(value)), 10)
	case name == "float8" && len(value) == 8:
		return "b:" + strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(value)), 'g', -1, 64)
	case name == "text", name == "varchar", name == "name", name == "bpchar", name == "unknown", name == "json", name == "cstring":
		return "b:" + quote(string(value))
	case name == "jsonb" && len(value) > 0 && value[0] == 1:
		return "b:" + quote(string(value[1:]))
	case name == "void" && len(value) == 0:
		return "b:''"
	}
	return "b:x'" + hex.EncodeToString(value) + "'"
}

// quote puts text between single quotes on one line.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hex.EncodeToString([]byte{s[i]}))
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r):
			escaped := strconv.QuoteRuneToASCII(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	b.WriteByte('\'')
	return b.String()
}
