#!/bin/sh
# The client scenario of ../README.md with unixODBC's isql and psqlODBC. isql binds no parameters: literals.
# It prepares every line as a named statement on the server (psqlODBC's default). The connection string needs no
# DSN; the only configuration is a driver entry in a temporary folder.
set -eu
for driver in /usr/lib/*/odbc/psqlodbcw.so /usr/lib64/psqlodbcw.so; do
	[ -e "$driver" ] && break
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '[PG]\nDriver = %s\n' "$driver" >"$dir/odbcinst.ini"
: >"$dir/odbc.ini"
export ODBCSYSINI="$dir" ODBCINI="$dir/odbc.ini"

# session [OPTIONS]: a statement a line on stdin; a row a line on stdout, an error as its SQLSTATE.
session() {
	isql -k "Driver=PG;Servername=$PGHOST;Port=$PGPORT;Database=$PGDATABASE;UID=$PGUSER;PWD={${PGPASSWORD-}};SSLmode=${PGSSLMODE:-prefer};BoolsAsChar=0;${1-}" \
		-b -v '-d|' 2>/dev/null | sed -e '/^Error while/d' -e 's/^\[\(.....\)\].*/\1/'
}

# labels WORD...: puts the n-th word before the n-th line.
labels() {
	for label in "$@"; do
		read -r line && echo "$label$line"
	done
}

scenario() {
	acquired=$(echo "SELECT * FROM raisin_lock_acquire('seat:odbc', 5000)" | session)
	token=$(echo "$acquired" | cut -d '|' -f 3)
	echo "acquire|$acquired"
	session <<-SQL | labels 'refused|' 'renew: ' 'release: ' 'release again: ' 'json|' '' 'claim: ' 'claim: ' 'claim: ' 'claim: ' 'claim: ' 'restock: '
		SELECT * FROM raisin_lock_acquire('seat:odbc', 5000)
		SELECT raisin_lock_renew('seat:odbc', $token, 5000)
		SELECT raisin_lock_release('seat:odbc', $token)
		SELECT raisin_lock_release('seat:odbc', $token)
		SELECT raisin_lock_acquire('json:odbc', 5000)
		SELECT raisin_lock_acquire('json:odbc', 5000)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 2, 5)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 2, 5)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 2, 5)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 1, 5)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 1, 5)
		SELECT raisin_inventory_release('pool:odbc', 2)
	SQL
	ten="SELECT remaining FROM raisin_inventory_claim('ten:odbc', 1, 10)"
	printf '%s\n' "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" | session | tr '\n' ' ' |
		sed -e 's/^/prepared: /' -e 's/ $//'
	echo
	# By default psqlODBC sets a savepoint before each statement of a transaction and goes back to it on an error.
	kept=$(printf '%s\n' BEGIN "SELECT * FROM raisin_lock_acquire('', 5000)" 'SELECT 1' COMMIT | session)
	[ "$kept" = "$(printf '22023\n1')" ] || echo "unexpected $kept"
	# Protocol=7.4-0: no savepoint around each statement, so that the failed transaction shows. Without prepared
	# statements, since psqlODBC could not DEALLOCATE them there and would use their names again.
	session 'Protocol=7.4-0;UseServerSidePrepare=0' <<-'SQL' | labels 'error: ' 'aborted: ' 'alive: '
		BEGIN
		SELECT * FROM raisin_lock_acquire('', 5000)
		SELECT 1
		ROLLBACK
		SELECT 1
	SQL
	echo done
}

# judge checks the labelled rows and writes psqlODBC's 1 and 0 as t and f.
judge() {
	awk -F'|' -v now="$(date +%s)" '
	function line(ok, text) { print ok ? text : "unexpected " $0 }
	function letter(bit) { return bit == 1 ? "t" : bit == 0 ? "f" : bit }
	$1 == "acquire" { line($3 == "seat:odbc" && $4 > 2 ^ 50 && $5 > now * 1000, "acquire: " letter($2)); next }
	$1 == "refused" { line(NF == 5 && $3 == "seat:odbc" && $4 $5 == "", "refused: " letter($2)); next }
	$1 == "json" {
		split($2, part, /: |, /)
		line($2 ~ /^[{]"key": "json:odbc", "token": [0-9]+, "acquired": true, "expires_at_ms": [0-9]+[}]$/ &&
			part[4] > 2 ^ 50, "json: acquired")
		next
	}
	/^re(new|lease|lease again): / { split($0, part, ": "); print part[1] ": " letter(part[2]); next }
	/^claim: / { print "claim: " letter(substr($1, 8)) " " $2; next }
	{ print }'
}

anonymous() {
	session <<-'SQL' | labels '' '' 'select: '
		SELECT * FROM raisin_lock_acquire('seat:odbc', 5000)
		SELECT * FROM raisin_inventory_claim('pool:odbc', 1, 5)
		SELECT 1
	SQL
}

relations() {
	session <<-'SQL' >/dev/null
		SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10)
	SQL
	session <<-SQL | tr '|' ' ' | labels 'lock: ' 'lock: ' 'since: ' 'pool: ' 'count: ' 'wrapped: ' 'too many: ' |
		SELECT key, kind, waiters FROM raisin_locks('rel:') WHERE holder = '$PGUSER' ORDER BY key
		SELECT acquired_at FROM raisin_locks('rel:1')
		SELECT * FROM raisin_inventory_pools('rel:')
		SELECT count(*) FROM raisin_locks('rel:')
		SELECT key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1
		SELECT * FROM raisin_locks('rel:', 1)
	SQL
		sed -e "s/^since: $(date +%Y)-[-0-9]* [:0-9.]*$/since: t/"
	echo done
}

case ${1-} in
anonymous) anonymous ;;
relations) relations ;;
*) scenario | judge ;;
esac
