# SPDX-License-Identifier: GPL-2.0
# test: the kernel's own tests of RDMA (tools/testing/selftests/rdma)
# nodes: 1
# level: long
# suites: all
# timeout: 200
# needs: selftests
. "$(dirname "$0")/lib.sh"

folder=/job/selftests/rdma

# The kernel's tests load the module by modprobe, and unload it.
install_module() {
	local updates
	updates=/lib/modules/$(uname -r)/updates
	modprobe -a ib_uverbs rdma_ucm
	[ "${RXE_MODULE:-ours}" = ours ] || return 0
	mkdir -p "$updates"
	cp /job/rdma_rxe.ko "$updates/"
	depmod
}

# combined_rename: can this rdma move a device to a namespace and rename it in one command?
combined_rename() {
	rdma dev help 2>&1 | grep -Eq 'netns .*name|name .*netns'
}

# what_skips LOG: prints what the script says that it skipped, a line each.  Most scripts mean to end with
# status $KSFT_SKIP, but don't set that variable, and so end as if they had passed.  A script that skips a
# part passes, too.
what_skips() {
	sed -nE 's/^SKIP:? *//p; s/^(not )?ok [0-9]+ *(- )?(.*)# SKIP.*/part: \3/p; s/^1\.\.0 # SKIP */all: /p' "$1"
}

# known_skip WHAT: if a property of this machine explains the skip, prints it.  If not, fails
known_skip() {
	case $1 in
	'part: move with requested destination name succeeds'*)
		! combined_rename && echo "this rdma can't move and rename a device in one command"
		;;
	*) return 1 ;;
	esac
}

# The scripts print only what failed, and what they skip (status 4).
run() { # SCRIPT
	local case=${1%.sh} log=/tmp/selftest.log status=0 what why
	if [ "$1" = rxe_netns_names.sh ] && ! has_linux 7.1; then
		skip "$case" "the names of devices are unique in all namespaces before Linux 7.1"
		return
	fi
	(cd "$folder" && KSFT_SKIP=4 timeout 240 bash "./$1") > $log 2>&1 || status=$?
	cat $log >&2
	while read -r what; do
		if why=$(known_skip "$what"); then
			skip "$case-part" "$why"
		else
			fail "$case" "it skips, $what"
			return
		fi
	done < <(what_skips $log)
	case $status in
	0) ok "$case" ;;
	4) fail "$case" "it skips, and doesn't say why" ;;
	*) fail "$case" "status $status" ;;
	esac
}

say "from $(cat $folder/package)"
install_module
for script in "$folder"/*.sh; do
	modprobe tun	# some scripts unload it when they end
	run "${script##*/}"
	try "$(basename "$script" .sh)-unloads" wait_for 10 eval '[ ! -d /sys/module/rdma_rxe ]'
done
rm -rf "/lib/modules/$(uname -r)/updates"
depmod
