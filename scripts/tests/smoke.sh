# SPDX-License-Identifier: GPL-2.0
# test: the module loads, a link comes up, and data moves between two machines
# nodes: 2
# level: quick
# debug: yes
# timeout: 120
. "$(dirname "$0")/lib.sh"

LIMIT=100	# seconds; only a hang takes as long

devinfo() {
	ibv_devinfo -d rxe0 | tee /dev/stderr | grep -q PORT_ACTIVE
}

pingpong() { # TYPE
	local on_a on_b
	on_a=$(gid_index rxe0 "$1" $A4) && on_b=$(on_b gid_index rxe0 "$1" $B4) || return 1
	on_b timeout $LIMIT ibv_rc_pingpong -e -d rxe0 -g "$on_b" -s 65536 -n 20 -c &
	on_b wait_tcp 18515 && timeout $LIMIT ibv_rc_pingpong -e -d rxe0 -g "$on_a" -s 65536 -n 20 -c $B4 && wait $!
}

ping_cm() { # ADDRESS
	on_b timeout $LIMIT rping -s -a "$1" -C 20 -S 4096 -V &
	on_b wait_cm && timeout $LIMIT rping -c -a "$1" -C 20 -S 4096 -V && wait $!
}

try link-add rxe_up
try devinfo devinfo
try rc-pingpong-v2 pingpong v2
if gid_index rxe0 v1 $A4 > /dev/null; then
	try rc-pingpong-v1 pingpong v1
else
	skip rc-pingpong-v1 "the device has no v1 GID"
fi
try rping-ipv4 ping_cm $B4
try rping-ipv6 ping_cm $B6
try link-delete rxe_down
