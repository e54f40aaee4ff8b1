# SPDX-License-Identifier: GPL-2.0
# Functions of the benchmark's parts that run in a machine.  They source this file after
# scripts/tests/lib.sh.
# shellcheck shell=bash disable=SC2034

# veth_up MTU: makes a veth pair with an address at each end.  The shipped module of 6.12 finds a
# second device of the machine only within one namespace, so both ends are in one.  The kernel would
# deliver packets between its own addresses locally.  The rules send them out on the wire.
veth_up() {
	local end peer n
	ip link add v1 mtu "$1" type veth peer name v2 mtu "$1"
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	for n in 1 2; do
		end=v$n peer=$((3 - n))
		sysctl -qw net.ipv4.conf.$end.rp_filter=0 net.ipv4.conf.$end.accept_local=1 \
			net.ipv6.conf.$end.disable_ipv6=1
		ip addr add 203.0.113.$n/32 dev $end
		ip link set $end up
		ip rule add pref $n iif $end lookup local
		ip rule add pref 10$n to 203.0.113.$peer lookup 10$n
		ip route add 203.0.113.$peer/32 dev $end src 203.0.113.$n table 10$n
	done
	ip rule add pref 200 lookup local
	ip rule del pref 0
	wait_for 10 ping -qc 1 -I 203.0.113.1 203.0.113.2
}

# one_end TYPE ADDRESS: makes a device on eth0.  two_ends TYPE: makes one on each end of the pair of
# veth_up().  Both set ends, the options of rc_cost and rc_scale for these devices.
one_end() {
	rxe_add rxe0 eth0
	ends=(-d rxe0 -g "$(gid_index rxe0 "$1" "$2")")
}

two_ends() {
	rxe_add rxe0 v1
	rxe_add rxe1 v2
	ends=(-d rxe0 -g "$(gid_index rxe0 "$1" 203.0.113.1)" -D rxe1 -G "$(gid_index rxe1 "$1" 203.0.113.2)")
}

# depth SIZE: prints the number of outstanding messages for rc_cost
depth() {
	[ "$1" -lt 1048576 ] && echo 16 || echo 4
}

veth_down() {
	local n
	ip rule show | grep -q '^0:' || ip rule add pref 0 lookup local
	for n in 1 2 101 102 200; do
		ip rule del pref $n
	done
	ip link del v1
}

# registration SIZE: prints the cost of a fast registration and its invalidation, by reg_cost.ko
registration() {
	modinfo -F depends /job/bin/reg_cost.ko | tr , '\n' | xargs modprobe -a &&
		insmod /job/bin/reg_cost.ko device=rxe0 gid="$(gid_index rxe0 v2 $A4)" size="$1" count=2000 &&
		cat /sys/module/reg_cost/parameters/ns && rmmod reg_cost
}

nvme_connected() {
	DISK=$(find /dev -name 'nvme*n1' | head -n 1)
	[ -b "$DISK" ]
}

# disk OP SIZE [TRANSPORT]: prints the cost of a disk access.  Both ends of NVMe over Fabrics are on
# the pair of veth_up().  The null block device takes no time and no memory.
disk() {
	local status=0
	modprobe -a "nvme-${3:-rdma}" null_blk && nvme-target up 203.0.113.2 "${3:-rdma}" /dev/nullb0 || return 1
	nvme connect -t "${3:-rdma}" -a 203.0.113.2 -w 203.0.113.1 -s 4420 -n test -i 1 >&2 && wait_for 10 nvme_connected &&
		timeout 60 disk_cost "${1#*-}" "$DISK" "$2" 16 "$(($2 > 4096 ? 400 : 2000))" || status=1
	nvme disconnect -n test >&2 && wait_for 10 eval '! nvme_connected' && nvme-target down &&
		modprobe -r "nvme-${3:-rdma}" null_blk || status=1
	return $status
}
