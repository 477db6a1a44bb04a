-- Stand-ins with the signatures of the functions of our server, so that a real
-- PostgreSQL describes calls of them and refuses wrong ones as ours has to.
-- What they return means nothing. SQL, not PL/pgSQL: there an argument and a
-- result column cannot share the name "key".
DROP FUNCTION IF EXISTS raisin_lock_acquire(text, bigint); -- of before
CREATE OR REPLACE FUNCTION raisin_lock_acquire(key text, ttl_ms bigint, wait_ms bigint DEFAULT 0)
RETURNS TABLE (acquired boolean, key text, token bigint, expires_at_ms bigint) LANGUAGE sql
AS $$ SELECT true, $1, 1795967949651973, 1788720658677 $$;

CREATE OR REPLACE FUNCTION raisin_lock_release(key text, token bigint)
RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;

CREATE OR REPLACE FUNCTION raisin_lock_renew(key text, token bigint, ttl_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;

CREATE OR REPLACE FUNCTION raisin_inventory_claim(pool text, n bigint, capacity bigint)
RETURNS TABLE (claimed boolean, remaining bigint) LANGUAGE sql
AS $$ SELECT true, $3 - $2 $$;

CREATE OR REPLACE FUNCTION raisin_inventory_release(pool text, n bigint)
RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN n; END $$;

CREATE OR REPLACE FUNCTION raisin_lock_acquire_first(keys text[], ttl_ms bigint)
RETURNS TABLE (acquired boolean, key text, token bigint, expires_at_ms bigint) LANGUAGE sql
AS $$ SELECT true, $1[1], 1795967949651973, 1788720658677 $$;

CREATE OR REPLACE FUNCTION raisin_lock_get(key text)
RETURNS TABLE (held boolean, key text, holder text, token bigint, acquired_at timestamptz, expires_at timestamptz, waiters bigint, kind text) LANGUAGE sql
AS $$ SELECT true, $1, 'alice', 1795967949651973, '2026-11-30 12:00:00+00'::timestamptz, '2026-11-30 12:05:00.5+00'::timestamptz, 0::bigint, 'lease' $$;

CREATE OR REPLACE FUNCTION raisin_inventory_get(pool text)
RETURNS TABLE (found boolean, pool text, capacity bigint, remaining bigint, reserved bigint) LANGUAGE sql
AS $$ SELECT true, $1, 10::bigint, 7::bigint, 0::bigint $$;

CREATE OR REPLACE FUNCTION raisin_admin_lock_release(key text)
RETURNS TABLE (released boolean, key text, holder text, token bigint) LANGUAGE sql
AS $$ SELECT true, $1, 'alice', 1795967949651973 $$;

CREATE OR REPLACE FUNCTION raisin_admin_inventory_set(pool text, capacity bigint, remaining bigint)
RETURNS TABLE (pool text, capacity bigint, remaining bigint) LANGUAGE sql
AS $$ SELECT $1, $2, $3 $$;

CREATE OR REPLACE FUNCTION raisin_admin_inventory_drop(pool text)
RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
