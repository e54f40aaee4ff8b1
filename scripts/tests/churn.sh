# SPDX-License-Identifier: GPL-2.0
# test: links are added and deleted under traffic, programs are killed, and nothing is left
# nodes: 2
# level: long
# debug: yes
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

ROUNDS=${ROUNDS:-40}	# churn-long sets 200

port_free() {
	! grep -qi ':12B7 ' /proc/net/udp /proc/net/udp6
}

# Traffic for the device that stays, until it is told to stop
traffic() {
	while [ -e /tmp/go ]; do
		rc_random -d rxe0 -g "$1" -n 300 -q 2 -m 65536 -s $RANDOM > /dev/null || return 1
	done
}

# Adds and deletes devices in batches, since it takes longer to start the tool than to do its work.  After
# each batch, a device lives long enough to be in use when it is deleted.
add_delete() {
	local i pid user status=0
	touch /tmp/go
	traffic "$(gid_index rxe0 v2 $A4)" &
	pid=$!
	for i in $(seq $((ROUNDS / 10))); do
		timeout 60 rdma -b /tmp/adds && timeout 60 rdma -b /tmp/deletes && rxe_add c0 v0 ||
			{ status=1; break; }
		timeout -s KILL 20 rc_random -d c0 -n 1000000 -q 2 -m 65536 > /dev/null 2>&1 &
		user=$!
		wait_for 20 eval "rdma resource show qp link c0/1 | grep -q 'state RTS.*rc_random'" || status=1
		timeout 40 rdma link delete c0 || { status=1; break; }
		kill -9 $user 2> /dev/null || true
		wait $user || true
	done
	say "$i batches"
	rm /tmp/go
	wait $pid || status=1
	return $status
}

# Programs with busy queue pairs are killed, and the device is deleted at once
killed() {
	local i pid gid type
	for i in 1 2 3 4; do
		type=v$((i % 2 + 1))
		rdma link add k0 type rxe netdev v0 && wait_for 10 rxe_ready k0 v0 || return 1
		gid=$(gid_index k0 $type 198.18.0.1)
		rc_random -d k0 -g "$gid" -n 1000000 -q 4 -s "$i" > /dev/null 2>&1 &
		pid=$!
		wait_for 20 eval "rdma resource show qp link k0/1 | grep -q 'state RTS.*rc_random'" || return 1
		kill -9 $pid
		wait $pid 2> /dev/null || true
		timeout 30 rdma link delete k0 || return 1
	done
}

# One end of a connection between the machines is killed: the other must end by itself
killed_peer() {
	local pid status=0
	on_b "rm -f /tmp/pid; rc_random -d rxe0 -g $SRV_GID --listen 21000 > /dev/null 2>&1 & echo \$! > /tmp/pid; wait" &
	wait_for 20 on_b test -s /tmp/pid || return 1
	rc_random -d rxe0 -g "$CLI_GID" --connect $B4:21000 -t 14 -n 1000000 > /dev/null 2>&1 &
	pid=$!
	wait_for 20 eval "rdma resource show qp | grep -q 'state RTS.*rc_random'" || return 1
	on_b 'kill -9 $(cat /tmp/pid)' || return 1
	wait $pid || status=$?
	[ $status != 0 ]
}

netdev_deleted() {
	rdma link add z0 type rxe netdev v0 && timeout 30 rdma link delete z0 && timeout 30 ip link del v0
}

path_up vms
SRV_GID=$(on_b gid_index rxe0 v2 $B4) CLI_GID=$(gid_index rxe0 v2 $A4)
rm -f /tmp/adds /tmp/deletes
ip link add v0 type veth peer name v1
ip link set v1 up
ip link set v0 up
ip addr add 198.18.0.1/24 dev v0
wait_for 10 grep -q 1 /sys/class/net/v0/carrier
for n in 1 2 3 4 5 6 7 8 9; do
	ip link add d$n type dummy
	ip link set d$n up
	echo "link add c$n type rxe netdev d$n" >> /tmp/adds
	echo "link delete c$n" >> /tmp/deletes
done
try add-delete-$ROUNDS add_delete
try kill-9 killed
try kill-9-peer killed_peer
try resources-gone wait_for 20 resources_gone
try resources-gone-b on_b_tools wait_for 20 resources_gone
try netdev-deleted netdev_deleted
rdma link delete rxe0
try port-free wait_for 5 port_free
