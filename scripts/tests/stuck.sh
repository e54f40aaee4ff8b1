# SPDX-License-Identifier: GPL-2.0
# test: queues that never drain stop their users with an error, and no others
# nodes: 1
# level: full
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

TOOL="ib_send_bw -e" VERSION=v2 FAMILY=4	# of stream()
STUCK=A	# the namespace whose queues don't drain
END=60	# seconds that seven retries and a program's own end take at most

address() { # N 1|2
	if [ $FAMILY = 4 ]; then echo "198.18.$1.$2"; else echo "2001:db8:ff:$1::$2"; fi
}

# pair NETDEV N: makes one more path between A and B, with a device at each end
pair() {
	local ns n=1
	ip link add "$1" netns A type veth peer name "$1" netns B
	for ns in A B; do
		ip -n $ns link set "$1" up
		ip -n $ns addr add "198.18.$2.$n/24" dev "$1"
		ip -n $ns addr add "2001:db8:ff:$2::$n/64" dev "$1" nodad
		n=2
	done
	for ns in A B; do
		ip netns exec $ns bash -c ". $TESTS/lib.sh; rxe_add rxe$1$ns $1"
	done
	wait_for 20 eval "srv gid_index rxe$1B v2 198.18.$2.2 && cli gid_index rxe$1A v2 198.18.$2.1" > /dev/null
}

# vlan NETDEV VID N: makes a path of the same devices through a VLAN
vlan() {
	local ns n=1
	modprobe 8021q
	for ns in A B; do
		ip -n $ns link add link "$1" name "$1.$2" type vlan id "$2"
		ip -n $ns link set "$1.$2" up
		ip -n $ns addr add "198.18.$3.$n/24" dev "$1.$2"
		n=2
	done
	wait_for 20 eval "srv gid_index rxe$1B v2 198.18.$3.2 && cli gid_index rxe$1A v2 198.18.$3.1" > /dev/null
}

backlog() { # NETDEV: prints the number of packets in its queue
	in_netns $STUCK tc -s qdisc show dev "$1" | sed -n 's/.*backlog [^ ]* \([0-9]*\)p.*/\1/p'
}

has_backlog() {
	[ "$(backlog "$1")" -gt 0 ]
}

# From now on, no packet leaves by the netdev.
plug() {
	in_netns $STUCK tc qdisc replace dev "$1" root plug limit 100000000
}

unplug() {
	in_netns $STUCK tc qdisc del dev "$1" root
}

# stream NETDEV N OPTION...: runs TOOL over the path.  Its TCP connection uses another path.  Its output goes
# to a log
stream() {
	local dev=rxe${1%.*} gids port=$((21000 + $2)) log=/tmp/stream.$1
	gids=("$(srv gid_index "${dev}B" $VERSION "$(address "$2" 2)")"
		"$(cli gid_index "${dev}A" $VERSION "$(address "$2" 1)")")
	ip netns exec B timeout 120 $TOOL -F -p $port -d "${dev}B" -x "${gids[0]}" "${@:3}" > $log.srv 2>&1 &
	SERVERS+=($!)
	srv wait_tcp $port || { cat $log.srv >&2; return 1; }
	ip netns exec A timeout 120 $TOOL -F -p $port -d "${dev}A" -x "${gids[1]}" "${@:3}" 203.0.113.2 > $log 2>&1 &
	STREAM=$!
}

# The path's QPs send, and then the path's queue doesn't drain any more.
stop_path() { # NETDEV N OPTION...
	stream "$1" "$2" -n 100000 -u 14 "${@:3}" || return 1
	wait_for 30 eval "cli rdma resource show qp link rxe${1%.*}A/1 | grep -q 'state RTS.*${TOOL% -e}'" &&
		plug "$1" && wait_for 30 has_backlog "$1"
}

# ends_in_error NETDEV PID: the program ends in time, with IBV_WC_RETRY_EXC_ERR
ends_in_error() {
	local status=0
	wait_for $END eval "! kill -0 $2" || return 1
	wait "$2" || status=$?
	cat "/tmp/stream.$1"
	[ $status != 0 ] && grep -qi 'status 12\|error 12\|transport retry' "/tmp/stream.$1"
}

works() { # NETDEV N [COUNT]
	stream "$1" "$2" -n "${3:-200}" -s 4096 -q 4 && wait "$STREAM"
}

# timed COMMAND...: prints the milliseconds that the command takes
timed() {
	local begin
	begin=$(now) && "$@" >&2 && echo $(($(now) - begin))
}

# A neighbour disappears.  Data to it waits for its MAC address.  The sender is a UC queue pair, which goes on.
dies() {
	local gid
	ip -n B addr add 198.18.3.3/32 dev three && wait_for 10 srv gid_index rxethreeB v2 198.18.3.3 || return 1
	gid=$(cli gid_index rxethreeA v2 198.18.3.1)
	DEAD=(-D 100 -c UC -F -p 21100 -s 65536 --rate_limit 20 --rate_units M --rate_limit_type SW --burst_size 1)
	ip netns exec B timeout 120 ib_write_bw "${DEAD[@]}" -d rxethreeB -x "$(srv gid_index rxethreeB v2 198.18.3.3)" > /tmp/dead.srv 2>&1 &
	SERVERS+=($!)
	srv wait_tcp 21100 || return 1
	ip netns exec A timeout 120 ib_write_bw "${DEAD[@]}" -d rxethreeA -x "$gid" 203.0.113.2 > /tmp/dead 2>&1 &
	SERVERS+=($!)
	wait_for 30 eval "cli rdma resource show qp link rxethreeA/1 | grep -q 'state RTS.*ib_write_bw'" &&
		ip -n B addr del 198.18.3.3/32 dev three && ip -n A neigh flush to 198.18.3.3 && wait_for 20 unresolved
}

unresolved() {
	ip -n A neigh show to 198.18.3.3 | grep -E 'INCOMPLETE|FAILED'
}

# The path's other QPs are as fast as without the sender to the dead neighbour, except for its share of the
# processor.
not_held_up() {
	local before after
	before=$(timed works three 3 2000) && dies && after=$(timed works three 3 2000) || return 1
	say "$before ms, and $after ms beside a sender to a dead neighbour"
	unresolved && [ "$after" -lt $((5 * before + 2000)) ]
}

# datagrams_pass BYTES: a UD queue pair sends many datagrams to a dead neighbour.  They don't delay the one that it
# sends to another.  It would wait until the neighbour fails, after 3 s.
datagrams_pass() {
	local status=0 line='' gid
	ip -n B addr add 198.18.3.4/32 dev three && gid=$(cli gid_index rxethreeA v2 198.18.3.1) || return 1
	coproc UD { ip netns exec A timeout 120 ud_dead rxethreeA "$gid" ::ffff:198.18.3.4 ::ffff:198.18.3.2 "$1"; }
	read -r -t 60 -u "${UD[0]}" line && [ "$line" = ready ] || return 1
	ip -n B addr del 198.18.3.4/32 dev three && ip -n A neigh flush to 198.18.3.4 && echo >&"${UD[1]}" || return 1
	read -r -t 60 -u "${UD[0]}" line || status=1
	say "$line ms"
	[ $status = 0 ] && [ "$line" -lt 2500 ]
}

# A VLAN's queue is full.  The other QPs of its device are as fast as before.
vlan_not_held_up() {
	local before after
	before=$(timed works four 4 4000) && stop_path four.5 5 -q 64 -s 65536 || return 1
	VLAN=$STREAM
	after=$(timed works four 4 4000) || return 1
	say "$before ms, and $after ms beside a backlog of $(backlog four.5) packets in the VLAN"
	has_backlog four.5 && [ "$after" -lt $((3 * before + 2000)) ]
}

# kinds COMMAND...: runs the command for each further kind of stream, with its netdev and number
kinds() {
	TOOL=ib_write_bw VERSION=v1 "$@" write-v1 6
	TOOL=ib_read_bw FAMILY=6 STUCK=B "$@" read-ipv6 7
	VERSION=v1 FAMILY=6 "$@" send-v1-ipv6 8
}

declare -A KIND=()
kind_stops() { # NETDEV N
	pair "$1" "$2"
	try "$1-stops" stop_path "$1" "$2" -q 4 -s 4096
	KIND[$1]=$STREAM
}

kind_ends() { # NETDEV N
	try "$1-ends-in-error" ends_in_error "$1" "${KIND[$1]}"
	unplug "$1"
	try "$1-works-again" works "$1" "$2"
}

SERVERS=()
netns_pair
path veth
pair one 1
pair two 2
pair three 3
pair four 4
vlan four 5 5
try dead-neighbour-small-datagrams datagrams_pass 16
try dead-neighbour-datagrams datagrams_pass 1024
try dead-neighbour not_held_up
try vlan vlan_not_held_up
# Sixteen QPs fill a queue.  QPs of another netdev work nevertheless, until that queue is stuck, too.
try many-stop stop_path one 1 -q 16 -s 4096
FIRST=$STREAM
try other-works works two 2
try other-stops stop_path two 2 -q 1 -s 4096
SECOND=$STREAM
kinds kind_stops
say "backlogs: $(backlog one) and $(backlog two) packets"
try many-end-in-error ends_in_error one "$FIRST"
try other-ends-in-error ends_in_error two "$SECOND"
try vlan-ends-in-error ends_in_error four.5 "$VLAN"
kinds kind_ends
unplug one
unplug two
unplug four.5
kill "${SERVERS[@]}" 2> /dev/null || true
try many-work-again works one 1
try other-works-again works two 2
try vlan-works-again works four.5 5
try resources-gone wait_for 20 resources_gone
