# SPDX-License-Identifier: GPL-2.0
# Functions for test kernels: they fetch the source (Debian's linux-source), build the kernels
# (kept in the cache) and the module for them, and boot User-Mode Linux.  scripts/kunit, scripts/uml
# and others source this file.  A UML kernel is an ordinary program: it needs no KVM, and runs at
# native speed.
# shellcheck shell=bash

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

KERNEL_D=$TOP/scripts/kunit.d
KERNELS=$CACHE/uml
SOURCE_PKG=linux-source-6.12

kernel_tools() {
	need gcc=gcc make=make flex=flex bison=bison bc=bc xz=xz-utils \
		depmod=kmod rsync=rsync flock=util-linux python3=python3
	[ -e /usr/include/stdio.h ] || need stdio.h=libc6-dev
}

# source_unpack DIR DEB: unpacks the source.  Of folders from which nothing is built here, only
# Kconfig and Makefiles are unpacked.
source_unpack() {
	local dir=$1 deb=$2 part=$KERNELS/part skip=() folder
	for folder in 'arch/[!ux]*' drivers/gpu drivers/media drivers/scsi drivers/staging \
		drivers/net/ethernet drivers/net/wireless drivers/infiniband/hw \
		drivers/infiniband/sw drivers/infiniband/ulp sound; do
		skip+=("--exclude=*/$folder/*.[chS]")
	done
	rm -rf "$part"
	mkdir -p "$part"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$SOURCE_PKG.tar.xz" | xz -dc -T0 |
		tar -x -C "$part" --strip-components=1 --wildcards "${skip[@]}" \
			--exclude='*.dts' --exclude='*.dtsi' \
			--exclude='*/Documentation/[a-z]*/*' \
			--exclude='*/tools/perf/*' --exclude='*/tools/testing/selftests/*' || return
	rm -rf "$dir"
	mv "$part" "$dir"
}

# Before 6.14, User-Mode Linux saves and restores 2,696 bytes of FPU state.  A host whose CPU has
# AMX accepts no less than all 11 KiB ("ptrace set fp regs failed").
source_mend() { # DIR
	local file=$1/arch/x86/um/user-offsets.c
	! grep -q 'HOST_FP_SIZE, 2696' "$file" || sed -i 's/HOST_FP_SIZE, 2696/HOST_FP_SIZE, 12288/' "$file"
}

# source_fetch DIR [VERSION]: downloads the package to DIR, and prints its path
source_fetch() {
	local dir=$1 pkg=$SOURCE_PKG${2:+=$2}
	slowly kernel-source "fetching $pkg (150 MB)" "$dir/log" source_download "$dir" "$pkg" ||
		die "cannot fetch $pkg: $(tail -n 3 "$dir/log")"
	echo "$dir/$SOURCE_PKG"_*.deb
}

source_download() ( # DIR PACKAGE
	cd "$1" || exit
	apt-get -q -o APT::Sandbox::User=root download "$2" ||
		{ apt_get update && apt-get -q -o APT::Sandbox::User=root download "$2"; }
)

# Prints the folder of the kernel source, which is downloaded at the first use.  Runs in a subshell,
# whose end frees the lock.  set -e is off in $(kernel_source).
kernel_source() (
	local tmp deb dir
	mkdir -p "$KERNELS"
	exec 7>"$KERNELS/source.lock"
	flock 7
	for dir in "$KERNELS/$SOURCE_PKG"_*; do
		[ -e "$dir/Kbuild" ] && source_mend "$dir" && echo "$dir" && exit
	done
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	deb=$(source_fetch "$tmp") || exit
	dir=${deb##*/}
	dir=$KERNELS/${dir%_all.deb}
	slowly kernel-unpack "unpacking ${dir##*/}" "$tmp/log" source_unpack "$dir" "$deb" ||
		die "cannot unpack ${dir##*/}: $(tail -n 3 "$tmp/log")"
	source_mend "$dir"
	echo "$dir"
)

# config_check DIR: fails if .config lacks a line of the fragments.  Of lines for the same option,
# the last one counts.
config_check() {
	local line name missing=
	while read -r line; do
		name=${line%%=*}
		grep -qxF -- "$line" "$1/.config" ||
			missing+=" $line ($(grep -E "^(# )?${name}[= ]" "$1/.config" || echo absent))"
	done < <(tac "$1/wanted.config" | awk -F= '/^CONFIG/ && !seen[$1]++')
	[ -z "$missing" ] || die "the kernel configuration lacks:$missing"
}

# test_kernel plain|debug|machine: builds the kernel if it is missing, and prints its build folder.
# The kernels are for User-Mode Linux, but "machine" is for the machines of scripts/vm, with all
# checkers.
test_kernel() {
	local kind=$1 arch=um image=linux src out frags="base uml $1" key log
	if [ "$kind" = machine ]; then
		arch=x86_64 image=bzImage frags="base debug machine"
		[ -e /usr/include/gelf.h ] || need gelf.h=libelf-dev
	fi
	src=$(kernel_source) || exit
	# shellcheck disable=SC2086 # a list
	frags=$(printf "$KERNEL_D/%s.config\n" $frags)
	# shellcheck disable=SC2086
	key=$({ cat $frags; gcc --version; cat "$src/arch/x86/um/user-offsets.c"; } | sha256sum | cut -c1-12)
	out=$KERNELS/${src##*_}-$kind-$key
	mkdir -p "$out"
	exec 9>"$out/lock"
	flock -n 9 || { say "another process is building the $kind test kernel, waiting" && flock 9; }
	if [ ! -e "$out/done" ]; then
		log=$out/build.log
		# shellcheck disable=SC2086
		cat $frags >"$out/wanted.config"
		make -s -C "$src" O="$out" ARCH=$arch KCONFIG_ALLCONFIG="$out/wanted.config" allnoconfig >"$log" 2>&1 ||
			die "cannot configure the test kernel: $(tail -n 3 "$log")"
		config_check "$out"
		slowly "kernel-$kind" "building the $kind test kernel, once" "$log" \
			nice make -C "$src" O="$out" ARCH=$arch -j"$(nproc)" $image modules ||
			die "cannot build the test kernel: $(grep -E 'error|Error' "$log" | head -n 5)"
		touch "$out/done"
	fi
	exec 9>&-
	echo "$out"
}

kernel_arch() { # KERNEL
	[ -e "$1/linux" ] && echo um || echo x86_64
}

# test_module KERNEL DIR SOURCE [ARGUMENT...]: builds the module with these ARGUMENTs of make, and
# prints its path.  DIR has a copy of SOURCE, so that the source tree stays clean.  The time of the
# first build in DIR is stored.
test_module() {
	local kernel=$1 dir=$2 source=$3 life start=$SECONDS kept=
	[ -n "$(find "$dir/tree" -maxdepth 1 -name '*.ko' 2>/dev/null)" ] || kept=module-${dir##*/}
	shift 3
	mkdir -p "$dir/tree"
	exec 8>"$dir/lock"
	flock 8
	# rsync compares contents, and gives changed files the present time: make must also compile
	# a file again that went back to an older state.  The excluded files are built in the copy.
	(cd "$source" && rsync -rlc --delete --exclude='*.o' --exclude='.*' --exclude='*.ko' \
		--exclude='*.mod' --exclude='*.mod.c' --exclude=modules.order --exclude=Module.symvers \
		--exclude=/include/compat/have.h \
		Kbuild drivers include kunit "$dir/tree/") || die "cannot copy the source to $dir/tree"
	# KASAN's red zones around globals outlive the module.  They would hit the next module that
	# is loaded at the same place.
	if grep -qx CONFIG_KASAN=y "$kernel/.config"; then
		set -- kasan_params="asan-instrumentation-with-call-threshold=0 asan-stack=1 asan-instrument-allocas=1 asan-globals=0" "$@"
	fi
	begin_life "building the module" "$dir/build.log" "${kept:+$(last_time "$kept")}"
	nice make -C "$kernel" ARCH="$(kernel_arch "$kernel")" M="$dir/tree" -j"$(nproc)" "$@" modules >"$dir/build.log" 2>&1 || {
		end_life
		grep -v '^  [A-Z]' "$dir/build.log" >&2
		die "the module does not build (log: $dir/build.log)"
	}
	end_life
	[ -z "$kept" ] || keep_time "$kept" $((SECONDS - start))
	grep -E '\b(warning|WARNING):' "$dir/build.log" >&2 || true
	exec 8>&-
	ls "$dir"/tree/*.ko
}

# uml_shipped KERNEL: prints the path of the distribution's own rdma_rxe.ko.  It is built for this
# kernel from its package at the first use.  Only the module is kept.
uml_shipped() {
	local kernel=$1 tmp src deb log=$1/shipped.log
	exec 9>"$KERNELS/lock"
	flock 9
	if [ ! -e "$kernel/shipped/rdma_rxe.ko" ]; then
		src=$(kernel_source) || exit
		tmp=$(mktemp -d)
		# A mirror may have only the latest version
		deb=$(source_fetch "$tmp" "${src##*_}") || deb=$(source_fetch "$tmp") || exit
		say "building the distribution's rdma_rxe"
		mkdir "$tmp/rxe"
		dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$SOURCE_PKG.tar.xz" | xz -dc -T0 |
			tar -x -C "$tmp/rxe" --strip-components=5 --wildcards '*/drivers/infiniband/sw/rxe/*'
		# The log has no lines of the source
		nice make -s -C "$kernel" ARCH=um M="$tmp/rxe" CONFIG_RDMA_RXE=m \
			KCFLAGS=-fno-diagnostics-show-caret -j"$(nproc)" modules >"$log" 2>&1 ||
			die "the distribution's rdma_rxe does not build (log: $log)"
		mkdir -p "$kernel/shipped"
		mv "$tmp/rxe/rdma_rxe.ko" "$kernel/shipped/"
		rm -rf "$tmp"
	fi
	exec 9>&-
	echo "$kernel/shipped/rdma_rxe.ko"
}

# uml_programs DIR: builds the test programs in DIR, and installs the packages that tests need
uml_programs() {
	[ -e /usr/include/rdma/rdma_cma.h ] || need rdma_cma.h=librdmacm-dev
	[ -e /usr/include/infiniband/verbs.h ] || need verbs.h=libibverbs-dev
	need ibv_devinfo=ibverbs-utils rping=rdmacm-utils ib_write_bw=perftest rdma=iproute2
	make -s -C "$TOP/scripts/tests/src" O="$1" >&2 || say "some test programs do not build"
}

# uml_boot KERNEL JOB [PARAMETER...]: boots the kernel with these parameters, and runs JOB/run in
# it.  The output of JOB/run goes to stdout, and the kernel's log to stderr.  Returns 0 if the
# kernel powered off by itself.  timeout has its own process group, which Ctrl-C doesn't reach: the
# trap ends it.
uml_boot() (
	local kernel=$1 job=$2 tmp=/tmp
	shift 2
	# The kernel's memory is a file.  On a tmpfs it causes no disk traffic
	[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && tmp=/dev/shm
	trap 'kill $! 2> /dev/null || true' EXIT
	TMPDIR=$tmp timeout -k 5 "${UML_TIMEOUT:-300}" "$kernel/linux" \
		mem="${UML_MEM:-1G}" uml_dir="$job/" umid=uml root=/dev/root rootfstype=hostfs rootflags=/ ro \
		con=null con0=null,fd:1 ssl=null ssl0=null,fd:2 console=ttyS0 loglevel=7 \
		panic=-1 oops=panic kmemleak=on kunit.enable=1 sysctl.kernel.hung_task_timeout_secs=120 init="$KERNEL_D/init" rxe_job="$job" rxe_top="$TOP" "$@" </dev/null &
	wait $!
)

# Words of the kernel's complaints
UML_BAD='WARNING:|BUG:|KASAN:|UBSAN:|Oops|INFO: |cut here|Call Trace|refcount_t|Kernel panic|general protection'
UML_BAD+='|possible .* detected|suspicious RCU|unregister_netdevice: waiting|kmemleak: [1-9].* new suspected|ODEBUG:'

# uml_log_clean LOG: fails if the kernel's log has a complaint
uml_log_clean() {
	! grep -qE "$UML_BAD" "$1"
}

# uml_log_show LOG: prints the first complaint and the lines around it, or the end of the log
uml_log_show() {
	local first
	first=$(grep -nE -m 1 "$UML_BAD" "$1" | cut -d: -f1)
	if [ -n "$first" ]; then
		tail -n "+$((first > 5 ? first - 5 : 1))" "$1" | head -n 120
	else
		tail -n 40 "$1"
	fi >&2
}
