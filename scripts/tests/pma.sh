# SPDX-License-Identifier: GPL-2.0
# test: counters of the port by MAD and in sysfs
# nodes: 1
# level: core
# debug: yes
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

gid_text() { # INDEX
	cat "/sys/class/infiniband/rxe0/ports/1/gids/$1"
}

path_up loop
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	cases "$type-" python3 "$TESTS/py/pma.py" rxe0 "$SRV_GID" "$(gid_text "$SRV_GID")"
done
try resources-gone wait_for 5 resources_gone
