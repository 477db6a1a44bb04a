#!/bin/sh
# Installs what the client programs need: Debian packages with apt-get, node-postgres with npm into a folder outside
# the source tree. Says what it does; quick when everything is there. `install.sh --check [CLIENT]` installs nothing and
# looks at everything or at what one client needs. On a system without apt-get it only says what is missing.
# Exit 1: something is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
modules=${RAISIN_CLIENT_MODULES:-${XDG_CACHE_HOME:-$HOME/.cache}/raisinproxy/client-modules}
mode=${1-install}
only=${2-}

# client | check | Debian packages (pgx, pgxstdlib and libpq come with the Go module)
clients='psql|command -v psql|postgresql-client
psycopg2|/usr/bin/python3 -c "import psycopg2"|python3-psycopg2
psycopg3|/usr/bin/python3 -c "import psycopg"|python3-psycopg
pygresql|/usr/bin/python3 -c "import pgdb"|python3-pygresql
sqlalchemy|/usr/bin/python3 -c "import sqlalchemy, psycopg2"|python3-sqlalchemy python3-psycopg2
django|/usr/bin/python3 -c "import django, psycopg2"|python3-django python3-psycopg2
jdbc|command -v java && command -v javac && test -e /usr/share/java/postgresql.jar|default-jdk-headless libpostgresql-jdbc-java
odbc|command -v isql && ls /usr/lib/*/odbc/psqlodbcw.so|unixodbc odbc-postgresql
perl|perl -MDBD::Pg -MJSON::PP -e 1|libdbd-pg-perl
ruby|ruby -rpg -e 1|ruby ruby-pg
activerecord|ruby -rpg -ractive_record -e 1|ruby ruby-pg ruby-activerecord
php|php -r "exit(extension_loaded(\"pdo_pgsql\") ? 0 : 1);"|php-cli php-pgsql
node|command -v node && command -v npm|nodejs npm'
if [ -n "$only" ]; then
	clients=$(echo "$clients" | grep "^$only|") || {
		echo "clients: no client $only" >&2
		exit 2
	}
fi

# missing prints the lines of $clients whose check fails.
missing() {
	echo "$clients" | while IFS='|' read -r client check packages; do
		sh -c "$check" >/dev/null 2>&1 </dev/null || echo "$client|$check|$packages"
	done
}

# A check holds && but no single |, so that the packages are always the third field.
names() { cut -d '|' -f 1 | tr '\n' ' '; }
packages() { cut -d '|' -f 3 | tr ' ' '\n' | sort -u | tr '\n' ' '; }

absent=$(missing)
if [ -n "$absent" ] && [ "$mode" != --check ] && command -v apt-get >/dev/null; then
	wanted=$(echo "$absent" | packages)
	echo "clients: missing $(echo "$absent" | names)- installing with apt-get: $wanted"
	sudo=
	[ "$(id -u)" = 0 ] || sudo='sudo -n' # asks nobody
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		# shellcheck disable=SC2086 # one word a package
		$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $wanted ||
		echo 'clients: apt-get failed' >&2
	absent=$(missing)
fi
if [ -n "$absent" ]; then
	echo "$absent" | while IFS='|' read -r client check packages; do
		echo "clients: missing $client: this fails: $check" >&2
	done
	echo "clients: on Debian or Ubuntu these come with: $(echo "$absent" | packages)- $here/install.sh installs them" >&2
	exit 1
fi

# The copied lock file is the mark of a finished npm ci.
if [ "${only:-node}" = node ] && ! cmp -s "$here/node/package-lock.json" "$modules/package-lock.json"; then
	if [ "$mode" = --check ]; then
		echo "clients: missing node-postgres in $modules - $here/install.sh installs it" >&2
		exit 1
	fi
	echo "clients: installing node-postgres with npm into $modules"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cp "$here/node/package.json" "$here/node/package-lock.json" "$work/" &&
		(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund) &&
		mkdir -p "$modules" && rm -rf "$modules/node_modules" "$modules/package-lock.json" &&
		cp -R "$work/node_modules" "$modules/" && cp "$work/package-lock.json" "$modules/" || {
		echo 'clients: npm failed' >&2
		exit 1
	}
fi
echo "clients: all present; NODE_PATH=$modules/node_modules"
