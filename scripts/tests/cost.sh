# SPDX-License-Identifier: GPL-2.0
# test: corks gather messages, and an operation takes a fraction of the shipped module's instructions
# nodes: 1
# clock: instructions
# level: full
# timeout: 480
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/../bench.d/lib.sh"

# PATH OPERATION SIZE MOST: the largest ratio to the shipped module's instructions, with some margin over the
# measurements in Documentation/performance.rst.
MOST="loop write 64 .40
loop send 64 .40
loop atomic 8 .40
loop pingpong 64 .40
loop write 4096 .17
loop write 65536 .07
loop send 65536 .07
loop read 65536 .07
veth write 64 .45
veth pingpong 64 .53
veth write 65536 .20
veth send 65536 .20
veth read 65536 .21
veth uc-write 65536 .18
veth uc-send 65536 .18
loop reg 65536 .44
veth nvme-read 65536 .32
veth nvme-write 65536 .33"

# OPERATION SIZE MESSAGES: congestion control costs these at most a hundredth, while no CNP comes
CONTROLLED="write 64 4000
pingpong 64 1000
write 65536 30
send 65536 30
read 65536 30
uc-write 65536 30"

declare -A instructions		# "MODULE PATH OPERATION SIZE"
declare -A controlled		# "ALGORITHM OPERATION SIZE": of each round, a line

# A thousand messages that are posted one after the other leave in trains with corks, and singly without
cork_gathers() {
	local on off
	count_on_off cork 1000 64 || return 1
	[ "$on" -lt 200 ] && [ "$off" -gt 1000 ]
}

# Prints the least of three runs of SENDs: all else that runs in the machine adds instructions
least_of_sends() { # SIZE OPTION...
	local n size=$1
	shift
	for n in 1 2 3; do
		timeout 60 rc_cost "${ends[@]}" -i -s "$size" -n "$(count "$size")" "$@" send
	done | awk '{ if (NR == 1 || $1 < least) least = $1 } END { print least }'
}

# sends_cheap PATH SIZE OPTION MOST: a SEND with that option of rc_cost takes at most MOST times as much
sends_cheap() {
	local plain with
	ends_up ours "$1" || return 1
	plain=$(least_of_sends "$2")
	with=$(least_of_sends "$2" "$3")
	ends_down "$1"
	say "send $2: $plain, with $3 $with"
	[ "$plain" ] && [ "$with" ] && awk "BEGIN { exit !($with <= $4 * $plain) }"
}

# Measures on one veth pair without and with congestion control, in turn. An even number of
# connections comes between two figures that are compared: every other connection has a slightly
# different cost, with either.
measure_controlled() {
	local n op size messages name now
	ends_up ours veth || return 1
	for n in 1 2 3 4 5; do
		for name in window dcqcn; do
			echo $name | tee /sys/class/infiniband/rxe[01]/congestion_control > /dev/null || return 1
			while read -r op size messages; do
				now=$(cost_of "$op" "$size" "$messages") || return 1
				say "$name $op $size: ${now%% *}"
				controlled[$name $op $size]+=${now%% *}$'\n'
			done <<< "$CONTROLLED"
		done
	done
	ends_down veth
}

# The median of the rounds: a run may gather more messages by chance, which makes it cheaper
median() { # ALGORITHM OPERATION SIZE
	printf %s "${controlled[$*]:-}" | sort -n | sed -n 3p
}

controlled_cheap() { # OPERATION SIZE
	local without with
	without=$(median window "$@") with=$(median dcqcn "$@")
	say "$*: $without, with DCQCN $with"
	[ "$without" ] && [ "$with" ] && awk "BEGIN { exit !($with <= 1.01 * $without) }"
}

multicast() { # MEMBERS
	timeout 60 mcast_cost rxe0 "$(gid_index rxe0 v2 $A4)" 239.1.2.3 "$1" 64 1000 | cut -d ' ' -f 1
}

# A local member takes a copy of a multicast datagram, and no walk through the stack of its own
members_cheap() {
	local none one eight
	ends_up ours loop || return 1
	none=$(multicast 0) one=$(multicast 1) eight=$(multicast 8)
	ends_down loop
	say "no member $none, one $one, eight $eight"
	[ "$none" ] && [ "$one" ] && [ "$eight" ] && awk "BEGIN { exit !($eight - $none <= .4 * 8 * $none) }"
}

ends_up() { # MODULE loop|veth: sets ends
	[ "$2" = loop ] || veth_up 1500 || return 1
	"load_$1" || return 1
	if [ "$2" = loop ]; then
		one_end v2 "$A4"
	else
		two_ends v2
	fi
}

ends_down() { # loop|veth
	unload
	[ "$1" = loop ] || veth_down
}

count() { # SIZE: messages
	[ "$1" -lt 65536 ] && echo 1000 || echo 30
}

cost_of() { # OPERATION SIZE [MESSAGES]
	local messages=${3:-$(count "$2")}
	exec < /dev/null
	case $1 in
	reg) registration "$2" ;;
	nvme-*) disk "$1" "$2" ;;
	uc-*) timeout 60 rc_cost "${ends[@]}" -i -u -s "$2" -n "$messages" "${1#uc-}" ;;
	*) timeout 60 rc_cost "${ends[@]}" -i -s "$2" -n "$messages" "$1" ;;
	esac
}

measure() { # MODULE PATH
	local path op size cost
	ends_up "$@" || return 1
	while read -r path op size _; do
		[ "$path" = "$2" ] || continue
		cost=$(cost_of "$op" "$size") && instructions["$1 $path $op $size"]=${cost%% *}
	done <<< "$MOST"
	ends_down "$2"
}

# cheap PATH OPERATION SIZE MOST: the ratio is at most MOST
cheap() {
	local shipped=${instructions[shipped $1 $2 $3]:-} ours=${instructions[ours $1 $2 $3]:-}
	say "$1 $2 $3: $shipped -> $ours"
	[ "$shipped" ] && [ "$ours" ] && awk "BEGIN { exit !($ours <= $4 * $shipped) }"
}

path_up veth
use_gid v2-ipv4
try cork-gathers cork_gathers
unload
ip netns del A
ip netns del B

for path in loop veth; do
	for module in shipped ours; do
		measure $module $path || fail "$path-$module" "can't be measured"
	done
done
while read -r path op size most; do
	try "$path-$op-$size" cheap "$path" "$op" "$size" "$most"
done <<< "$MOST"
for size in 64 4096; do
	try "srq-send-$size" sends_cheap loop $size -S 1.05
done
for size in 64 65536; do
	try "uc-send-$size" sends_cheap veth $size -u 1.10
done
try multicast-members members_cheap
measure_controlled || fail dcqcn "can't be measured"
while read -r op size _; do
	try "dcqcn-$op-$size" controlled_cheap "$op" "$size"
done <<< "$CONTROLLED"
