# SPDX-License-Identifier: GPL-2.0
# test: persistent FLUSH: of persistent memory alone, all that was asked for, in steps, also over a lossy wire
# nodes: 1
# clock: instructions
# level: full
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# The machine has one processor, because the probe patches the kernel's code.  With several emulated
# processors, about one in 500 such changes ends the machine (emulator_fault in scripts/check).

# Makes /dev/dax0.0, a file that can be mapped and pinned, of the memory that the kernel's command line
# calls persistent.  "ndctl create-namespace -m devdax" does the same
dax_file() {
	local nd=/sys/bus/nd
	modprobe -a nd_e820 nd_pmem dax_pmem device_dax && wait_for 5 test -e $nd/devices/namespace0.0 || return 1
	echo namespace0.0 > $nd/drivers/nd_pmem/unbind
	cd $nd/devices/dax0.0 && uuidgen > uuid && echo ram > mode && echo $((2 << 20)) > align &&
		echo namespace0.0 > namespace && echo dax0.0 > $nd/drivers/dax_pmem/bind
	wait_for 5 test -e /dev/dax0.0
}

# rdma-core has FLUSH from version 46 on, and the kernel from 6.3 on
has_flush() {
	[ "$(python3 -c 'import pyverbs.enums as e; print(hasattr(e, "IBV_ACCESS_FLUSH_PERSISTENT"))')" != False ]
}

# flushes PREFIX [CASE...]: the client's device flushes memory of the server's
flushes() {
	cases "$1-" python3 "$TESTS/py/pmem.py" /dev/dax0.0 $CLI_DEV "$CLI_GID" $SRV_DEV "$SRV_GID" "${@:2}"
}

# In both directions
packets_lost() {
	srv tc -s qdisc show dev $SRV_NET | grep 'dropped [1-9]' && cli tc -s qdisc show dev $CLI_NET | grep 'dropped [1-9]'
}

has_flush || { skip all "this pyverbs has no FLUSH"; exit; }
try persistent-memory dax_file
path_up loop
use_gid v2-ipv4
flushes direct
switch_is zero_copy 0
flushes packets
try resources-gone wait_for 5 resources_gone
unload
path_up veth
for type in v2-ipv4 v1-ipv4; do
	use_gid $type || { fail $type "no such GID"; continue; }
	flushes $type
	# A responder sends the NAK for a refused request once, so the cases that are refused need all packets
	wire_is loss-5
	flushes $type-loss flush-range flush-region flush-global flush-all-kinds
	try $type-loss-lost packets_lost
	wire_is clean
done
try resources-gone-veth wait_for 5 resources_gone
