#!/bin/sh
# The client scenario of ../README.md with psql: \gset, \gdesc, PREPARE and EXECUTE; `mixed` is plain SQL, since
# psql 15 has no bound parameters; `meta` is a mode of its own, for \conninfo, \timing, \gdesc and \watch. psql has no types: \gdesc shows them, first, since it must not acquire.
set -eu
run() { psql -X -q -A -t "$@"; }

scenario() {
	run 2>/dev/null <<-'SQL'
		\pset null NULL
		SELECT * FROM raisin_lock_acquire('seat:psql', 5000) \gdesc
		SELECT * FROM raisin_lock_acquire('seat:psql', 5000) \gset
		\echo acquire|:acquired|:key|:token|:expires_at_ms
		\echo -n 'refused|'
		SELECT * FROM raisin_lock_acquire('seat:psql', 5000);
		\echo -n 'renew: '
		SELECT raisin_lock_renew('seat:psql', :token, 5000);
		\echo -n 'release: '
		SELECT raisin_lock_release('seat:psql', :token);
		\echo -n 'release again: '
		SELECT raisin_lock_release('seat:psql', :token);
		\echo -n 'json|'
		SELECT raisin_lock_acquire('json:psql', 5000);
		SELECT raisin_lock_acquire('json:psql', 5000);
		PREPARE claim AS SELECT * FROM raisin_inventory_claim('pool:psql', $1, 5);
		\pset fieldsep ' '
		\echo -n 'claim: '
		EXECUTE claim(2);
		\echo -n 'claim: '
		EXECUTE claim(2);
		\echo -n 'claim: '
		EXECUTE claim(2);
		\echo -n 'claim: '
		EXECUTE claim(1);
		\echo -n 'claim: '
		EXECUTE claim(1);
		\echo -n 'restock: '
		SELECT raisin_inventory_release('pool:psql', 2);
		PREPARE ten AS SELECT remaining FROM raisin_inventory_claim($1, $2, $3);
		\echo prepared|
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		EXECUTE ten('ten:psql', 1, 10);
		BEGIN;
		SELECT * FROM raisin_lock_acquire('', 5000);
		\echo error: :SQLSTATE
		SELECT 1;
		\echo aborted: :SQLSTATE
		ROLLBACK;
		\echo -n 'alive: '
		SELECT 1;
		\echo done
	SQL
}

# judge turns the labelled rows into the lines of the scenario and passes the others on.
judge() {
	awk -F'|' -v now="$(date +%s)" '
	function line(ok, text) { print ok ? text : "unexpected " $0 types }
	$2 ~ /^(boolean|text|bigint)$/ { types = types " " $1 "=" $2; next }
	$1 == "acquire" {
		line(types == " acquired=boolean key=text token=bigint expires_at_ms=bigint" &&
			$3 == "seat:psql" && $4 > 2 ^ 50 && $5 > now * 1000, "acquire: " $2)
		next
	}
	$1 == "refused" { line($3 == "seat:psql" && $4 == "NULL" && $5 == "NULL", "refused: " $2); next }
	$1 == "json" {
		split($2, part, /: |, /)
		line($2 ~ /^[{]"key": "json:psql", "token": [0-9]+, "acquired": true, "expires_at_ms": [0-9]+[}]$/ &&
			part[4] > 2 ^ 50, "json: acquired")
		next
	}
	$1 == "prepared" { ten = "prepared:"; next }
	ten != "" && /^[0-9]+$/ { ten = ten " " $0; next }
	ten != "" { print ten; ten = "" }
	{ print }'
}

anonymous() {
	run 2>/dev/null <<-'SQL'
		PREPARE acquire AS SELECT * FROM raisin_lock_acquire($1, $2);
		EXECUTE acquire('seat:psql', 5000);
		\echo :SQLSTATE
		SELECT * FROM raisin_inventory_claim('pool:psql', 1, 5);
		\echo :SQLSTATE
		\echo -n 'select: '
		SELECT 1;
	SQL
}

# Each `ask` names what the rows after it answer.
mixed_sql() {
	cat <<-'SQL'
		\pset fieldsep ' '
		DROP SCHEMA IF EXISTS psql CASCADE;
		CREATE SCHEMA psql;
		SET search_path = psql;
		CREATE TABLE orders (id serial, flight text, buyer text, seats_left bigint);
		CREATE TABLE seats (id text PRIMARY KEY, buyer text, fence bigint);
		INSERT INTO seats VALUES ('14A'), ('14B');
		CREATE TABLE jobs (id int, state text);
		INSERT INTO jobs VALUES (1, 'ready'), (2, 'done'), (3, 'ready');
	SQL
	for order in 'AA123 180' 'AA123 180' 'AA123 180' 'AA123 180' 'AA123 180' 'AA123 180' 'AA123 180' 'AA124 2' 'AA124 2' 'AA124 2' 'AA124 2'; do
		cat <<-SQL
			\\echo ask insert
			\\set buyer 'buyer of ${order#* }'
			\\set id 0
			INSERT INTO orders(flight, buyer, seats_left) SELECT '${order% *}', :'buyer', c.remaining FROM raisin_inventory_claim('flight:${order% *}', 1, ${order#* }) c WHERE c.claimed RETURNING id \\gset
			SELECT id, seats_left FROM orders WHERE id = :id AND buyer = :'buyer';
		SQL
	done
	for seat in 14A 14A 14B 14A 14B 14A release 14A; do
		if [ $seat = release ]; then
			cat <<-'SQL'
				\echo ask release
				SELECT raisin_lock_release('seat:' || id, fence) FROM seats WHERE id = '14A';
			SQL
			continue
		fi
		cat <<-SQL
			\\echo ask update
			\\set id $seat
			WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || :'id', 5000)) UPDATE seats SET buyer = 'buyer', fence = l.token FROM l WHERE l.acquired AND seats.id = :'id' AND coalesce(seats.fence, 0) < l.token RETURNING seats.id;
		SQL
	done
	for round in 1 2 3 4 5 6 7; do
		[ $round != 7 ] || echo "INSERT INTO jobs VALUES (5, 'ready');"
		cat <<-'SQL'
			\echo ask rows
			SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10;
		SQL
	done
	cat <<-'SQL'
		BEGIN;
		INSERT INTO orders(flight, buyer) VALUES ('AA125', 'nobody');
		\echo ask error
		INSERT INTO orders(flight, seats_left) SELECT 'AA125', l.token FROM raisin_lock_acquire('', 5000) l;
		\echo :SQLSTATE
		\echo ask aborted
		SELECT 1;
		\echo :SQLSTATE
		ROLLBACK;
		\echo ask orders
		SELECT count(*) FROM orders;
		DROP SCHEMA psql CASCADE;
		\echo done
	SQL
}

mixed() {
	mixed_sql | run 2>/dev/null | awk '
	function answer() { if (asked != "") print asked ": " (answers == "" ? "none" : answers); answers = "" }
	$1 == "ask" { answer(); asked = $2; next }
	$1 == "done" { answer(); print; next }
	asked == "rows" { $0 = $1 (/"acquired": true/ ? " t" : / [{]"acquired": false[}]$/ ? " f" : " unexpected " $0) }
	{ answers = answers (answers == "" ? "" : ", ") $0 }'
}

meta() {
	run -c '\conninfo' | grep -q "as user \"$PGUSER\" .*at port \"$PGPORT\"" && echo 'conninfo: ok'
	run <<-'SQL' | grep -q '^Time: [0-9.]* ms' && echo 'timing: ok'
		\timing on
		SELECT * FROM raisin_lock_acquire('meta:psql', 5000);
	SQL
	# the pool has one unit: had a \gdesc claimed it, the claim after them would be refused
	run <<-'SQL' | tr '\n' ' ' | grep -qx 'claimed|boolean remaining|bigint claimed|boolean remaining|bigint t|0 ' && echo 'gdesc: ok'
		SELECT * FROM raisin_inventory_claim('meta:psql', 1, 1) \gdesc
		SELECT * FROM raisin_inventory_claim('meta:psql', 1, 1) \gdesc
		SELECT * FROM raisin_inventory_claim('meta:psql', 1, 1);
	SQL
	# \watch goes on until it is interrupted, or nobody reads; each round is one claim
	echo "SELECT remaining FROM raisin_inventory_claim('watch:psql', 1, 100) \\watch 0.1" |
		timeout --foreground 30 psql -X -q -A -t | sed 3q | tr '\n' ' ' | grep -qx '99 98 97 ' && echo 'watch: ok'
}

relations() {
	run 2>/dev/null <<-'SQL'
		SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10) \g /dev/null
		\pset fieldsep ' '
		PREPARE locks AS SELECT 'lock:', key, kind, waiters FROM raisin_locks($1) WHERE holder = $2 ORDER BY key;
		EXECUTE locks('rel:', :'USER');
		SELECT acquired_at AS since FROM raisin_locks('rel:1') \gset
		\echo since: :since
		SELECT 'pool:', p.* FROM raisin_inventory_pools('rel:') AS p;
		SELECT 'count:', count(*) FROM raisin_locks('rel:');
		SELECT 'wrapped:', key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1;
		SELECT * FROM raisin_locks('rel:', 1);
		\echo too many: :SQLSTATE
		\echo done
	SQL
}

# psql has the text of a refused connection, but no SQLSTATE of it.
logins() (
	tab=$(printf '\t')
	n=0
	set -f
	while IFS= read -r login; do
		n=$((n + 1))
		IFS=$tab
		# shellcheck disable=SC2086 # one word a variable
		env $login psql -X -q -A -t -w -v VERBOSITY=sqlstate -c "SELECT acquired FROM raisin_lock_acquire('login:$n', 5000)" </dev/null 2>&1 |
			sed -n '1{s/^psql: error: connection to server at .* failed: /refused: /;s/^refused: FATAL:  /refused: /;s/^ERROR:  /connected: /;s/^t$/connected: t/;p;}'
	done
)

case ${1-} in
logins) logins ;;
anonymous) anonymous ;;
mixed) mixed ;;
meta) meta ;;
relations) relations | sed -e "s/^since: $(date -u +%Y)-[-0-9]* [:0-9.]*[-+][0-9]*$/since: t/" ;;
*) scenario | judge ;;
esac
