# SPDX-License-Identifier: GPL-2.0
# test: two devices on a wire, also a lossy one: error paths, windows, SRQs, dma-bufs, random RC
# nodes: 1
# level: full
# debug: yes
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# One process has both ends, each on its own device
ends() { # PROGRAM [ARGUMENT...]
	"$1" -d $CLI_DEV -g "$CLI_GID" -D $SRV_DEV -G "$SRV_GID" "${@:2}"
}

# Cases in which a responder refuses a request: both sides get errors
ERRORS="write read atomic responder mr-empty mr-zero send recv rnr ud flush-after cq-full mw-type mw-one mw-no mw-un
	mw-zero mw-anew mw-dealloc mw-other mw-bind mw-inv mw-as mw-rounds rereg uc"
# Cases that succeed even if packets are lost.  (A responder sends the NAK for a refused request once: if it is
# lost, the requester gets no answer.)
WHOLE="recv-exact read-depth mw-type mw-rounds write-zero read-zero"

packets_lost() {
	srv tc -s qdisc show dev $SRV_NET | grep 'dropped [1-9]' && cli tc -s qdisc show dev $CLI_NET | grep 'dropped [1-9]'
}

path_up veth
in_order
for type in v1-ipv4 v2-ipv4; do
	use_gid $type || { fail "$type" "no such GID"; continue; }
	# shellcheck disable=SC2086 # words
	cases "$type-" ends verbs_err $ERRORS
	cases "$type-srq-" ends verbs_srq in_order limit resize load load_resize last_wqe rnr write_imm foreign_lkey
	cases "$type-dmabuf-" ends verbs_dmabuf
	try "$type-random" ends rc_random -n 2000 -q 4 -s 7 -m 65536
	wire_is loss-1
	# shellcheck disable=SC2086 # words
	cases "$type-loss-" ends verbs_err $WHOLE
	cases "$type-loss-srq-" ends verbs_srq in_order resize load load_resize write_imm
	cases "$type-loss-dmabuf-" ends verbs_dmabuf
	try "$type-loss-random" ends rc_random -n 2000 -q 4 -s 7 -m 65536 -t 16
	try "$type-loss-lost" packets_lost
	wire_is loss-5
	cases "$type-loss-5-srq-" ends verbs_srq limit last_wqe events
	try "$type-loss-5-lost" packets_lost
	wire_is clean
done
try resources-gone wait_for 5 resources_gone
