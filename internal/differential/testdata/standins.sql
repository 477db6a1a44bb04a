-- Stand-ins that do what the functions of the proxy do, and say so in a notice. A call in
-- FROM has columns and one in an expression is JSON, which one function of PostgreSQL
-- cannot be: so there are three schemas, and the test chooses by the place.
--
-- State is kept in temporary sequences, one for each pool and key, which the session has
-- made: ROLLBACK does not undo what was set there, and a read-only transaction may.
-- is_called = false: there is no such pool or lock. A lock of value 0 is free.
CREATE SCHEMA standin;
CREATE SCHEMA standin_one;  -- a row
CREATE SCHEMA standin_set;  -- a set of rows, of which the planner expects many
CREATE SCHEMA standin_json; -- JSON
CREATE TYPE standin.lease AS (acquired boolean, key text, token bigint, expires_at_ms bigint);
CREATE TYPE standin.units AS (claimed boolean, remaining bigint);

CREATE FUNCTION standin.check_text(name text, v text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	IF v IS NULL THEN RAISE 'argument "%" must not be null', name USING ERRCODE = '22004'; END IF;
	IF v = '' THEN RAISE 'argument "%" must not be empty', name USING ERRCODE = '22023'; END IF;
	IF octet_length(v) > 1024 THEN RAISE 'argument "%" is too long', name USING ERRCODE = '22001'; END IF;
END $$;
CREATE FUNCTION standin.check_number(name text, v bigint, lowest bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	IF v IS NULL THEN RAISE 'argument "%" must not be null', name USING ERRCODE = '22004'; END IF;
	IF v < lowest THEN RAISE 'argument "%" must be at least %', name, lowest USING ERRCODE = '22023'; END IF;
END $$;
CREATE FUNCTION standin.get(name text, OUT value bigint, OUT known boolean) LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('SELECT last_value, is_called FROM pg_temp.%I', name) INTO value, known;
EXCEPTION WHEN undefined_table THEN
	RAISE 'the test has no sequence for %', name USING ERRCODE = 'XX001';
END $$;
CREATE FUNCTION standin.put(name text, value bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	PERFORM setval(format('pg_temp.%I', name)::regclass, value, true);
END $$;

CREATE FUNCTION standin.claim(pool text, n bigint, capacity bigint) RETURNS standin.units LANGUAGE plpgsql AS $$
DECLARE now record; BEGIN
	PERFORM standin.check_text('pool', pool), standin.check_number('n', n, 1), standin.check_number('capacity', capacity, 0);
	RAISE NOTICE 'call: claim % % %', pool, n, capacity;
	now := standin.get('pool ' || pool);
	IF NOT now.known THEN now.value := capacity; END IF;
	IF now.value < n THEN
		PERFORM standin.put('pool ' || pool, now.value);
		RETURN ROW(false, now.value);
	END IF;
	PERFORM standin.put('pool ' || pool, now.value - n);
	RETURN ROW(true, now.value - n);
END $$;
CREATE FUNCTION standin.restock(pool text, n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE now record; BEGIN
	PERFORM standin.check_text('pool', pool), standin.check_number('n', n, 1);
	RAISE NOTICE 'call: restock % %', pool, n;
	now := standin.get('pool ' || pool);
	IF NOT now.known THEN RAISE 'pool "%" does not exist', pool USING ERRCODE = '42704'; END IF;
	PERFORM standin.put('pool ' || pool, now.value + n);
	RETURN now.value + n;
END $$;
CREATE FUNCTION standin.acquire(key text, ttl_ms bigint) RETURNS standin.lease LANGUAGE plpgsql AS $$
DECLARE now record; token bigint; BEGIN
	PERFORM standin.check_text('key', key), standin.check_number('ttl_ms', ttl_ms, 1);
	RAISE NOTICE 'call: acquire %', key;
	now := standin.get('lock ' || key);
	IF now.known AND now.value > 0 THEN RETURN ROW(false, key, NULL::bigint, NULL::bigint); END IF;
	token := nextval('pg_temp.tokens_given');
	PERFORM standin.put('lock ' || key, token);
	RETURN ROW(true, key, token, 1788720658677::bigint);
END $$;
CREATE FUNCTION standin.release(key text, token bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE now record; BEGIN
	PERFORM standin.check_text('key', key), standin.check_number('token', token, -9223372036854775808);
	RAISE NOTICE 'call: release % %', key, token;
	now := standin.get('lock ' || key);
	IF NOT now.known OR now.value <> token THEN RETURN false; END IF;
	PERFORM standin.put('lock ' || key, 0);
	RETURN true;
END $$;
CREATE FUNCTION standin.renew(key text, token bigint, ttl_ms bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE now record; BEGIN
	PERFORM standin.check_text('key', key), standin.check_number('token', token, -9223372036854775808), standin.check_number('ttl_ms', ttl_ms, 1);
	RAISE NOTICE 'call: renew % %', key, token;
	now := standin.get('lock ' || key);
	RETURN now.known AND now.value = token;
END $$;

CREATE FUNCTION standin_one.raisin_inventory_claim(pool text, n bigint, capacity bigint) RETURNS standin.units
LANGUAGE plpgsql AS $$ BEGIN RETURN standin.claim(pool, n, capacity); END $$;
CREATE FUNCTION standin_set.raisin_inventory_claim(pool text, n bigint, capacity bigint) RETURNS SETOF standin.units ROWS 1000
LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT standin.claim(pool, n, capacity); END $$;
CREATE FUNCTION standin_json.raisin_inventory_claim(pool text, n bigint, capacity bigint) RETURNS jsonb
LANGUAGE plpgsql AS $$ DECLARE r standin.units := standin.claim(pool, n, capacity); BEGIN
	IF NOT r.claimed THEN RETURN '{"claimed": false}'; END IF;
	RETURN jsonb_build_object('claimed', r.claimed, 'remaining', r.remaining);
END $$;
CREATE FUNCTION standin_one.raisin_lock_acquire(key text, ttl_ms bigint) RETURNS standin.lease
LANGUAGE plpgsql AS $$ BEGIN RETURN standin.acquire(key, ttl_ms); END $$;
CREATE FUNCTION standin_set.raisin_lock_acquire(key text, ttl_ms bigint) RETURNS SETOF standin.lease ROWS 1000
LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT standin.acquire(key, ttl_ms); END $$;
CREATE FUNCTION standin_json.raisin_lock_acquire(key text, ttl_ms bigint) RETURNS jsonb
LANGUAGE plpgsql AS $$ DECLARE r standin.lease := standin.acquire(key, ttl_ms); BEGIN
	IF NOT r.acquired THEN RETURN '{"acquired": false}'; END IF;
	RETURN jsonb_build_object('acquired', r.acquired, 'key', r.key, 'token', r.token, 'expires_at_ms', r.expires_at_ms);
END $$;
-- Those of one column are the same everywhere.
DO $$ DECLARE place text; BEGIN
	FOREACH place IN ARRAY '{standin_one,standin_set,standin_json}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION %I.raisin_inventory_release(pool text, n bigint) RETURNS bigint
			LANGUAGE plpgsql AS ''BEGIN RETURN standin.restock(pool, n); END''', place);
		EXECUTE format('CREATE FUNCTION %I.raisin_lock_release(key text, token bigint) RETURNS boolean
			LANGUAGE plpgsql AS ''BEGIN RETURN standin.release(key, token); END''', place);
		EXECUTE format('CREATE FUNCTION %I.raisin_lock_renew(key text, token bigint, ttl_ms bigint) RETURNS boolean
			LANGUAGE plpgsql AS ''BEGIN RETURN standin.renew(key, token, ttl_ms); END''', place);
	END LOOP;
END $$;
GRANT USAGE ON SCHEMA standin, standin_one, standin_set, standin_json TO PUBLIC;
