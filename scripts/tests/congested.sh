# SPDX-License-Identifier: GPL-2.0
# A bottleneck, and flows that meet in it.  Tests source this file after lib.sh and tools.sh.
# shellcheck shell=bash disable=SC2034
#
#	S1 ... SN ---- R ---- D
#
# N senders and the destination D are namespaces, each with a veth to the router R and a device.
# R's queue to D has the rate of the bottleneck, and marks (RED).

MTU=1500
OP='write'		# of the flows.  The responder sends the data of a READ
FAMILY=4		# IP version of the flows

bottleneck_up() { # SENDERS
	local i
	[ -d /sys/module/rdma_rxe ] || load_ours
	ip netns add R
	ip netns exec R sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	bottleneck_leg D out 0
	for ((i = 1; i <= $1; i++)); do
		bottleneck_leg "S$i" "in$i" "$i"
	done
}

# bottleneck_leg NAMESPACE NETDEV N: makes a namespace behind R's NETDEV, in the networks 10.N and
# 2001:db8:N
bottleneck_leg() {
	ip netns add "$1"
	ip link add veth netns "$1" mtu $MTU type veth peer name "$2" netns R mtu $MTU
	ip -n "$1" link set lo up
	ip -n "$1" link set veth up
	ip -n R link set "$2" up
	ip -n R addr add "10.$3.0.1/24" dev "$2"
	ip -n "$1" addr add "10.$3.0.2/24" dev veth
	ip -n "$1" route add default via "10.$3.0.1"
	ip -n R addr add "2001:db8:$3::1/64" dev "$2" nodad
	ip -n "$1" addr add "2001:db8:$3::2/64" dev veth nodad
	ip -n "$1" route add default via "2001:db8:$3::1"
	ip netns exec "$1" bash -c ". $TESTS/lib.sh; rxe_add rxe$1 veth"
}

# bottleneck_is MBIT BYTES: gives R's queue this rate, by a token bucket, and room for BYTES.  With the
# shortest "burst", RED looks at the queue itself and not at an average, as DCQCN expects of a switch.
# Packets that aren't ECN-capable are dropped only when the queue overflows.
bottleneck_is() {
	local min=30000 max=90000
	ip netns exec R tc qdisc replace dev out root handle 1: tbf rate "$1mbit" burst 3100 limit 100000000
	ip netns exec R tc qdisc replace dev out parent 1:1 handle 2: red limit "$2" min $min max $max \
		avpkt 1100 burst $((min / 1100 + 1)) bandwidth "$1mbit" probability 0.1 ecn nodrop
}

# Sets the numbers of DCQCN and Swift that the admin guide has for a wire of 50 to 200 Mb/s and up to 16 flows
slow_wire() {
	local dir=/sys/kernel/debug/rdma_rxe/cc_params
	echo 1 > $dir/rp_ai_rate
	echo 5 > $dir/rp_hai_rate
	echo 20000 > $dir/rp_time_reset
	echo window_first 16 > $dir/../knobs
	echo swift_path_ns 500000 > $dir/../knobs
}

algorithm_is() { # NAME
	local file
	ALGORITHM=$1
	for file in /sys/class/infiniband/*/congestion_control; do
		echo "$1" > "$file"
	done
}

# halves FLOWS MS: prints arguments for run_flows: half of the flows run for MS, then all, then the other half
halves() {
	local n
	for ((n = 0; n < $1; n++)); do
		[ $n -lt $(($1 / 2)) ] && echo "0-$((2 * $2))" || echo "$2-$((3 * $2))"
	done
}

uptime_ms() {
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}

# end_address NAMESPACE 4|6: prints the address of D or of a sender
end_address() {
	local n=${1#S}
	[ "$1" != D ] || n=0
	[ "$2" = 4 ] && echo "10.$n.0.2" || echo "2001:db8:$n::2"
}

flow_end() { # NAMESPACE OPTION of rc_flows...
	local gid
	gid=$(gid_index "rxe$1" v2 "$(end_address "$1" $FAMILY)")
	ip netns exec "$1" rc_flows -d "rxe$1" -g "$gid" -l 900 "${@:2}"
}

# one_flow N AT MS: runs the flow of sender N for MS, AT ms after the start
one_flow() {
	local port=$((22000 + $1)) asks=S$1 answers=D
	[ $OP != read ] || asks=D answers=S$1
	flow_end $answers --listen $port &
	ip netns exec $answers bash -c ". $TESTS/lib.sh; wait_tcp $port"
	flow_end $asks --connect "$(end_address $answers 4):$port" -o $OP --after /tmp/start \
		--at "$2" -T "$3" --every 50 > "/tmp/flow$1" && wait $!
}

# all_ready FILES: succeeds if each file has the line that its program prints when it is ready
all_ready() {
	[ "$(grep -l ready "$@" 2> /dev/null | wc -l)" = $# ]
}

# run_flows MS FLOW...: runs flows for MS in all.  FLOW is FROM-TO, in ms of the run.  The results are in
# /tmp/run.  The run starts when all programs are loaded and connected, however long that takes.
run_flows() {
	local ms=$1 start flow n=0 pids=() pid watch status=0
	shift
	rm -f /tmp/flow* /tmp/start
	ip netns exec R python3 "$TESTS/py/queue_watch.py" out 2: /tmp/start "$ms" > /tmp/queue &
	watch=$!
	for flow; do
		n=$((n + 1))
		one_flow $n ${flow%-*} $((${flow#*-} - ${flow%-*})) &
		pids+=($!)
	done
	if ! wait_for 600 all_ready /tmp/queue $(seq -f /tmp/flow%.0f $n); then
		pkill -x rc_flows	# otherwise they would run in the next run
		kill $watch
		return 1
	fi
	start=$(($(uptime_ms) + 1000))
	echo $start > /tmp/start.new
	mv /tmp/start.new /tmp/start
	for pid in "${pids[@]}"; do
		wait "$pid" || status=1
	done
	wait $watch || status=1
	{
		echo "start $start $ms"
		cat /tmp/queue
		for ((n = 1; n <= $#; n++)); do
			sed "s/^/flow $n ${!n/-/ } /" "/tmp/flow$n"
		done
		grep . /sys/class/infiniband/rxe{D,S}*/ports/1/hw_counters/{np_*,rp_*,duplicate_request,local_ack_timeout_err} |
			sed 's,/sys/class/infiniband/,counter ,; s,/ports/1/hw_counters/, ,; s/:/ /'
	} > /tmp/run
	return $status
}
