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

// typeNames are the built-in types, whose OIDs are fixed: pg_type of PostgreSQL 15.
var typeNames = map[uint32]string{
	16: "bool", 17: "bytea", 18: "char", 19: "name", 20: "int8", 21: "int2", 22: "int2vector", 23: "int4",
	24: "regproc", 25: "text", 26: "oid", 27: "tid", 28: "xid", 29: "cid", 30: "oidvector", 114: "json", 142: "xml",
	143: "_xml", 199: "_json", 271: "_xid8",
	600: "point", 601: "lseg", 602: "path", 603: "box", 604: "polygon", 628: "line", 629: "_line",
	650: "cidr", 651: "_cidr", 700: "float4", 701: "float8", 705: "unknown", 718: "circle", 719: "_circle",
	774: "macaddr8", 775: "_macaddr8", 790: "money", 791: "_money", 829: "macaddr", 869: "inet", 1000: "_bool",
	1001: "_bytea", 1002: "_char", 1003: "_name", 1005: "_int2", 1006: "_int2vector", 1007: "_int4",
	1008: "_regproc", 1009: "_text", 1010: "_tid", 1011: "_xid", 1012: "_cid", 1013: "_oidvector", 1014: "_bpchar",
	1015: "_varchar", 1016: "_int8", 1017: "_point", 1018: "_lseg", 1019: "_path", 1020: "_box", 1021: "_float4",
	1022: "_float8", 1027: "_polygon", 1028: "_oid", 1033: "aclitem", 1034: "_aclitem", 1040: "_macaddr",
	1041: "_inet", 1042: "bpchar", 1043: "varchar", 1082: "date", 1083: "time", 1114: "timestamp",
	1115: "_timestamp", 1182: "_date", 1183: "_time", 1184: "timestamptz", 1185: "_timestamptz", 1186: "interval",
	1187: "_interval", 1231: "_numeric", 1263: "_cstring", 1266: "timetz", 1270: "_timetz", 1560: "bit",
	1561: "_bit", 1562: "varbit", 1563: "_varbit", 1700: "numeric", 1790: "refcursor", 2201: "_refcursor",
	2202: "regprocedure", 2203: "regoper", 2204: "regoperator", 2205: "regclass", 2206: "regtype",
	2207: "_regprocedure", 2208: "_regoper", 2209: "_regoperator", 2210: "_regclass", 2211: "_regtype",
	2249: "record", 2275: "cstring", 2278: "void", 2287: "_record", 2949: "_txid_snapshot", 2950: "uuid",
	2951: "_uuid", 2970: "txid_snapshot", 3220: "pg_lsn", 3221: "_pg_lsn", 3614: "tsvector", 3615: "tsquery",
	3643: "_tsvector", 3645: "_tsquery", 3734: "regconfig", 3735: "_regconfig", 3769: "regdictionary",
	3770: "_regdictionary", 3802: "jsonb", 3807: "_jsonb", 3904: "int4range", 3905: "_int4range", 3906: "numrange",
	3907: "_numrange", 3908: "tsrange", 3909: "_tsrange", 3910: "tstzrange", 3911: "_tstzrange", 3912: "daterange",
	3913: "_daterange", 3926: "int8range", 3927: "_int8range", 4072: "jsonpath", 4073: "_jsonpath",
	4089: "regnamespace", 4090: "_regnamespace", 4096: "regrole", 4097: "_regrole", 4191: "regcollation",
	4192: "_regcollation", 4451: "int4multirange", 4532: "nummultirange", 4533: "tsmultirange",
	4534: "tstzmultirange", 4535: "datemultirange", 4536: "int8multirange", 5038: "pg_snapshot",
	5039: "_pg_snapshot", 5069: "xid8", 6150: "_int4multirange", 6151: "_nummultirange", 6152: "_tsmultirange",
	6153: "_tstzmultirange", 6155: "_datemultirange", 6157: "_int8multirange",
}

func typeName(oid uint32) string {
	if name, ok := typeNames[oid]; ok {
		return name
	}
	return number(oid)
}

// firstUserOID is where the OIDs of what users made begin, which differ between runs.
const firstUserOID = 16384

func number(oid uint32) string {
	if oid >= firstUserOID {
		return "custom"
	}
	return strconv.FormatUint(uint64(oid), 10)
}

var typeOIDs = func() map[string]uint32 {
	oids := map[string]uint32{}
	for oid, name := range typeNames {
		oids[name] = oid
	}
	return oids
}()

// typeOID is the OID for a name or a number.
func typeOID(name string) (uint32, bool) {
	if oid, ok := typeOIDs[name]; ok {
		return oid, true
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
