# SPDX-License-Identifier: GPL-2.0
# Makes the initrd of a test machine.  Other scripts source this file after scripts/lib.sh.
# shellcheck shell=bash

# Modules that the initrd loads to mount the root file system
BOOT_MODULES="virtio_pci virtio_blk ext4 overlay"

# Makes the folders that scripts/vm/init expects.  mod/order lists the modules to load.
lay_out_initrd() { # DIR
	mkdir -p "$1"/initrd.d/{bin,mod,proc,sys,dev,lower,rw,root}
	cp "$1/tree/bin/busybox" "$1/initrd.d/bin/"
	touch "$1/initrd.d/mod/order"
}

make_initrd() { # DIR
	local dir=$1 tmp=$1/initrd.d release module file
	release=$(cat "$dir/release")
	lay_out_initrd "$dir"
	# shellcheck disable=SC2086 # a list
	chroot "$dir/tree" modprobe -S "$release" --all --show-depends $BOOT_MODULES |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
		while read -r file; do
			module=$(basename "$file")
			case $file in
			*.xz) xz -dc "$dir/tree$file" > "$tmp/mod/${module%.xz}" ;;
			*) cp "$dir/tree$file" "$tmp/mod/" ;;
			esac
			echo "${module%.xz}"
		done > "$tmp/mod/order"
	pack_initrd "$dir"
}

# Prints an archive of the files whose names are on standard input.  The kernel accepts several
# archives in one initrd.
pack_files() { # TREE
	"$1/bin/busybox" cpio -o -H newc 2> /dev/null | gzip -1
}

pack_initrd() { # DIR
	(cd "$1/initrd.d" && find . | pack_files "$1/tree") > "$1/initrd"
	rm -rf "$1/initrd.d"
}
