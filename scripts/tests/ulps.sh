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

smc_up() {
	modprobe smc && on_b modprobe smc
}

# The module is in use until a worker has closed the last sockets
smc_down() {
	wait_for 20 modprobe -r smc && wait_for 20 on_b modprobe -r smc
}

# over_v1 COMMAND...: the command's data goes by RoCE v1.  SMC-R uses GIDs of RoCE v1.  To use RoCE v2, it needs
# an enterprise ID on both ends (version 2 of the protocol)
over_v1() {
	local status=0 v1 v2
	capture_begin '' eth0 /tmp/smc.pcap -s 100 'ether proto 0x8915 or udp port 4791'
	"$@" || status=1
	capture_end
	v1=$(frames /tmp/smc.pcap ether proto 0x8915) v2=$(frames /tmp/smc.pcap udp port 4791)
	say "$v1 packets of RoCE v1, $v2 of RoCE v2"
	[ $status = 0 ] && [ "$v1" -gt $((SIZE << 20 >> 12)) ] && [ "$v2" = 0 ]
}

# Prints how many answers the kernel has dropped.  It logs the first of them after the module was loaded
lost_confirms() {
	dmesg | grep -c 'SMC-R .* dropped unexpected LLC msg: msg 4 exp 1' || true
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
try smc over_v1 over_smc
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
