# SPDX-License-Identifier: GPL-2.0
# test: persistent FLUSH: of persistent memory alone, all that was asked for, in steps
# nodes: 1
# clock: instructions
# level: full
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

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

try persistent-memory dax_file
path_up loop
use_gid v2-ipv4
cases "direct-" python3 "$TESTS/py/pmem.py" rxe0 "$SRV_GID" /dev/dax0.0
switch_is zero_copy 0
cases "packets-" python3 "$TESTS/py/pmem.py" rxe0 "$SRV_GID" /dev/dax0.0
try resources-gone wait_for 5 resources_gone
