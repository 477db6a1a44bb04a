package clientsql

import "raisinproxy/sqlfuncs/datum"

// asyncpg knows the built-in types; it asks for one when a codec is set for it, as
// SQLAlchemy does for json and jsonb on connecting.
var asyncpgAnswers = []Answer{
	typeQuery{fields: asyncpgFields, where: hasOID}.answer(Answer{
		Source: "asyncpg 0.27.0, set_type_codec of a built-in type; SQLAlchemy 1.4.46 over it, on connecting",
		SQL: `SELECT
    t.oid,
    t.typelem     AS elemtype,
    t.typtype     AS kind
FROM
    pg_catalog.pg_type AS t
WHERE
    t.oid = $1`,
		Params: []datum.Type{datum.OID},
	}),
	typeQuery{fields: asyncpgFields, where: and(hasName, inSchema(1))}.answer(Answer{
		Source: "asyncpg 0.27.0, set_type_codec of another type",
		SQL: `SELECT
    t.oid,
    t.typelem     AS elemtype,
    t.typtype     AS kind
FROM
    pg_catalog.pg_type AS t
    INNER JOIN pg_catalog.pg_namespace ns ON (ns.oid = t.typnamespace)
WHERE
    t.typname = $1 AND ns.nspname = $2`,
		Params: []datum.Type{datum.Name, datum.Name},
	}),
}

var asyncpgFields = []field{fieldOID, fieldElem.as("elemtype"), fieldKind.as("kind")}
