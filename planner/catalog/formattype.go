package catalog

import (
	"fmt"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

const bitOID = 1560

// formatTypeOf is format_type, whose modifier may be NULL.
func formatTypeOf(x *execution, r *row, args []*expr) (datum.Datum, error) {
	oid, err := args[0].eval(x, r)
	if err != nil || oid.Null {
		return datum.Null, err
	}
	typmod, err := args[1].eval(x, r)
	if err != nil {
		return datum.Null, err
	}
	switch {
	case typmod.Null:
		typmod.Int = -1
	case typmod.Int < 0 && datum.Type(oid.Int) == datum.Bpchar:
		return datum.OfText("bpchar"), nil // character alone is character(1)
	case typmod.Int < 0 && oid.Int == bitOID:
		return datum.OfText(`"bit"`), nil
	}
	s, err := FormatType(uint32(oid.Int), int(typmod.Int))
	return datum.OfText(s), err
}

// FormatType is format_type, without intervals of some fields only.
func FormatType(oid uint32, typmod int) (string, error) {
	t := typeByOID(oid)
	switch {
	case oid == 0:
		return "-", nil
	case t == nil:
		return "???", nil
	case typmod < 0:
		return t.display, nil
	}
	element, isArray := strings.CutSuffix(t.display, "[]")
	// The modifier stands before "with time zone".
	name, zone, hasZone := strings.Cut(element, " with")
	modifier, err := formatModifier(name, typmod)
	if err != nil {
		return "", err
	}
	name += modifier
	if hasZone {
		name += " with" + zone
	}
	if isArray {
		name += "[]"
	}
	return name, nil
}

func formatModifier(name string, typmod int) (string, error) {
	switch name {
	case "boolean", "smallint", "integer", "bigint", "real", "double precision":
		return "", nil
	case "character varying", "character":
		if typmod <= lengthHeader {
			return "", nil
		}
		return fmt.Sprintf("(%d)", typmod-lengthHeader), nil
	case "numeric":
		if typmod < lengthHeader {
			return "", nil
		}
		// The scale is signed, of eleven bits, since PostgreSQL 15.
		typmod -= lengthHeader
		return fmt.Sprintf("(%d,%d)", typmod>>16&0xffff, (typmod&0x7ff^0x400)-0x400), nil
	case "interval":
		const allFields, full = 0x7fff, 0xffff
		if typmod>>16&allFields != allFields {
			return "", refusal("an interval of some fields")
		}
		if typmod&full == full {
			return "", nil
		}
		return fmt.Sprintf("(%d)", typmod&full), nil
	}
	return fmt.Sprintf("(%d)", typmod), nil
}
