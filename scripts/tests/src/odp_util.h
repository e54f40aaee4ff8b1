/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For test programs of on-demand paging: prefetches, and pages whose faults take long.
 */
#ifndef ODP_UTIL_H
#define ODP_UTIL_H

#include <linux/userfaultfd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "verbs_util.h"

#define PAGE	4096ul

/* ibv_advise_mr(), which the kernel supports and the provider doesn't. Return: 0 or errno */
static UNUSED int advise(struct ibv_pd *pd, int advice, uint32_t flags, struct ibv_sge s)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[4];
	} cmd = {
		.hdr = { .length = sizeof(cmd), .object_id = UVERBS_OBJECT_MR, .num_attrs = 4,
			 .method_id = UVERBS_METHOD_ADVISE_MR, .driver_id = RDMA_DRIVER_RXE },
		.attrs = {
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_PD_HANDLE, .flags = 1,
			  .data = pd->handle },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_ADVICE, .flags = 1,
			  .len = 8, .data = advice },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_FLAGS, .flags = 1,
			  .len = sizeof(flags), .data = flags },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_SGE_LIST, .flags = 1,
			  .len = sizeof(s), .data = (uintptr_t)&s },
		},
	};

	return ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

/*
 * From now on, a fault of the page waits for this process. Return: the file descriptor of the
 * page's userfaultfd; -1: the kernel has no userfaultfd
 */
static UNUSED int stop_pages(uint8_t *p)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = {
		.range = { (uintptr_t)p, PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))
		die("userfaultfd: %s", strerror(errno));
	return fd;
}

/* A fault waits for the page */
static UNUSED bool asked(int fd)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&f, 1, 20000) == 1 && read(fd, &msg, sizeof(msg)) == sizeof(msg);
}

#endif
