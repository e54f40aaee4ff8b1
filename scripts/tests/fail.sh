# SPDX-License-Identifier: GPL-2.0
# test: whatever allocation of the driver fails, errors are clean, nothing leaks, all works afterwards
# nodes: 1
# level: debug
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

FAULTS="failslab fail_page_alloc"
FAULTS_AT=/sys/kernel/debug

# faults_set NAME VALUE: of both kinds
faults_set() {
	local kind
	for kind in $FAULTS; do
		[ ! -e $FAULTS_AT/$kind/"$1" ] || echo "$2" > $FAULTS_AT/$kind/"$1" || return 1
	done
}

# Allocations with the module on the stack fail, and no others: this shell goes on.  Nor those
# inside of vmalloc(), which tells the log.
faults_up() {
	local start size vmalloc
	vmalloc=$(awk '$3 == "__vmalloc_node_range_noprof" { print "0x" $1 }' /proc/kallsyms)
	read -r size start < <(awk '$1 == "rdma_rxe" { print $2, $6 }' /proc/modules)
	faults_set verbose 0 && faults_set times -1 && faults_set interval 1 &&
		faults_set task-filter N && faults_set min-order 0 && faults_set ignore-gfp-highmem N &&
		faults_set stacktrace-depth 32 &&
		faults_set reject-start "$vmalloc" &&
		faults_set reject-end "$(printf '0x%x' $((vmalloc + 0x1000)))" &&
		faults_set require-start "$start" &&
		faults_set require-end "$(printf '0x%x' $((start + size)))"
}

# with_faults PROBABILITY all|atomic COMMAND...
with_faults() {
	local probability=$1 wait=N status=0
	[ "$2" = all ] || wait=Y
	shift 2
	faults_set ignore-gfp-wait $wait && faults_set probability "$probability" || return 1
	"$@" || status=$?
	faults_set probability 0
	return $status
}

# nth N COMMAND...: the N-th allocation of the command's process fails
nth() {
	sh -c 'echo "$0" > /proc/self/fail-nth && exec "$@"' "$@"
}

# Programs whose allocations fail may fail, but they end.
ends() { # COMMAND...
	local status=0
	timeout 30 "$@" > /dev/null 2>&1 || status=$?
	[ $status != 124 ]
}

random() {
	run_rc_random -n 300 -q 4 -s 7 -m 100000
}

# No memory at once, but some for whoever may wait: numbers and keys of objects
numbers() {
	with_faults 100 atomic python3 "$TESTS/py/many_qps.py" "$SRV_DEV" 70
}

# What can't be allocated at once is a lost packet, and nothing else
atomic_faults() { # PROBABILITY
	with_faults "$1" atomic random
}

# Each allocation on the way to a queue pair and back
each_of_objects() {
	local n status
	faults_set ignore-gfp-wait N
	for n in $(seq 25); do
		ends nth "$n" verbs_err -d "$SRV_DEV" -g "$SRV_GID" ud-send query || return 1
	done
}

each_of_link_add() {
	local n added=0
	faults_set ignore-gfp-wait N
	ip link add d0 type dummy && ip link set d0 up || return 1
	for n in 1 2 3 5 8 13 21 34 55 89 144 233 377; do
		ends nth "$n" rdma link add f0 type rxe netdev d0 || return 1
		! rdma link show f0/1 > /dev/null 2>&1 || { rdma link delete f0 && added=$((added + 1)); } || return 1
	done
	say "added $added times"
	rdma link add f0 type rxe netdev d0 && rdma link delete f0 && ip link del d0
}

# What is made anew again and again, with failures anywhere
many_faults() {
	local n
	for n in 1 2 3; do
		with_faults 10 all ends run_rc_random -n 100 -q 4 -s "$n" || return 1
		with_faults 10 all ends verbs_err -d "$SRV_DEV" -g "$SRV_GID" ud-send query || return 1
	done
}

works() {
	run_rc_pingpong && run_ud_pingpong && run_rping && random
}

# Ten messages of ten packets each, in trains; without large blocks of memory in more and shorter
# ones; and afterwards as before.
trains_heal() {
	local before during after counter=/sys/class/infiniband/rxeA/ports/1/hw_counters/tx_drop_no_memory
	before=$(packets veth run_perftest write_bw) && faults_set min-order 3 &&
		during=$(with_faults 100 atomic packets veth run_perftest write_bw 300) && faults_set min-order 0 &&
		packets veth run_perftest write_bw 300 > /dev/null &&
		after=$(packets veth run_perftest write_bw) || return 1
	say "$before packets, $during without memory for trains, then $after; not sent: $(cli cat $counter)"
	[ "$after" -le $((before + 10)) ]
}

[ -d $FAULTS_AT/failslab ] && [ -d $FAULTS_AT/fail_page_alloc ] ||
	{ skip all "this kernel can't make allocations fail"; exit; }
LOSSY=1
path_up loop
use_gid v2-ipv4
faults_up
try numbers numbers
try each-allocation each_of_objects
try loop-atomic atomic_faults 5
try loop-many many_faults
try loop-works works
try link-add each_of_link_add
try resources-gone wait_for 10 resources_gone
unload
path_up veth
use_gid v2-ipv4
faults_up
try veth-atomic atomic_faults 1
try veth-many many_faults
try veth-works works
try trains-heal trains_heal
