# SPDX-License-Identifier: GPL-2.0
# test: each failed allocation is a clean error, nothing leaks, and the device works afterwards
# nodes: 1
# level: debug
# debug: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

FAULTS="failslab fail_page_alloc"
FAULTS_AT=/sys/kernel/debug

# faults_set NAME VALUE: sets a parameter of both kinds of faults
faults_set() {
	local kind
	for kind in $FAULTS; do
		[ ! -e $FAULTS_AT/$kind/"$1" ] || echo "$2" > $FAULTS_AT/$kind/"$1" || return 1
	done
}

function_at() { # NAME
	awk -v name="$1" '$3 == name { print "0x" $1 }' /proc/kallsyms
}

# Prepares both kinds of faults.  Only allocations that faults_on() chooses fail, so this shell is not
# affected.  Allocations inside of vmalloc() never fail: vmalloc() would write to the log.
faults_up() {
	local vmalloc
	vmalloc=$(function_at __vmalloc_node_range_noprof)
	faults_set verbose 0 && faults_set times -1 && faults_set interval 1 &&
		faults_set task-filter N && faults_set min-order 0 &&
		faults_set reject-start "$vmalloc" &&
		faults_set reject-end "$(printf '0x%x' $((vmalloc + 0x1000)))"
}

# faults_on driver|near|kernel|load: chooses the allocations that can fail.
#   driver  those with the driver on the stack
#   near    those with the driver among the last callers
#   kernel  all but pages of user space, without which a process is killed
#   load    those of a module that is being loaded
faults_on() {
	local start=0 end=0xffffffffffffffff size highmem=N depth=32
	[ "$1" != near ] || depth=8
	case $1 in
	driver | near)
		read -r size start < <(awk '$1 == "rdma_rxe" { print $2, $6 }' /proc/modules)
		end=$(printf '0x%x' $((start + size)))
		;;
	kernel)
		highmem=Y
		;;
	load)
		start=$(function_at do_one_initcall)
		end=$(printf '0x%x' $((start + 0x200)))
		;;
	esac
	faults_set ignore-gfp-highmem $highmem && faults_set stacktrace-depth $depth &&
		faults_set require-start "$start" && faults_set require-end "$end"
}

# with_faults PROBABILITY all|atomic|large COMMAND...: allocations fail with this probability, in per
# cent, while the command runs: all; those that can't wait; or, of the latter, those of many pages
with_faults() {
	local probability=$1 kind=$2 wait=Y status=0
	local FAULTS=$FAULTS
	[ "$kind" != all ] || wait=N
	[ "$kind" != large ] || FAULTS=fail_page_alloc
	shift 2
	[ "$kind" != large ] || faults_set min-order 3 || return 1
	faults_set ignore-gfp-wait $wait && faults_set probability "$probability" || return 1
	"$@" || status=$?
	faults_set probability 0
	faults_set min-order 0
	return $status
}

# with_nth COMMAND...: runs a command that itself sets which of its allocations fails.  It counts those
# that faults_on() chose.
with_nth() {
	faults_set ignore-gfp-wait N && "$@"
}

# A program whose allocations fail may fail, but it ends.
ends() { # COMMAND..., which limits its own time
	local status=0 LIMIT=30
	"$@" > /dev/null 2>&1 || status=$?
	[ $status != 124 ] && [ $status != 127 ]
}

random() {
	run_rc_random -n 300 -q 4 -s 7 -m 100000
}

# Objects get numbers and keys if all allocations that can't wait fail
numbers() {
	with_faults 100 atomic python3 "$TESTS/py/many_qps.py" "$SRV_DEV" 70
}

# If an allocation that can't wait fails, a packet is lost, and nothing else
atomic_faults() { # PROBABILITY
	with_faults "$1" atomic random
}

# A VLAN, with an address and a neighbour that doesn't exist: paths that need a lookup, of the netdev's
# queues and of the neighbour's MAC address
far_up() {
	ip link add link eth0 name eth0.5 type vlan id 5 && ip link set eth0.5 up &&
		ip addr add 198.18.5.1/24 dev eth0.5 &&
		ip neigh replace 198.18.5.2 lladdr 02:00:00:00:00:65 dev eth0.5 nud permanent &&
		wait_for 10 eval 'gid_index rxe0 v2 198.18.5.1 > /dev/null'
}

# Each allocation of each verb fails once
each_of_verbs() { # OPTION...
	with_nth verbs_nth -d "$SRV_DEV" -g "$SRV_GID" -G "$(gid_index rxe0 v2 198.18.5.1)" \
		-p ::ffff:198.18.5.2 "$@"
}

# There are fifteen thousand allocations, most of them of sysfs.  STEP says which of them fail (fail_nth.py).
link_add() { # STEP
	ip link add d0 type dummy && ip link set d0 up &&
		with_nth python3 "$TESTS/py/fail_nth.py" "$1" add f0 d0 && ip link del d0
}

load() { # STEP
	with_nth python3 "$TESTS/py/fail_nth.py" "$1" load /job/rdma_rxe.ko
}

# Objects are created and destroyed again and again, while allocations fail at random
many_faults() {
	local n
	for n in 1 2 3; do
		with_faults 10 all ends run_rc_random -n 100 -q 4 -s "$n" || return 1
		with_faults 10 all ends timeout 30 verbs_err -d "$SRV_DEV" -g "$SRV_GID" ud-send query || return 1
	done
}

works() {
	run_rc_pingpong && run_ud_pingpong && run_rping && random
}

# Prints how many large blocks of memory the driver asks for in vain while it sends a few megabytes
blocks_asked() {
	local times=$FAULTS_AT/fail_page_alloc/times
	echo 1000000 > $times
	with_faults 100 large run_perftest write_bw 300 >&2 || return 1
	echo $((1000000 - $(cat $times)))
	echo -1 > $times
}

# Packets are written into large blocks, which are used again and again.  If there is no memory for a
# large block, the driver uses a small one, and asks for a large one the next time.  When there is memory
# again, it gets its large blocks, and stops asking.  Each CPU has its own blocks.
trains_heal() {
	local first short healed
	taskset -pc 0 $BASHPID > /dev/null && first=$(blocks_asked) && short=$(blocks_asked) &&
		run_perftest write_bw 300 > /dev/null && healed=$(blocks_asked) || return 1
	say "asked for $first blocks, then $short, and $healed after there were some"
	[ "$short" -ge 50 ] && [ "$healed" -le $((short / 4)) ]
}

[ -d $FAULTS_AT/failslab ] && [ -d $FAULTS_AT/fail_page_alloc ] ||
	{ skip all "this kernel can't make allocations fail"; exit; }
faults_up
modprobe -a ib_uverbs rdma_ucm udp_tunnel ip6_udp_tunnel
faults_on load
try load load 2
LOSSY=1
path_up loop
use_gid v2-ipv4
try far far_up
faults_on driver
try numbers numbers
cases own- each_of_verbs -o
try link-add link_add x
try loop-atomic atomic_faults 5
try loop-many many_faults
faults_on near
try link-add-near link_add 6
faults_on kernel
cases all- each_of_verbs
faults_on driver
try loop-works works
try resources-gone wait_for 10 resources_gone
unload
load_ours
faults_on driver
with_faults 100 large path_up veth	# no CPU has a large block yet
use_gid v2-ipv4
try trains-heal trains_heal
try veth-atomic atomic_faults 1
try veth-many many_faults
try veth-works works
