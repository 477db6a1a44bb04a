package clientsql

import (
	"slices"

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

// regtypeParam is the parameter of psycopg 3, the name of a type. It fails where
// there is no such type.
var regtypeParam = []datum.Type{typeRegtype}

// psycopg 3 fetches information about a type by its name.
var psycopg3Answers = []Answer{
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRegtype, fieldDelim.as("delimiter")),
		where:  isRegtype,
	}.answer(Answer{
		Source: "psycopg 3.1.7, TypeInfo.fetch",
		SQL: `SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid`,
		Params: regtypeParam,
	}),
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRegtype, fieldSubtype.as("subtype_oid")),
		where:  and(isRegtype, always(isRange)),
	}.answer(Answer{
		Source: "psycopg 3.1.7, RangeInfo.fetch",
		SQL: `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype`,
		Params: regtypeParam,
	}),
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRegtype, fieldRangeOfMultirange, fieldSubtypeOfMultirange),
		where:  and(isRegtype, always(isMultirange)),
	}.answer(Answer{
		Source: "psycopg 3.1.7, MultirangeInfo.fetch",
		SQL: `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype`,
		Params: regtypeParam,
	}),
	// An outer join: a type that is no enumeration has one label, which is NULL.
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldOf("labels", datum.NameArray, "{NULL}")),
		where:  isRegtype,
	}.answer(Answer{
		Source: "psycopg 3.1.7, EnumInfo.fetch",
		SQL: `SELECT name, oid, array_oid, array_agg(label) AS labels
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
GROUP BY name, oid, array_oid`,
		Params: regtypeParam,
	}),
	typeQuery{
		fields: append(slices.Clone(psycopg3Fields), fieldRegtype,
			fieldOf("field_names", datum.NameArray, "{}"), fieldOf("field_types", typeOIDArray, "{}")),
		where: withoutAttributes(isRegtype),
	}.answer(Answer{
		Source: "psycopg 3.1.7, CompositeInfo.fetch",
		SQL: `SELECT
    t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
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
WHERE t.oid = $1::regtype`,
		Params: regtypeParam,
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
