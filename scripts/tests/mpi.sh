# SPDX-License-Identifier: GPL-2.0
# test: Open MPI over UCX and libfabric: messages and collectives, over RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# MPI's own TCP connections use the control network, so its data must go by RDMA. Since version 5,
# the runtime is another project (PRRTE) with parameters of its own.
run_by() {
	local runtime=(--prtemca prte_if_include eth1)
	case $(mpirun.openmpi --version) in
	*' 4.'*) runtime=(--mca oob_tcp_if_include eth1) ;;
	esac
	RUN=(timeout 120 mpirun.openmpi --allow-run-as-root --prefix /usr -np 2 --map-by node
		--host "a,b" "${runtime[@]}" --mca btl_tcp_if_include eth1)
}

# check_mpi PREFIX OPTION...: the two ranks compare what they receive.  Windows (one-sided MPI) aren't
# tested: over libfabric and UCX, this version's libraries fail with any device.
check_mpi() {
	cases "$1-" "${RUN[@]}" "${@:2}" python3 "$TESTS/py/mpi_check.py"
}

# Both machines get the same environment variable, and have the GID at the same index.
by_ucx() { # TRANSPORTS
	local name=$type-ucx-${1%%_*} options
	options=(--mca pml ucx -x "UCX_TLS=$1,self" -x UCX_NET_DEVICES=rxe0:1 -x "UCX_IB_GID_INDEX=$CLI_GID")
	check_mpi "$name" "${options[@]}"
	try "$name-netpipe" "${RUN[@]}" "${options[@]}" NPopenmpi -i -u 100000
}

by_libfabric() {
	check_mpi "$type-ofi-rxm" --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm'
	check_mpi "$type-ofi-verbs" --mca pml ob1 --mca btl ofi,self \
		--mca btl_ofi_mode 2 --mca btl_ofi_provider_include verbs
}

path_up vms
extra_up
on_b extra_up
run_by
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	by_ucx rc_verbs,ud_verbs
	by_ucx ud_verbs
	by_libfabric
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
