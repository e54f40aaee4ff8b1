// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions on a dma-buf: memory that another driver has allocated, and that a process
 * names by a file descriptor.
 *
 * An adapter maps such a buffer for DMA, and maps it again when the exporter moves it. This
 * driver copies with the CPU, so it needs the kernel's own mapping (dma_buf_vmap()). That
 * mapping alone doesn't keep the buffer in its place. So the driver also attaches the device
 * to the buffer. An exporter that can move it pins it for the attachment. It does so at
 * dma_buf_pin() if it has that operation, else at the attachment. The buffer is never mapped
 * for DMA.
 *
 * Memory of a device that the CPU can't use like RAM is refused.
 *
 * Context: process.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <compat/dmabuf.h>
#include <compat/verbs.h>
#include <mem/dmabuf.h>
#include <rxe/memory.h>

/**
 * struct rxe_dmabuf - a dma-buf that is mapped
 * @buf: the buffer, with a reference
 * @attach: keeps the buffer in its place
 * @map: the kernel's mapping of all of it
 * @writable: the process may write it
 */
struct rxe_dmabuf {
	struct dma_buf		*buf;
	struct dma_buf_attachment *attach;
	struct iosys_map	map;
	bool			writable;
};

/* A pinned buffer doesn't move. The dma-buf layer requires the function nevertheless */
static void ignore_move(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer	= false,	/* only memory with struct pages */
	.rxe_move_notify	= ignore_move,
};

static int pin_dmabuf(struct rxe_dmabuf *dmabuf)
{
	int err;

	dma_resv_lock(dmabuf->buf->resv, NULL);
	err = dma_buf_pin(dmabuf->attach);
	dma_resv_unlock(dmabuf->buf->resv);
	return err;
}

static void unpin_dmabuf(struct rxe_dmabuf *dmabuf)
{
	dma_resv_lock(dmabuf->buf->resv, NULL);
	dma_buf_unpin(dmabuf->attach);
	dma_resv_unlock(dmabuf->buf->resv);
}

/* Keep the buffer in its place */
static int attach_dmabuf(struct rxe_dmabuf *dmabuf, struct device *dev)
{
	struct dma_buf *buf = dmabuf->buf;
	bool dynamic = dma_buf_is_dynamic(buf);
	int err;

	dmabuf->attach = dynamic ? dma_buf_dynamic_attach(buf, dev, &attach_ops, dmabuf) :
				   dma_buf_attach(buf, dev);
	if (IS_ERR(dmabuf->attach))
		return PTR_ERR(dmabuf->attach);
	err = dynamic ? pin_dmabuf(dmabuf) : 0;
	if (err)
		dma_buf_detach(buf, dmabuf->attach);
	return err;
}

static void detach_dmabuf(struct rxe_dmabuf *dmabuf)
{
	if (dma_buf_is_dynamic(dmabuf->buf))
		unpin_dmabuf(dmabuf);
	dma_buf_detach(dmabuf->buf, dmabuf->attach);
}

static int map_dmabuf(struct rxe_dmabuf *dmabuf)
{
	int err = dma_buf_begin_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);

	if (err)
		return err;
	err = dma_buf_vmap_unlocked(dmabuf->buf, &dmabuf->map);
	if (!err && dmabuf->map.is_iomem) {
		dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
		err = -EOPNOTSUPP;
	}
	if (err)
		dma_buf_end_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);
	return err;
}

static int attach_and_map(struct rxe_dmabuf *dmabuf, struct device *dev)
{
	int err = attach_dmabuf(dmabuf, dev);

	if (err)
		return err;
	err = map_dmabuf(dmabuf);
	if (err)
		detach_dmabuf(dmabuf);
	return err;
}

/**
 * rxe_dmabuf_get - map a buffer for a region
 * @dev: device that the buffer is attached to
 * @fd: its file descriptor, which the process may close afterwards
 *
 * Return: the buffer; ERR_PTR: -EBADF; -EINVAL for another file, or if the exporter can't
 * map it; -EOPNOTSUPP for memory that isn't RAM; -ENOMEM; errors of the exporter.
 */
struct rxe_dmabuf *rxe_dmabuf_get(struct device *dev, int fd)
{
	struct rxe_dmabuf *dmabuf = kzalloc(sizeof(*dmabuf), RXE_GFP_USER);
	int err;

	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->buf = dma_buf_get(fd);
	if (IS_ERR(dmabuf->buf)) {
		err = PTR_ERR(dmabuf->buf);
		goto free;
	}
	dmabuf->writable = dmabuf->buf->file->f_mode & FMODE_WRITE;
	err = attach_and_map(dmabuf, dev);
	if (!err)
		return dmabuf;
	dma_buf_put(dmabuf->buf);
free:
	kfree(dmabuf);
	return ERR_PTR(err);
}

/**
 * rxe_dmabuf_put - give back a region's buffer
 * @dmabuf: the buffer, no longer in use
 */
void rxe_dmabuf_put(struct rxe_dmabuf *dmabuf)
{
	dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
	dma_buf_end_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);
	detach_dmabuf(dmabuf);
	dma_buf_put(dmabuf->buf);
	kfree(dmabuf);
}

/**
 * rxe_dmabuf_check - may a region have this part of a buffer?
 * @dmabuf: the buffer
 * @offset: first byte in the buffer
 * @length: bytes
 * @access: enum ib_access_flags
 *
 * Return: 0; -EINVAL if the buffer hasn't these bytes; -EACCES to write what may only be
 * read.
 */
int rxe_dmabuf_check(const struct rxe_dmabuf *dmabuf, u64 offset, u64 length, int access)
{
	if (offset > dmabuf->buf->size || length > dmabuf->buf->size - offset)
		return -EINVAL;
	if (ib_access_writable(access) && !dmabuf->writable)
		return -EACCES;
	return 0;
}

/**
 * rxe_dmabuf_pages - list the pages of part of a buffer
 * @dmabuf: the buffer, which has whole pages
 * @offset: first byte in the buffer
 * @length: bytes, at least 1
 *
 * Return: kernel address of each page, to be freed by kvfree(); NULL without memory.
 */
void **rxe_dmabuf_pages(const struct rxe_dmabuf *dmabuf, u64 offset, u64 length)
{
	void *first = dmabuf->map.vaddr + (offset & PAGE_MASK);
	size_t num = PAGE_ALIGN(offset_in_page(offset) + length) >> PAGE_SHIFT, i;
	void **pages = kvmalloc_array(num, sizeof(*pages), RXE_GFP_USER);

	for (i = 0; pages && i < num; i++)
		pages[i] = first + (i << PAGE_SHIFT);
	return pages;
}

/* MODULE_IMPORT_NS() takes a string only since 6.13; this form works on all kernels */
MODULE_INFO(import_ns, "DMA_BUF");
