# SPDX-License-Identifier: GPL-2.0
# Functions of the scripts that run on the host.  The scripts source this file.
# shellcheck shell=bash

# shellcheck disable=SC2034 # the scripts that source this use it
SUITES="bookworm trixie backports debug"
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${RXE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdma_rxe}

# Some locales write fractions with a comma, which awk doesn't take
export LC_ALL=C.UTF-8

# Some tests drop privileges, and read what the host has built
umask 022

# Clears the line of show_life() on a terminal.  The line may be another process's.
clear_line() {
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

# Progress goes to stderr, since stdout is for the results of a script.
say() {
	clear_line
	echo "==> $*" >&2
}

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# usage SCRIPT: prints the comment at the top of a script
usage() {
	sed -n '2,/^[^#]/{/^# SPDX/d;s/^# \{0,1\}//p}' "$1" | sed '$!b;/^$/d'
}

check_suite() {
	case " $SUITES " in
	*" $1 "*) ;;
	*) die "unknown suite '$1' (known: $SUITES)" ;;
	esac
}

# apt_get ARGUMENT...: runs one apt-get at a time.  It doesn't wait for the lock of its lists.
apt_get() {
	DEBIAN_FRONTEND=noninteractive flock /run/lock/rdma_rxe.apt \
		apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# need COMMAND=PACKAGE...: installs the packages whose command is missing
need() {
	local item log life lacking=()
	for item; do
		command -v "${item%%=*}" >/dev/null || lacking+=("${item#*=}")
	done
	[ ${#lacking[@]} -gt 0 ] || return 0
	command -v apt-get > /dev/null || die "needs what Debian has in these packages: ${lacking[*]}"
	[ "$(id -u)" = 0 ] || die "needs these packages, and only root can install them: ${lacking[*]}"
	say "installing ${lacking[*]}"
	log=$(mktemp)
	begin_life "installing ${lacking[*]}" "$log"
	{
		apt_get update && apt_get install -y --no-install-recommends "${lacking[@]}"
	} > "$log" 2>&1 < /dev/null || { tail -n 20 "$log" >&2; die "can't install ${lacking[*]}"; }
	end_life
	rm -f "$log"
}

# in_tree IMAGE FOLDER LINE: runs a command line in the tree of an image (see scripts/vm/image), with
# a folder of the host at /mnt
in_tree() {
	unshare -m bash -c '
		set -e
		mount --make-rprivate /
		mount --rbind "$2" "$1/tree/mnt"
		mount -t proc proc "$1/tree/proc"
		exec chroot "$1/tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C bash -ec "$3"
	' - "$@"
}

# descendants PID: prints the processes that a process has started, and those that they have started.
# Each is behind its parent.
descendants() {
	local pid
	for pid in $(cat "/proc/$1"/task/*/children 2> /dev/null); do
		echo "$pid"
		descendants "$pid"
	done
}

# end_descendants: ends them for this process, and waits for its own children
end_descendants() {
	# shellcheck disable=SC2046 # a list
	kill $(descendants $$) 2> /dev/null || true
	wait
}

# hash_of [FILE]...: prints a short key of the contents, for names in the cache
hash_of() {
	cat "$@" | sha256sum | cut -c1-12
}

# last_line LOG: prints the printable characters of the last line
last_line() {
	tail -c 300 "$1" 2> /dev/null | tail -n 1 | tr -cd '[:print:]'
}

# show_life TEXT LOG LAST: shows that a long step still runs: for how long, how long it took the
# last time, and the last line of its log.  On a terminal it updates one line; elsewhere it prints
# a line a minute.  Of several steps on a terminal, only the one that has the lock updates a line.
show_life() {
	local start=$SECONDS spent next=60 line lock=/dev/null
	[ ! -t 2 ] || lock=/run/lock/rdma_rxe.life$(tty <&2 | tr / .)
	{ exec 6> "$lock"; } 2> /dev/null || exec 6> /dev/null
	while sleep 1 && kill -0 $$ 2> /dev/null; do
		spent=$((SECONDS - start))
		line="$1: $spent s${3:+ of about $3}"
		if [ -t 2 ] && flock -n 6; then
			printf '\r\033[K==> %.60s  %.50s' "$line" "$(last_line "$2")" >&2
		elif [ $spent -ge $next ]; then
			say "$(printf '%s  %.100s' "$line" "$(last_line "$2")")"
			next=$((spent - spent % 60 + 60))
		fi
	done
}

# begin_life TEXT LOG [LAST], end_life: run show_life() in between, for the step of the caller.  The
# caller has a local variable "life".  show_life() doesn't inherit the caller's stdout, often a
# pipe, nor the locks that the caller has as descriptors 8 and 9.
begin_life() {
	show_life "$1" "$2" "${3:-}" > /dev/null 8>&- 9>&- &
	life=$!
}

end_life() {
	kill "$life" && wait "$life" 2> /dev/null || true
	clear_line
}

# last_time NAME, keep_time NAME SECONDS: print and store the time of a step's last success.  Errors
# are ignored: where a package is built, there may be no home.
last_time() {
	cat "$CACHE/times/$1" 2> /dev/null || true
}

keep_time() {
	{ mkdir -p "$CACHE/times" && echo "$2" > "$CACHE/times/$1"; } 2> /dev/null || true
}

# time_of_build SUITE: prints the name under which the next build's time is stored.  The first build
# takes minutes.  Each later one compiles only what has changed, and takes seconds.
time_of_build() {
	[ -e "$TOP/build/$1/rdma_rxe.ko" ] && echo "build-$1" || echo "build-$1-all"
}

# slowly NAME TEXT LOG COMMAND...: runs a step that may take minutes, with its output in LOG
slowly() {
	local name=$1 text=$2 log=$3 start=$SECONDS status=0 last life
	shift 3
	last=$(last_time "$name")
	say "$text (${last:+took $last s the last time; }log: $log)"
	: > "$log"
	begin_life "$text" "$log" "$last"
	"$@" > "$log" 2>&1 || status=$?
	end_life
	[ $status = 0 ] || return $status
	keep_time "$name" $((SECONDS - start))
	say "$text: done in $((SECONDS - start)) s"
}
