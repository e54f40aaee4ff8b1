# SPDX-License-Identifier: GPL-2.0
# test: messages of 2^31 bytes, the longest, on one device and between two on a veth pair
# nodes: 1
# level: long
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

path_up loop
use_gid v2-ipv4
cases loop- rc_huge rxe0 "$CLI_GID" rxe0 "$SRV_GID" 1024 write send read
# 2^23 packets: no more can be told apart by their PSNs
cases loop- rc_huge rxe0 "$CLI_GID" rxe0 "$SRV_GID" 256 write read
rxe_down
path_up veth
use_gid v2-ipv4
cases veth- rc_huge rxeA "$CLI_GID" rxeB "$SRV_GID" 1024 write read
try resources-gone wait_for 5 resources_gone
