# SPDX-License-Identifier: GPL-2.0
# test: as flows-shares, with other operations, versions and queueing disciplines
# nodes: 1
# level: long
# timeout: 1000
# clock: leaps
FLOWS="fq_codel v2 write
pfifo_fast v1 send
pfifo_fast v2 send offloads
fq v1 read
fq v2 send
tbf v2 read
tbf v2 write"
. "$(dirname "$0")/flows-shares.sh"
