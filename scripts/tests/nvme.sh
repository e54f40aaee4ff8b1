# SPDX-License-Identifier: GPL-2.0
# test: NVMe over Fabrics: the kernel's target and host, over RoCE v2 and v1
# nodes: 2
# level: full
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/disk.sh"
. "$TESTS/nvme-host.sh"

discover() {
	local text
	text=$(nvme discover -t rdma -a "$SRV_CM" -s 4420) && say "$text" && grep -q 'subnqn: *test$' <<< "$text"
}

reset() {
	nvme reset "/dev/$CONTROLLER" && wait_for 20 live && same_data 64k
}

# The link is down until the queue pairs give up: the host connects again
flap() {
	local pid
	new_data
	dd if=/tmp/data of="$DISK" bs=4k oflag=direct status=none &
	pid=$!
	ip link set eth0 down && wait_for 30 eval '! live' && ip link set eth0 up &&
		ip addr add "$A6/64" dev eth0 nodad && wait_for 60 live && wait $pid && same_data 64k
}

# The target is removed, and the controller gives up after ctrl-loss-tmo
removed() {
	srv nvme-target hide && wait_for 60 gone
}

has_srq() {
	local text
	text=$(srv rdma resource show srq) && say "$text" && grep -q 'type BASIC.*comm.*nvmet' <<< "$text"
}

# The target has one shared receive queue per processor, for all connections
shared_receives() {
	try "$type-srq-target" srv env USE_SRQ=1 nvme-target up "$SRV_CM"
	try "$type-srq-connect" connect --ctrl-loss-tmo=600
	try "$type-srq-made" has_srq
	try "$type-srq-parallel" parallel
	try "$type-srq-4k" write_compare 4k 64k
	end
}

# dim on|off: the RDMA core moderates the events of the host's new completion queues by load, or doesn't
dim() {
	rdma dev set rxe0 adaptive-moderation "$1" && dim_is "$1" dev show rxe0 -d
}

# dim_is on|off WHAT...: `rdma WHAT` says so
dim_is() {
	local text
	text=$(rdma "${@:2}") && say "$text" && grep -q "adaptive-moderation $1" <<< "$text"
}

# A completion queue is moderated if the device had the setting when the queue was created.  The RDMA core
# keeps completion queues of earlier connections until the device is deleted, so the device is added again.
new_moderated_device() {
	rdma link delete rxe0 && rxe_add && use_gid v2-ipv4 && dim on
}

moderated() {
	try "$type-dim-on" new_moderated_device
	try "$type-dim-target" srv nvme-target up "$SRV_CM"
	try "$type-dim-connect" connect --ctrl-loss-tmo=600
	try "$type-dim-queues" dim_is on resource show cq -dd
	try "$type-dim-parallel" parallel
	end
	try "$type-dim-off" dim off
}

begin() {
	try "$type-target" srv nvme-target up "${SRV_CM%%%*}"
	try "$type-discover" discover
	try "$type-connect" connect --ctrl-loss-tmo=600
	try "$type-64k" write_compare 64k 4k
}

end() {
	try "$type-disconnect" disconnect
	try "$type-target-gone" srv nvme-target down
}

everything() {
	begin
	try "$type-4k" write_compare 4k 64k
	try "$type-1m" write_compare 1M
	try "$type-parallel" parallel
	try "$type-reset" reset
	[ "$PATH_NAME" != vms ] || try "$type-loss" loss
	[ "$type" != v2-ipv4 ] || try "$type-flap" flap
	try "$type-disconnect-first" disconnect
	try "$type-connect-again" connect --ctrl-loss-tmo=2
	try "$type-same-data" same_data 1M
	try "$type-removed" removed
	try "$type-target-gone" srv nvme-target down
}

# With checkers, a megabyte takes half a minute.
[ $PATIENCE = 1 ] || SIZE=1
modprobe -a nvme-fabrics nvme-rdma
path_up vms
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	everything
done
type=v2-ipv6
use_gid $type
begin
end
type=v2-ipv4
use_gid $type
shared_receives
moderated
path loop
use_gid v2-ipv4
type=loop
everything
modprobe -r nvme-rdma
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
