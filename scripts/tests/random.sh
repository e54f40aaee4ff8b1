# SPDX-License-Identifier: GPL-2.0
# test: 100,000 random RC operations with every opcode, verified byte for byte on both sides
# nodes: 2
# level: long
# suites: all
# debug: yes
# timeout: 1500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# The seed is the date, so other operations run every day.  RC_SEED sets another, to repeat a run.
SEED=${RC_SEED:-$(date +%Y%m%d)}
say "seed $SEED"
# RC_PERCENT=10 runs a tenth of the operations, to try the test.
ops() {
	echo $(($1 * ${RC_PERCENT:-100} / 100))
}
LIMIT=600

path_up vms
path loop
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid "$type"
	try "loopback-$type" rc_random -d rxe0 -g "$SRV_GID" -n "$(ops 20000)" -q 8 -s "$SEED"
done
path vms
SRVLL=$(srv link_local eth0) CLILL=$(link_local eth0)
for type in v2-ipv4 v1-ll; do
	use_gid "$type"
	try "two-machines-$type" run_rc_random -n "$(ops 8000)" -q 4 -s "$SEED"
done
rxe_down
path_up veth
for type in v2-ipv4 v1-ipv4; do
	use_gid "$type"
	try "veth-$type" run_rc_random -n "$(ops 12000)" -q 6 -s "$SEED"
done
try resources-gone wait_for 5 resources_gone
