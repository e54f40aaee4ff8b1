#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Write the header that says which of the probes in probes.c compile.
#
# usage: probe.sh PROBES.c HAVE.h COMPILER FLAGS...
#
# One run of the compiler serves all probes: every error line names the section
# that it belongs to.
set -eu

if [ $# -lt 3 ] || [ "$1" = --help ]; then
	sed -n '/^# usage/,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
	[ "${1:-}" = --help ] && exit 0 || exit 2
fi

probes=$1 header=$2
shift 2
mkdir -p "$(dirname "$header")"
log=$(mktemp "$header.XXXXXX")
trap 'rm -f "$log" "$log.new"' EXIT

LC_ALL=C "$@" -Wno-error -Werror=implicit-function-declaration \
	-Werror=incompatible-pointer-types -Werror=int-conversion \
	-fsyntax-only "$probes" >/dev/null 2>"$log" || true

if ! grep -q '^HAVE_NOTHING:.*error' "$log" ||
   grep -E '(^|[^A-Za-z_])error: ' "$log" | grep -qv '^HAVE_'; then
	echo "$0: the kernel's headers don't compile:" >&2
	cat "$log" >&2
	exit 1
fi

{
	echo '/* SPDX-License-Identifier: GPL-2.0 */'
	echo "/* Made by $(basename "$0"); do not edit. */"
	sed -n 's/^#line 1 "\(HAVE_.*\)"$/\1/p' "$probes" |
	while read -r name; do
		if grep -q "^$name:.*error: " "$log"; then
			echo "/* no $name */"
		else
			echo "#define $name 1"
		fi
	done
} > "$log.new"
mv "$log.new" "$header"
