#!/bin/bash
# fetch.sh FOLDER gets PostgreSQL's own test suites and prints the folder of the sources:
# the Debian source package of the installed postgresql-15, of its very version if the archive
# still has that one, and the server's headers, for the suite's module in C. Nothing is
# installed, and the machine's list of package sources stays as it is: apt-get gets a list
# of its own. Quick when everything is there.
set -euo pipefail
release=15
into=$(mkdir -p "$1" && cd "$1" && pwd)
version=$(dpkg-query -W -f '${Version}' "postgresql-$release")

if [ -e "$into/$version/fetched" ]; then
	echo "$into/$version"
	exit
fi
work=$(mktemp -d "$into/fetching.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial}

# lists prints the machine's files of package sources that name an archive with postgresql.
lists() {
	apt-get indextargets --format '$(SOURCESENTRY) $(FILENAME)' 'Created-By: Packages' |
		while read -r list index; do
			# Not grep -q, which would leave before its neighbour has written everything.
			if /usr/lib/apt/apt-helper cat-file "$index" | grep "^Package: postgresql-$release\$" >/dev/null; then
				echo "${list%:*}"
			fi
		done | sort -u
}

apt() {
	apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/sources" \
		-o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root "$@"
}

# get VERB PACKAGE gets the package in the installed version, else the newest.
get() {
	apt "$1" --download-only "$2=$version" || {
		echo "$2: not to be had in version $version, so the newest"
		apt "$1" --download-only "$2"
	}
}

cd "$work"
lists | xargs -r cp -t apt/sources
[ "$(ls apt/sources)" ] || { echo "apt-get knows no postgresql-$release: run apt-get update" >&2 && exit 1; }
# Each archive with its sources: both forms of such a file.
sed -i -E 's/^Types:.*/Types: deb deb-src/; s/^deb (.*)/&\ndeb-src \1/' apt/sources/*
{
	apt update
	get source "postgresql-$release"
	get download "postgresql-server-dev-$release"
} >&2
dpkg-source --no-check -x ./*.dsc source >&2 # apt-get has checked it
dpkg-deb -x ./*.deb headers
mkdir kept
mv source/src/test/regress source/src/test/isolation "headers/usr/include/postgresql/$release/server" kept
touch kept/fetched
rm -rf "${into:?}/$version"
mv kept "$into/$version"
echo "$into/$version"
