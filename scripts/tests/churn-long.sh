# SPDX-License-Identifier: GPL-2.0
# test: like churn, with 200 adds and deletes under traffic
# nodes: 2
# level: long
# suites: all
# timeout: 1500
ROUNDS=200
. "$(dirname "$0")/churn.sh"
