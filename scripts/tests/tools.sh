# SPDX-License-Identifier: GPL-2.0
# Functions that several tests share: paths between two ends, and well-known programs that run over them.
# Tests source this file after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154
#
# A path has a server's and a client's end.  `srv COMMAND...` and `cli COMMAND...` run a command
# there; SRV_DEV, CLI_DEV are the devices, SRV_NET, CLI_NET the netdevs, SRV4, CLI4, SRV6 and CLI6
# the addresses.

KNOBS=/sys/kernel/debug/rdma_rxe/knobs	# the numbers of rxe/knobs.h
PORT=20000		# each program gets its own port: what an earlier one left doesn't matter
LIMIT=180		# seconds that a program may take
LOSSY=''		# not empty: packets get lost, also the last ones of a connection
FROM=''		# not empty: RDMA_CM clients name their own address; by default, the route chooses it

# cases PREFIX COMMAND...: runs a program that prints "ok|fail|skip CASE why", and reports its cases as
# PREFIXCASE.  It must print a case at least
cases() { # PREFIX COMMAND...
	local prefix=$1 status='' failures=0 count=0 word name why
	shift
	while read -r word name why; do
		case $word in
		ok) ok "$prefix$name" ;;
		fail)
			fail "$prefix$name" "$why"
			failures=1
			;;
		skip) skip "$prefix$name" "$why" ;;
		end)
			status=$name
			continue
			;;
		*)
			say "$word $name $why"
			continue
			;;
		esac
		count=$((count + 1))
	done < <(s=0; "$@" || s=$?; echo "end $s")
	# Status 1 means that a case failed, which is reported already
	[ "$status" = $failures ] || fail "${prefix}exit" "status ${status:-unknown}: $*"
	[ $count -gt 0 ] || fail "${prefix}no-case" "no result: $*"
	[ $failures = 0 ] || say_drops
}

# say_drops: writes to the log what this machine's devices and its network stack have dropped
say_drops() {
	say "dropped by devices: $(grep -s . /sys/class/infiniband/*/ports/1/hw_counters/*drop* |
		sed -n 's,^/sys/class/infiniband/,,; s,/.*/,/,; /:0$/! p' | tr '\n' ' ')"
	say "packets, drops of each processor's backlog: $(cut -d' ' -f1,2 /proc/net/softnet_stat | tr '\n' ',')"
	say "dropped by queueing disciplines: $(tc -s qdisc show | grep -o 'dropped [1-9][0-9]*' | tr '\n' ' ')"
}

# with_tools COMMAND...: prints the command as a line for another shell, with the functions of lib.sh and of
# this file
with_tools() {
	echo ". $TESTS/lib.sh; . $TESTS/tools.sh; $(printf '%q ' "$@")"
}

# in_netns NS COMMAND...: runs the command in a namespace.  The command may be a function
in_netns() {
	local ns=$1
	shift
	if declare -F "$1" > /dev/null; then
		ip netns exec "$ns" bash -c "$(with_tools "$@")"
	else
		ip netns exec "$ns" "$@"
	fi
}

# on_b_tools COMMAND...: does what on_b() does.  The command may also be a function of this file
on_b_tools() {
	on_b "$(with_tools "$@")"
}

# path loop|veth|ports|vms: sets the ends of a path whose devices exist, see path_up()
path() {
	PATH_NAME=$1 FROM=''
	srv_host() { "$@"; }	# the server's machine, outside of its namespace
	case $1 in
	loop)
		srv() { "$@"; }
		cli() { "$@"; }
		SRV_DEV=rxe0 CLI_DEV=rxe0 SRV_NET=eth0 CLI_NET=eth0
		SRV4=$A4 CLI4=$A4 SRV6=$A6 CLI6=$A6
		;;
	veth)
		srv() { in_netns B "$@"; }
		cli() { in_netns A "$@"; }
		SRV_DEV=rxeB CLI_DEV=rxeA SRV_NET=veth CLI_NET=veth
		SRV4=203.0.113.2 CLI4=203.0.113.1 SRV6=2001:db8:1::2 CLI6=2001:db8:1::1
		;;
	ports)
		srv() { "$@"; }
		cli() { "$@"; }
		SRV_DEV=rxeB CLI_DEV=rxeA SRV_NET=portB CLI_NET=portA
		SRV4=203.0.113.2 CLI4=203.0.113.1 SRV6=2001:db8:1::2 CLI6=2001:db8:1::1
		FROM=1
		;;
	vms)
		srv() { on_b_tools "$@"; }
		srv_host() { on_b_tools "$@"; }
		cli() { "$@"; }
		SRV_DEV=rxe0 CLI_DEV=rxe0 SRV_NET=eth0 CLI_NET=eth0
		SRV4=$B4 CLI4=$A4 SRV6=$B6 CLI6=$A6
		;;
	esac
	SRVLL='' CLILL=''
}

# ports_up: makes a veth pair with both ends in this namespace, and a device on each
ports_up() {
	local end n=1
	load_ours && ip link add portA type veth peer name portB || return 1
	for end in A B; do
		ip link set port$end up && ip addr add 203.0.113.$n/24 dev port$end &&
			ip addr add 2001:db8:1::$n/64 dev port$end nodad || return 1
		n=2
	done
	rxe_add rxeA portA && rxe_add rxeB portB
}

path_up() { # PATH: loads the module, adds the devices, and calls path()
	case $1 in
	loop)
		load_ours && rxe_add
		;;
	veth) netns_pair ;;
	ports) ports_up ;;
	vms) rxe_up ;;
	esac && path "$1" && {
		SRVLL=$(srv link_local "$SRV_NET")
		CLILL=$(cli link_local "$CLI_NET")
	}
}

# in_order: has one processor receive for each end of a veth pair.  Otherwise, packets of a sender are
# reordered when it moves to another processor.  If both ends are in one namespace, packets of RoCE v2 pass
# through lo, since both addresses are local.
in_order() {
	[[ $PATH_NAME = veth || $PATH_NAME = ports ]] && [ "$(nproc)" -gt 1 ] || return 0
	[ $PATH_NAME = veth ] || echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus || return 1
	srv sh -c "echo 1 > /sys/class/net/$SRV_NET/queues/rx-0/rps_cpus" &&
		cli sh -c "echo 2 > /sys/class/net/$CLI_NET/queues/rx-0/rps_cpus"
}

# hooks_on: makes a namespace with chains at all hooks of netfilter, so these hooks stay on.  Otherwise, the
# kernel's code would be patched whenever a case begins or ends to filter, while the other processor runs that
# code.  QEMU before 8.1 may then execute a breakpoint that is no longer there.
hooks_on() {
	local hook
	ip netns add hooks && ip netns exec hooks nft add table inet still || return 1
	for hook in prerouting input forward output postrouting; do
		ip netns exec hooks nft add chain inet still "at_$hook" "{ type filter hook $hook priority 0; }" || return 1
	done
}

# use_gid v2-ipv4|v2-ipv6|v1-ipv4|v1-ll|v2-ll|v1-ipv6: sets what the programs below use: SRV_GID and CLI_GID
# (indexes), SRV_CM and CLI_CM (addresses for RDMA_CM), and RDMA_CM's RoCE version
use_gid() {
	local version=${1%-*} kind=${1#*-}
	case $kind in
	ipv4) SRV_CM=$SRV4 CLI_CM=$CLI4 ;;
	ipv6) SRV_CM=$SRV6 CLI_CM=$CLI6 ;;
	ll) SRV_CM=$SRVLL CLI_CM=$CLILL ;;
	esac
	SRV_GID=$(srv gid_index "$SRV_DEV" "$version" "$SRV_CM") &&
		CLI_GID=$(cli gid_index "$CLI_DEV" "$version" "$CLI_CM") &&
		srv_host cm_mode "$SRV_DEV" "$version" && cm_mode "$CLI_DEV" "$version" || return 1
	[ "$kind" != ll ] || {
		SRV_BIND="$SRV_CM%$SRV_NET" CLI_BIND="$CLI_CM%$CLI_NET" SRV_CM="$SRV_CM%$CLI_NET"
		return
	}
	SRV_BIND=$SRV_CM CLI_BIND=$CLI_CM
}

# cm_mode DEV v1|v2: sets the RoCE version that RDMA_CM uses on a device
cm_mode() {
	local dir=/sys/kernel/config/rdma_cm/$1 name="RoCE v2"
	[ "$2" = v2 ] || name="IB/RoCE v1"
	[ -d "$dir" ] || mkdir "$dir" || return 1
	echo "$name" > "$dir/ports/1/default_roce_mode"
}

# cm_ready PORT: waits until a process listens with RDMA_CM on this port
cm_ready() {
	wait_for 60 eval "rdma resource show cm_id | grep -q 'LISTEN.*:$1 '"
}

# both READY SERVER-COMMAND -- CLIENT-COMMAND: runs the two ends.  READY, which waits for the server, is
# wait_tcp or cm_ready
both() {
	local ready=$1 server=() status=0 pid
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	srv timeout $LIMIT "${server[@]}" &
	pid=$!
	if ! srv "$ready" $PORT; then
		kill $pid 2> /dev/null || true
		wait $pid || true
		return 1
	fi
	cli timeout $LIMIT "$@" || status=$?
	# The client failed.  A server that ends by itself may print the reason
	[ $status -eq 0 ] || wait_for 5 eval "! kill -0 $pid" || kill $pid 2> /dev/null || true
	wait $pid || status=$((status ? status : 1))
	return $status
}

# capture_begin NS NETDEV FILE [OPTION...] FILTER, capture_end: tcpdump captures on a netdev of a namespace
# ('': this one) meanwhile
capture_begin() {
	local in=() log=$3.log
	[ -z "$1" ] || in=(ip netns exec "$1")
	rm -f "$log"
	"${in[@]}" tcpdump -i "$2" -B 16384 --immediate-mode -U -w "$3" "${@:4}" 2> "$log" &
	CAPTURE=$! CAPTURE_LOG=$log
	wait_for 20 grep -q 'listening on' "$log"
}

# capture_end: waits until all that the kernel has captured is in the file
capture_end() {
	wait_for 5 capture_is_written || true
	kill -INT $CAPTURE
	wait $CAPTURE || true
}

# On SIGUSR1, tcpdump prints how many frames it has written, and how many it has received
capture_is_written() {
	local written came
	kill -USR1 $CAPTURE && sleep 0.1 || return 1
	read -r written came < <(sed -n 's/.* \([0-9]*\) packets* captured, \([0-9]*\) packets* received.*/\1 \2/p' "$CAPTURE_LOG" | tail -n 1)
	[ -n "$came" ] && [ "$written" = "$came" ]
}

# each_netns_its_devices: sets the exclusive mode.  The RDMA core refuses that while there is any namespace but
# the first.  A deleted namespace exists for up to 110 s more, while the TCP connection of a program that was
# there waits for an answer.  (node_reset() of lib.sh shortens that for the namespaces that a test leaves.)
each_netns_its_devices() {
	wait_for 150 rdma system set netns exclusive ||
		{ say "$(ip netns list | wc -l) namespaces have names, $(grep TCP: /proc/net/sockstat)"; return 1; }
}

# Prints the sum of one counter over all queue pairs of rxe0 that `rdma statistic qp show` prints
qp_count() { # NAME [FILTER...]
	local name=$1
	shift
	rdma statistic qp show link rxe0/1 "$@" | grep -o " $name [0-9]*" | awk '{ sum += $2 } END { print sum + 0 }'
}

# Makes namespaces A and B with a tap or tun each, and a process that passes packets between them (PASSES)
taps_up() { # tap_pair.py's OPTION...
	local ns n=1
	ip netns add A && ip netns add B && rm -f /tmp/taps || return 1
	python3 "$TESTS/py/tap_pair.py" "$@" A veth B veth > /tmp/taps & PASSES=$!
	wait_for 60 grep -q ready /tmp/taps || return 1
	for ns in A B; do
		ip -n $ns link set lo up && ip -n $ns link set veth up && ip -n $ns addr add 203.0.113.$n/24 dev veth &&
			ip -n $ns addr add 2001:db8:1::$n/64 dev veth nodad && in_netns $ns rxe_add rxe$ns veth || return 1
		n=2
	done
	path veth
}

# with_loss COMMAND...: runs the command while both machines lose one packet in a hundred
with_loss() {
	local status=0
	tc qdisc add dev eth0 root netem loss 1% && on_b tc qdisc add dev eth0 root netem loss 1% &&
		"$@" || status=1
	tc qdisc del dev eth0 root
	on_b tc qdisc del dev eth0 root
	return $status
}

# frames FILE [FILTER...]: prints how many frames of a capture match
frames() {
	tcpdump -r "$1" --count "${@:2}" 2> /dev/null | awk '{ n = $1 } END { print n + 0 }'
}

# roce_fields FILE FIELD...: prints these fields (see py/roce_fields.py) of a capture's RoCE packets, a line for
# each.  tshark would need many seconds to start in an emulated machine
roce_fields() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/roce_fields.py" "$@"
}

has_frames() { # FILE COUNT: the capture has so many frames or more
	[ "$(frames "$1")" -ge "$2" ]
}

# mac_of NS NETDEV: prints the MAC address
mac_of() {
	ip netns exec "$1" cat "/sys/class/net/$2/address"
}

# sent_by NS NETDEV: prints the number of packets that the netdev has sent
sent_by() {
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_packets"
}

# spread_over NS0 NETDEV0 NS1 NETDEV1: sixteen queue pairs have sixteen UDP source ports, by which a bond or
# ECMP distributes their packets: each of the two netdevs sends a tenth at least
spread_over() {
	local zero one
	zero=$(sent_by "$1" "$2") one=$(sent_by "$3" "$4")
	PORT=$((PORT + 1))
	both wait_tcp ib_write_bw -F -q 16 -n 200 -s 4096 -p $PORT -d "$SRV_DEV" -x "$SRV_GID" -- \
		ib_write_bw -F -q 16 -n 200 -s 4096 -p $PORT -d "$CLI_DEV" -x "$CLI_GID" "$SRV4" || return 1
	zero=$(($(sent_by "$1" "$2") - zero)) one=$(($(sent_by "$3" "$4") - one))
	say "$zero packets by $1 $2, $one by $3 $4"
	[ $((zero * 10)) -gt $((zero + one)) ] && [ $((one * 10)) -gt $((zero + one)) ]
}

# Each of these functions runs one well-known program, with the GIDs and addresses of use_gid().

run_rc_pingpong() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_rc_pingpong -e -c -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -n 10 -s 30000 -- \
		ibv_rc_pingpong -e -c -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -n 10 -s 30000 "$SRV4"
}

run_uc_pingpong() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_uc_pingpong -e -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -n 10 -s 30000 -- \
		ibv_uc_pingpong -e -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -n 10 -s 30000 "$SRV4"
}

run_ud_pingpong() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_ud_pingpong -e -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -n 10 -s 1000 -- \
		ibv_ud_pingpong -e -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -n 10 -s 1000 "$SRV4"
}

run_rping() {
	PORT=$((PORT + 1))
	both cm_ready rping ${LOSSY:+--lossy} -s -a "$SRV_BIND" -p $PORT -C 10 -S 20000 -V -- \
		rping ${LOSSY:+--lossy} -c ${FROM:+-I "$CLI_BIND"} -a "$SRV_CM" -p $PORT -C 10 -S 20000 -V
}

run_ucmatose() {
	PORT=$((PORT + 1))
	both cm_ready ucmatose -b "$SRV_BIND" -p $PORT -c 2 -C 5 -S 3000 -- \
		ucmatose ${FROM:+-b "$CLI_BIND"} -s "$SRV_CM" -p $PORT -c 2 -C 5 -S 3000
}

# udaddy's port can't be changed
run_udaddy() {
	local PORT=7174
	both cm_ready udaddy -b "$SRV_BIND" -c 2 -C 5 -S 500 -- \
		udaddy ${FROM:+-b "$CLI_BIND"} -s "$SRV_CM" -c 2 -C 5 -S 500
}

run_rdma_client() {
	PORT=$((PORT + 1))
	both cm_ready rdma_server -s "$SRV_BIND" -p $PORT -- rdma_client -s "$SRV_CM" -p $PORT
}

# run_perftest NAME [COUNT SIZE]: NAME is write_bw, read_lat, ..., or uc_write_bw for UC.  The program waits for
# events if it can, since two polling ends would use the processors alone.  With the programs' default timeout
# (14), the retries end while a host stands still for three seconds.
run_perftest() { # NAME [COUNT SIZE]
	local args=(-F -n "${2:-10}" -s "${3:-10000}" -x) name=${1#uc_} program
	PORT=$((PORT + 1))
	[ "$name" = "$1" ] || args=(-c UC "${args[@]}")
	case $name in
	write*) ;;
	atomic*) args=(-e -F -n 10 -x) ;;
	*) args=(-e "${args[@]}") ;;
	esac
	program=("ib_$name" -u "${PERF_TIMEOUT:-16}" -p "$PORT")
	both wait_tcp "${program[@]}" -d "$SRV_DEV" "${args[@]}" "$SRV_GID" -- \
		"${program[@]}" -d "$CLI_DEV" "${args[@]}" "$CLI_GID" "$SRV4"
}

# switch_is NAME 0|1: sets the switch on all devices
switch_is() {
	local file
	for file in /sys/class/infiniband/rxe*/"$1"; do
		echo "$2" > "$file" && [ "$(cat "$file")" = "$2" ] || return 1
	done
}

# counted_by WHERE NETDEV packets|bytes COMMAND...: prints how many the netdev sends while the command runs.  A
# train counts as one packet.  WHERE is cli, srv, or env for the first namespace
counted_by() {
	local file=/sys/class/net/$2/statistics/tx_$3 before
	before=$("$1" cat "$file")
	"${@:4}" >&2 || return 1
	echo $(($("$1" cat "$file") - before))
}

packets() { # NETDEV COMMAND...: prints how many packets the client's netdev sends
	counted_by cli "$1" packets "${@:2}"
}

# count_on_off SWITCH [COUNT SIZE]: sets "on" and "off" to the numbers of packets that so many WRITEs take over a
# veth with the switch on and off
count_on_off() {
	local writes=(run_perftest write_bw "${@:2}")
	on=$(packets veth "${writes[@]}") && switch_is "$1" 0 && off=$(packets veth "${writes[@]}") &&
		switch_is "$1" 1 || return 1
	say "on the veth: $on packets, $off with $1 off"
}

# run_rc_random OPTION...: runs the two ends of rc_random.  They communicate by TCP, too
run_rc_random() { # OPTION...
	PORT=$((PORT + 1))
	both wait_tcp rc_random -d "$SRV_DEV" -g "$SRV_GID" --listen $PORT -t ${RC_TIMEOUT:-18} -- \
		rc_random -d "$CLI_DEV" -g "$CLI_GID" --connect "$SRV4:$PORT" -t ${RC_TIMEOUT:-18} "$@"
}

# run_random: runs random RC operations, and compares what is written and read
run_random() {
	local seed=$RANDOM
	say "seed $seed"
	run_rc_random -n 1000 -q 4 -s "$seed" -m 200000
}

# vlan_pair ID: makes the VLANs veth.ID of A and B, with the addresses 198.18.ID.1 and .2
vlan_pair() {
	local ns n=1
	for ns in A B; do
		ip -n $ns link add link veth name "veth.$1" type vlan id "$1" && ip -n $ns link set "veth.$1" up &&
			ip -n $ns addr add "198.18.$1.$n/24" dev "veth.$1" || return 1
		n=2
	done
	SRV4=198.18.$1.2 CLI4=198.18.$1.1
}

# run_uc_whole OPTION...: runs the two ends of uc_whole
run_uc_whole() { # OPTION...
	PORT=$((PORT + 1))
	both wait_tcp uc_whole -d "$SRV_DEV" -g "$SRV_GID" --listen $PORT -- \
		uc_whole -d "$CLI_DEV" -g "$CLI_GID" --connect "$SRV4:$PORT" "$@"
}

# stream_begin [NAME...]: runs ib_NAME_bw (default: write) until stream_end().  uc_send and ud_send are
# ib_send_bw over UC and UD
stream_begin() {
	local name args program
	[ $# -gt 0 ] || set -- write
	STREAMS=$#
	for name; do
		PORT=$((PORT + 1)) args=(-F -u "${PERF_TIMEOUT:-16}" -n 1000000) program=ib_${name#u?_}_bw
		case $name in
		write) args+=(-s 8192) ;;
		uc_*) args+=(-e -s 8192 -c UC) ;;
		ud_*) args+=(-e -s 1024 -c UD) ;;
		*) args+=(-e -s 8192) ;;
		esac
		srv "$program" "${args[@]}" -p $PORT -d "$SRV_DEV" -x "$SRV_GID" > "/tmp/$name-srv" 2>&1 &
		srv wait_tcp $PORT || return 1
		cli "$program" "${args[@]}" -p $PORT -d "$CLI_DEV" -x "$CLI_GID" "$SRV4" > "/tmp/$name-cli" 2>&1 &
	done
	wait_for 20 stream_alive && stream_moves
}

# stream_alive: each stream has a working queue pair at each end, in the state RTR or RTS
stream_alive() {
	[ "$(rdma resource show qp | grep 'comm ib_' | grep -c 'state RT[RS]')" = $((2 * STREAMS)) ]
}

received() {
	cat "/sys/class/infiniband/$SRV_DEV/ports/1/hw_counters/rcvd_pkts"
}

# stream_moves: the server receives packets now
stream_moves() {
	local before
	before=$(received)
	wait_for 5 eval "[ \$(received) -gt $((before + 20)) ]"
}

stream_end() {
	pkill 'ib_(write|send|read)_bw' || true
	wait
	wait_for 10 resources_gone 2
}

# resources_gone [CQS]: no program has an object of any device.  (The RDMA core has a GSI queue pair.)  The RDMA
# core keeps up to CQS completion queues of kernel consumers for others.
resources_gone() {
	rdma resource show | awk -v cqs="${1:-1}" '
		{ for (i = 3; i < NF; i += 2) n[$i] = $(i + 1) }
		n["ctx"] || n["cm_id"] || n["mr"] || n["srq"] || n["pd"] > 1 || n["cq"] > cqs || n["qp"] > 1 { bad = 1 }
		END { exit bad }'
}

PROGRAMS="rc_pingpong uc_pingpong ud_pingpong rping ucmatose udaddy rdma_client"
PERFTESTS="send_bw send_lat write_bw write_lat read_bw read_lat atomic_bw atomic_lat uc_send_bw uc_send_lat uc_write_bw uc_write_lat"
TYPES="v2-ipv4 v2-ipv6 v1-ipv4 v1-ll"

# matrix PATH TYPES PROGRAMS PERFTESTS: runs each program over each type
matrix() {
	local path=$1 types=$2 programs=$3 perftests=$4 type program
	path_up "$path" || { fail "$path-up" "no devices"; return; }
	for type in $types; do
		if ! use_gid "$type"; then
			fail "$path-$type" "no such GID, or RDMA_CM can't be switched to it"
			continue
		fi
		for program in $programs; do
			try "$path-$type-$program" "run_$program"
		done
		for program in $perftests; do
			try "$path-$type-ib_$program" run_perftest "$program"
		done
	done
}
