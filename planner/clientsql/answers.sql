-- What answers the catalogue queries that package catalog cannot evaluate. doc.go says what the lines mean.

-- pgjdbc 42.5.5, getColumns in all schemas
-- varies 7 8
SELECT * FROM (SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype  FROM pg_catalog.pg_namespace n  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)  JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')  WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped  AND c.relname LIKE 'pg_depend') c WHERE true  AND attname LIKE '%' ORDER BY nspname,c.relname,attnum
-- answer
SELECT n.nspname, c.relname, a.attname, a.atttypid, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull, a.atttypmod, a.attlen, t.typtypmod,
    a.attnum::int8 AS attnum, nullif(a.attidentity, '') AS attidentity, nullif(a.attgenerated, '') AS attgenerated,
    pg_get_expr(def.adbin, def.adrelid) AS adsrc, dsc.description, t.typbasetype, t.typtype
FROM pg_namespace n
JOIN pg_class c ON c.relnamespace = n.oid
JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type t ON a.atttypid = t.oid
LEFT JOIN pg_attrdef def ON a.attrelid = def.adrelid AND a.attnum = def.adnum
LEFT JOIN pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid
WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND c.relname LIKE ANY ($1) AND a.attname LIKE ANY ($2)
ORDER BY nspname, relname, attnum

-- pgjdbc 42.5.5, getPrimaryKeys in all schemas
-- varies 0
SELECT        result.TABLE_CAT,        result.TABLE_SCHEM,        result.TABLE_NAME,        result.COLUMN_NAME,        result.KEY_SEQ,        result.PK_NAME FROM      (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,   (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,   information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true  AND ct.relname = 'pg_depend' AND i.indisprimary  ) result where  result.A_ATTNUM = (result.KEYS).x  ORDER BY result.table_name, result.pk_name, result.key_seq
-- answer
SELECT NULL::text AS table_cat, n.nspname AS table_schem, ct.relname AS table_name, a.attname AS column_name, k.n + 1 AS key_seq, ci.relname AS pk_name
FROM pg_class ct
JOIN pg_namespace n ON ct.relnamespace = n.oid
JOIN pg_index i ON i.indrelid = ct.oid
JOIN pg_class ci ON ci.oid = i.indexrelid
JOIN generate_series(0, 31) k(n) ON k.n < i.indnatts
JOIN pg_attribute a ON a.attrelid = ct.oid AND a.attnum = i.indkey[k.n]
WHERE ct.relname = ANY ($1) AND i.indisprimary
ORDER BY table_name, pk_name, key_seq

-- pgjdbc 42.5.5, getIndexInfo in all schemas
-- varies 11
SELECT     tmp.TABLE_CAT,     tmp.TABLE_SCHEM,     tmp.TABLE_NAME,     tmp.NON_UNIQUE,     tmp.INDEX_QUALIFIER,     tmp.INDEX_NAME,     tmp.TYPE,     tmp.ORDINAL_POSITION,     trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS COLUMN_NAME,   CASE tmp.AM_NAME     WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint       WHEN 1 THEN 'D'       ELSE 'A'     END     ELSE NULL   END AS ASC_OR_DESC,     tmp.CARDINALITY,     tmp.PAGES,     tmp.FILTER_CONDITION FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, NOT i.indisunique AS NON_UNIQUE,   NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME,   CASE i.indisclustered     WHEN true THEN 1    ELSE CASE am.amname       WHEN 'hash' THEN 2      ELSE 3    END   END AS TYPE,   (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION,   ci.reltuples AS CARDINALITY,   ci.relpages AS PAGES,   pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS FILTER_CONDITION,   ci.oid AS CI_OID,   i.indoption AS I_INDOPTION,   am.amname AS AM_NAME FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid) WHERE true  AND ct.relname = 'pg_depend') AS tmp ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION
-- answer
SELECT NULL::text AS table_cat, n.nspname AS table_schem, ct.relname AS table_name, NOT i.indisunique AS non_unique, NULL::text AS index_qualifier,
    ci.relname AS index_name, CASE WHEN i.indisclustered THEN 1 WHEN am.amname = 'hash' THEN 2 ELSE 3 END AS type, k.n + 1 AS ordinal_position,
    a.attname::text AS column_name, CASE WHEN am.amname = 'btree' THEN CASE WHEN i.indoption[k.n] IN (1, 3) THEN 'D' ELSE 'A' END END AS asc_or_desc,
    ci.reltuples AS cardinality, ci.relpages AS pages, pg_get_expr(i.indpred, i.indrelid) AS filter_condition
FROM pg_class ct
JOIN pg_namespace n ON ct.relnamespace = n.oid
JOIN pg_index i ON i.indrelid = ct.oid
JOIN pg_class ci ON ci.oid = i.indexrelid
JOIN pg_am am ON ci.relam = am.oid
JOIN generate_series(0, 31) k(n) ON k.n < i.indnatts
JOIN pg_attribute a ON a.attrelid = ct.oid AND a.attnum = i.indkey[k.n]
WHERE ct.relname = ANY ($1)
ORDER BY non_unique, type, index_name, ordinal_position

-- Npgsql 6 and 7, the types that it loads on its first connection to a database. It forgets one whose element it has not seen before
-- digest f8ae585b186a36d98a46efdd73ab3fbf47d46c291de026d0b78105b1801d3934 Npgsql 6, 7
-- digest cdb20269a5499729feda1e9b7db97ef342b1971ef46f494ff1f202f9dc1e7e4e Npgsql 6, 7, Load Table Composites
-- answer
SELECT n.nspname, t.oid, t.typname, CASE WHEN a.oid IS NULL THEN t.typtype ELSE 'a' END AS typtype, t.typnotnull, e.oid AS elemtypoid
FROM pg_type t
JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_type a ON a.typarray = t.oid
LEFT JOIN pg_range r ON r.rngtypid = t.oid
LEFT JOIN pg_range m ON m.rngmultitypid = t.oid
LEFT JOIN pg_type e ON e.oid = coalesce(a.oid, r.rngsubtype, m.rngtypid, t.typbasetype)
WHERE CASE
    WHEN a.oid IS NOT NULL THEN a.typtype NOT IN ('c', 'p') OR a.typname IN ('record', 'void')
    ELSE t.typtype NOT IN ('c', 'p') OR t.typname IN ('record', 'void')
END
ORDER BY CASE
    WHEN a.oid IS NOT NULL THEN 6
    WHEN t.typtype = 'p' THEN 2
    WHEN t.typtype = 'r' THEN 3
    WHEN t.typtype = 'm' THEN 4
    WHEN t.typtype = 'd' THEN 5
    ELSE 1
END

-- Npgsql since 8, the types
-- digest f5400d66b3f4c88a9f6ccf89823c79f7092114de2061c7adb2eea8ff8550ac66 Npgsql 8.0.0-8.0.2
-- digest d954cece38cde0197585f4250a00ff88fca2550e2c051c05502e8e7724505082 Npgsql 8.0.0-8.0.2, Load Table Composites
-- digest d6173ecc1a9b2e22987cd87444204b40754240d0bc17271c85c0b9cf8d0a4221 Npgsql 8.0.3-8.0.9
-- digest 533fa22dd806a7ab1385a17c4fca0acc9daeae0466c84ba148dc6bb1b4022b5a Npgsql 8.0.3-8.0.9, Load Table Composites
-- digest 639722974a072087f08c7ed07137dfd6f12b2fb10cc0b916f03bea968a66c274 Npgsql 9-10.0.3
-- digest 14160d46e9de0cd6fe24b41e55cfb68f090185b1d516e6f87a7d776a1c5fdf07 Npgsql 9-10.0.3, Load Table Composites
-- answer
SELECT n.nspname, t.oid, t.typname, CASE WHEN a.oid IS NULL THEN t.typtype ELSE 'a' END AS typtype, t.typnotnull, e.oid AS elemtypoid
FROM pg_type t
JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_type a ON a.typarray = t.oid
LEFT JOIN pg_range r ON r.rngtypid = t.oid
LEFT JOIN pg_range m ON m.rngmultitypid = t.oid
LEFT JOIN pg_type e ON e.oid = coalesce(a.oid, r.rngsubtype, m.rngtypid, t.typbasetype)
WHERE CASE
    WHEN a.oid IS NOT NULL THEN a.typtype NOT IN ('c', 'p') OR a.typname IN ('record', 'void')
    ELSE t.typtype NOT IN ('c', 'p') OR t.typname IN ('record', 'void', 'unknown')
END
ORDER BY CASE
    WHEN a.oid IS NOT NULL THEN 6
    WHEN t.typtype = 'p' THEN 2
    WHEN t.typtype = 'r' THEN 3
    WHEN t.typtype = 'm' THEN 4
    WHEN t.typtype = 'd' THEN 5
    ELSE 1
END

-- Npgsql since 9, the types of some schemas
-- varies 8
-- digest 5e5f75dd74e89fa02d40c64ab1c5e44f64616a1a87723bf8f895df7674cbe68c Npgsql 9-10.0.3, SetTypeLoadingSchemas
-- digest 74219e6169ffeb99780146e72e8c088e42cd03690ff863d5a05afc9b78823cf8 Npgsql 9-10.0.3, SetTypeLoadingSchemas, Load Table Composites
-- answer
SELECT n.nspname, t.oid, t.typname, CASE WHEN a.oid IS NULL THEN t.typtype ELSE 'a' END AS typtype, t.typnotnull, e.oid AS elemtypoid
FROM pg_type t
JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_type a ON a.typarray = t.oid
LEFT JOIN pg_range r ON r.rngtypid = t.oid
LEFT JOIN pg_range m ON m.rngmultitypid = t.oid
LEFT JOIN pg_type e ON e.oid = coalesce(a.oid, r.rngsubtype, m.rngtypid, t.typbasetype)
WHERE CASE
    WHEN a.oid IS NOT NULL THEN a.typtype NOT IN ('c', 'p') OR a.typname IN ('record', 'void')
    ELSE t.typtype NOT IN ('c', 'p') OR t.typname IN ('record', 'void', 'unknown')
END AND (n.nspname = ANY ($1) OR t.typcategory = 'U')
ORDER BY CASE
    WHEN a.oid IS NOT NULL THEN 6
    WHEN t.typtype = 'p' THEN 2
    WHEN t.typtype = 'r' THEN 3
    WHEN t.typtype = 'm' THEN 4
    WHEN t.typtype = 'd' THEN 5
    ELSE 1
END

-- Npgsql, the fields of composite types
-- digest e6700b5cafe8ea9f3bfbf7ffff49bad8afb820c0de4c8b648540cb50cc28c55e Npgsql 6-10.0.3
-- digest 6fe93b8d25b32e37b22abdb4ffd85b156518dcb97ecaadc5713f4358941174ec Npgsql 6-10.0.3, Load Table Composites
-- answer
SELECT t.oid, a.attname, a.atttypid
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_type t ON t.oid = c.reltype
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE c.relkind = 'c'

-- Npgsql, the fields of composite types of some schemas
-- varies 2
-- digest 94bb6422021d51564a9d3e661f58094769fe3ee7d0ad98456a9d2828cfa8d1fb Npgsql 9-10.0.3, SetTypeLoadingSchemas
-- digest c0a574216859fb91fca80297659b19fd3708d29d951c581325ee7f53254b98fd Npgsql 9-10.0.3, SetTypeLoadingSchemas, Load Table Composites
-- answer
SELECT t.oid, a.attname, a.atttypid
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_type t ON t.oid = c.reltype
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE c.relkind = 'c' AND n.nspname = ANY ($1)

-- Npgsql, the labels of enumerations
-- digest 9eddd1500a05f57bbb1510dd2364cff0b772dd6ee0e437846a0b2c43df74f6b0 Npgsql 6-9.0.4
-- digest 229d49f8fab4291b41820920ea8090f82bcd33042918f7ba2e3c325d2a358913 Npgsql 9.0.5-10.0.3
-- answer
SELECT t.oid, e.enumlabel
FROM pg_type t
JOIN pg_enum e ON e.enumtypid = t.oid
JOIN pg_namespace n ON n.oid = t.typnamespace

-- Npgsql, the labels of enumerations of some schemas
-- varies 0
-- digest ded582deada4991177d64c6dbe5daa5224a70d01f2ad4626abca018717a65a97 Npgsql 9.0.5-10.0.3, SetTypeLoadingSchemas
-- answer
SELECT t.oid, e.enumlabel
FROM pg_type t
JOIN pg_enum e ON e.enumtypid = t.oid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname = ANY ($1)
