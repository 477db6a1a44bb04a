package clientsql

import (
	"slices"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

// pgjdbc 42 asks for the types that it does not know, such as jsonb, when a result
// has one. With preferQueryMode=simple it writes the parameters into the query.
var jdbcAnswers = slices.Concat(
	jdbcByOID(),
	jdbcByName(),
	jdbcAllTypes,
	jdbcMetadata,
	jdbcCatalogue,
)

// jdbcOIDQuery is a query about the type with an OID.
type jdbcOIDQuery struct {
	of      string // what it asks for
	sql     string // up to the OID
	tail    string // after it
	integer string // the type of the OID for the driver
	literal int    // the place of the OID among the literals, if it is one
	query   typeQuery
}

const (
	jdbcVersion = "pgjdbc 42.5.5, "
	jdbcSimple  = ", preferQueryMode=simple"
)

func jdbcByOID() []Answer {
	var out []Answer
	for _, q := range jdbcOIDQueries {
		out = append(out,
			q.query.answer(Answer{
				Source: jdbcVersion + q.of, SQL: q.sql + "$1" + q.tail, Params: []datum.Type{datum.OID},
			}),
			q.query.answer(Answer{
				Source: jdbcVersion + q.of + jdbcSimple, SQL: q.sql + "('3802'::" + q.integer + ")" + q.tail, Free: []int{q.literal},
			}))
	}
	return out
}

var jdbcOIDQueries = []jdbcOIDQuery{
	{
		of:      "name of a type",
		sql:     `SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = `,
		integer: "int4",
		query:   typeQuery{fields: []field{fieldVisible, fieldSchema, fieldName}, where: hasOID},
	},
	{
		of:      "SQL type of a type",
		sql:     jdbcTypeInfo + ` WHERE pg_type.oid = `,
		tail:    `  ORDER BY sp.r, pg_type.oid DESC`,
		integer: "int8",
		literal: 3, // after 'pg_catalog.array_in' and two of generate_series
		query:   typeQuery{fields: jdbcTypeInfoFields, where: hasOID},
	},
	{
		of:      "delimiter of an array",
		sql:     `SELECT e.typdelim FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = `,
		tail:    ` and t.typelem = e.oid`,
		integer: "int4",
		query:   typeQuery{fields: []field{ofElement(fieldDelim)}, where: and(hasOID, always(hasKnownElement))},
	},
	{
		of:      "element of an array",
		sql:     `SELECT e.oid, n.nspname = ANY(current_schemas(true)), n.nspname, e.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type e ON t.typelem = e.oid JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = `,
		integer: "int4",
		query: typeQuery{
			fields: []field{ofElement(fieldOID), fieldVisible, fieldSchema, ofElement(fieldName)},
			where:  and(hasOID, always(hasKnownElement)),
		},
	},
}

// jdbcTypeInfo is the SELECT and FROM of the queries about the SQL type of a type.
// sp ranks the schemas of the search_path; no built-in type is in one of them.
const jdbcTypeInfo = `SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT ` + jdbcSearchPath

const jdbcSearchPath = `JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace `

var jdbcTypeInfoFields = []field{fieldIsArray, fieldKind, fieldName, fieldOID}

// ofElement is a field of the type's element.
func ofElement(f field) field {
	of := f.of
	f.of = func(t *pgType) datum.Datum { return of(typeByOID(t.elem)) }
	return f
}

func hasKnownElement(t *pgType) bool { return typeByOID(t.elem) != nil }

func jdbcByName() []Answer {
	const (
		source = jdbcVersion + "OID of a type"
		sql    = `SELECT pg_type.oid, typname   FROM pg_catalog.pg_type   LEFT   ` + jdbcSearchPath + ` WHERE typname = `
		tail   = `  ORDER BY sp.r, pg_type.oid DESC LIMIT 1`
	)
	byName := typeQuery{fields: []field{fieldOID, fieldName}, where: hasName, order: newestFirst, limit: 1}
	return slices.Concat([]Answer{
		byName.answer(Answer{Source: source, SQL: sql + "$1" + tail, Params: []datum.Type{datum.Name}}),
		byName.answer(Answer{Source: source + jdbcSimple, SQL: sql + "('hstore')" + tail, Free: []int{2}}),
	}, jdbcByQualifiedName())
}

// jdbcByQualifiedName looks up a type by name and schema, or on the search_path if
// there is no schema.
func jdbcByQualifiedName() []Answer {
	const (
		arrays = `SELECT t.typarray, arr.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid  JOIN pg_catalog.pg_type arr ON arr.oid = t.typarray WHERE t.typname = `
		others = `SELECT t.oid, t.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.typname = `
		tail   = ` AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1`
	)
	arrayFields := []field{fieldArray, {colTypname, func(t *pgType) datum.Datum { return datum.OfText(typeByOID(t.array).name) }}}
	hasArray := always(func(t *pgType) bool { return typeByOID(t.array) != nil })

	var out []Answer
	for _, f := range []struct {
		form   string
		where  string // after `typname = `
		params []datum.Type
		free   []int
		schema condition
	}{
		{
			"", `$1 AND (n.nspname = $2 OR $3`,
			[]datum.Type{datum.Name, datum.Name, datum.Bool}, nil, anyOf(inSchema(1), visibleIf(2)),
		},
		{
			" with a schema" + jdbcSimple, `('int4') AND (n.nspname = ('pg_catalog') OR ('FALSE')`,
			nil, []int{0, 1, 2}, anyOf(inSchema(1), visibleIf(2)),
		},
		{
			" without a schema" + jdbcSimple, `('int4') AND (n.nspname = (NULL) OR ('TRUE')`,
			nil, []int{0, 1}, visibleIf(1),
		},
	} {
		out = append(out,
			typeQuery{fields: arrayFields, where: and(hasName, hasArray, f.schema), order: newestFirst, limit: 1}.answer(Answer{
				Source: jdbcVersion + "OID of an array by the name of its element" + f.form,
				SQL:    arrays + f.where + tail, Params: f.params, Free: f.free,
			}),
			typeQuery{fields: []field{fieldOID, fieldName}, where: and(hasName, f.schema), order: newestFirst, limit: 1}.answer(Answer{
				Source: jdbcVersion + "OID of a type by a name of two parts" + f.form,
				SQL:    others + f.where + tail, Params: f.params, Free: f.free,
			}),
		)
	}
	return out
}

// visibleIf is input AND nspname = ANY (current_schemas(true)).
func visibleIf(flag int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		wanted, err := c.boolean(flag)
		return func(t *pgType) bool { return wanted && t.visible() }, err
	}
}

// jdbcAllTypes is what getTypeInfo wants.
var jdbcAllTypes = []Answer{
	typeQuery{fields: jdbcTypeInfoFields, order: newestFirst}.answer(Answer{
		Source: "pgjdbc 42.5.5, getTypeInfo: SQL types",
		SQL:    jdbcTypeInfo + ` ORDER BY sp.r, pg_type.oid DESC`,
	}),
	typeQuery{
		fields: []field{fieldName, fieldOID},
		where:  always(func(t *pgType) bool { return t.namespace != "pg_toast" && (t.relation == 0 || t.relkind == "c") }),
	}.answer(Answer{
		Source: "pgjdbc 42.5.5, getTypeInfo: names",
		SQL:    `SELECT t.typname,t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON (t.typnamespace = n.oid)  WHERE n.nspname  != 'pg_toast' AND  (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))`,
	}),
}

// jdbcMetadata is what frameworks ask of DatabaseMetaData and XAResource on
// starting.
var jdbcMetadata = []Answer{
	{
		Source:  "pgjdbc 42.5.5, getSQLKeywords",
		SQL:     `select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,end-exec,"null",zone}'::text[])`,
		Free:    []int{1},
		Columns: []Column{computed("string_agg", datum.Text)},
		Rows:    keywordsBut,
	},
	typeQuery{
		fields: []field{fieldLen},
		where:  always(func(t *pgType) bool { return t.name == "name" && t.visible() }),
	}.answer(Answer{
		Source: "pgjdbc 42.5.5, getMaxColumnNameLength and others",
		SQL:    `SELECT t.typlen FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n WHERE t.typnamespace=n.oid AND t.typname='name' AND n.nspname='pg_catalog'`,
	}),
	{
		Source:  "pgjdbc 42.5.5, getMaxColumnsInIndex and others",
		SQL:     `SELECT setting FROM pg_catalog.pg_settings WHERE name='max_index_keys'`,
		Columns: []Column{computed("setting", datum.Text)},
		Rows:    setting("max_index_keys", "32"),
	},
	{
		Source:  "pgjdbc 42.5.5, XAResource.recover",
		SQL:     `SELECT gid FROM pg_prepared_xacts where database = current_database()`,
		Columns: []Column{computed("gid", datum.Text)},
		Rows:    none,
	},
}

func setting(name, otherwise string) func(Call) ([][]datum.Datum, error) {
	return func(c Call) ([][]datum.Datum, error) {
		value := otherwise
		if c.Session.Setting != nil {
			if v, ok := c.Session.Setting(name); ok {
				value = v
			}
		}
		return [][]datum.Datum{{datum.OfText(value)}}, nil
	}
}

// keywordsBut lists PostgreSQL's keywords without those of an array of text, as
// which the driver writes those of the SQL standard. None of them has a character
// that would be escaped.
func keywordsBut(c Call) ([][]datum.Datum, error) {
	standard := strings.Split(strings.Trim(c.text(0), "{}"), ",")
	for i, word := range standard {
		standard[i] = strings.Trim(word, `"`)
	}
	var out []string
	for _, k := range keywords() {
		if !slices.Contains(standard, k.word) {
			out = append(out, k.word)
		}
	}
	return [][]datum.Datum{{datum.OfText(strings.Join(out, ","))}}, nil
}
