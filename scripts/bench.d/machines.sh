# SPDX-License-Identifier: GPL-2.0
# Shared by parts of the benchmark, on the host.  Sourced, after scripts/lib.sh and
# scripts/vm/lib.sh.
# shellcheck shell=bash disable=SC2034

# bench_begin PART SUITE: build; results go to $out, talk to $out/log
bench_begin() {
	bench_suite=$2 out=$TOP/build/bench/$1 vm=$TOP/build/vm/$1.$$
	need python3=python3-minimal qemu-system-x86_64=qemu-system-x86
	mkdir -p "$out"
	# It shows itself how far it is.
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

# in_machine SECONDS COMMAND...: in machine a
in_machine() {
	local limit=$1
	shift
	timeout "$limit" "$TOP/scripts/vm/run" "$vm" a "$@" < /dev/null 2>> "$out/log"
}

# counting_machine LINE...: run a script in a machine whose only processor and clock count
# instructions, so that it doesn't matter how busy the host is; idle time passes at once.  The
# script's stdout is that of this function.  Nobody talks to the machine: it has its task with it.
# COUNTING_LIMIT: seconds by the host's clock that it may take
counting_machine() (
	VM_CPU=("${VM_CPU_COUNTS[@]/sleep=on/sleep=off}")
	job_folder
	ln -sfn "$("$TOP/scripts/vm/image" "$bench_suite")" "$vm/image"
	vm_initrd "$vm"
	{
		echo 'exec < /dev/null >> /job/lines 2> /job/log/task'
		echo 'trap "busybox poweroff -f" EXIT'
		# Its clock would leap while it waits for the host's files.
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
