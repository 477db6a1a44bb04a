package clientsql

import (
	"slices"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

var psycopgAnswers = slices.Concat(psycopg2Answers, psycopg3Answers)

// nameAndArray is what the extensions of psycopg2 ask for a type by name.
var nameAndArray = typeQuery{fields: []field{fieldOID, fieldArray}, where: hasName}

var psycopg2Answers = []Answer{
	nameAndArray.answer(Answer{
		Source: "psycopg2 2.9.5, register_hstore, which SQLAlchemy and Django call",
		SQL: `SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore';`,
		Free: []int{0},
	}),
	nameAndArray.answer(Answer{
		Source: "psycopg2 2.9.5, register_json",
		SQL:    `SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb';`,
		Free:   []int{0},
	}),
	psycopg2Range.answer(Answer{
		Source: "psycopg2 2.9.5, register_range",
		SQL: `select rngtypid, rngsubtype, typarray
from pg_range r
join pg_type t on t.oid = rngtypid
join pg_namespace ns on ns.oid = typnamespace
where typname = 'int4range' and ns.nspname = 'pg_catalog';`,
		Free: []int{0, 1},
	}),
	psycopg2RangeByRegtype.answer(Answer{
		Source: "psycopg2 2.9.5, register_range of a type outside the schema it has looked in",
		SQL: `SELECT rngtypid, rngsubtype, typarray, typname, nspname
from pg_range r
join pg_type t on t.oid = rngtypid
join pg_namespace ns on ns.oid = typnamespace
WHERE t.oid = 'int4range'::regtype`,
		Free: []int{0},
	}),
	{
		Source: "psycopg2 2.9.5, register_composite",
		SQL: `SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'card' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;`,
		Free:    []int{0},
		Columns: []Column{colTypeOID, colTyparray, colAttname, colAtttypid},
		Rows:    none,
	},
	{
		Source: "psycopg2 2.9.5, register_composite of a type outside the schema it has looked in",
		SQL: `SELECT t.oid, typarray, attname, atttypid, typname, nspname
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE t.oid = 'int4'::regtype
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;`,
		Free:    []int{0},
		Columns: []Column{colTypeOID, colTyparray, colAttname, colAtttypid, colTypname, colNspname},
		Rows:    attributesByRegtype,
	},
	{
		Source:  "psycopg2 2.9.5, closing a named cursor that was never executed",
		SQL:     `SELECT 1 FROM pg_catalog.pg_cursors where name = 'named'`,
		Free:    []int{1},
		Columns: []Column{computed("?column?", datum.Int4)},
		Rows:    none,
	},
	{
		Source: "psycopg2 2.9.5 and psycopg 3.1.7, tpc_recover",
		SQL:    `SELECT gid, prepared, owner, database FROM pg_prepared_xacts`,
		Columns: []Column{
			computed("gid", datum.Text), computed("prepared", datum.Timestamptz),
			computed("owner", datum.Name), computed("database", datum.Name),
		},
		Rows: none,
	},
}

var (
	rangeFields = []field{
		fieldOID.as("rngtypid").from(colRngtypid),
		fieldSubtype,
		fieldArray,
	}
	psycopg2Range = typeQuery{
		fields: rangeFields,
		where:  and(hasName, inSchema(1), always(isRange)),
	}
	psycopg2RangeByRegtype = typeQuery{
		fields: append(slices.Clone(rangeFields), fieldName, fieldSchema),
		where:  and(isRegtype, always(isRange)),
	}
)

func isRange(t *pgType) bool { return t.kind == "r" }

// attributesByRegtype lists the attributes of a type. Only row types of the
// catalogue have any, and those are not known here.
func attributesByRegtype(c Call) ([][]datum.Datum, error) {
	_, err := withoutAttributes(isRegtype)(c)
	return nil, err
}

// withoutAttributes refuses to answer about a type that has attributes.
func withoutAttributes(where condition) condition {
	return func(c Call) (func(*pgType) bool, error) {
		wanted, err := where(c)
		if err != nil {
			return nil, err
		}
		for _, t := range types() {
			if t.kind == "c" && wanted(t) {
				return nil, needsUpstream("the columns of \"%s\"", t.name)
			}
		}
		return wanted, nil
	}
}

// needsUpstream refuses what an embedded server cannot know.
func needsUpstream(format string, args ...any) error {
	return pgerr.Newf(codes.FeatureNotSupported, format+" needs an [upstream]", args...)
}

// psycopg 3 fetches information about a type by its name.
var psycopg3Answers = slices.Concat(
	psycopg3Infos(psycopg3Version{
		name: "psycopg 3.1.7", oid: "$1::regtype", params: []datum.Type{typeRegtype}, where: isRegtype,
	}),
	psycopg3Infos(psycopg3Version{
		name: "psycopg 3.1.20 to 3.3.4", oid: "to_regtype($1)", params: []datum.Type{datum.Text}, where: isToRegtype,
	}),
	psycopg30Answers,
	[]Answer{
		psycopg3Enum(fieldRegtype).answer(Answer{
			Source: "psycopg 3.3.4, EnumInfo.fetch",
			SQL: `SELECT name, oid, array_oid, regtype, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        t.oid::regtype::text AS regtype, e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = to_regtype($1)
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid, regtype`,
			Params: []datum.Type{datum.Text},
		}),
	},
)

// psycopg3Version is how versions of psycopg 3 turn the name of a type, which is the
// parameter, into its OID: up to 3.1.19 it is an error if there is no such type.
type psycopg3Version struct {
	name, oid string
	params    []datum.Type
	where     condition
}

func psycopg3Infos(v psycopg3Version) []Answer {
	answer := func(of, sql string, where condition, fields ...field) Answer {
		return typeQuery{fields: append(slices.Clone(psycopg3Fields), fields...), where: where}.answer(Answer{
			Source: v.name + ", " + of, SQL: strings.ReplaceAll(sql, "$1::regtype", v.oid), Params: v.params,
		})
	}
	enum := psycopg3Enum()
	enum.where = v.where
	return []Answer{
		answer("TypeInfo.fetch", `SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid`, v.where, fieldRegtype, fieldDelim.as("delimiter")),
		answer("RangeInfo.fetch", `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype`, and(v.where, always(isRange)), fieldRegtype, fieldSubtype.as("subtype_oid")),
		answer("MultirangeInfo.fetch", `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype`, and(v.where, always(isMultirange)), fieldRegtype, fieldRangeOfMultirange, fieldSubtypeOfMultirange),
		enum.answer(Answer{
			Source: v.name + ", EnumInfo.fetch" + map[string]string{"to_regtype($1)": " up to 3.3.0"}[v.oid],
			SQL: strings.ReplaceAll(`SELECT name, oid, array_oid, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = $1::regtype
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid`, "$1::regtype", v.oid),
			Params: v.params,
		}),
		answer("CompositeInfo.fetch", psycopg3Composite(`
    t.oid::regtype::text AS regtype,`), withoutAttributes(v.where), append([]field{fieldRegtype}, fieldsOfNoAttributes...)...),
	}
}

// psycopg3Enum is of an outer join: a type that is no enumeration has one label, which
// is NULL.
func psycopg3Enum(fields ...field) typeQuery {
	labels := fieldOf("labels", datum.NameArray, "{NULL}")
	return typeQuery{fields: slices.Concat(psycopg3Fields, fields, []field{labels}), where: isToRegtype}
}

// psycopg3Composite has regtype in the place of a column that some versions select.
func psycopg3Composite(regtype string) string {
	return `SELECT
    t.typname AS name, t.oid AS oid, t.typarray AS array_oid,` + regtype + `
    coalesce(a.fnames, '{}') AS field_names,
    coalesce(a.ftypes, '{}') AS field_types
FROM pg_type t
LEFT JOIN (
    SELECT
        attrelid,
        array_agg(attname) AS fnames,
        array_agg(atttypid) AS ftypes
    FROM (
        SELECT a.attrelid, a.attname, a.atttypid
        FROM pg_attribute a
        JOIN pg_type t ON t.typrelid = a.attrelid
        WHERE t.oid = $1::regtype
        AND a.attnum > 0
        AND NOT a.attisdropped
        ORDER BY a.attnum
    ) x
    GROUP BY attrelid
) a ON a.attrelid = t.typrelid
WHERE t.oid = $1::regtype`
}

var fieldsOfNoAttributes = []field{
	fieldOf("field_names", datum.NameArray, "{}"), fieldOf("field_types", typeOIDArray, "{}"),
}

// psycopg30Answers are those of 3.0 that 3.1 does not send.
var psycopg30Answers = []Answer{
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRegtype.as("alt_name"), fieldDelim.as("delimiter")),
		where:  isRegtype,
	}.answer(Answer{
		Source: "psycopg 3.0.18, TypeInfo.fetch",
		SQL: `SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS alt_name, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid`,
		Params: []datum.Type{typeRegtype},
	}),
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldSubtype.as("subtype_oid")),
		where:  and(isRegtype, always(isRange)),
	}.answer(Answer{
		Source: "psycopg 3.0.18, RangeInfo.fetch",
		SQL: `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype`,
		Params: []datum.Type{typeRegtype},
	}),
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRangeOfMultirange, fieldSubtypeOfMultirange),
		where:  and(isRegtype, always(isMultirange)),
	}.answer(Answer{
		Source: "psycopg 3.0.18, MultirangeInfo.fetch",
		SQL: `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype`,
		Params: []datum.Type{typeRegtype},
	}),
	typeQuery{
		fields: slices.Concat(psycopg3Fields, fieldsOfNoAttributes),
		where:  withoutAttributes(isRegtype),
	}.answer(Answer{
		Source: "psycopg 3.0.18, CompositeInfo.fetch", SQL: psycopg3Composite(""), Params: []datum.Type{typeRegtype},
	}),
}

var (
	psycopg3Fields         = []field{fieldName.as("name"), fieldOID, fieldArray.as("array_oid")}
	fieldRangeOfMultirange = field{
		colRngtypid.as("range_oid"),
		func(t *pgType) datum.Datum { return oidDatum(rangeOf(t).oid) },
	}
	fieldSubtypeOfMultirange = field{
		colRngsubtype.as("subtype_oid"),
		func(t *pgType) datum.Datum { return oidDatum(rangeOf(t).rangeSubtype) },
	}
)

// fieldOf is a field whose value is always the same.
func fieldOf(name string, t datum.Type, value string) field {
	return field{computed(name, t), func(*pgType) datum.Datum { return datum.OfText(value) }}
}

func isMultirange(t *pgType) bool { return t.kind == "m" }

// rangeOf is the range type of a multirange type, else nil.
func rangeOf(multirange *pgType) *pgType {
	i := slices.IndexFunc(types(), func(t *pgType) bool { return t.multirange == multirange.oid })
	if i < 0 || !isMultirange(multirange) {
		return nil
	}
	return types()[i]
}
