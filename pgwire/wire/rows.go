package wire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
)

// ReadTypes reads a ParameterDescription.
func ReadTypes(body []byte) []datum.Type {
	m := Body{Rest: body}
	types := make([]datum.Type, m.Count())
	for i := range types {
		types[i] = datum.Type(m.Int32())
	}
	return types
}

// ReadColumns reads a RowDescription.
func ReadColumns(body []byte) []plan.Column {
	var described pgproto3.RowDescription
	_ = described.Decode(body)
	columns := make([]plan.Column, len(described.Fields))
	for i, f := range described.Fields {
		columns[i] = plan.Column{Name: string(f.Name), Type: datum.Type(f.DataTypeOID), Typmod: f.TypeModifier}
	}
	return columns
}

// ReadRow reads a DataRow. NULL is nil, an empty value is not. The values lie in the message.
func ReadRow(body []byte) [][]byte {
	var row pgproto3.DataRow
	_ = row.Decode(body)
	return row.Values
}

// Oids are types as messages name them.
func Oids(types []datum.Type) []uint32 {
	out := make([]uint32, len(types))
	for i, t := range types {
		out[i] = uint32(t)
	}
	return out
}

// RawValue is a parameter as the client sent it: in its format and encoding.
type RawValue struct {
	Format int16
	Value  []byte // nil: NULL
}

// BindRaw is a Bind of the client's parameters as they came, and of hidden ones.
func BindRaw(portal, statement string, raw, hidden []RawValue, result []int16) *pgproto3.Bind {
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement, ResultFormatCodes: result}
	for _, list := range [][]RawValue{raw, hidden} {
		for _, v := range list {
			b.ParameterFormatCodes = append(b.ParameterFormatCodes, v.Format)
			b.Parameters = append(b.Parameters, v.Value)
		}
	}
	return b
}
