-- Makes pg_cast.tsv on a fresh PostgreSQL 15: psql -f pg_cast.sql > ../pg_cast.tsv
COPY (
    SELECT castsource::oid, casttarget::oid, castcontext, castsource::regtype::text, casttarget::regtype::text
    FROM pg_cast
    WHERE castcontext <> 'e' AND castsource < 12000 AND casttarget < 12000
    ORDER BY 1, 2
) TO STDOUT
