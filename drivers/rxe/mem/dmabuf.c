// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions on a dma-buf: memory that another driver has allocated, and that a process
 * names by a file descriptor.
 *
 * An adapter maps such a buffer for DMA, and maps it again when the exporter moves it.
 * This driver copies with the CPU, so it needs the kernel's own mapping (dma_buf_vmap()):
 * while that exists, the exporter may not move the buffer. Memory of a device that the
 * CPU can't use like RAM is refused.
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

/**
 * struct rxe_dmabuf - a dma-buf that is mapped
 * @buf: the buffer, with a reference
 * @map: the kernel's mapping of all of it
 * @writable: the process may write it
 */
struct rxe_dmabuf {
	struct dma_buf		*buf;
	struct iosys_map	map;
	bool			writable;
};

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

/**
 * rxe_dmabuf_get - map a buffer for a region
 * @fd: its file descriptor, which the process may close afterwards
 *
 * Return: the buffer; ERR_PTR: -EBADF; -EINVAL for another file, or if the exporter can't
 * map it; -EOPNOTSUPP for memory that isn't RAM; -ENOMEM; errors of the exporter.
 */
struct rxe_dmabuf *rxe_dmabuf_get(int fd)
{
	struct rxe_dmabuf *dmabuf = kzalloc(sizeof(*dmabuf), GFP_KERNEL_ACCOUNT);
	int err;

	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->buf = dma_buf_get(fd);
	if (IS_ERR(dmabuf->buf)) {
		err = PTR_ERR(dmabuf->buf);
		goto free;
	}
	dmabuf->writable = dmabuf->buf->file->f_mode & FMODE_WRITE;
	err = map_dmabuf(dmabuf);
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
