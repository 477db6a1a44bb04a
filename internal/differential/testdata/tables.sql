-- What the statements are about. Run by a superuser in each of the databases.
CREATE TABLE jobs(id int PRIMARY KEY, key text, state text, n bigint);
CREATE TABLE orders(idem text UNIQUE, pool text, remaining bigint, fence bigint);
CREATE TABLE seats(id text PRIMARY KEY, buyer text, fence bigint);
CREATE TABLE nothing(id int, key text);
-- Its columns are called as those of the calls are.
CREATE TABLE tokens(acquired boolean, key text, token bigint, expires_at_ms bigint, claimed boolean, remaining bigint);
CREATE TABLE later(k int UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE positive(n bigint CHECK (n > 100));
CREATE TABLE secret(id int);
CREATE TABLE owned(id int, owner text);
CREATE TABLE read_only_rows(id int);
CREATE TABLE parted(id int, v bigint) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);
ALTER TABLE jobs OWNER TO alice;
ALTER TABLE orders OWNER TO alice;
ALTER TABLE seats OWNER TO alice;
ALTER TABLE nothing OWNER TO alice;
ALTER TABLE tokens OWNER TO alice;
ALTER TABLE later OWNER TO alice;
ALTER TABLE positive OWNER TO alice;
ALTER TABLE parted OWNER TO alice;
GRANT ALL ON owned TO alice;
GRANT SELECT ON read_only_rows TO alice;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON owned USING (owner = current_user);
CREATE SEQUENCE sq;
GRANT ALL ON SEQUENCE sq TO alice;
CREATE VIEW ready_jobs AS SELECT id, key, n FROM jobs WHERE state = 'ready';
CREATE VIEW no_jobs AS SELECT id, key, n FROM jobs WHERE false;
GRANT SELECT ON ready_jobs, no_jobs TO alice;
CREATE DOMAIN posint AS int CHECK (VALUE > 0);
CREATE FUNCTION yes_v() RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN true; END';
CREATE FUNCTION no_v() RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN false; END';
CREATE FUNCTION yes_s() RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION no_s() RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN false; END';
CREATE FUNCTION yes_i() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION no_i() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN false; END';
CREATE FUNCTION no_sql() RETURNS boolean LANGUAGE sql STABLE AS 'SELECT false';
CREATE FUNCTION fails_i() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''no''; END';
-- Both in PL/pgSQL, which keeps their plans. Filled anew after each statement that wrote.
CREATE PROCEDURE refill() LANGUAGE plpgsql AS $$ BEGIN
DELETE FROM jobs; DELETE FROM orders; DELETE FROM seats; DELETE FROM nothing; DELETE FROM tokens;
DELETE FROM later; DELETE FROM positive; DELETE FROM secret; DELETE FROM owned; DELETE FROM read_only_rows; DELETE FROM parted;
INSERT INTO jobs VALUES (1, 'k1', 'ready', 9), (2, 'k2', 'done', 8), (3, 'k3', 'ready', 7);
INSERT INTO orders VALUES ('seen', 'p', 5, NULL);
INSERT INTO seats VALUES ('14A', NULL, NULL), ('14B', 'bob', 7);
INSERT INTO tokens VALUES (true, 'k1', 7, 1, true, 5);
INSERT INTO later VALUES (1);
INSERT INTO secret VALUES (1);
INSERT INTO owned VALUES (1, 'alice'), (2, 'bob');
INSERT INTO read_only_rows VALUES (1);
INSERT INTO parted VALUES (1, 1), (11, 11);
PERFORM setval('sq', 1, false);
END $$;
-- Everything that a statement may have changed, as one text.
CREATE FUNCTION contents() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
RETURN concat_ws(E'\n',
	(SELECT 'jobs ' || string_agg(t::text, ' ' ORDER BY t::text) FROM jobs t),
	(SELECT 'orders ' || string_agg(t::text, ' ' ORDER BY t::text) FROM orders t),
	(SELECT 'seats ' || string_agg(t::text, ' ' ORDER BY t::text) FROM seats t),
	(SELECT 'nothing ' || string_agg(t::text, ' ' ORDER BY t::text) FROM nothing t),
	(SELECT 'later ' || string_agg(t::text, ' ' ORDER BY t::text) FROM later t),
	(SELECT 'positive ' || string_agg(t::text, ' ' ORDER BY t::text) FROM positive t),
	(SELECT 'secret ' || string_agg(t::text, ' ' ORDER BY t::text) FROM secret t),
	(SELECT 'owned ' || string_agg(t::text, ' ' ORDER BY t::text) FROM owned t),
	(SELECT 'parted ' || string_agg(t::text, ' ' ORDER BY t::text) FROM parted t),
	(SELECT 'sq ' || last_value || is_called FROM sq));
END $$;
-- Nothing may gather statistics but the test.
ALTER TABLE jobs SET (autovacuum_enabled = off);
ALTER TABLE orders SET (autovacuum_enabled = off);
ALTER TABLE seats SET (autovacuum_enabled = off);
ALTER TABLE nothing SET (autovacuum_enabled = off);
ALTER TABLE tokens SET (autovacuum_enabled = off);
