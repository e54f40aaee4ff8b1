/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For test programs of regions on dma-bufs. rdma-core's provider doesn't have the verb, so they
 * call the ioctl.
 */
#ifndef DMABUF_UTIL_H
#define DMABUF_UTIL_H

#include <linux/udmabuf.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "verbs_util.h"

#define DMABUF_BASE	0x7000000000ull	/* address of the first byte of a buffer */

struct region {
	struct ibv_pd *pd;
	uint32_t handle, lkey, rkey;
};

struct request {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[9];
};

static UNUSED void add_attr(struct request *r, uint16_t id, uint16_t len, uint64_t data)
{
	r->attrs[r->hdr.num_attrs++] = (struct ib_uverbs_attr) {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

static UNUSED int mr_ioctl(const struct ibv_pd *of, struct request *r, uint16_t method)
{
	r->hdr.length = sizeof(r->hdr) + r->hdr.num_attrs * sizeof(r->attrs[0]);
	r->hdr.object_id = UVERBS_OBJECT_MR;
	r->hdr.method_id = method;
	r->hdr.driver_id = RDMA_DRIVER_RXE;
	return ioctl(of->context->cmd_fd, RDMA_VERBS_IOCTL, r) ? errno : 0;
}

/* Return: 0 or errno */
static UNUSED int reg_in(struct ibv_pd *of, int fd, uint64_t off, uint64_t len, uint32_t access,
		  struct region *region)
{
	struct request r = {};
	int err;

	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, of->handle);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, off);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, len);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, DMABUF_BASE + off);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_FD, 4, (uint32_t)fd);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, access);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, (uintptr_t)&region->lkey);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, (uintptr_t)&region->rkey);
	err = mr_ioctl(of, &r, UVERBS_METHOD_REG_DMABUF_MR);
	region->pd = of;
	region->handle = r.attrs[0].data;
	return err;
}

static UNUSED int dereg(const struct region *region)
{
	struct request r = {};

	add_attr(&r, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, region->handle);
	return mr_ioctl(region->pd, &r, UVERBS_METHOD_MR_DESTROY);
}

/* Return: a buffer of pages of a file; -1: the kernel can't make one */
static UNUSED int udmabuf_fd(size_t bytes)
{
	int dev = open("/dev/udmabuf", O_RDWR), mem, fd;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = bytes };

	if (dev < 0)
		return -1;
	mem = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (mem < 0 || ftruncate(mem, bytes) || fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK))
		die("no memory for a udmabuf: %m");
	create.memfd = mem;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(mem);
	close(dev);
	return fd;
}

#endif
