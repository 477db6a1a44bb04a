-- Makes pg_type.tsv on a fresh PostgreSQL 15: psql -f pg_type.sql > ../pg_type.tsv
COPY (
    SELECT t.oid, n.nspname, t.typname, t.typlen, t.typtype, t.typcategory, t.typdelim,
        t.typrelid, c.relkind, t.typelem, t.typarray, i.proname, r.proname, t.typnotnull,
        t.typbasetype, g.rngsubtype, g.rngmultitypid, format_type(t.oid, NULL)
    FROM pg_type t
    JOIN pg_namespace n ON n.oid = t.typnamespace
    JOIN pg_proc i ON i.oid = t.typinput
    LEFT JOIN pg_proc r ON r.oid = t.typreceive
    LEFT JOIN pg_class c ON c.oid = t.typrelid
    LEFT JOIN pg_range g ON g.rngtypid = t.oid
    ORDER BY t.ctid
) TO STDOUT
