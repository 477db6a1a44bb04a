#!/bin/sh
# Gets what the tests need besides Go, gcc and make: a PostgreSQL server, which they
# run for themselves and compare with, a Redis server, which they run too, and the
# clients of testdata/clients.
# Says what it does; quick when everything is there. `install.sh --check` installs
# nothing, `install.sh bench` a pgbouncer too. Exit 1: something is missing, and the last
# lines say what.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mode=${1-install}
made_for=15 # the release that wrote the expectations under testdata/wire

# server is the folder of the newest server programs, where the tests look too.
server() {
	found=$(command -v postgres) || found=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -n 1)
	[ -n "$found" ] && dirname "$found"
}

# may_install: there is apt-get, and we are root or become it without a password.
may_install() {
	[ "$mode" != --check ] && command -v apt-get >/dev/null || return 1
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Debian would make a database and start it on port 5432. The tests need only the
# programs, so for the time of the installation it is told not to.
install_server() {
	drop_in=/etc/postgresql-common/createcluster.d/raisinproxy-tests.conf
	as_root mkdir -p "${drop_in%/*}"
	echo 'create_main_cluster = false' | as_root tee "$drop_in" >/dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends postgresql ||
		echo 'postgres: apt-get failed' >&2
	as_root rm -f "$drop_in"
}

if ! server >/dev/null && may_install; then
	echo 'postgres: missing - installing with apt-get: postgresql'
	install_server
fi
missing=0
if bin=$(server); then
	version=$("$bin/postgres" --version)
	echo "postgres: $version in $bin"
	case $version in
	"postgres (PostgreSQL) $made_for"*) ;;
	*) echo "postgres: note that the expectations come from release $made_for, whose words may differ" ;;
	esac
else
	echo 'postgres: missing - no postgres in PATH or /usr/lib/postgresql/*/bin; on Debian or Ubuntu: apt-get install postgresql' >&2
	missing=1
fi

# Debian would start a server that it installs; its policy file can say no, and so may be told.
install_stopped() {
	policy=/usr/sbin/policy-rc.d
	made_policy=
	[ -e "$policy" ] || { made_policy=1 && printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod +x "$policy"; }
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$1" ||
		echo "$1: apt-get failed" >&2
	[ -z "$made_policy" ] || as_root rm -f "$policy"
}

if ! command -v redis-server >/dev/null && may_install; then
	echo 'redis: missing - installing with apt-get: redis-server'
	install_stopped redis-server
fi
if command -v redis-server >/dev/null; then
	echo "redis: $(redis-server --version)"
else
	echo 'redis: missing - no redis-server in PATH; on Debian or Ubuntu: apt-get install redis-server' >&2
	missing=1
fi

if [ "$mode" = bench ]; then
	if ! command -v pgbouncer >/dev/null && may_install; then
		echo 'pgbouncer: missing - installing with apt-get: pgbouncer'
		install_stopped pgbouncer
	fi
	if command -v pgbouncer >/dev/null; then
		echo "pgbouncer: $(pgbouncer --version | head -n 1)"
	else
		echo 'pgbouncer: missing - no pgbouncer in PATH; on Debian or Ubuntu: apt-get install pgbouncer' >&2
		missing=1
	fi
	exit $missing
fi
sh "$here/clients/install.sh" "$mode" || missing=1
[ $missing = 0 ] || echo "tests: what is missing is named above; as root, $here/install.sh installs it on Debian and Ubuntu" >&2
exit $missing
