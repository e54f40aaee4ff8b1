# SPDX-License-Identifier: GPL-2.0
# test: malformed raw packets of all kinds have no effect and are counted
# nodes: 1
# level: full
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

counter() { # NAME
	cat "/sys/class/infiniband/rxeB/ports/1/hw_counters/$1"
}

# The attacker is in A, the target in B.  By `ip netns exec`, each has its own /sys.
attack() { # TYPE OPTION...
	local type=$1 gid
	shift
	gid=$(in_netns B gid_index rxeB "$type" 203.0.113.2) || return 1
	ip netns exec A env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/wire_attack.py" --netdev veth \
		--target "ip netns exec B wire_target -d rxeB -g $gid -p ::ffff:203.0.113.1" \
		--src-mac "$(mac_of A veth)" \
		--dst-mac "$(mac_of B veth)" "$@"
}

counted() { # WHICH BEFORE LEAST
	local now
	now=$(counter "$1")
	say "$1 went from $2 to $now"
	[ $((now - $2)) -ge "$3" ]
}

alive() {
	SRV_GID=$(in_netns B gid_index rxeB v2 203.0.113.2) CLI_GID=$(in_netns A gid_index rxeA v2 203.0.113.1)
	run_rc_random -n 200 -q 2 -s 3 -m 65536
}

path_up veth
before=$(counter rx_icrc_encapsulated 2> /dev/null || echo 0)
cases v2- attack v2 --src 203.0.113.1 --dst 203.0.113.2
try v2-icrc-errors-counted counted rx_icrc_encapsulated "$before" 32
before=$(counter rx_icrc_encapsulated 2> /dev/null || echo 0)
cases v1- attack v1 --v1 --src ::ffff:203.0.113.1 --dst ::ffff:203.0.113.2
try v1-icrc-errors-counted counted rx_icrc_encapsulated "$before" 32
try alive alive
