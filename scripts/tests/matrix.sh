# SPDX-License-Identifier: GPL-2.0
# test: a selection of the matrix of programs, paths and RoCE versions
# nodes: 2
# level: full
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

matrix vms "v2-ipv4 v1-ll" "rc_pingpong ud_pingpong rping udaddy" "write_bw read_lat"
matrix veth "v2-ipv6 v1-ipv4" "rc_pingpong rping ucmatose" "atomic_lat"
