# SPDX-License-Identifier: GPL-2.0
# test: well-known RDMA programs over two machines, RoCE v1 and v2
# nodes: 2
# level: long
# suites: all
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

matrix vms "$TYPES" "$PROGRAMS" "$PERFTESTS"
