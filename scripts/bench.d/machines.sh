# SPDX-License-Identifier: GPL-2.0
# Functions of the benchmark's parts that run on the host.  They, scripts/captures and scripts/check
# source this file after scripts/lib.sh and scripts/vm/lib.sh.
# shellcheck shell=bash disable=SC2034

# bench_begin PART SUITE: builds the module.  Results go to $out, and messages to $out/log.
bench_begin() {
	bench_suite=$2 out=$TOP/build/bench/$1 vm=$TOP/build/vm/$1.$$
	need python3=python3-minimal qemu-system-x86_64=qemu-system-x86
	mkdir -p "$out"
	# vm/image shows its own progress.
	"$TOP/scripts/vm/image" "$bench_suite" > /dev/null
	slowly "$(time_of_build "$bench_suite")" "building the module" "$out/log" "$TOP/scripts/build" "$bench_suite" ||
		{ tail -n 30 "$out/log" >&2; die "the module doesn't build"; }
	trap machines_down EXIT
	trap 'exit 130' INT TERM
}

job_folder() {
	mkdir -p "$vm/job/log"
	cp -r "$TOP/build/$bench_suite/rdma_rxe.ko" "$TOP/build/$bench_suite/bin" "$vm/job/"
}

machines_up() {
	say "booting two machines"
	job_folder
	vm_boot "$bench_suite" "$vm" 2
}

machines_down() {
	[ -d "$vm" ] || return 0
	vm_stop "$vm"
	rm -rf "$vm"
}

# in_machine SECONDS COMMAND...: runs a command in machine a, for so many seconds at most.  timeout
# has its own process group, which Ctrl-C doesn't reach, but "wait" ends.
in_machine() {
	local limit=$1
	shift
	timeout "$limit" "$TOP/scripts/vm/run" "$vm" a "$@" < /dev/null 2>> "$out/log" &
	wait $!
}

# counting_machine LINE...: runs a script in a machine with one processor, whose clock counts
# instructions, so that the host's load doesn't matter.  Idle time passes at once, so nobody can
# talk to the machine: the script is in its job folder.  The script's stdout is that of this
# function.  COUNTING_LIMIT: seconds by the host's clock that the script may take
counting_machine() (
	VM_CPU=("${VM_CPU_COUNTS[@]/sleep=on/sleep=off}")
	job_folder
	ln -sfn "$("$TOP/scripts/vm/image" "$bench_suite")" "$vm/image"
	vm_initrd "$vm"
	{
		echo 'exec < /dev/null >> /job/lines 2> /job/log/task'
		echo 'trap "busybox poweroff -f" EXIT'
		# The clock leaps while the machine waits for the host's files, so they are copied.
		echo 'cp -r /job/bin /src/scripts/tests /tmp/ && mount --bind /tmp/bin /job/bin'
		echo 'export TESTS=/tmp/tests'
		printf '%s\n' "$@"
		echo 'touch /job/done'
	} > "$vm/job/autorun"
	: > "$vm/job/lines"
	vm_start_one "$vm" a
	deadline=$((SECONDS + ${COUNTING_LIMIT:-86400}))
	while vm_alive "$vm" a && [ ! -e "$vm/job/done" ] && [ $SECONDS -lt $deadline ]; do
		sleep 1
	done &
	tail -q -s 0.5 --pid=$! -n +1 -F "$vm/job/lines" 2> /dev/null || true
	cat "$vm/job/log/task" >> "$out/log"
	[ -e "$vm/job/done" ]
)
