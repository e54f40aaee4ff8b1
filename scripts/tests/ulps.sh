# SPDX-License-Identifier: GPL-2.0
# test: the kernel's own protocols on RDMA: RDS, SMC-R
# nodes: 2
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SIZE=4			# MiB that are sent

# Prints the number of packets that this machine's device has received
received() {
	cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts
}

# Sends SIZE MiB there and back.  They must go by RDMA: the protocol may fall back to TCP
sockets() { # rds|smc PORT
	local before status=0 program=$TESTS/py/ulp_sockets.py pid
	on_b "timeout 100 $program $1 listen $SRV4 $2" > /tmp/ulp.out 2>&1 &
	pid=$!
	wait_for 20 grep -q ready /tmp/ulp.out || { say "$(cat /tmp/ulp.out)"; return 1; }
	before=$(received)
	timeout 90 $program "$1" send "$CLI4" "$2" "$SRV4" $SIZE >&2 || status=1
	on_b pkill -f ulp_sockets || true
	wait $pid || true
	say "$(cat /tmp/ulp.out)"
	say "$(($(received) - before)) packets received"
	[ $status -eq 0 ] && [ $(($(received) - before)) -gt $((SIZE << 20 >> 12)) ]
}

# SMC-R uses GIDs of RoCE v1.  With a common enterprise ID on both ends, it uses version 2 of its protocol, and
# RoCE v2
EID=''

smc_up() {
	modprobe smc && on_b modprobe smc || return 1
	[ -z "$EID" ] || { "$TESTS/py/smc_eid.py" "$EID" && on_b "$TESTS/py/smc_eid.py" "$EID"; }
}

# The module is in use until a worker has closed the last sockets
smc_down() {
	wait_for 20 modprobe -r smc && wait_for 20 on_b modprobe -r smc
}

# over v1|v2 COMMAND...: the command's data goes by this version of RoCE, and nothing by the other
over() {
	local status=0 used='ether proto 0x8915' other='udp port 4791' has
	[ "$1" = v1 ] || used=$other other='ether proto 0x8915'
	capture_begin '' eth0 /tmp/smc.pcap -s 100 "$used or $other"
	"${@:2}" || status=1
	capture_end
	has=$(frames /tmp/smc.pcap "$used") other=$(frames /tmp/smc.pcap "$other")
	say "$has packets of RoCE $1, $other of the other version"
	[ $status = 0 ] && [ "$has" -gt $((SIZE << 20 >> 12)) ] && [ "$other" = 0 ]
}

# Prints how many answers the kernel has dropped.  It logs the first of them after the module was loaded.  Types of
# version 2 are larger by 32
lost_confirms() {
	dmesg | grep -cE 'SMC-R .* dropped unexpected LLC msg: msg (4|36) exp (1|33)' || true
}

# An SMC-R client sends a message by TCP, and only then begins to wait for the server's answer, CONFIRM LINK
# (smc_connect_rdma()).  If the answer comes sooner, the kernel drops it, the server deletes the link, and both
# use TCP.  Only in this case, the two connect once more.
over_smc() {
	local port lost
	for port in {6000..6007}; do
		lost=$(lost_confirms)
		if smc_up && sockets smc "$port"; then
			smc_down
			return
		fi
		smc_down && [ "$(lost_confirms)" -gt "$lost" ] || return 1
		say "the client was too slow to wait for the server"
	done
	return 1
}

path_up vms
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	modprobe rds_rdma
	on_b modprobe rds_rdma
	try rds-$type sockets rds 18634
	wait_for 20 modprobe -r rds_rdma
	wait_for 20 on_b modprobe -r rds_rdma
done
use_gid v2-ipv4
if modinfo smc > /dev/null 2>&1; then
	try smc over v1 over_smc
	EID=TESTS.OF.SMC-R
	try smc-v2 over v2 over_smc
else
	skip smc "this kernel has no SMC-R"
fi
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
