# SPDX-License-Identifier: GPL-2.0
# test: a rootless container of podman has a netdev and its device, and uses them without privileges
# nodes: 1
# level: long
# suites: all
# extra: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
TENANT=2000		# the user's ID, which is 0 in the container
HOME_DIR=/run/tenant

tenant_down() {
	rm -rf --one-file-system $HOME_DIR
	sed -i /^tenant:/d /etc/{passwd,group,subuid,subgid}
}

# Makes a user, as adduser does, and a root file system that has the programs of this machine
tenant_up() {
	tenant_down
	echo "tenant:x:$TENANT:$TENANT::$HOME_DIR:/bin/bash" >> /etc/passwd
	echo "tenant:x:$TENANT:" >> /etc/group
	echo "tenant:100000:65536" | tee -a /etc/subuid >> /etc/subgid
	mkdir -p $HOME_DIR/{run,root/{usr,etc,proc,sys,dev,run,tmp,job,src}}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 $HOME_DIR/root/
	cp -a /etc/{ld.so.cache,libibverbs.d,passwd,group} $HOME_DIR/root/etc/
	chown -R tenant:tenant $HOME_DIR
}

# Runs podman as the user, who may pin as much memory as limits.conf usually allows users of RDMA
tenant_podman() {
	(
		ulimit -l unlimited
		cd $HOME_DIR
		exec setpriv --reuid $TENANT --regid $TENANT --clear-groups env -i PATH="$PATH" HOME=$HOME_DIR \
			XDG_RUNTIME_DIR=$HOME_DIR/run podman --cgroup-manager cgroupfs --events-backend none "$@"
	)
}

# Starts the container in an empty network namespace, B.  It gets the folder with the devices' files, and
# not a device's file: that is created again when the device moves.
container_up() {
	tenant_podman run -d --name c --network none --cgroups disabled --log-driver none \
		-v /dev/infiniband:/dev/infiniband:dev -v /usr:/usr:ro -v /job:/job:ro -v /src:/src:ro \
		--rootfs $HOME_DIR/root sleep infinity >&2 &&
		ip netns attach B "$(tenant_podman inspect -f '{{.State.Pid}}' c)"
}

# inside COMMAND...: runs the command in the container, as its root.  The command may be a function
inside() {
	tenant_podman exec c bash -c "$(with_tools "$@")"
}

ends_up() {
	ip netns add A && ip link add veth type veth peer name veth netns A && ip link set veth up &&
		ip -n A link set veth up && ip -n A addr add 203.0.113.1/24 dev veth &&
		in_netns A rxe_add rxeA veth && rxe_add rxeB veth
}

# The administrator moves the netdev and the device into the container
given() {
	ip link set veth netns B && ip -n B link set lo up && ip -n B link set veth up &&
		ip -n B addr add 203.0.113.2/24 dev veth && rdma dev set rxeB netns B &&
		[ "$(inside ls $SYS)" = rxeB ] && [ -z "$(ls $SYS)" ] && inside wait_for 20 rxe_ready rxeB veth
}

# The container's root has no rights of the host's root
administers() {
	inside rdma link delete rxeB || inside rdma dev set rxeB name mine || inside rdma link add rxeC type rxe netdev veth
}

refused() {
	inside ibv_devinfo -d rxeB >&2 && ! administers && [ "$(inside ls $SYS)" = rxeB ]
}

sends_to() { # UDP-PORT
	inside python3 -c "
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(64), ('$CLI4', $1))"
}

# It can't forge packets of the device, since it lacks CAP_NET_RAW.
not_forged() {
	sends_to 4792 && ! sends_to 4791 &&
		[ "$(inside cat $SYS/rxeB/ports/1/hw_counters/tx_drop_unprivileged)" -gt 0 ]
}

# A device whose netdev is in the container ends with the container.
killed() {
	tenant_podman kill c >&2 && ip netns del B && wait_for 20 eval '! grep -qx rxeB /sys/class/infiniband_verbs/*/ibdev'
}

load_ours
extra_up
trap tenant_down EXIT
each_netns_its_devices
try user tenant_up
try devices ends_up
try container container_up
try given given
path veth
srv() { inside "$@"; }
use_gid v2-ipv4
try rc-pingpong run_rc_pingpong
try rping run_rping
try write-bw run_perftest write_bw
use_gid v1-ipv4
try v1-rc-pingpong run_rc_pingpong
try not-administered refused
try not-forged not_forged
try killed killed
