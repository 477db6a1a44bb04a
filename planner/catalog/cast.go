package catalog

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// input is the input function of a type.
func (x *execution) input(t datum.Type, s string) (datum.Datum, error) {
	switch {
	case t == datum.Char:
		return datum.OfText(s[:min(len(s), 1)]), nil
	case isReg(t):
		return x.regIn(t, s)
	case t == datum.Bpchar:
		return datum.OfText(s), nil
	case t == datum.Text, datum.Supported(t) && t != datum.Numeric && t != datum.UUID:
		return datum.Parse(t, s)
	case t != typeInt2Vector && t != typeOIDVector && readable(element(t)):
		items, err := x.elements(t, datum.OfText(s))
		if err != nil {
			return datum.Null, err
		}
		array, err := x.array(element(t), items)
		return withBounds(lowerBound(t, datum.OfText(strings.TrimSpace(s))), len(items), array), err
	}
	return datum.Null, refusal("a value of type %s", displayOf(t))
}

// readable says whether input reads values of the type.
func readable(t datum.Type) bool {
	return t != 0 && (t == datum.Char || t == datum.Bpchar || isReg(t) || datum.Supported(t) && t != datum.Numeric && t != datum.UUID && t != datum.Unknown)
}

func displayOf(t datum.Type) string {
	if p := typeByOID(uint32(t)); p != nil {
		return p.display
	}
	return t.String()
}

// output is the text of a value that is not NULL.
func (x *execution) output(t datum.Type, d datum.Datum) (string, error) {
	if t == datum.Timestamptz || t == typeNodeTree {
		return "", refusal("a value of type %s as text", displayOf(t))
	}
	return string(datum.AppendText(nil, t, d, nil)), nil
}

// regIn reads the name or the OID of an object.
func (x *execution) regIn(t datum.Type, s string) (datum.Datum, error) {
	if s == "-" {
		return datum.Datum{Str: "-"}, nil
	}
	if oid, err := datum.Parse(datum.OID, s); err == nil && s != "" && s[0] >= '0' && s[0] <= '9' {
		return x.reg(t, uint32(oid.Int)), nil
	}
	switch t {
	case typeRegtype:
		oid, err := regtypeIn(s)
		return x.reg(t, oid), err
	case typeRegclass:
		r, err := x.findClass(s)
		if err != nil {
			return datum.Null, err
		}
		return x.reg(t, r.oid), nil
	case typeRegprocedure:
		if p := procedureOf(s); p != nil {
			return x.reg(t, p.oid), nil
		}
	case typeRegnamespace:
		if oid := schemaOID(s); oid != 0 {
			return x.reg(t, oid), nil
		}
		return datum.Null, pgerr.Newf(codes.InvalidSchemaName, "schema \"%s\" does not exist", s)
	case datum.Regproc:
		if named := procsNamed()[strings.TrimPrefix(s, pgCatalog+".")]; len(named) == 1 {
			return x.reg(t, named[0].oid), nil
		}
	}
	return datum.Null, refusal("a value of type %s", displayOf(t))
}

// reg is an OID with its name.
func (x *execution) reg(t datum.Type, oid uint32) datum.Datum {
	d := datum.Datum{Int: int64(oid), Str: itoa(int64(oid))}
	switch {
	case oid == 0:
		d.Str = "-"
	case t == typeRegtype:
		if p := typeByOID(oid); p != nil {
			d.Str = p.display
		}
	case t == typeRegclass:
		if c := classByOID(oid); c != nil {
			d.Str = quoteIdent(c.name)
			if !x.classVisible(c) {
				d.Str = quoteIdent(c.schema) + "." + d.Str
			}
		}
	case t == typeRegnamespace:
		if name := schemaName(oid); name != "" {
			d.Str = quoteIdent(name)
		}
	case t == typeRegrole:
		if name := x.roleName(oid); name != "" {
			d.Str = quoteIdent(name)
		}
	case t == typeRegprocedure:
		if p := procs()[oid]; p != nil {
			d.Str = x.procedureName(p)
		}
	case t == datum.Regproc:
		if name := x.functionName(oid); name != "" {
			d.Str = name
		}
	}
	return d
}

// cast converts a value that is not NULL, explicitly. ok is false where there is no
// such cast here.
func castFunc(from, to datum.Type) (convert func(*execution, datum.Datum) (datum.Datum, error), ok bool) {
	fe, te := element(from), element(to)
	switch {
	case from == to, from == datum.Text && to == datum.Varchar, from == datum.Varchar && to == datum.Text, from == datum.Name && to == datum.Text:
		return same, true
	case from == datum.Unknown, isText(from) && (to == datum.Name || to == datum.Char || to == datum.Text || to == datum.Varchar || to == datum.Bpchar):
		return func(x *execution, d datum.Datum) (datum.Datum, error) { return x.input(to, d.Str) }, true
	case isText(from) && from != datum.Char && (isInteger(to) || isReg(to) || to == datum.Bool):
		return func(x *execution, d datum.Datum) (datum.Datum, error) { return x.input(to, d.Str) }, true
	case isNumber(from) && isReg(to) && from != datum.Int2:
		return func(x *execution, d datum.Datum) (datum.Datum, error) { return x.reg(to, uint32(d.Int)), nil }, true
	case isNumber(from) && isInteger(to):
		return func(_ *execution, d datum.Datum) (datum.Datum, error) {
			n, err := datum.Parse(to, itoa(d.Int))
			if err != nil {
				return datum.Null, pgerr.Newf(codes.NumericValueOutOfRange, "%s out of range", to)
			}
			return n, nil
		}, from != datum.OID || to != datum.Int2
	case from == datum.Int4 && to == datum.Bool:
		return func(_ *execution, d datum.Datum) (datum.Datum, error) { return datum.OfBool(d.Int != 0), nil }, true
	case from == datum.Bool && to == datum.Int4:
		return func(_ *execution, d datum.Datum) (datum.Datum, error) { return datum.OfInt(d.Int), nil }, true
	case (to == datum.Text || to == datum.Varchar) && from == datum.Bool:
		return func(_ *execution, d datum.Datum) (datum.Datum, error) {
			return datum.OfText(map[bool]string{true: "true", false: "false"}[d.Bool()]), nil
		}, true
	case to == datum.Text || to == datum.Varchar:
		return func(x *execution, d datum.Datum) (datum.Datum, error) {
			s, err := x.output(from, d)
			return datum.OfText(s), err
		}, true
	case fe != 0 && te != 0 && to != typeInt2Vector && to != typeOIDVector:
		return castArray(from, to)
	}
	return nil, false
}

func same(_ *execution, d datum.Datum) (datum.Datum, error) { return d, nil }

func castArray(from, to datum.Type) (func(*execution, datum.Datum) (datum.Datum, error), bool) {
	convert, ok := castFunc(element(from), element(to))
	if !ok {
		return nil, false
	}
	return func(x *execution, d datum.Datum) (datum.Datum, error) {
		items, err := x.elements(from, d)
		if err != nil {
			return datum.Null, err
		}
		for i, item := range items {
			if item.Null {
				continue
			}
			if items[i], err = convert(x, item); err != nil {
				return datum.Null, err
			}
		}
		array, err := x.array(element(to), items)
		return withBounds(lowerBound(from, d), len(items), array), err
	}, true
}

// findClass finds the relation that a name means.
func (x *execution) findClass(s string) (*class, error) {
	words, array, err := splitTypeName(s)
	if err != nil || array || len(words) > 2 || len(words) == 2 && !words[1].dotted {
		return nil, refusal("the relation's name \"%s\"", s)
	}
	if len(words) == 2 {
		if schemaOID(words[0].text) == 0 {
			return nil, pgerr.Newf(codes.InvalidSchemaName, "schema \"%s\" does not exist", words[0].text)
		}
		if c := classByName(words[0].text, words[1].text); c != nil {
			return c, nil
		}
		return nil, pgerr.Newf(codes.UndefinedTable, "relation \"%s.%s\" does not exist", words[0].text, words[1].text)
	}
	for _, schema := range searchPath(x.session, true) {
		if c := classByName(schema, words[0].text); c != nil {
			return c, nil
		}
	}
	return nil, pgerr.Newf(codes.UndefinedTable, "relation \"%s\" does not exist", words[0].text)
}
