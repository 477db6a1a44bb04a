-- Stand-ins with the signatures of the functions of our server, which want no NULL as those
-- do, and types of every kind.
CREATE FUNCTION given(anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN
  IF $1 IS NULL THEN RAISE null_value_not_allowed; END IF;
  RETURN $1;
END $$;
CREATE FUNCTION raisin_lock_acquire(key text, ttl_ms bigint, wait_ms bigint DEFAULT 0)
RETURNS TABLE (acquired boolean, key text, token bigint, expires_at_ms bigint) LANGUAGE sql
AS $$ SELECT given($3) IS NOT NULL, given($1), given($2), 1788720658677 $$;
CREATE FUNCTION raisin_lock_release(key text, token bigint) RETURNS boolean LANGUAGE sql
AS $$ SELECT given($1) || given($2) <> '' $$;
CREATE FUNCTION raisin_lock_renew(key text, token bigint, ttl_ms bigint) RETURNS boolean LANGUAGE sql
AS $$ SELECT given($1) || given($2) || given($3) <> '' $$;
CREATE FUNCTION raisin_inventory_claim(pool text, n bigint, capacity bigint)
RETURNS TABLE (claimed boolean, remaining bigint) LANGUAGE sql
AS $$ SELECT given($1) IS NOT NULL, given($3) - given($2) $$;
CREATE FUNCTION raisin_inventory_release(pool text, n bigint) RETURNS bigint LANGUAGE sql
AS $$ SELECT given($2) * length(given($1)) $$;

CREATE FUNCTION raisin_lock_acquire_first(keys text[], ttl_ms bigint)
RETURNS TABLE (acquired boolean, key text, token bigint, expires_at_ms bigint) LANGUAGE sql
AS $$ SELECT true, (given($1))[1], given($2), 1788720658677 $$;
CREATE FUNCTION raisin_lock_get(key text)
RETURNS TABLE (held boolean, key text, holder text, token bigint, acquired_at timestamptz, expires_at timestamptz, waiters bigint, kind text) LANGUAGE sql
AS $$ SELECT true, given($1), 'alice', 1, now(), now(), 0::bigint, 'lease' $$;
CREATE FUNCTION raisin_inventory_get(pool text)
RETURNS TABLE (found boolean, pool text, capacity bigint, remaining bigint, reserved bigint) LANGUAGE sql
AS $$ SELECT true, given($1), 10::bigint, 7::bigint, 0::bigint $$;
CREATE FUNCTION raisin_admin_lock_release(key text)
RETURNS TABLE (released boolean, key text, holder text, token bigint) LANGUAGE sql
AS $$ SELECT true, given($1), 'alice', 1 $$;
CREATE FUNCTION raisin_admin_inventory_set(pool text, capacity bigint, remaining bigint)
RETURNS TABLE (pool text, capacity bigint, remaining bigint) LANGUAGE sql
AS $$ SELECT given($1), given($2), given($3) $$;
CREATE FUNCTION raisin_admin_inventory_drop(pool text) RETURNS boolean LANGUAGE sql
AS $$ SELECT given($1) <> '' $$;
CREATE FUNCTION raisin_locks(prefix text DEFAULT '', max_rows bigint DEFAULT 10000)
RETURNS TABLE (key text, holder text, token bigint, acquired_at timestamptz, expires_at timestamptz, waiters bigint, kind text) LANGUAGE sql
AS $$ SELECT given($1), 'alice', given($2), now(), now(), 0::bigint, 'lease' $$;
CREATE FUNCTION raisin_inventory_pools(prefix text DEFAULT '', max_rows bigint DEFAULT 10000)
RETURNS TABLE (pool text, capacity bigint, remaining bigint, reserved bigint) LANGUAGE sql
AS $$ SELECT given($1), given($2), 7::bigint, 0::bigint $$;

CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE DOMAIN app.of_text AS text;
CREATE DOMAIN of_varchar AS varchar(5);
CREATE DOMAIN of_bpchar AS character(3);
CREATE DOMAIN of_char AS "char";
CREATE DOMAIN of_name AS name;
CREATE DOMAIN of_int2 AS int2;
CREATE DOMAIN of_int4 AS int4;
CREATE DOMAIN of_int8 AS int8 CHECK (VALUE > 0);
CREATE DOMAIN of_oid AS oid;
CREATE DOMAIN of_numeric AS numeric;
CREATE DOMAIN of_domain AS of_varchar CHECK (VALUE <> 'x');
CREATE DOMAIN of_array AS text[];
CREATE TYPE mood AS ENUM ('1', 'sad');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE span AS RANGE (SUBTYPE = int8);
CREATE TABLE jobs (id int);
-- As citext: a type of its own that turns into text by itself.
CREATE TYPE ci;
CREATE FUNCTION ciin(cstring) RETURNS ci LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION ciout(ci) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE ci (INPUT = ciin, OUTPUT = ciout, LIKE = text, CATEGORY = 'S');
CREATE CAST (ci AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE DOMAIN of_ci AS ci;
-- Implicit casts of a user's own, and one that is only for assignment.
CREATE FUNCTION rank(mood) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 7::bigint $$;
CREATE CAST (mood AS bigint) WITH FUNCTION rank(mood) AS IMPLICIT;
CREATE FUNCTION words(pair) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT ($1).b $$;
CREATE CAST (pair AS text) WITH FUNCTION words(pair) AS ASSIGNMENT;
