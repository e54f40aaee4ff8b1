# SPDX-License-Identifier: GPL-2.0
# test: rdma-core's own tests, by way of pyverbs, over RoCE v2 and v1
# nodes: 1
# level: full
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

suite=/tmp/rdma-core/tests
mkdir -p /tmp/rdma-core
cp -r /usr/share/doc/rdma-core/tests /tmp/rdma-core/
gunzip -f $suite/*.gz
export PYTHONDONTWRITEBYTECODE=1

over() { # v1|v2 [MODULE]...
	cases "$1-" python3 "$TESTS/py/rdma_core_suite.py" $suite rxe0 "$(gid_index rxe0 "$1" $A4)" "${@:2}"
}

# scripts/conformance reads this line
echo "=== on $(uname -r) $(dpkg-query -Wf '${Version}' python3-pyverbs)" >&2

# Some tests want huge pages
sysctl -qw vm.nr_hugepages=32 || true
load_ours
rxe_add
# scripts/check sets RXE_SUITE
shipped=()
[ "${RXE_MODULE:-ours}" = shipped ] || shipped=(${RXE_SUITE:+--shipped "$RXE_SUITE"})
over v2 "${shipped[@]}"
over v1 test_atomic test_cq test_cq_events test_cqex test_mr test_qpex
try resources-gone wait_for 5 resources_gone
