# SPDX-License-Identifier: GPL-2.0
# test: well-known RDMA programs over one device's loopback, RoCE v1 and v2
# nodes: 1
# level: long
# suites: all
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

matrix loop "$TYPES" "$PROGRAMS" "$PERFTESTS"
