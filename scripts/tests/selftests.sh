# SPDX-License-Identifier: GPL-2.0
# test: the kernel's own tests of RDMA (tools/testing/selftests/rdma)
# nodes: 1
# level: long
# suites: all
# timeout: 200
# needs: selftests
. "$(dirname "$0")/lib.sh"

folder=/job/selftests/rdma

# They load the module by modprobe, and unload it.
install_module() {
	local updates
	updates=/lib/modules/$(uname -r)/updates
	modprobe -a ib_uverbs rdma_ucm
	[ "${RXE_MODULE:-ours}" = ours ] || return 0
	mkdir -p "$updates"
	cp /job/rdma_rxe.ko "$updates/"
	depmod
}

has_linux() { # VERSION, or a later one
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# They print nothing but what failed, and what they skip (status 4).
run() { # SCRIPT
	local status=0
	if [ "$1" = rxe_netns_names.sh ] && ! has_linux 7.1; then
		skip "${1%.sh}" "the names of devices are unique in all namespaces before Linux 7.1"
		return
	fi
	(cd "$folder" && timeout 240 bash "./$1" >&2) || status=$?
	case $status in
	0) ok "${1%.sh}" ;;
	4) skip "${1%.sh}" "it asks for what this machine lacks" ;;
	*) fail "${1%.sh}" "status $status" ;;
	esac
}

say "from $(cat $folder/package)"
install_module
for script in "$folder"/*.sh; do
	modprobe tun	# some unload it when they end
	run "${script##*/}"
	try "$(basename "$script" .sh)-unloads" wait_for 10 eval '[ ! -d /sys/module/rdma_rxe ]'
done
rm -rf "/lib/modules/$(uname -r)/updates"
depmod
