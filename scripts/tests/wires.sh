# SPDX-License-Identifier: GPL-2.0
# Bad wires, as tests and measurements of loss share them.  Sourced, after tools.sh.
# shellcheck shell=bash disable=SC2034,SC2154

OPS="write send read atomic"
WIRES="loss-0.01 loss-0.1 loss-1 loss-5 reorder duplicate corrupt delay-0.1 delay-1 delay-10 mix"

# netem_of WIRE: netem's words for it.  It drops, delays and doubles trains as one packet.
netem_of() {
	case $1 in
	loss-* | duplicate-* | corrupt-*) echo "${1%%-*} ${1#*-}%" ;;
	delay-*) echo "delay ${1#*-}ms" ;;
	reorder) echo "delay 1ms reorder 25%" ;;
	duplicate) echo "duplicate 5%" ;;
	corrupt) echo "corrupt 1%" ;;
	mix) echo "delay 1ms 0.5ms reorder 25% loss 1% duplicate 5% corrupt 1%" ;;
	esac
}

# know_each_other: the ends keep each other's MAC address for good.  ARP has no checksum, so a wire
# that corrupts would teach them wrong ones, which stay too long.
know_each_other() {
	local srv_mac cli_mac
	srv_mac=$(srv cat "/sys/class/net/$SRV_NET/address") &&
		cli_mac=$(cli cat "/sys/class/net/$CLI_NET/address") &&
		srv ip neigh replace "$CLI4" lladdr "$cli_mac" dev "$SRV_NET" nud permanent &&
		cli ip neigh replace "$SRV4" lladdr "$srv_mac" dev "$CLI_NET" nud permanent
}

# wire_is WIRE|clean: both ends of the path send through it.  Nothing is dropped for want of room.
# Another kind of qdisc comes between, since netem keeps what a change doesn't mention.
wire_is() {
	local end dev words
	know_each_other || return 1
	for end in srv cli; do
		dev=$([ $end = srv ] && echo $SRV_NET || echo $CLI_NET)
		$end tc qdisc replace dev "$dev" root pfifo limit 10000 || return 1
		[ "$1" != clean ] || continue
		words=$(netem_of "$1")
		# shellcheck disable=SC2086 # words
		$end tc qdisc replace dev "$dev" root netem limit 100000 $words || return 1
	done
}

# goodput_up: a server of rc_goodput for what use_gid chose, on a port of its own; goodput_down ends it
goodput_up() {
	PORT=$((PORT + 1)) GOODPUT=$PORT
	srv rc_goodput --listen $GOODPUT --keep -d $SRV_DEV -g "$SRV_GID" -l 120 &
	GOODPUT_PID=$!
	srv wait_tcp $GOODPUT
}

goodput_down() {
	srv pkill -x rc_goodput
	wait $GOODPUT_PID || true
}

# goodput OPTION...: a line for each of its operations
goodput() {
	cli rc_goodput --connect "$SRV4:$GOODPUT" -d $CLI_DEV -g "$CLI_GID" "$@"
}

# counter_files DEV NAME...: outside of namespaces, where the kernel shows no counters
counter_files() {
	local dev=$1
	shift
	printf '%s\n' "${@/#//sys/class/infiniband/$dev/ports/1/hw_counters/}"
}

# verified PREFIX OPTION...: each operation is a case.  At the tools' usual retries, but not their
# timeout (14), with which a host that stands still for some seconds uses them up.
verified() {
	local prefix=$1 op status rest seen=''
	shift
	while read -r op status rest; do
		say "$op $status $rest"
		seen+=" $op"
		if [ "$status" = ok ]; then
			ok "$prefix-$op"
		else
			fail "$prefix-$op" "$status $rest"
		fi
	done < <(goodput -o "${OPS// /,}" -t 16 -r 7 -l 60 "$@")
	[ "$seen" = " $OPS" ] || fail "$prefix" "only these ended:$seen"
}

# resent: what both ends count when something has to be sent again
resent() {
	local names="local_ack_timeout_err completer_retry_err duplicate_request out_of_seq_request rcvd_seq_err"
	# shellcheck disable=SC2046,SC2086 # lists
	grep -H . $(counter_files $CLI_DEV $names) && srv_host grep -H . $(counter_files $SRV_DEV $names)
}

# icrc_errors: how often the server's end refused a packet for its ICRC
icrc_errors() {
	srv_host cat "$(counter_files $SRV_DEV rx_icrc_encapsulated)"
}
