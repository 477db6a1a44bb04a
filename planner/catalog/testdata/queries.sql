-- slonik 47.3.2, on connecting
SELECT oid, typarray, typname FROM pg_type WHERE typname = ANY($1::text[])
--= {int8,date,interval,numeric,timestamp,timestamptz}
--= {}
--= NULL

-- PyGreSQL 5.2.4, pgdb: a type of a result
SELECT oid, typname, typlen, typtype, typcategory, typdelim, typrelid FROM pg_catalog.pg_type WHERE oid OPERATOR(pg_catalog.=) 23

-- PyGreSQL 5.2.4, pg: a type by its name
SELECT oid, typname, typname::regtype, typtype, typcategory, typdelim, typrelid FROM pg_catalog.pg_type WHERE oid OPERATOR(pg_catalog.=) quote_ident($1)::regtype
--= int4
--= nothing

-- PyGreSQL 5.2.4, get_databases
-- columns
SELECT datname FROM pg_catalog.pg_database

-- PyGreSQL 5.2.4, get_relations
SELECT pg_catalog.quote_ident(s.nspname) OPERATOR(pg_catalog.||) '.' OPERATOR(pg_catalog.||) pg_catalog.quote_ident(r.relname) FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) r.relnamespace WHERE s.nspname NOT SIMILAR TO 'pg/_%|information/_schema' ESCAPE '/' ORDER BY s.nspname, r.relname

-- PyGreSQL 5.2.4, get_tables(system=True)
SELECT pg_catalog.quote_ident(s.nspname) OPERATOR(pg_catalog.||) '.' OPERATOR(pg_catalog.||) pg_catalog.quote_ident(r.relname) FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) r.relnamespace WHERE r.relkind IN ('r') ORDER BY s.nspname, r.relname

-- PyGreSQL 5.2.4, pkey
SELECT a.attname, a.attnum, i.indkey FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid AND a.attnum OPERATOR(pg_catalog.=) ANY(i.indkey) AND NOT a.attisdropped WHERE i.indrelid OPERATOR(pg_catalog.=) quote_ident($1)::regclass AND i.indisprimary ORDER BY a.attnum
--= pg_class
--= pg_depend
--= nothing

-- PyGreSQL 5.2.4, get_attnames
SELECT a.attname, t.oid, t.typname, t.typname::regtype, t.typtype, t.typcategory, t.typdelim, t.typrelid FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid WHERE a.attrelid OPERATOR(pg_catalog.=) quote_ident($1)::regclass AND (a.attnum OPERATOR(pg_catalog.>) 0 OR a.attname OPERATOR(pg_catalog.=) 'oid') AND NOT a.attisdropped ORDER BY a.attnum
--= pg_namespace
--= pg_type

-- pgcli 3.5.0, SELECT * FROM unnest(current_schemas(true))
SELECT * FROM unnest(current_schemas(true))

-- pgcli 3.5.0, SELECT nspname FROM pg_catalog.pg_namespace ORDER BY 1
SELECT  nspname
            FROM    pg_catalog.pg_namespace
            ORDER BY 1

-- pgcli 3.5.0, SELECT n.nspname schema_name, c.relname table_name FROM pg_c
SELECT  n.nspname schema_name,
                    c.relname table_name
            FROM    pg_catalog.pg_class c
                    LEFT JOIN pg_catalog.pg_namespace n
                        ON n.oid = c.relnamespace
            WHERE   c.relkind = ANY($1)
            ORDER BY 1,2;
--= {r,p,f}
--= {v,m}

-- pgcli 3.5.0, SELECT nsp.nspname schema_name, cls.relname table_name, att.
SELECT  nsp.nspname schema_name,
                            cls.relname table_name,
                            att.attname column_name,
                            att.atttypid::regtype::text type_name,
                            att.atthasdef AS has_default,
                            pg_catalog.pg_get_expr(def.adbin, def.adrelid, true) as default
                    FROM    pg_catalog.pg_attribute att
                            INNER JOIN pg_catalog.pg_class cls
                                ON att.attrelid = cls.oid
                            INNER JOIN pg_catalog.pg_namespace nsp
                                ON cls.relnamespace = nsp.oid
                            LEFT OUTER JOIN pg_attrdef def
                                ON def.adrelid = att.attrelid
                                AND def.adnum = att.attnum
                    WHERE   cls.relkind = ANY($1)
                            AND NOT att.attisdropped
                            AND att.attnum  > 0
                    ORDER BY 1, 2, att.attnum
--= {r,p,f}
--= {v,m}

-- pgcli 3.5.0, SELECT s_p.nspname AS parentschema, t_p.relname AS parenttab
SELECT s_p.nspname AS parentschema,
                           t_p.relname AS parenttable,
                           unnest((
                            select
                                array_agg(attname ORDER BY i)
                            from
                                (select unnest(confkey) as attnum, generate_subscripts(confkey, 1) as i) x
                                JOIN pg_catalog.pg_attribute c USING(attnum)
                                WHERE c.attrelid = fk.confrelid
                            )) AS parentcolumn,
                           s_c.nspname AS childschema,
                           t_c.relname AS childtable,
                           unnest((
                            select
                                array_agg(attname ORDER BY i)
                            from
                                (select unnest(conkey) as attnum, generate_subscripts(conkey, 1) as i) x
                                JOIN pg_catalog.pg_attribute c USING(attnum)
                                WHERE c.attrelid = fk.conrelid
                            )) AS childcolumn
                    FROM pg_catalog.pg_constraint fk
                    JOIN pg_catalog.pg_class      t_p ON t_p.oid = fk.confrelid
                    JOIN pg_catalog.pg_namespace  s_p ON s_p.oid = t_p.relnamespace
                    JOIN pg_catalog.pg_class      t_c ON t_c.oid = fk.conrelid
                    JOIN pg_catalog.pg_namespace  s_c ON s_c.oid = t_c.relnamespace
                    WHERE fk.contype = 'f';

-- pgcli 3.5.0, SELECT n.nspname schema_name, t.typname type_name FROM pg_ca
SELECT n.nspname schema_name,
                               t.typname type_name
                        FROM   pg_catalog.pg_type t
                               INNER JOIN pg_catalog.pg_namespace n
                                  ON n.oid = t.typnamespace
                        WHERE ( t.typrelid = 0  -- non-composite types
                                OR (  -- composite type, but not a table
                                      SELECT c.relkind = 'c'
                                      FROM pg_catalog.pg_class c
                                      WHERE c.oid = t.typrelid
                                    )
                              )
                              AND NOT EXISTS( -- ignore array types
                                    SELECT  1
                                    FROM    pg_catalog.pg_type el
                                    WHERE   el.oid = t.typelem AND el.typarray = t.oid
                                  )
                              AND n.nspname <> 'pg_catalog'
                              AND n.nspname <> 'information_schema'
                        ORDER BY 1, 2;

-- pgcli 3.5.0, SELECT d.datname FROM pg_catalog.pg_database d ORDER BY 1
-- columns
SELECT d.datname
            FROM pg_catalog.pg_database d
            ORDER BY 1

-- pgcli 3.5.0, functions
-- unordered
SELECT n.nspname schema_name,
                            p.proname func_name,
                            p.proargnames,
                            COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[],
                            p.proargmodes,
                            prorettype::regtype::text return_type,
                            p.prokind = 'a' is_aggregate,
                            p.prokind = 'w' is_window,
                            p.proretset is_set_returning,
                            d.deptype = 'e' is_extension,
                            pg_get_expr(proargdefaults, 0) AS arg_defaults
                    FROM pg_catalog.pg_proc p
                            INNER JOIN pg_catalog.pg_namespace n
                                ON n.oid = p.pronamespace
                    LEFT JOIN pg_depend d ON d.objid = p.oid and d.deptype = 'e'
                    WHERE p.prorettype::regtype != 'trigger'::regtype
                    ORDER BY 1, 2

-- pgcli 3.5.0, SELECT n.nspname as "Schema", p.proname as "Name", pg_catalo
SELECT  n.nspname as "Schema",
                        p.proname as "Name",
                        pg_catalog.pg_get_function_result(p.oid)
                          as "Result data type",
                        pg_catalog.pg_get_function_arguments(p.oid)
                          as "Argument data types",
                         CASE
                            WHEN p.prokind = 'a' THEN 'agg'
                            WHEN p.prokind = 'w' THEN 'window'
                            WHEN p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype
                                THEN 'trigger'
                            ELSE 'normal'
                        END as "Type" 
                FROM    pg_catalog.pg_proc p
                        LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                WHERE   pg_catalog.pg_function_is_visible(p.oid)  AND p.proname ~ $1  ORDER BY 1, 2, 4
--= ^(raisin.*)$

-- pgcli 3.5.0, SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.dat
-- columns
SELECT d.datname as "Name",
            pg_catalog.pg_get_userbyid(d.datdba) as "Owner",
            pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding",
            d.datcollate as "Collate",
            d.datctype as "Ctype",
            pg_catalog.array_to_string(d.datacl, E'
    ') AS "Access privileges"
        FROM pg_catalog.pg_database d
         ORDER BY 1

-- pgcli 3.5.0, SELECT n.nspname as "Schema", c.relname as "Name", CASE c.re
SELECT n.nspname as "Schema",
                        c.relname as "Name",
                        CASE c.relkind
                          WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
                          WHEN 'p' THEN 'partitioned table'
                          WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index'
                          WHEN 'S' THEN 'sequence' WHEN 's' THEN 'special'
                          WHEN 'f' THEN 'foreign table' END
                        as "Type",
                        pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
                FROM    pg_catalog.pg_class c
                        LEFT JOIN pg_catalog.pg_namespace n
                          ON n.oid = c.relnamespace
                WHERE   c.relkind = ANY($1) 
                AND n.nspname <> 'pg_catalog'
                AND n.nspname <> 'information_schema'
                AND n.nspname !~ '^pg_toast'
                AND pg_catalog.pg_table_is_visible(c.oid)  ORDER BY 1, 2
--= {r,p,""}

-- pgcli 3.5.0, SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nsp
SELECT n.nspname AS "Name",
        pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner"
        FROM pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1

-- pgcli 3.5.0, SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole,
-- columns
SELECT r.rolname,
                    r.rolsuper,
                    r.rolinherit,
                    r.rolcreaterole,
                    r.rolcreatedb,
                    r.rolcanlogin,
                    r.rolconnlimit,
                    r.rolvaliduntil,
                    ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof,
                r.rolreplication
            FROM pg_catalog.pg_roles r
             ORDER BY 1

-- GDAL 3.6.2, on connecting: PostGIS
SELECT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE proname = 'postgis_version'

-- GDAL 3.6.2, on connecting: types
SELECT oid, typname FROM pg_type WHERE typname IN ('geometry', 'geography') AND typtype='b'

-- GDAL 3.6.2, on connecting: geometry_columns
SELECT 1 FROM information_schema.tables WHERE table_name = 'geometry_columns' LIMIT 1

-- GDAL 3.6.2, on connecting: layers
SELECT c.relname, n.nspname, c.relkind FROM pg_class c, pg_namespace n WHERE (c.relkind in ('r','v','m','f') AND c.relname !~ '^pg_' AND c.relnamespace=n.oid)

-- psql 15.18, \gdesc
SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type"
FROM (VALUES ('token', '20'::pg_catalog.oid, -1),('price', '1700'::pg_catalog.oid, 655366)) s(name, tp, tpm)

-- psql 15.18, \d
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','v','m','S','f','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \l
-- columns
SELECT d.datname as "Name",
       pg_catalog.pg_get_userbyid(d.datdba) as "Owner",
       pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding",
       d.datcollate as "Collate",
       d.datctype as "Ctype",
       d.daticulocale as "ICU Locale",
       CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider",
       pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges"
FROM pg_catalog.pg_database d
ORDER BY 1;

-- psql 15.18, \l where the server says that it is 14.18
-- columns
SELECT d.datname as "Name",
       pg_catalog.pg_get_userbyid(d.datdba) as "Owner",
       pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding",
       d.datcollate as "Collate",
       d.datctype as "Ctype",
       NULL as "ICU Locale",
       'libc' AS "Locale Provider",
       pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges"
FROM pg_catalog.pg_database d
ORDER BY 1;

-- psql 15.18, \dt
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \di
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner",
  c2.relname as "Table"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
     LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
     LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid
WHERE c.relkind IN ('i','I','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \dv
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \dm
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('m','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \ds
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('S','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psql 15.18, \dn
SELECT n.nspname AS "Name",
  pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner"
FROM pg_catalog.pg_namespace n
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1;

-- psql 15.18, \df
SELECT n.nspname as "Schema",
  p.proname as "Name",
  pg_catalog.pg_get_function_result(p.oid) as "Result data type",
  pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types",
 CASE p.prokind
  WHEN 'a' THEN 'agg'
  WHEN 'w' THEN 'window'
  WHEN 'p' THEN 'proc'
  ELSE 'func'
 END as "Type"
FROM pg_catalog.pg_proc p
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE pg_catalog.pg_function_is_visible(p.oid)
      AND n.nspname <> 'pg_catalog'
      AND n.nspname <> 'information_schema'
ORDER BY 1, 2, 4;

-- psql 15.18, \du, \dg
-- columns
SELECT r.rolname, r.rolsuper, r.rolinherit,
  r.rolcreaterole, r.rolcreatedb, r.rolcanlogin,
  r.rolconnlimit, r.rolvaliduntil,
  ARRAY(SELECT b.rolname
        FROM pg_catalog.pg_auth_members m
        JOIN pg_catalog.pg_roles b ON (m.roleid = b.oid)
        WHERE m.member = r.oid) as memberof
, r.rolreplication
, r.rolbypassrls
FROM pg_catalog.pg_roles r
WHERE r.rolname !~ '^pg_'
ORDER BY 1;

-- psql 15.18, \dx
SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description"
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass
ORDER BY 1;

-- psql 15.18, \dT
SELECT n.nspname as "Schema",
  pg_catalog.format_type(t.oid, NULL) AS "Name",
  pg_catalog.obj_description(t.oid, 'pg_type') as "Description"
FROM pg_catalog.pg_type t
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))
  AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid)
      AND n.nspname <> 'pg_catalog'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2;

-- psql 15.18, \dp
-- columns
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type",
  pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges",
  pg_catalog.array_to_string(ARRAY(
    SELECT attname || E':\n  ' || pg_catalog.array_to_string(attacl, E'\n  ')
    FROM pg_catalog.pg_attribute a
    WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL
  ), E'\n') AS "Column privileges",
  pg_catalog.array_to_string(ARRAY(
    SELECT polname
    || CASE WHEN NOT polpermissive THEN
       E' (RESTRICTIVE)'
       ELSE '' END
    || CASE WHEN polcmd != '*' THEN
           E' (' || polcmd::pg_catalog.text || E'):'
       ELSE E':'
       END
    || CASE WHEN polqual IS NOT NULL THEN
           E'\n  (u): ' || pg_catalog.pg_get_expr(polqual, polrelid)
       ELSE E''
       END
    || CASE WHEN polwithcheck IS NOT NULL THEN
           E'\n  (c): ' || pg_catalog.pg_get_expr(polwithcheck, polrelid)
       ELSE E''
       END    || CASE WHEN polroles <> '{0}' THEN
           E'\n  to: ' || pg_catalog.array_to_string(
               ARRAY(
                   SELECT rolname
                   FROM pg_catalog.pg_roles
                   WHERE oid = ANY (polroles)
                   ORDER BY 1
               ), E', ')
       ELSE E''
       END
    FROM pg_catalog.pg_policy pol
    WHERE polrelid = c.oid), E'\n')
    AS "Policies"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','v','m','S','f','p')
  AND n.nspname !~ '^pg_' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2;

-- psql 15.18, \d of a name
SELECT c.oid,
  n.nspname,
  c.relname
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 2, 3;

-- psql 15.18, \dt of a name
SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','t','s','')
  AND c.relname OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;

-- psycopg2 2.9.5, register_hstore, which SQLAlchemy and Django call
SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore';

-- psycopg2 2.9.5, register_json
SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb';

-- psycopg2 2.9.5, register_range
select rngtypid, rngsubtype, typarray
from pg_range r
join pg_type t on t.oid = rngtypid
join pg_namespace ns on ns.oid = typnamespace
where typname = 'int4range' and ns.nspname = 'pg_catalog';

-- psycopg2 2.9.5, register_range of a type outside the schema it has looked in
SELECT rngtypid, rngsubtype, typarray, typname, nspname
from pg_range r
join pg_type t on t.oid = rngtypid
join pg_namespace ns on ns.oid = typnamespace
WHERE t.oid = 'int4range'::regtype

-- psycopg2 2.9.5, register_composite
SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'card' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

-- psycopg2 2.9.5, register_composite of a type outside the schema it has looked in
SELECT t.oid, typarray, attname, atttypid, typname, nspname
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE t.oid = 'int4'::regtype
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

-- psycopg2 2.9.5 and psycopg 3.1.7, tpc_recover
SELECT gid, prepared, owner, database FROM pg_prepared_xacts

-- psycopg 3.1.7, TypeInfo.fetch
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid

-- psycopg 3.1.7, RangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype

-- psycopg 3.1.7, MultirangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype

-- psycopg 3.1.7, EnumInfo.fetch
SELECT name, oid, array_oid, array_agg(label) AS labels
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
GROUP BY name, oid, array_oid

-- psycopg 3.1.7, CompositeInfo.fetch
SELECT
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
WHERE t.oid = $1::regtype

-- psycopg 3.1.20 to 3.3.4, TypeInfo.fetch
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = to_regtype($1)
ORDER BY t.oid

-- psycopg 3.1.20 to 3.3.4, RangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = to_regtype($1)

-- psycopg 3.1.20 to 3.3.4, MultirangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = to_regtype($1)

-- psycopg 3.1.20 to 3.3.4, EnumInfo.fetch up to 3.3.0
SELECT name, oid, array_oid, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = to_regtype($1)
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid

-- psycopg 3.1.20 to 3.3.4, CompositeInfo.fetch
SELECT
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
        WHERE t.oid = to_regtype($1)
        AND a.attnum > 0
        AND NOT a.attisdropped
        ORDER BY a.attnum
    ) x
    GROUP BY attrelid
) a ON a.attrelid = t.typrelid
WHERE t.oid = to_regtype($1)

-- psycopg 3.0.18, TypeInfo.fetch
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS alt_name, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid

-- psycopg 3.0.18, RangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype

-- psycopg 3.0.18, MultirangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype

-- psycopg 3.0.18, CompositeInfo.fetch
SELECT
    t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
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
WHERE t.oid = $1::regtype

-- psycopg 3.3.4, EnumInfo.fetch
SELECT name, oid, array_oid, regtype, array_agg(label) AS labels
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
GROUP BY name, oid, array_oid, regtype

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_table
select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname=$1

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_table with a schema
select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where n.nspname=$1 and relname=$2

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, get_table_names, get_view_names
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind in ('r', 'p')

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_sequence
SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname=$1 and relname=$2

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, get_sequence_names
SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname=$1

-- SQLAlchemy 1.4.54 over psycopg2 2.9.5, get_sequence_names
SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname='public'

-- SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_type
SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t
                WHERE t.typname = $1
                AND pg_type_is_visible(t.oid)
                )

-- SQLAlchemy 1.4.46 over psycopg2, has_table
select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname='pg_class'

-- SQLAlchemy 1.4.46 over psycopg2, has_table with a schema
select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where n.nspname='information_schema' and relname='tables'

-- SQLAlchemy 1.4.46 over psycopg2, get_table_names
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind in ('r', 'p')

-- SQLAlchemy 1.4.46 over psycopg2, has_sequence
SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname='public' and relname='q'

-- SQLAlchemy 1.4.46 over psycopg2, get_schema_names
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname

-- SQLAlchemy 1.4.46 over psycopg2, before it creates an enumeration
SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t
                WHERE t.typname = 'mood'
                AND pg_type_is_visible(t.oid)
                )

-- SQLAlchemy 1.4.46 over psycopg2, before it creates an enumeration in a schema
SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n
                WHERE t.typnamespace = n.oid
                AND t.typname = 'mood'
                AND n.nspname = 'public'
                )

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_table
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = 'x' AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_table with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = 'x' AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_namespace.nspname = 'public'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_table_names, get_view_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_table_names with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_namespace.nspname = 'public'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_schema_names
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname NOT LIKE 'pg_%' ORDER BY pg_catalog.pg_namespace.nspname

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_schema
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname = 'public'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_sequence
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = 'S' AND pg_catalog.pg_class.relname = 's' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_sequence_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['S']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

-- SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_type
SELECT pg_catalog.pg_type.typname 
FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_type.typnamespace 
WHERE pg_catalog.pg_type.typname = 't' AND pg_catalog.pg_type_is_visible(pg_catalog.pg_type.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, has_table
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = $1::VARCHAR(64) COLLATE "C" AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $7::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, has_table with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = $1::VARCHAR(64) COLLATE "C" AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_namespace.nspname = $7::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, get_schema_names
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname NOT LIKE $1::VARCHAR(64) COLLATE "C" ORDER BY pg_catalog.pg_namespace.nspname

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, has_schema
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname = $1::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, get_sequence_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $2::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0, has_type
SELECT pg_catalog.pg_type.typname 
FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_type.typnamespace 
WHERE pg_catalog.pg_type.typname = $1::VARCHAR(64) COLLATE "C" AND pg_catalog.pg_type_is_visible(pg_catalog.pg_type.oid) AND pg_catalog.pg_namespace.nspname != $2::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3, get_table_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $4::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3, get_table_names with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::VARCHAR AND pg_catalog.pg_namespace.nspname = $4::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3, get_view_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $2::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over psycopg 3, has_sequence
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = $1::VARCHAR AND pg_catalog.pg_class.relname = $2::VARCHAR(64) COLLATE "C" AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over asyncpg 0.27.0, get_table_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::CHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $4::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over asyncpg 0.27.0, get_table_names with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::CHAR AND pg_catalog.pg_namespace.nspname = $4::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over asyncpg 0.27.0, get_view_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $2::CHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.0 over asyncpg 0.27.0, has_sequence
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = $1::CHAR AND pg_catalog.pg_class.relname = $2::VARCHAR(64) COLLATE "C" AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR(64) COLLATE "C"

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, has_table
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = $1::VARCHAR AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $7::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, has_table with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relname = $1::VARCHAR AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_namespace.nspname = $7::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, get_schema_names
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname NOT LIKE $1::VARCHAR ORDER BY pg_catalog.pg_namespace.nspname

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, has_schema
SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname = $1::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, get_sequence_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $2::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0, has_type
SELECT pg_catalog.pg_type.typname 
FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_type.typnamespace 
WHERE pg_catalog.pg_type.typname = $1::VARCHAR AND pg_catalog.pg_type_is_visible(pg_catalog.pg_type.oid) AND pg_catalog.pg_namespace.nspname != $2::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3, 2.0.10 over asyncpg 0.27.0, get_table_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $4::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3, 2.0.10 over asyncpg 0.27.0, get_table_names with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::VARCHAR AND pg_catalog.pg_namespace.nspname = $4::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3, 2.0.10 over asyncpg 0.27.0, get_view_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $2::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR

-- SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3, 2.0.10 over asyncpg 0.27.0, has_sequence
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = $1::VARCHAR AND pg_catalog.pg_class.relname = $2::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR

-- SQLAlchemy 2.0.25 to 2.1.0b3 over asyncpg 0.27.0, get_table_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::CHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $4::VARCHAR

-- SQLAlchemy 2.0.25 to 2.1.0b3 over asyncpg 0.27.0, get_table_names with a schema
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::CHAR AND pg_catalog.pg_namespace.nspname = $4::VARCHAR

-- SQLAlchemy 2.0.25 to 2.1.0b3 over asyncpg 0.27.0, get_view_names
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $2::CHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR

-- SQLAlchemy 2.0.25 to 2.1.0b3 over asyncpg 0.27.0, has_sequence
SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE pg_catalog.pg_class.relkind = $1::CHAR AND pg_catalog.pg_class.relname = $2::VARCHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::VARCHAR

-- Django 3.2.25 with django.contrib.postgres, on connecting
SELECT typarray FROM pg_type WHERE typname = 'citext'

-- Django 3.2.25, table_names: runserver, migrate
SELECT c.relname,
            CASE WHEN c.relispartition THEN 'p' WHEN c.relkind IN ('m', 'v') THEN 'v' ELSE 't' END
            FROM pg_catalog.pg_class c
            LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('f', 'm', 'p', 'r', 'v')
                AND n.nspname NOT IN ('pg_catalog', 'pg_toast')
                AND pg_catalog.pg_table_is_visible(c.oid)

-- asyncpg 0.27.0, set_type_codec of a built-in type; SQLAlchemy 1.4.46 over it, on connecting
SELECT
    t.oid,
    t.typelem     AS elemtype,
    t.typtype     AS kind
FROM
    pg_catalog.pg_type AS t
WHERE
    t.oid = $1

-- asyncpg 0.27.0, set_type_codec of another type
SELECT
    t.oid,
    t.typelem     AS elemtype,
    t.typtype     AS kind
FROM
    pg_catalog.pg_type AS t
    INNER JOIN pg_catalog.pg_namespace ns ON (ns.oid = t.typnamespace)
WHERE
    t.typname = $1 AND ns.nspname = $2

-- pgjdbc 42.5.5, name of a type
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1

-- pgjdbc 42.5.5, name of a type, preferQueryMode=simple
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = ('3802'::int4)

-- pgjdbc 42.5.5, SQL type of a type
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC

-- pgjdbc 42.5.5, SQL type of a type, preferQueryMode=simple
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = ('3802'::int8)  ORDER BY sp.r, pg_type.oid DESC

-- pgjdbc 42.5.5, delimiter of an array
SELECT e.typdelim FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = $1 and t.typelem = e.oid

-- pgjdbc 42.5.5, delimiter of an array, preferQueryMode=simple
SELECT e.typdelim FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = ('3802'::int4) and t.typelem = e.oid

-- pgjdbc 42.5.5, element of an array
SELECT e.oid, n.nspname = ANY(current_schemas(true)), n.nspname, e.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type e ON t.typelem = e.oid JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1

-- pgjdbc 42.5.5, element of an array, preferQueryMode=simple
SELECT e.oid, n.nspname = ANY(current_schemas(true)), n.nspname, e.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type e ON t.typelem = e.oid JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = ('3802'::int4)

-- pgjdbc 42.5.5, OID of a type
SELECT pg_type.oid, typname   FROM pg_catalog.pg_type   LEFT   JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE typname = $1  ORDER BY sp.r, pg_type.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of a type, preferQueryMode=simple
SELECT pg_type.oid, typname   FROM pg_catalog.pg_type   LEFT   JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE typname = ('hstore')  ORDER BY sp.r, pg_type.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of an array by the name of its element
SELECT t.typarray, arr.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid  JOIN pg_catalog.pg_type arr ON arr.oid = t.typarray WHERE t.typname = $1 AND (n.nspname = $2 OR $3 AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of a type by a name of two parts
SELECT t.oid, t.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.typname = $1 AND (n.nspname = $2 OR $3 AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of an array by the name of its element with a schema, preferQueryMode=simple
SELECT t.typarray, arr.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid  JOIN pg_catalog.pg_type arr ON arr.oid = t.typarray WHERE t.typname = ('int4') AND (n.nspname = ('pg_catalog') OR ('FALSE') AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of a type by a name of two parts with a schema, preferQueryMode=simple
SELECT t.oid, t.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.typname = ('int4') AND (n.nspname = ('pg_catalog') OR ('FALSE') AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of an array by the name of its element without a schema, preferQueryMode=simple
SELECT t.typarray, arr.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid  JOIN pg_catalog.pg_type arr ON arr.oid = t.typarray WHERE t.typname = ('int4') AND (n.nspname = (NULL) OR ('TRUE') AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, OID of a type by a name of two parts without a schema, preferQueryMode=simple
SELECT t.oid, t.typname   FROM pg_catalog.pg_type t  JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.typname = ('int4') AND (n.nspname = (NULL) OR ('TRUE') AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1

-- pgjdbc 42.5.5, getTypeInfo: SQL types
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  ORDER BY sp.r, pg_type.oid DESC

-- pgjdbc 42.5.5, getTypeInfo: names
SELECT t.typname,t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON (t.typnamespace = n.oid)  WHERE n.nspname  != 'pg_toast' AND  (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))

-- pgjdbc 42.5.5, getMaxColumnNameLength and others
SELECT t.typlen FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n WHERE t.typnamespace=n.oid AND t.typname='name' AND n.nspname='pg_catalog'

-- pgjdbc 42.5.5, getMaxColumnsInIndex and others
-- columns
SELECT setting FROM pg_catalog.pg_settings WHERE name='max_index_keys'

-- pgjdbc 42.5.5, XAResource.recover
SELECT gid FROM pg_prepared_xacts where database = current_database()

-- pgjdbc 42.5.5, getTables: tables, in all schemas
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME,  CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'  WHEN true THEN CASE  WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TABLE'   WHEN 'v' THEN 'SYSTEM VIEW'   WHEN 'i' THEN 'SYSTEM INDEX'   ELSE NULL   END  WHEN n.nspname = 'pg_toast' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TOAST TABLE'   WHEN 'i' THEN 'SYSTEM TOAST INDEX'   ELSE NULL   END  ELSE CASE c.relkind   WHEN 'r' THEN 'TEMPORARY TABLE'   WHEN 'p' THEN 'TEMPORARY TABLE'   WHEN 'i' THEN 'TEMPORARY INDEX'   WHEN 'S' THEN 'TEMPORARY SEQUENCE'   WHEN 'v' THEN 'TEMPORARY VIEW'   ELSE NULL   END  END  WHEN false THEN CASE c.relkind  WHEN 'r' THEN 'TABLE'  WHEN 'p' THEN 'PARTITIONED TABLE'  WHEN 'i' THEN 'INDEX'  WHEN 'P' then 'PARTITIONED INDEX'  WHEN 'S' THEN 'SEQUENCE'  WHEN 'v' THEN 'VIEW'  WHEN 'c' THEN 'TYPE'  WHEN 'f' THEN 'FOREIGN TABLE'  WHEN 'm' THEN 'MATERIALIZED VIEW'  ELSE NULL  END  ELSE NULL  END  AS TABLE_TYPE, d.description AS REMARKS,  '' as TYPE_CAT, '' as TYPE_SCHEM, '' as TYPE_NAME, '' AS SELF_REFERENCING_COL_NAME, '' AS REF_GENERATION  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0  and d.classoid = 'pg_class'::regclass)  WHERE c.relnamespace = n.oid  AND c.relname LIKE '%' AND (false  OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ) )  ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME

-- pgjdbc 42.5.5, getTables in public
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME,  CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'  WHEN true THEN CASE  WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TABLE'   WHEN 'v' THEN 'SYSTEM VIEW'   WHEN 'i' THEN 'SYSTEM INDEX'   ELSE NULL   END  WHEN n.nspname = 'pg_toast' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TOAST TABLE'   WHEN 'i' THEN 'SYSTEM TOAST INDEX'   ELSE NULL   END  ELSE CASE c.relkind   WHEN 'r' THEN 'TEMPORARY TABLE'   WHEN 'p' THEN 'TEMPORARY TABLE'   WHEN 'i' THEN 'TEMPORARY INDEX'   WHEN 'S' THEN 'TEMPORARY SEQUENCE'   WHEN 'v' THEN 'TEMPORARY VIEW'   ELSE NULL   END  END  WHEN false THEN CASE c.relkind  WHEN 'r' THEN 'TABLE'  WHEN 'p' THEN 'PARTITIONED TABLE'  WHEN 'i' THEN 'INDEX'  WHEN 'P' then 'PARTITIONED INDEX'  WHEN 'S' THEN 'SEQUENCE'  WHEN 'v' THEN 'VIEW'  WHEN 'c' THEN 'TYPE'  WHEN 'f' THEN 'FOREIGN TABLE'  WHEN 'm' THEN 'MATERIALIZED VIEW'  ELSE NULL  END  ELSE NULL  END  AS TABLE_TYPE, d.description AS REMARKS,  '' as TYPE_CAT, '' as TYPE_SCHEM, '' as TYPE_NAME, '' AS SELF_REFERENCING_COL_NAME, '' AS REF_GENERATION  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0  and d.classoid = 'pg_class'::regclass)  WHERE c.relnamespace = n.oid  AND n.nspname LIKE 'public' AND c.relname LIKE 'x' ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME

-- pgjdbc 42.5.5, getSchemas
SELECT nspname AS TABLE_SCHEM, NULL AS TABLE_CATALOG FROM pg_catalog.pg_namespace  WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_'  OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_'  OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_'))  ORDER BY TABLE_SCHEM

-- pgjdbc 42.5.5, getImportedKeys in all schemas
SELECT NULL::text AS PKTABLE_CAT, pkn.nspname AS PKTABLE_SCHEM, pkc.relname AS PKTABLE_NAME, pka.attname AS PKCOLUMN_NAME, NULL::text AS FKTABLE_CAT, fkn.nspname AS FKTABLE_SCHEM, fkc.relname AS FKTABLE_NAME, fka.attname AS FKCOLUMN_NAME, pos.n AS KEY_SEQ, CASE con.confupdtype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS UPDATE_RULE, CASE con.confdeltype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS DELETE_RULE, con.conname AS FK_NAME, pkic.relname AS PK_NAME, CASE  WHEN con.condeferrable AND con.condeferred THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS DEFERRABILITY  FROM  pg_catalog.pg_namespace pkn, pg_catalog.pg_class pkc, pg_catalog.pg_attribute pka,  pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute fka,  pg_catalog.pg_constraint con,  pg_catalog.generate_series(1, 32) pos(n),  pg_catalog.pg_class pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n] AND con.confrelid = pkc.oid  AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum = con.conkey[pos.n] AND con.conrelid = fkc.oid  AND con.contype = 'f' AND (pkic.relkind = 'i' OR pkic.relkind = 'I') AND pkic.oid = con.conindid  AND fkc.relname = 'x' ORDER BY pkn.nspname,pkc.relname, con.conname,pos.n

-- pgjdbc 42.5.5, getTablePrivileges in all schemas
-- columns
SELECT n.nspname,c.relname,r.rolname,c.relacl  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c, pg_catalog.pg_roles r  WHERE c.relnamespace = n.oid  AND c.relowner = r.oid  AND c.relkind IN ('r','p','v','m','f')  AND c.relname LIKE 'x' ORDER BY nspname, relname

-- Sequelize 6.37.8, showAllTables
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type LIKE '%TABLE' AND table_name != 'spatial_ref_sys';

-- postgres.js 3.4.9, on connecting
select b.oid, b.typarray
      from pg_catalog.pg_type a
      left join pg_catalog.pg_type b on b.oid = a.typelem
      where a.typcategory = 'A'
      group by b.oid, b.typarray
      order by b.oid

-- Sequelize 6.37.8, on connecting
WITH ranges AS (  SELECT pg_range.rngtypid, pg_type.typname AS rngtypname,         pg_type.typarray AS rngtyparray, pg_range.rngsubtype    FROM pg_range LEFT OUTER JOIN pg_type ON pg_type.oid = pg_range.rngtypid)SELECT pg_type.typname, pg_type.typtype, pg_type.oid, pg_type.typarray,       ranges.rngtypname, ranges.rngtypid, ranges.rngtyparray  FROM pg_type LEFT OUTER JOIN ranges ON pg_type.oid = ranges.rngsubtype WHERE (pg_type.typtype IN('b', 'e'));

-- psqlODBC 13.02, on connecting
select oid, typbasetype from pg_type where typname = 'lo'

-- psqlODBC 13.02, SQLTables with tables of the system
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and n.oid = relnamespace order by nspname, relname

-- psqlODBC 13.02, SQLColumns in public
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like 'x' and n.nspname like 'public') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum

-- psqlODBC 13.02, SQLTables (help of isql 2.3.11)
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname

-- ruby pg 1.4.5, BasicTypeRegistry
SELECT t.oid, t.typname, t.typelem, t.typdelim, ti.proname AS typinput
				FROM pg_type as t
				JOIN pg_proc as ti ON ti.oid = t.typinput

-- ActiveRecord 6.1.7.10, to decode results
SELECT t.oid, t.typname
FROM pg_type as t
WHERE t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'numeric', 'bool', 'timestamp', 'timestamptz')

-- ActiveRecord 6.1.7.10, type map
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
WHERE
  t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', 'bpchar', 'bool', 'bit', 'varbit', 'timestamptz', 'date', 'money', 'bytea', 'point', 'hstore', 'json', 'jsonb', 'cidr', 'inet', 'uuid', 'xml', 'tsvector', 'macaddr', 'citext', 'ltree', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'time', 'timestamp', 'numeric', 'interval')
  OR t.typtype IN ('r', 'e', 'd')
  OR t.typinput = 'array_in(cstring,oid,integer)'::regprocedure
  OR t.typelem != 0

-- ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: by name
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
WHERE
  t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', 'bpchar', 'bool', 'bit', 'varbit', 'date', 'money', 'bytea', 'point', 'hstore', 'json', 'jsonb', 'cidr', 'inet', 'uuid', 'xml', 'tsvector', 'macaddr', 'citext', 'ltree', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'time', 'timestamp', 'timestamptz', 'numeric', 'interval')

-- ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: by kind
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
WHERE
  t.typtype IN ('r', 'e', 'd')

-- ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: arrays of the types found
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
WHERE
  t.typelem IN (16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 142, 600, 601, 602, 603, 604, 628, 700, 701, 718, 790, 829, 869, 650, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1560, 1562, 1700, 2950, 3614, 3802, 3904, 3906, 3908, 3910, 3912, 3926)

-- ActiveRecord 6.1.7.10, for a type that it does not know yet
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
WHERE t.oid IN (869, 4451)

-- ActiveRecord 6.1.7.10, lookup_cast_type
SELECT 'character varying(10)'::regtype::oid

-- ActiveRecord 6.1.7.10, encoding
-- columns
SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()

-- ActiveRecord 6.1.7.10, table_exists?, data_source_exists?
SELECT c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = 'locks' AND c.relkind IN ('r','p')

-- ActiveRecord 6.1.7.10, collation
-- columns
SELECT datcollate FROM pg_database WHERE datname = current_database()

-- ActiveRecord 6.1.7.10, ctype
-- columns
SELECT datctype FROM pg_database WHERE datname = current_database()

-- ActiveRecord 6.1.7.10, schema_names
SELECT nspname
  FROM pg_namespace
 WHERE nspname !~ '^pg_.*'
   AND nspname NOT IN ('information_schema')
 ORDER by nspname;

-- ActiveRecord 6.1.7.10, extensions
SELECT extname FROM pg_extension

-- ActiveRecord 6.1.7.10, indexes
SELECT distinct i.relname, d.indisunique, d.indkey, pg_get_indexdef(d.indexrelid), t.oid,
                pg_catalog.obj_description(i.oid, 'pg_class') AS comment
FROM pg_class t
INNER JOIN pg_index d ON t.oid = d.indrelid
INNER JOIN pg_class i ON d.indexrelid = i.oid
LEFT JOIN pg_namespace n ON n.oid = i.relnamespace
WHERE i.relkind IN ('i', 'I')
  AND d.indisprimary = 'f'
  AND t.relname = 'x'
  AND n.nspname = ANY (current_schemas(false))
ORDER BY i.relname

-- ActiveRecord 6.1.7.10, foreign_keys
SELECT t2.oid::regclass::text AS to_table, a1.attname AS column, a2.attname AS primary_key, c.conname AS name, c.confupdtype AS on_update, c.confdeltype AS on_delete, c.convalidated AS valid
FROM pg_constraint c
JOIN pg_class t1 ON c.conrelid = t1.oid
JOIN pg_class t2 ON c.confrelid = t2.oid
JOIN pg_attribute a1 ON a1.attnum = c.conkey[1] AND a1.attrelid = t1.oid
JOIN pg_attribute a2 ON a2.attnum = c.confkey[1] AND a2.attrelid = t2.oid
JOIN pg_namespace t3 ON c.connamespace = t3.oid
WHERE c.contype = 'f'
  AND t1.relname = 'x'
  AND t3.nspname = ANY (current_schemas(false))
ORDER BY c.conname

-- ActiveRecord 6.1.7.10, tables, data_sources
SELECT c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')

-- Sequel 5.63.0, tables
SELECT "relname" FROM "pg_class" INNER JOIN "pg_namespace" ON ("pg_namespace"."oid" = "pg_class"."relnamespace") WHERE (("relkind" IN ('r', 'p')) AND ("pg_namespace"."nspname" = any(current_schemas(false))))

-- PHP 8.2.36, pg_field_type
select oid,typname from pg_type

-- PHP 8.2.36, pg_meta_data, which pg_insert and others call
SELECT a.attname, a.attnum, t.typname, a.attlen, a.attnotnull, a.atthasdef, a.attndims, t.typtype FROM pg_class as c  JOIN pg_attribute a ON (a.attrelid = c.oid)  JOIN pg_type t ON (a.atttypid = t.oid)  JOIN pg_namespace n ON (c.relnamespace = n.oid) WHERE a.attnum > 0 AND c.relname = 'x' AND n.nspname = 'public' ORDER BY a.attnum;

-- PHP 8.2.36, PDO getColumnMeta
SELECT TYPNAME FROM PG_TYPE WHERE OID=3802

-- PHP 8.2.36, PDO getColumnMeta and pg_field_table
SELECT RELNAME FROM PG_CLASS WHERE OID=1247

-- pgx 5.13.0, LoadType
select $1::text::regtype::oid;

-- pgx 5.13.0, LoadType, QueryExecModeSimpleProtocol
select  'jsonb' ::text::regtype::oid;

-- DBD::Pg 3.16.0, data_sources
-- columns
SELECT pg_catalog.quote_ident(datname) FROM pg_catalog.pg_database ORDER BY 1

-- DBD::Pg 3.16.0, get_info: SQL_DATA_SOURCE_READ_ONLY
-- columns
SELECT CASE WHEN setting = 'on' THEN 'Y' ELSE 'N' END FROM pg_settings WHERE name = 'transaction_read_only'

-- DBD::Pg 3.16.0, column_info
SELECT
                pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                , pg_catalog.quote_ident(a.attname) AS "COLUMN_NAME"
                , a.atttypid AS "DATA_TYPE"
                , pg_catalog.format_type(a.atttypid, NULL) AS "TYPE_NAME"
                , a.attlen AS "COLUMN_SIZE"
                , NULL::text AS "BUFFER_LENGTH"
                , NULL::text AS "DECIMAL_DIGITS"
                , NULL::text AS "NUM_PREC_RADIX"
                , CASE a.attnotnull WHEN 't' THEN 0 ELSE 1 END AS "NULLABLE"
                , pg_catalog.col_description(a.attrelid, a.attnum) AS "REMARKS"
                , pg_catalog.pg_get_expr(af.adbin, af.adrelid) AS "COLUMN_DEF"
                , NULL::text AS "SQL_DATA_TYPE"
                , NULL::text AS "SQL_DATETIME_SUB"
                , NULL::text AS "CHAR_OCTET_LENGTH"
                , a.attnum AS "ORDINAL_POSITION"
                , CASE a.attnotnull WHEN 't' THEN 'NO' ELSE 'YES' END AS "IS_NULLABLE"
                , pg_catalog.format_type(a.atttypid, a.atttypmod) AS "pg_type"
                , '?' AS "pg_constraint"
                , n.nspname AS "pg_schema"
                , c.relname AS "pg_table"
                , a.attname AS "pg_column"
                , a.attrelid AS "pg_attrelid"
                , a.attnum AS "pg_attnum"
                , a.atttypmod AS "pg_atttypmod"
                , t.typtype AS "_pg_type_typtype"
                , t.oid AS "_pg_type_oid"
            FROM
                pg_catalog.pg_type t
                JOIN pg_catalog.pg_attribute a ON (t.oid = a.atttypid)
                JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
                LEFT JOIN pg_catalog.pg_attrdef af ON (a.attnum = af.adnum AND a.attrelid = af.adrelid)
                JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
            WHERE
                a.attnum >= 0
                AND c.relkind IN ('r','p','v','m','f')
                
				AND n.nspname = 'public'
				AND c.relname = 'x'
				AND a.attname LIKE '%'
            ORDER BY "TABLE_SCHEM", "TABLE_NAME", "ORDINAL_POSITION"

-- DBD::Pg 3.16.0, primary_key_info
SELECT
                  c.oid
                , pg_catalog.quote_ident(n.nspname)
                , pg_catalog.quote_ident(c.relname)
                , pg_catalog.quote_ident(c2.relname)
                , i.indkey
                , pg_catalog.quote_ident(t.spcname)
                , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid))
                , n.nspname, c.relname, c2.relname
                , pg_catalog.quote_ident(pg_catalog.current_database())
            FROM
                pg_catalog.pg_class c
                JOIN pg_catalog.pg_index i ON (i.indrelid = c.oid)
                JOIN pg_catalog.pg_class c2 ON (c2.oid = i.indexrelid)
                LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
            WHERE
                i.indisprimary IS TRUE
            AND c.relname = 'x'
			AND n.nspname = 'public'

-- DBD::Pg 3.16.0, table_info: the schemas
SELECT
                       NULL::text AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , NULL::text AS "TABLE_NAME"
                     , NULL::text AS "TABLE_TYPE"
                     , CASE WHEN n.nspname ~ '^pg_' THEN 'system schema' ELSE 'owned by ' || pg_catalog.pg_get_userbyid(n.nspowner) END AS "REMARKS" ,n.nspname AS pg_schema, NULL::text AS pg_table
                    FROM pg_catalog.pg_namespace n
                    ORDER BY "TABLE_SCHEM"

-- DBD::Pg 3.16.0, table_info: the types of tables
SELECT "TABLE_CAT"
                         , "TABLE_SCHEM"
                         , "TABLE_NAME"
                         , "TABLE_TYPE"
                         , "REMARKS"
                    FROM
                      (SELECT NULL::text AS "TABLE_CAT"
                            , NULL::text AS "TABLE_SCHEM"
                            , NULL::text AS "TABLE_NAME") dummy_cols
                    CROSS JOIN
                      (SELECT 'TABLE'        AS "TABLE_TYPE"
                            , 'relkind ~ r|p'   AS "REMARKS"
                       UNION
                       SELECT 'SYSTEM TABLE'
                            , 'relkind ~ r|p; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'VIEW'
                            , 'relkind: v'
                       UNION
                       SELECT 'SYSTEM VIEW'
                            , 'relkind: v; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'MATERIALIZED VIEW'
                            , 'relkind: m'
                       UNION
                       SELECT 'SYSTEM MATERIALIZED VIEW'
                            , 'relkind: m; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'FOREIGN TABLE'
                            , 'relkind: f'
                       UNION
                       SELECT 'SYSTEM FOREIGN TABLE'
                            , 'relkind: f; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'LOCAL TEMPORARY'
                            , 'relkind ~ r|p; nspname ~ ^pg_(toast_)?temp') type_info
                     ORDER BY "TABLE_TYPE" ASC

-- all columns of a catalogue
SELECT * FROM pg_namespace

-- all columns of two
SELECT n.*, t.typname FROM pg_type t JOIN pg_namespace n ON t.typnamespace = n.oid WHERE t.typname LIKE 'bool%'

-- types by their OIDs
SELECT oid, typname, typarray, typelem, typbasetype, typrelid, typinput, typreceive, typcategory, typtypmod FROM pg_type WHERE oid = ANY($1)

-- types by their names
SELECT oid, typname FROM pg_type WHERE typname IN ($1, $2, 'bool') ORDER BY typname DESC

-- a catalogue that is a view
SELECT * FROM pg_tables WHERE schemaname = 'pg_catalog' AND tablename ~ '^pg_t'

-- the columns of pg_type
SELECT a.attname, a.attnum, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'pg_type'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum

-- schemas of the information schema
SELECT schema_name, schema_owner FROM information_schema.schemata ORDER BY 1

-- tables of the information schema
SELECT table_schema, table_name, table_type, is_typed FROM information_schema.tables ORDER BY 1, 2

-- casts
SELECT 25::regtype, 'text'::regtype, 'int4'::regtype::oid, 'pg_class'::regclass, 1259::regclass, 'pg_class'::regclass::oid, 11::regnamespace, 'public'::regnamespace::oid, 10::regrole, 'array_in'::regproc, 750::regproc, 'array_in(cstring,oid,integer)'::regprocedure

-- casts of what is not there
SELECT 999999::regtype, 999998::regclass, '-'::regtype, 0::regclass::oid, 99999::regproc

-- a type that does not exist
SELECT 'nothing'::regtype

-- a relation that does not exist
SELECT 'nothing'::regclass

-- a schema that does not exist
SELECT 'nothing.table'::regclass

-- not a number
SELECT oid FROM pg_type WHERE oid = 'x'

-- regtype of a parameter
SELECT $1::regtype, $1::regtype::oid
--= integer
--= pg_catalog.jsonb
--= timestamp(3) with time zone
--= character varying(10)
--= int [3] [3]
--= "char"
--= nothing
--= a b
--= int8[
--= pg_%
--= NULL
--= 25

-- to_regtype
SELECT to_regtype($1)
--= integer[]
--= nothing

-- the search path
SELECT * FROM unnest(current_schemas(true)) AS s

-- the search path, in the SELECT list
SELECT unnest(current_schemas(false)) AS schema, current_schema, current_schema(), (current_schemas(true))[1], current_schemas(true)

-- counts
SELECT count(*), count(typnotnull), min(oid), max(typlen), bool_or(typnotnull), bool_and(typisdefined) FROM pg_type WHERE typnamespace = 11 AND oid < 12000

-- groups
SELECT typtype, count(*) FROM pg_type WHERE oid < 12000 GROUP BY typtype HAVING count(*) > 1 ORDER BY count(*) DESC, 1

-- groups by place
SELECT relkind, count(*) AS n FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace GROUP BY 1 ORDER BY 1

-- arrays of rows
SELECT n.nspname, ARRAY(SELECT typname FROM pg_type t WHERE t.typnamespace = n.oid AND t.typtype = 'd' ORDER BY typname) FROM pg_namespace n ORDER BY 1

-- an aggregate in order
SELECT array_agg(typname ORDER BY oid DESC), string_agg(typname, ',' ORDER BY typname) FROM pg_type WHERE oid < 30

-- outer joins
SELECT t.typname, r.rngsubtype::regtype, m.typname FROM pg_type t LEFT JOIN pg_range r ON r.rngtypid = t.oid LEFT JOIN pg_type m ON m.oid = r.rngmultitypid WHERE t.typtype IN ('r', 'm') OR t.oid < 20 ORDER BY t.oid

-- NULL in order
SELECT t.oid, r.rngsubtype FROM pg_type t LEFT JOIN pg_range r ON r.rngtypid = t.oid WHERE t.typname LIKE '%range' ORDER BY r.rngsubtype DESC NULLS LAST, t.oid LIMIT 5 OFFSET 1

-- UNION
SELECT nspname FROM pg_namespace UNION SELECT typname FROM pg_type WHERE oid < 20 ORDER BY 1

-- UNION ALL with LIMIT
SELECT oid::int8 FROM pg_type WHERE oid = 16 UNION ALL SELECT oid::int8 FROM pg_type WHERE oid = 17 ORDER BY 1 DESC LIMIT 1

-- WITH
WITH t AS (SELECT oid, typname FROM pg_type WHERE typtype = 'r') SELECT a.typname, b.typname FROM t a JOIN t b ON a.oid < b.oid WHERE a.typname ~ '^int' ORDER BY 1, 2

-- CASE, COALESCE and NULLIF
SELECT CASE typlen WHEN -1 THEN 'variable' WHEN 1 THEN 'byte' ELSE typlen::text END, CASE WHEN typlen > 0 THEN typlen END, coalesce(typdefault, typname), nullif(typtype, 'b'), nullif(typname, 'bool') FROM pg_type WHERE oid < 30 ORDER BY oid

-- three values
SELECT typname, typdefault = 'x', NOT (typdefault = 'x'), typdefault = 'x' OR true, typdefault IS NULL, typdefault IS DISTINCT FROM 'x', (typdefault = 'x') IS UNKNOWN FROM pg_type WHERE oid IN (16, 17)

-- IN a query
SELECT relname FROM pg_class WHERE oid IN (SELECT typrelid FROM pg_type WHERE typname ~ '^pg_[a-c]') AND relkind <> ALL ('{v,i}') ORDER BY relname

-- patterns
SELECT typname FROM pg_type WHERE typname LIKE 'int_' OR typname NOT LIKE '%e%' AND typname ILIKE 'B%' OR typname SIMILAR TO '(xm|js)_*%' OR typname ~* '^OID' ORDER BY 1

-- parameters of many types
SELECT $1::int, $2::text, $3::name, $4::bool, $5::oid, $6::text[], $7::"char", $8::varchar(3), $9::int2

-- a function's arguments and result
SELECT p.oid::regprocedure, p.oid::regproc, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), pg_get_function_identity_arguments(p.oid) FROM pg_proc p WHERE proname ~ '^(pg_ter|array_|unnest|format|concat|json_each|count|generate_series|pg_stat_get_wal|pg_partition_tree)' ORDER BY p.oid

-- the functions, in schema public
SELECT p.proname, p.proretset, p.prorettype, p.proargtypes, p.proallargtypes, p.proargmodes, p.proargnames, p.pronargs, p.provolatile, p.prokind, p.prorettype::regtype FROM pg_proc p WHERE p.pronamespace = 2200 ORDER BY 1

-- the product's functions as they are declared, default values too
SELECT p.proname, p.pronargdefaults, p.proargdefaults IS NULL, pg_get_function_arguments(p.oid), pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid) FROM pg_proc p WHERE p.pronamespace = 2200 ORDER BY 1

-- psql 15.18, \df raisin*
SELECT n.nspname as "Schema", p.proname as "Name", pg_catalog.pg_get_function_result(p.oid) as "Result data type", pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types",
 CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type"
FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname OPERATOR(pg_catalog.~) '^(raisin.*)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid)
ORDER BY 1, 2, 4;

-- comments
SELECT p.proname, obj_description(p.oid, 'pg_proc'), obj_description(16, 'pg_type'), col_description(1259, 1), d.description FROM pg_proc p LEFT JOIN pg_description d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass WHERE p.proname IN ('raisin_lock_acquire', 'lower') ORDER BY 1, 2, 5

-- visible or not
SELECT c.relname, pg_table_is_visible(c.oid), pg_type_is_visible(c.reltype), c.oid::regclass::text FROM pg_class c WHERE c.relname IN ('pg_class', 'tables', 'pg_toast_1255') ORDER BY 1

-- roles
SELECT rolname, rolsuper, rolcanlogin, oid FROM pg_roles WHERE rolname = current_user OR oid = 3373 ORDER BY 1

-- users
SELECT usename, usesuper, usesysid, valuntil FROM pg_user WHERE usename = 'postgres'

-- a database
SELECT datname, datistemplate, pg_encoding_to_char(encoding), datlocprovider, datallowconn, oid FROM pg_database WHERE datname IN ('template0', 'template1', 'postgres') ORDER BY 1

-- EXISTS
SELECT EXISTS (SELECT FROM pg_type WHERE typname = $1), EXISTS (SELECT 1 FROM pg_enum), NOT EXISTS (SELECT 1 FROM pg_class WHERE relname = $1)

-- VALUES
SELECT name, format_type(tp, tpm) FROM (VALUES ('a', 1043::oid, 14), ('b', 1700, 655366), ('c', 0, -1), ('d', 1042, -1), ('e', 1186, -1)) s(name, tp, tpm) ORDER BY name

-- generate_series beside a catalogue
SELECT i, t.typname FROM generate_series(1, 3) i, pg_type t WHERE t.oid = i + 15 ORDER BY i

-- a set for each row
SELECT t.relname, k FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid, unnest(i.indkey) k WHERE t.relname = 'pg_depend' ORDER BY i.indexrelid, k

-- subscripts
SELECT indkey[0], indkey[1], array_length(indkey, 1), array_upper(indkey, 1), cardinality(conkey), conkey[1] FROM pg_index JOIN pg_constraint ON conindid = indexrelid WHERE indrelid = 'pg_attribute'::regclass ORDER BY indexrelid

-- privileges of the catalogue
SELECT relname, array_to_string(relacl, E'\n'), has_table_privilege(oid, 'SELECT') FROM pg_class WHERE relname IN ('pg_authid', 'pg_class') ORDER BY 1

-- pg_typeof
SELECT pg_typeof(oid), pg_typeof(typname), pg_typeof(typlen + 1), pg_typeof(1), pg_typeof(ARRAY['a'])::text FROM pg_type WHERE oid = 16

-- a grouped query whose SELECT list is not grouped by
-- refused
SELECT typname, count(*) FROM pg_type GROUP BY typtype

-- a table that is not there
-- refused
SELECT * FROM nothing

-- a column that is not there
-- refused
SELECT nothing FROM pg_type

-- statistics
-- refused
SELECT * FROM pg_stat_activity

-- a regular expression of PostgreSQL's own
-- refused
SELECT 1 FROM pg_type WHERE typname ~ '\yint4\y'

-- too much work
-- refused
SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c

-- a cast that there is not
-- refused
SELECT typname::int4range FROM pg_type

-- a window
-- refused
SELECT row_number() OVER () FROM pg_type

-- knex 3.3.0, hasTable
select * from information_schema.tables where table_name = $1 and table_schema = current_schema()

-- TypeORM 1.1.1, before migrations
SELECT * FROM "information_schema"."tables" WHERE "table_schema" = $1 AND "table_name" = $2

-- DBD::Pg 3.16.0, table_info
SELECT pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                     , CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' THEN
                                 'LOCAL TEMPORARY'
                            WHEN c.relkind ~ 'r|p' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM TABLE'
                                      ELSE 'TABLE'
                                  END
                            WHEN c.relkind = 'v' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM VIEW'
                                      ELSE 'VIEW'
                                  END
                            WHEN c.relkind = 'm' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM MATERIALIZED VIEW'
                                      ELSE 'MATERIALIZED VIEW'
                                  END
                            WHEN c.relkind = 'f' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM FOREIGN TABLE'
                                      ELSE 'FOREIGN TABLE'
                                  END
                            ELSE 'UNKNOWN'
                         END AS "TABLE_TYPE"
                     , d.description AS "REMARKS"
                     , pg_catalog.quote_ident(t.spcname) AS "pg_tablespace_name"
                     , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid)) AS "pg_tablespace_location" ,n.nspname AS pg_schema, c.relname AS pg_table
                  FROM pg_catalog.pg_class AS c
                  LEFT JOIN pg_catalog.pg_description AS d
                       ON (c.oid = d.objoid AND c.tableoid = d.classoid AND d.objsubid = 0)
                  LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                  LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
					 AND NOT (pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' AND NOT pg_catalog.has_schema_privilege(n.nspname, 'USAGE'))
					 AND n.nspname = 'public'
					 AND c.relname = 'x'
                 ORDER BY "TABLE_TYPE", "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"

-- DBD::Pg 3.16.0, tables
SELECT * FROM (
                SELECT pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                     , CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' THEN
                                 'LOCAL TEMPORARY'
                            WHEN c.relkind ~ 'r|p' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM TABLE'
                                      ELSE 'TABLE'
                                  END
                            WHEN c.relkind = 'v' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM VIEW'
                                      ELSE 'VIEW'
                                  END
                            WHEN c.relkind = 'm' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM MATERIALIZED VIEW'
                                      ELSE 'MATERIALIZED VIEW'
                                  END
                            WHEN c.relkind = 'f' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM FOREIGN TABLE'
                                      ELSE 'FOREIGN TABLE'
                                  END
                            ELSE 'UNKNOWN'
                         END AS "TABLE_TYPE"
                     , d.description AS "REMARKS"
                     , pg_catalog.quote_ident(t.spcname) AS "pg_tablespace_name"
                     , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid)) AS "pg_tablespace_location" ,n.nspname AS pg_schema, c.relname AS pg_table
                  FROM pg_catalog.pg_class AS c
                  LEFT JOIN pg_catalog.pg_description AS d
                       ON (c.oid = d.objoid AND c.tableoid = d.classoid AND d.objsubid = 0)
                  LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                  LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
					 AND NOT (pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' AND NOT pg_catalog.has_schema_privilege(n.nspname, 'USAGE'))
					 AND n.nspname = 'public'
					 AND c.relname LIKE '%'
                 ORDER BY "TABLE_TYPE", "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"
                ) ti WHERE "TABLE_TYPE" IN ('TABLE')

-- pgjdbc 42.5.5, getSQLKeywords
select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,end-exec,"null",zone}'::text[])

-- psycopg2 2.9.5, closing a named cursor that was never executed
SELECT 1 FROM pg_catalog.pg_cursors where name = 'named'

-- all tables of the information schema
-- columns
SELECT * FROM information_schema.tables

-- what can be written of the information schema
SELECT table_schema, table_name, is_insertable_into FROM information_schema.tables ORDER BY 1, 2

-- privileges by name
SELECT has_table_privilege('pg_class', 'select'), has_table_privilege(quote_ident($1), 'select')
--= pg_authid

-- a WITH query that nobody reads, with an error
-- refused
WITH a AS (SELECT nothing FROM pg_type) SELECT 1

-- WITH queries that double the work each time
-- refused
WITH a AS (SELECT 1 AS n), b AS (SELECT x.n FROM a x, a y), c AS (SELECT x.n FROM b x, b y), d AS (SELECT x.n FROM c x, c y), e AS (SELECT x.n FROM d x, d y), f AS (SELECT x.n FROM e x, e y), g AS (SELECT x.n FROM f x, f y), h AS (SELECT x.n FROM g x, g y), i AS (SELECT x.n FROM h x, h y) SELECT count(*) FROM i

