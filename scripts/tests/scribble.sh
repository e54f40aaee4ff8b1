# SPDX-License-Identifier: GPL-2.0
# test: a process that writes garbage to its shared queues affects only itself
# nodes: 1
# level: full
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

load_ours
rxe_add
try v2 ring_scribble -d rxe0 -g "$(gid_index rxe0 v2 $A4)" -n 30 -s 1
try v1 ring_scribble -d rxe0 -g "$(gid_index rxe0 v1 $A4)" -n 10 -s 2
try chain ud_chain rxe0 "$(gid_index rxe0 v2 $A4)" 400
try resources-gone wait_for 5 resources_gone
