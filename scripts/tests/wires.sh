# SPDX-License-Identifier: GPL-2.0
# Bad wires, for tests and measurements of loss.  They source this file after tools.sh.
# shellcheck shell=bash disable=SC2034,SC2154

OPS="write send read atomic"
WIRES="loss-0.01 loss-0.1 loss-1 loss-5 reorder duplicate corrupt delay-0.1 delay-1 delay-10 mix"

# netem_of WIRE: prints the parameters of netem.  netem drops, delays and duplicates a train as one packet.
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

# know_each_other: gives the ends permanent entries with each other's MAC address.  ARP has no checksum, so a
# wire that corrupts packets would give them wrong addresses, which last too long.
know_each_other() {
	local srv_mac cli_mac
	srv_mac=$(srv cat "/sys/class/net/$SRV_NET/address") &&
		cli_mac=$(cli cat "/sys/class/net/$CLI_NET/address") &&
		srv ip neigh replace "$CLI4" lladdr "$cli_mac" dev "$SRV_NET" nud permanent &&
		cli ip neigh replace "$SRV4" lladdr "$srv_mac" dev "$CLI_NET" nud permanent
}

# wire_is WIRE|clean: both ends of the path send through this wire.  Its queue is long enough for all packets.
# Another kind of qdisc is set first, since netem would keep parameters that a change doesn't mention.
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

# goodput_up: starts a server of rc_goodput on its own port, with the GID of use_gid().  goodput_down ends it
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

# goodput OPTION...: runs the client, which prints a line for each operation
goodput() {
	cli rc_goodput --connect "$SRV4:$GOODPUT" -d $CLI_DEV -g "$CLI_GID" "$@"
}

# counter_files DEV NAME...: prints the names of the counters' files.  Only the first namespace has them
counter_files() {
	local dev=$1
	shift
	printf '%s\n' "${@/#//sys/class/infiniband/$dev/ports/1/hw_counters/}"
}

# verified PREFIX OPTION...: runs goodput.  Each operation is a case.  The retries are those of most tools.  The
# timeout is longer: with 14, the retries end while a host stands still for some seconds.
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

# resent: prints the counters of both ends that grow when something is sent again, also after an RNR NAK
resent() {
	local names="local_ack_timeout_err completer_retry_err rnr_nak_retry_err rcvd_seq_err"
	names+=" duplicate_request out_of_seq_request"
	# shellcheck disable=SC2046,SC2086 # lists
	grep -H . $(counter_files $CLI_DEV $names) && srv_host grep -H . $(counter_files $SRV_DEV $names)
}

# icrc_errors: prints how many packets the server's device has dropped for their ICRC
icrc_errors() {
	srv_host cat "$(counter_files $SRV_DEV rx_icrc_encapsulated)"
}
