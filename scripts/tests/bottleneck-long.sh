# SPDX-License-Identifier: GPL-2.0
# test: as bottleneck, for longer, with 2 to 16 flows at two rates
# nodes: 1
# level: long
# alone: yes
# timeout: 600
# clock: leaps
RATES="50 100" FLOWS="2 4 8 16" MS=4000
. "$(dirname "$0")/bottleneck.sh"
