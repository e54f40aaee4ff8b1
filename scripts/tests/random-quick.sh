# SPDX-License-Identifier: GPL-2.0
# test: some thousand random RC operations, verified, on every path
# nodes: 2
# level: quick
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# gids ADDRESS4 ADDRESS6: prints the indexes of all their GIDs.  Queue pairs use these in turn
gids() { # ADDRESS4 ADDRESS6
	echo "$(gid_index rxe0 v2 "$1"),$(gid_index rxe0 v1 "$1"),$(gid_index rxe0 v2 "$2"),$(gid_index rxe0 v1 "$2")"
}

rxe_up
try loopback rc_random -d rxe0 -g "$(gids $A4 $A6)" -n 2000 -q 4 -s 11
path vms
SRV_GID=$(on_b gid_index rxe0 v2 $B4) CLI_GID=$(gid_index rxe0 v2 $A4)
try two-machines run_rc_random -n 1000 -q 4 -s 12 -m 65536
