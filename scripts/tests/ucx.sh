# SPDX-License-Identifier: GPL-2.0
# test: UCX over RC and UD, its transports (UCT) and protocols (UCP), over RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

COUNT="-n 50 -w 5"

# One program runs all tests of a transport, since it takes seconds to start in an emulator.
uct_rc() {
	cat <<- END
	am-short $COUNT -t am_lat -D short -s 8
	am-bcopy $COUNT -t am_bw -D bcopy -s 1024
	am-zcopy $COUNT -t am_bw -D zcopy -s 4000
	put-short $COUNT -t put_lat -D short -s 8
	put-bcopy $COUNT -t put_bw -D bcopy -s 4096
	put-zcopy $COUNT -t put_bw -D zcopy -s 65536
	get-bcopy $COUNT -t get -D bcopy -s 1024
	get-zcopy $COUNT -t get -D zcopy -s 65536
	add $COUNT -t add_mr -s 8
	fadd $COUNT -t fadd -s 8
	cswap $COUNT -t cswap -s 8
	END
}

uct_ud() {
	uct_rc | grep ^am
}

# The tests are the same for both transports: UCX sends messages in place of the operations that UD lacks.
ucp() {
	cat <<- END
	tag-small $COUNT -t tag_lat -s 8
	tag-large $COUNT -t tag_bw -s 100000
	put $COUNT -t ucp_put_bw -s 20000
	get $COUNT -t ucp_get -s 20000
	add $COUNT -t ucp_add -s 8
	fadd $COUNT -t ucp_fadd -s 8
	swap $COUNT -t ucp_swap -s 8
	cswap $COUNT -t ucp_cswap -s 8
	am $COUNT -t ucp_am_bw -s 20000
	stream $COUNT -t stream_bw -s 2000
	END
}

# perftest LIST OPTION...: both ends run a list of tests, and print which tests succeeded.  If
# ucx_perftest was built with MPI, -P 0 makes it run without.
perftest() {
	local list=$1 file=/tmp/ucx.list ends=() name _
	PORT=$((PORT + 1))
	ends=(ucx_perftest -f -p "$PORT" -b "$file" "${@:2}")
	[[ $(ucx_perftest -h) != *' -P '* ]] || ends+=(-P 0)
	"$list" > $file
	on_b "cat > $file" < $file
	both wait_tcp env "${UCX[@]}" UCX_IB_GID_INDEX="$SRV_GID" "${ends[@]}" -- \
		env "${UCX[@]}" UCX_IB_GID_INDEX="$CLI_GID" "${ends[@]}" "$SRV4" > /tmp/ucx.out 2>&1 || true
	cat /tmp/ucx.out >&2
	while read -r name _; do
		try "$type-$prefix-$name" grep -qE "^ *$name +[0-9]+ .*[0-9] *$" /tmp/ucx.out
	done < $file
}

path_up vms
extra_up
on_b extra_up
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	UCX=(UCX_NET_DEVICES=rxe0:1)
	prefix=rc perftest uct_rc -d rxe0:1 -x rc_verbs
	prefix=ud perftest uct_ud -d rxe0:1 -x ud_verbs
	# UCX uses UD to connect RC
	for transports in rc_verbs,ud_verbs ud_verbs; do
		UCX=(UCX_NET_DEVICES=rxe0:1 "UCX_TLS=$transports")
		prefix=ucp-${transports%%_*} perftest ucp
	done
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
