# SPDX-License-Identifier: GPL-2.0
# Functions to start test machines, to run commands there, and to stop them.  Other scripts source
# this file after scripts/lib.sh.
# shellcheck shell=bash disable=SC2034
#
# A set of machines has a folder:
#   job/        shared with the machines, as /job
#   X.serial    console of machine X (a or b)
#   X.pid, X.port, X.mon, X.ssh, X.qemu.log
#   image       symbolic link to the image's folder
#
# Each machine has three network cards.  eth0 is the wire between a and b that tests use.
# By eth1, a runs commands on b.  By eth2, the host runs commands on both.  No card leads
# to the host's network.

. "$TOP/scripts/vm/initrd.sh"

VM_BOOT_SECONDS=${VM_BOOT_SECONDS:-600}
VM_MEMORY=${VM_MEMORY:-2048}
VM_CHECKERS=''		# words for the kernel's checkers
# Processors and their clocks.  With VM_CPU_COUNTS, a running processor's clock counts
# instructions, one per nanosecond.  While the processor is idle, the host's clock counts.
VM_CPU=(-accel "tcg,thread=multi" -cpu max -smp 2)
VM_CPU_COUNTS=(-accel "tcg,thread=single" -icount "shift=0,sleep=on" -cpu "max,-erms,-fsrm" -smp 1)

vm_alive() { # DIR NODE
	[ -s "$1/$2.pid" ] && kill -0 "$(cat "$1/$2.pid")" 2>/dev/null
}

# The image's archive is the same for all boots.  A second archive has the init script.
vm_initrd() { # DIR
	local image=$1/image
	mkdir -p "$1/initrd.d"
	install -m 755 "$TOP/scripts/vm/init" "$1/initrd.d/init"
	{
		cat "$image/initrd"
		(cd "$1/initrd.d" && echo init | pack_files "$image/tree")
	} > "$1/initrd"
}

vm_start_one() { # DIR NODE
	local dir=$1 node=$2 peer=b mac=1
	[ "$node" = a ] || { peer=a; mac=2; }
	rm -f "$dir/$node".{wire,ctl,pid,mon,port} "$dir/job/up-$node"
	(
		# Names of Unix sockets must be short, so QEMU runs in their folder.  With its
		# option -daemonize, QEMU would leave the folder, and not find its peer's sockets.
		cd "$dir" || exit
		# A busy host may let a machine stand still for more than a minute.  Its kernel takes that
		# for a fault of its own only after two minutes (watchdog_thresh is half of that).
		exec setsid qemu-system-x86_64 -M q35 -nodefaults -no-user-config -no-reboot -display none \
			-name "rxe-$node" "${VM_CPU[@]}" -m "$VM_MEMORY" \
			-kernel image/vmlinuz -initrd initrd \
			-append "console=ttyS0 panic=1 oops=panic no_timer_check tsc=reliable nokaslr mitigations=off net.ifnames=0 random.trust_cpu=on watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 log_buf_len=4M kmemleak=on $VM_CHECKERS memmap=16M!1G rxe.node=$node" \
			-drive file=image/root.ext4,format=raw,if=virtio,readonly=on \
			-virtfs local,path=job,mount_tag=job,security_model=none,multidevs=remap \
			-virtfs "local,path=$TOP,mount_tag=src,security_model=none,readonly=on,multidevs=remap" \
			-netdev "dgram,id=wire,local.type=unix,local.path=$node.wire,remote.type=unix,remote.path=$peer.wire" \
			-device "virtio-net-pci,netdev=wire,mac=52:54:00:00:01:0$mac" \
			-netdev "dgram,id=ctl,local.type=unix,local.path=$node.ctl,remote.type=unix,remote.path=$peer.ctl" \
			-device "virtio-net-pci,netdev=ctl,mac=52:54:00:00:02:0$mac" \
			-netdev user,id=host,restrict=on,hostfwd=tcp:127.0.0.1:0-:22 \
			-device "virtio-net-pci,netdev=host,mac=52:54:00:00:03:0$mac" \
			-serial "file:$node.serial" -monitor "unix:$node.mon,server=on,wait=off" \
			< /dev/null >> "$node.qemu.log" 2>&1
	) &
	echo $! > "$dir/$node.pid"
	disown
	vm_port "$dir" "$node" > "$dir/$node.port" ||
		die "QEMU doesn't start: $(tail -n 3 "$dir/$node.qemu.log")"
}

# Prints the port on the host's loopback that QEMU chose for the machine's sshd.
vm_port() { # DIR NODE
	python3 - "$1/$2.mon" <<-'END'
	import os, re, socket, sys, time
	os.chdir(os.path.dirname(sys.argv[1]))
	s = socket.socket(socket.AF_UNIX)
	deadline = time.monotonic() + 20
	while s.connect_ex(os.path.basename(sys.argv[1])):
	    if time.monotonic() > deadline:
	        sys.exit("no monitor")
	    time.sleep(0.05)
	s.settimeout(20)
	s.sendall(b"info usernet\n")
	text = b""
	while not (m := re.search(rb"HOST_FORWARD\S*\s+\d+\s+127\.0\.0\.1\s+(\d+)", text)):
	    text += s.recv(4096)
	print(m[1].decode())
	END
}

vm_wait_one() { # DIR NODE: wait until it is up; fails if it is dead or late
	local deadline=$((SECONDS + VM_BOOT_SECONDS))
	until [ -e "$1/job/up-$2" ]; do
		vm_alive "$1" "$2" || return 1
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
	until vm_run "$1" "$2" true 2>/dev/null; do
		vm_alive "$1" "$2" || return 1
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

# vm_boot SUITE DIR NODES: start machine a, or a and b, and wait until they are up
vm_boot() {
	local suite=$1 dir=$2 nodes node VM_CHECKERS=$VM_CHECKERS
	case $3 in
	1) nodes=a ;;
	2) nodes="a b" ;;
	*) die "1 or 2 machines, not '$3'" ;;
	esac
	need qemu-system-x86_64=qemu-system-x86 ssh=openssh-client python3=python3-minimal
	mkdir -p "$dir/job/log"
	# Otherwise, KASAN would report only the first error after boot.
	[ "$suite" != debug ] || VM_CHECKERS=kasan_multi_shot
	ln -sfn "$("$TOP/scripts/vm/image" "$suite")" "$dir/image"
	vm_initrd "$dir"
	for node in $nodes; do
		vm_start_one "$dir" "$node"
	done
	for node in $nodes; do
		vm_wait_one "$dir" "$node" && continue
		# A machine that dies before its init runs is a fault of QEMU.  It is started once
		# more.  A machine that dies later is a failure.
		[ ! -e "$dir/job/up-$node" ] || die "machine $node died or hangs, see $dir/$node.serial"
		say "machine $node didn't come up, starting it once more"
		cp "$dir/$node.serial" "$dir/$node.serial.first" 2>/dev/null || true
		vm_kill_one "$dir" "$node"
		vm_start_one "$dir" "$node"
		vm_wait_one "$dir" "$node" || die "machine $node doesn't come up, see $dir/$node.serial"
	done
}

# vm_run DIR NODE COMMAND...: run a command in a machine.  A single argument is a line for
# the shell.  Several arguments are a command and its arguments.  Exit status and output are
# those of the command.
vm_run() {
	local dir=$1 node=$2 command
	shift 2
	[ $# -eq 1 ] && command=$1 || command=$(printf '%q ' "$@")
	(
		cd "$dir" || exit
		exec ssh -F none -i image/key -p "$(cat "$node.port")" -o BatchMode=yes \
			-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
			-o ConnectTimeout=20 -o ControlMaster=auto -o "ControlPath=$node.ssh" -o ControlPersist=yes \
			${VM_TTY:+-t} root@127.0.0.1 "$command"
	)
}

vm_kill_one() { # DIR NODE
	local pid
	(cd "$1" && [ -S "$2.ssh" ] && ssh -F none -o "ControlPath=$2.ssh" -O exit x 2>/dev/null) || true
	[ -s "$1/$2.pid" ] || return 0
	pid=$(cat "$1/$2.pid")
	kill -9 "$pid" 2>/dev/null || true
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.05
	done
	rm -f "$1/$2.pid"
}

vm_stop() { # DIR
	local node
	for node in a b; do
		vm_kill_one "$1" "$node"
	done
}
