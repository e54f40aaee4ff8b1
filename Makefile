# SPDX-License-Identifier: GPL-2.0
# For people; the kernel's build system reads Kbuild.  "make help" lists it all.

ifndef KERNELRELEASE
ifdef KDIR
# Not kernel.release: Debian's headers have the source version there.
KERNELRELEASE := $(or $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null),unknown)
else
KERNELRELEASE := $(shell uname -r)
endif
endif
KDIR ?= /lib/modules/$(KERNELRELEASE)/build
CONF := $(KDIR)/include/config/auto.conf

# Objects stay out of the source tree.
OUT := build/$(KERNELRELEASE)
KBUILD := $(MAKE) -C $(KDIR) M=$(CURDIR)/$(OUT)/obj

# The kernel's compiler, if it is there: another may not know its flags.  (Debian's headers name it
# themselves.)  LLVM and CC of the user's come first.  The text of a distribution's clang begins with
# the distribution's name.
ifneq ($(shell grep -s '^CONFIG_CC_IS_CLANG=y' $(CONF)),)
COMPILER := LLVM=$(or $(LLVM),1)
else ifeq ($(origin CC),default)
CC_TEXT := $(shell sed -n 's/^CONFIG_CC_VERSION_TEXT="*\([^ "]*\) .*/\1/p' $(CONF) 2>/dev/null)
ifneq ($(shell command -v '$(or $(CC_TEXT),none)' 2>/dev/null),)
COMPILER := CC=$(CC_TEXT)
endif
endif
# Recipes put a + in front.  Otherwise make before 4.4 doesn't see that this is a make, and gives it
# one job.
BUILD := $(KBUILD) RXE_COMMIT=$$(scripts/package/commit) $(COMPILER)

# Of the scripts: SUITE=bookworm|trixie|backports|debug, TEST="names of tests"
OPTIONS := $(addprefix --suite ,$(SUITE)) $(TEST)

modules: headers
	@find Kbuild drivers include $(wildcard kunit) -type d -printf '$(OUT)/obj/%p\0' | xargs -0 mkdir -p
	@find Kbuild drivers include $(wildcard kunit) -type f | while read -r file; do \
		cmp -s "$$file" "$(OUT)/obj/$$file" || \
		cp "$$file" "$(OUT)/obj/$$file" || exit 1; done
	+$(BUILD) modules
	@cp $(OUT)/obj/rdma_rxe.ko $(OUT)/
	@[ ! -x scripts/compile-commands ] || scripts/compile-commands $(OUT)/obj $(KDIR) > build/compile_commands.json
	@echo "==> $(OUT)/rdma_rxe.ko"

headers:
	@scripts/package/check $(KERNELRELEASE) $(KDIR)

# Signing comes before compression, and is the user's.  Kernels before 6.12 compress if there is a
# method, later ones with ..._ALL.
UNCOMPRESSED := $(addprefix CONFIG_MODULE_COMPRESS_,ALL= GZIP= XZ= ZSTD=)

# updates/ comes before the kernel's own modules.  (The distribution's signing key is
# not here, so no attempt to sign.)
install: modules
	+$(BUILD) INSTALL_MOD_DIR=updates CONFIG_MODULE_SIG_ALL= $(UNCOMPRESSED) modules_install
	depmod $(addprefix -b ,$(INSTALL_MOD_PATH)) $(KERNELRELEASE)

uninstall:
	rm -f $(INSTALL_MOD_PATH)/lib/modules/$(KERNELRELEASE)/updates/rdma_rxe.ko*
	depmod $(addprefix -b ,$(INSTALL_MOD_PATH)) $(KERNELRELEASE)

dist deb rpm:
	@scripts/package/make $@

clean:
	rm -rf build

check:
	scripts/check $(OPTIONS)

check-quick:
	scripts/check --level quick $(OPTIONS)

check-long:
	scripts/check --level long $(OPTIONS)

kunit:
	scripts/kunit

demo:
	scripts/demo

vm:
	scripts/vm/shell $(SUITE)

bench:
	scripts/bench

help:
	@echo 'The module:'
	@echo '  make               build it for the running kernel (KDIR= or KERNELRELEASE= for another)'
	@echo '  make install       install it to updates/, before the kernel'\''s own, and run depmod'
	@echo '  make uninstall     remove it from there'
	@echo '  make clean         remove what was built, and the logs'
	@echo ''
	@echo 'To carry it elsewhere (in build/package/):'
	@echo '  make dist          the source as a tarball; the same commit and tags give the same bytes'
	@echo '  make deb           package rdma-rxe-dkms for Debian: rebuilt with every kernel, see rdma_rxe(7)'
	@echo '  make rpm           source package kmod-rdma_rxe for RHEL and its kin'
	@echo ''
	@echo 'In virtual machines, with Debian kernels (nothing but Debian packages is needed):'
	@echo '  make demo          see it work: two machines, RoCE v1 and v2, every command shown'
	@echo '  make vm            the two machines, with a terminal each'
	@echo '  make check         all tests but the long ones on trixie, the core of them on bookworm and backports'
	@echo '  make check-quick   one kernel, under three minutes'
	@echo '  make check-long    these on all three kernels, the long ones and the package too, some with KASAN'
	@echo '  make kunit         unit tests, on User-Mode Linux'
	@echo '  make bench         compare with the distribution'\''s own module'
	@echo ''
	@echo 'SUITE=bookworm|trixie|backports|debug picks a kernel, TEST=name one test ("make check TEST=smoke").'
	@echo 'The scripts named in Documentation/testing.rst tell more with --help; scripts/check --list names the tests.'

.PHONY: modules headers install uninstall dist deb rpm clean check check-quick check-long kunit demo vm bench help
