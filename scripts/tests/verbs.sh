# SPDX-License-Identifier: GPL-2.0
# test: error paths, limits, state machine and notification of the verbs
# nodes: 1
# level: core
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

load_ours
rxe_add
# A neighbour that doesn't exist
ip neigh replace 192.0.2.65 lladdr 02:00:00:00:00:65 dev eth0
# For mr-huge-pages
sysctl -qw vm.nr_hugepages=2 || true
# The test "memory" has mw-limit, which takes long
# shellcheck disable=SC2046 # words
cases "" verbs_err -d rxe0 -g "$(gid_index rxe0 v2 $A4)" $(verbs_err -l | grep -vx mw-limit)
# Cases that depend on packets, over RoCE v1 and IPv6, too
cases v1- verbs_err -d rxe0 -g "$(gid_index rxe0 v1 $A4)" ud-send ud-reply write-bad-rkey dead-peer-7 query
cases v2-ipv6- verbs_err -d rxe0 -g "$(gid_index rxe0 v2 $A6)" ud-send ud-reply write-bad-rkey dead-peer-7 query
cases dmabuf- verbs_dmabuf -d rxe0 -g "$(gid_index rxe0 v2 $A4)"
try resources-gone wait_for 5 resources_gone
sysctl -qw vm.nr_hugepages=0 || true
