# SPDX-License-Identifier: GPL-2.0
# A machine with Secure Boot.  scripts/package/try sources this file.
# shellcheck shell=bash disable=SC2034,SC2154
#
# The firmware trusts Microsoft's keys only, as that of most machines does.  The firmware starts shim,
# shim starts GRUB, and GRUB starts the kernel.  All three are the signed files of the release.  The
# firmware's variables are kept from boot to boot, and with them the keys that were enrolled.

# The packages come from apt's cache, and are unpacked outside of the tree: other boots don't use them.
set_up_firmware() {
	local package
	for package in ovmf shim-signed shim-helpers-amd64-signed grub-efi-amd64-signed; do
		dpkg-deb -x "$(ls "$tree/var/cache/apt/archives/${package}_"*.deb)" "$dir/firmware"
	done
	cp -L "$dir/firmware/usr/share/OVMF/OVMF_VARS_4M.ms.fd" "$dir/variables"
	in_tree 'apt-get -q -y --no-install-recommends install mokutil'
}

# The EFI system partition
lay_out_esp() { # PARAMETERS of the kernel
	local esp=$dir/esp lib=$dir/firmware/usr/lib
	rm -rf "$esp"
	mkdir -p "$esp"/EFI/{BOOT,debian}
	cp "$lib/shim/shimx64.efi.signed" "$esp/EFI/BOOT/BOOTX64.EFI"
	cp "$lib/shim/mmx64.efi.signed" "$esp/EFI/BOOT/mmx64.efi"
	cp "$lib/grub/x86_64-efi-signed/grubx64.efi.signed" "$esp/EFI/BOOT/grubx64.efi"
	cp "$tree/boot/vmlinuz-$(cat "$dir/release")" "$esp/vmlinuz"
	cp "$dir/initrd" "$esp/initrd"
	printf '%s\n' "linux /vmlinuz $1" 'initrd /initrd' boot > "$esp/EFI/debian/grub.cfg"
}

# Sets the arguments of QEMU.  The console's input is standard input.  The machine may reboot.
boot_by_firmware() { # PARAMETERS of the kernel
	lay_out_esp "$1"
	how=(-global "driver=cfi.pflash01,property=secure,value=on"
		-drive "if=pflash,format=raw,readonly=on,file=$dir/firmware/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
		-drive "if=pflash,format=raw,file=$dir/variables"
		-drive "file=fat:$dir/esp,format=raw,if=virtio,readonly=on"
		-chardev "stdio,id=console,mux=on,logfile=$dir/console" -serial chardev:console
		-action reboot=reset)
}

# Enrolls two keys in shim's MOK manager, as a user does at the machine's keyboard.  In most menus, the
# entry to choose is the second.  In the list of the two keys, it is the third.  If a menu doesn't
# appear, QEMU is told to quit.
mok_manager() {
	local enter='\r' second='\e[B\r' third='\e[B\e[B\r'
	{
		press 'Press any key to perform MOK management' "$enter" && press 'Enroll MOK' "$second" &&
			press 'View key 1' "$third" && press 'Yes' "$second" && press 'Password' "correct-horse$enter" &&
			press 'Reboot' "$enter"
	} || printf '\001x'
}

press() { # TEXT KEYS: type the keys as soon as the text is on the console
	local deadline=$((SECONDS + 300))
	until grep -aqsF "$1" "$dir/console"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
	printf '%b' "$2"
}
