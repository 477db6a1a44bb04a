-- Stand-ins with the signatures of the functions of our server, so that a real
-- PostgreSQL describes calls of them and refuses wrong ones as ours has to.
-- What they return means nothing. SQL, not PL/pgSQL: there an argument and a
-- result column cannot share the name "key".
CREATE OR REPLACE FUNCTION raisin_lock_acquire(key text, ttl_ms bigint)
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
