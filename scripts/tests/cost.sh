# SPDX-License-Identifier: GPL-2.0
# test: corks gather messages, and a message takes a fraction of the shipped module's instructions
# nodes: 1
# clock: instructions
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/../bench.d/lib.sh"

# PATH OPERATION SIZE, and the largest ratio to the shipped module's instructions. It has some
# margin over the measurements in Documentation/performance.rst.
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
veth read 65536 .21"

declare -A instructions		# "MODULE PATH OPERATION SIZE"

# A thousand messages that are posted one after the other, in trains or each by itself
cork_gathers() {
	local on off
	count_on_off cork 1000 64 || return 1
	[ "$on" -lt 200 ] && [ "$off" -gt 1000 ]
}

# The least of three runs of SENDs: whatever else runs in the machine adds to it
least_of_sends() { # SIZE OPTION...
	local n size=$1
	shift
	for n in 1 2 3; do
		timeout 60 rc_cost "${ends[@]}" -i -s "$size" -n 1000 "$@" send
	done | awk '{ if (NR == 1 || $1 < least) least = $1 } END { print least }'
}

# A SEND whose receive is in a shared receive queue takes at most 5 % more
srq_cheap() { # SIZE
	local own shared
	ends_up ours loop || return 1
	own=$(least_of_sends "$1")
	shared=$(least_of_sends "$1" -S)
	ends_down loop
	say "send $1: $own, with an SRQ $shared"
	[ "$own" ] && [ "$shared" ] && awk "BEGIN { exit !($shared <= 1.05 * $own) }"
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

measure() { # MODULE PATH
	local path op size count
	ends_up "$@" || return 1
	while read -r path op size _; do
		[ "$path" = "$2" ] || continue
		count=$((size < 65536 ? 1000 : 30))
		read -r "instructions[$1 $path $op $size]" _ < <(timeout 60 rc_cost "${ends[@]}" -i -s "$size" -n $count "$op")
	done <<< "$MOST"
	ends_down "$2"
}

# cheap PATH OPERATION SIZE MOST
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
	try "srq-send-$size" srq_cheap $size
done
