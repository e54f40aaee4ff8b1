# SPDX-License-Identifier: GPL-2.0
# test: two queue pairs and a processor change one word by atomic operations: no change is lost
# nodes: 1
# level: full
# debug: yes
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

path_up loop
use_gid v2-ipv4
cases "direct-" verbs_atomics -d rxe0 -g "$SRV_GID"
switch_is zero_copy 0
cases "packets-" verbs_atomics -d rxe0 -g "$SRV_GID"
unload
path_up ports
in_order
use_gid v2-ipv4
cases "ports-" verbs_atomics -d "$CLI_DEV" -g "$CLI_GID" -D "$SRV_DEV" -G "$SRV_GID"
try resources-gone wait_for 5 resources_gone
