#!/bin/bash
# Runs PostgreSQL's own suites directly and through bin/raisinproxy, each on a fresh cluster
# of postgresql-15, and names the tests that print something else through the proxy. README.md tells more.
#
#   run.sh [-d LINES] [-k] [-t SECONDS] [-u LINE]... [regress | isolation [TEST...]]
#
#   -d LINES    shows so many lines of each difference
#   -k          keeps the folder with clusters, logs and results, and names it
#   -t SECONDS  how long a step of an isolation test may wait (60)
#   -u LINE     adds a line to [upstream] in the proxy's configuration
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
home=/usr/lib/postgresql/15
lines=0 keep='' seconds=60 upstream=''
while getopts d:kt:u: option; do
	case $option in
	d) lines=$OPTARG ;;
	k) keep=yes ;;
	t) seconds=$OPTARG ;;
	u) upstream+=$OPTARG$'\n' ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
suites=${1:-regress isolation}
case $suites in
regress | isolation | 'regress isolation') ;;
*) echo "no such suite: $suites" >&2 && exit 2 ;;
esac
tests=("${@:2}")

for needed in "$home"/bin/{initdb,postgres} "$home"/lib/pgxs/src/test/{regress/pg_regress,isolation/isolationtester} "$root/bin/raisinproxy"; do
	[ -x "$needed" ] || { echo "missing: $needed (make build; apt-get install postgresql-15 postgresql-client-15)" >&2 && exit 2; }
done
# Neither the caller's libpq settings nor TLS have a part in this.
unset "${!PG@}"
export PGSSLMODE=disable PGISOLATIONTIMEOUT=$seconds

sources=$(bash "$here/fetch.sh" "$root/bin/pgsuites")
work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL reads the suite's data here, as another user
running=()        # the process ids of what has to end with this script
clusters=()

stop() {
	[ ${#running[@]} = 0 ] || kill "${running[@]}" 2>/dev/null || true
	for cluster in "${clusters[@]}"; do
		unprivileged "$home/bin/pg_ctl" -D "$cluster" -m immediate stop >/dev/null 2>&1 || true
	done
	running=() clusters=()
	wait
}
finish() {
	stop
	if [ "$keep" ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# unprivileged runs a command as a user that PostgreSQL agrees to run for.
unprivileged() {
	if [ "$(id -u)" = 0 ]; then (cd "$work" && runuser -u postgres -- "$@"); else "$@"; fi
}

free_port() {
	local port
	while port=$((RANDOM % 12000 + 20000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

# until_ready PID PORT LOG waits until the program PID answers at PORT.
until_ready() {
	until "$home/bin/pg_isready" -q -h 127.0.0.1 -p "$2"; do
		kill -0 "$1" 2>/dev/null || { cat "$3" >&2 && exit 2; }
		sleep 0.1
	done
}

# start_cluster FOLDER PORT DATABASE makes a cluster with the database as pg_regress would: its
# own settings come as those of the database, because it is told to use what is there.
start_cluster() {
	install -d -m 700 "$1"
	[ "$(id -u)" != 0 ] || chown postgres "$1"
	unprivileged "$home/bin/initdb" -D "$1" -U postgres -A trust --no-locale -E UTF8 >"$1.log" 2>&1 || { cat "$1.log" >&2 && exit 2; }
	clusters+=("$1")
	unprivileged "$home/bin/pg_ctl" -w -D "$1" -l "$1/log" start >/dev/null \
		-o "-p $2 -k $1 -c max_connections=200 -c fsync=off -c max_prepared_transactions=2" || { cat "$1/log" >&2 && exit 2; }
	"$home/bin/psql" -qX -h 127.0.0.1 -p "$2" -U postgres -v ON_ERROR_STOP=1 \
		-c "CREATE DATABASE $3 TEMPLATE template0" \
		-c "ALTER DATABASE $3 SET lc_messages = 'C'" -c "ALTER DATABASE $3 SET timezone = 'PST8PDT'" \
		-c "ALTER DATABASE $3 SET datestyle = 'Postgres, MDY'" -c "ALTER DATABASE $3 SET intervalstyle = 'postgres_verbose'"
}

# start_proxy FOLDER PORT UPSTREAM_PORT
start_proxy() {
	mkdir "$1"
	cat >"$1/raisin.toml" <<-TOML
		[pgwire]
		port = $2
		[auth]
		method = "trust"
		[locks]
		enabled = true
		[locks.inprocess]
		data_dir = ""
		[upstream]
		url = "postgres://127.0.0.1:$3/"
		user = "\$client"
		$upstream
	TOML
	"$root/bin/raisinproxy" --config "$1/raisin.toml" >"$1/log" 2>&1 &
	running+=($!)
	until_ready $! "$2" "$1/log"
}

# database prints the name that the suite's own tests use.
database() {
	case $1 in
	regress) echo regression ;;
	isolation) echo isolation_regression ;;
	esac
}

# run SUITE WAY PORT leaves the results in $work/SUITE/WAY.
run() {
	local out=$work/$1/$2 program=$home/lib/pgxs/src/test/$1 schedule
	case $1 in
	regress) program+=/pg_regress schedule=parallel_schedule ;;
	isolation) program+=/pg_isolation_regress schedule=isolation_schedule ;;
	esac
	local what=("--schedule=$work/source/$1/$schedule")
	[ ${#tests[@]} = 0 ] || what=("${tests[@]}")
	mkdir -p "$out"/{sql,expected,results}
	chmod -R 777 "$out" # COPY writes here, as another user
	(cd "$out" && exec "$program" --use-existing --host=127.0.0.1 --port="$3" --user=postgres --dbname="$(database "$1")" \
		--inputdir="$work/source/$1" --outputdir="$out" --dlpath="$work" --bindir="$home/bin" \
		--max-concurrent-tests=20 "${what[@]}" >"$out/log" 2>&1) &
	running+=($!)
	wait $! || true # the exit status says that a test failed, which is judged below
	unset 'running[-1]'
	# Which way it went stands in messages with the name of a file.
	find "$out/results" -name '*.out' -exec sed -i "s#$out#OUT#g" {} +
	echo "$1, $2: $(grep -E '^ *(All|[0-9]+ of) [0-9]+ tests' "$out/log" | tr -d '\n' || true)"
}

# compare SUITE names the tests with another output, and fails if there are any.
compare() {
	local direct=$work/$1/direct/results proxied=$work/$1/proxied/results name differ=() total=0
	for name in $(cd "$direct" && ls -- *.out); do
		total=$((total + 1))
		cmp -s "$direct/$name" "$proxied/$name" || differ+=("${name%.out}")
	done
	for name in "${differ[@]}"; do
		echo "differs: $1/$name"
		diff "$direct/$name.out" "$proxied/$name.out" 2>&1 | head -n "$lines" || true
	done
	echo "$((total - ${#differ[@]})) of $total $1 tests give the same output through the proxy"
	[ "$total" -gt 0 ] && [ ${#differ[@]} = 0 ]
}

mkdir "$work/source"
cp -r "$sources/regress" "$sources/isolation" "$work/source"
# The modules in C that the regression suite loads: its own, and two of the contributed ones.
cc -O1 -shared -fPIC -I"$sources/server" -o "$work/regress.so" "$sources/regress/regress.c"
cp "$home"/lib/{autoinc,refint}.so "$work"

failed=''
for suite in $suites; do
	for way in direct proxied; do
		port=$(free_port)
		start_cluster "$work/$suite-$way" "$port" "$(database "$suite")"
		if [ $way = proxied ]; then
			front=$(free_port)
			start_proxy "$work/$suite-proxy" "$front" "$port"
			port=$front
		fi
		run "$suite" "$way" "$port"
		stop
	done
	compare "$suite" || failed="$failed $suite"
done
[ ! "$failed" ]
