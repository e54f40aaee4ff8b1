// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions on a dma-buf: memory that another driver has allocated, and that a process
 * names by a file descriptor.
 *
 * An adapter maps such a buffer for DMA. This driver copies with the CPU, so it needs the
 * kernel's own mapping (dma_buf_vmap()). Memory of a device that the CPU can't use like RAM is
 * refused. There are two kinds of buffers:
 *
 * - Buffers that stay where they are. Such a buffer is mapped once, for the life of the region.
 *   Attaching the device makes some exporters pin the buffer. Before Linux 6.2, a buffer that can
 *   move is pinned, too: its exporter takes the buffer's lock to map it for the CPU, so the
 *   driver could not map and unmap it under this lock.
 *
 * - Buffers that the exporter may move. Their pages are paged as with on-demand paging (odp.c):
 *   a fault makes all of them present. Before the buffer moves, the exporter calls
 *   take_pages_back(). When that returns, no task uses the pages any more: no fence is needed.
 *
 * An exporter need not tell of a move unless the importer has a mapping for DMA
 * (dma_buf_map_attachment()). A buffer that may move is therefore first mapped for DMA. This
 * mapping isn't used, and its list of pages belongs to the exporter. But it brings the buffer
 * into RAM, since the device doesn't support peer-to-peer DMA. Kernels that have the option
 * CONFIG_DMABUF_MOVE_NOTIFY, and were built without it, pin a buffer while it is mapped for DMA.
 * Some exporters (amdgpu since Linux 6.17) pin a buffer while it is mapped for the CPU, perhaps
 * in memory of the device, which is refused.
 *
 * ib_umem_dmabuf_get() of the RDMA core needs a device for DMA. This driver has none.
 *
 * Context: process. Lock order: rxe_dmabuf.lock, the buffer's lock, rxe_odp_chunk.lock.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <compat/dmabuf.h>
#include <compat/verbs.h>
#include <mem/dmabuf.h>
#include <mem/odp.h>
#include <rxe/memory.h>
#include <rxe/user.h>

/**
 * struct rxe_dmabuf - a dma-buf that a region uses
 * @buf: the buffer, with a reference; NULL: it is closed
 * @attach: the device's attachment
 * @map: the kernel's mapping of all of it
 * @lock: one fault at a time; protects @buf and @begun of a buffer that may move
 * @odp: which pages of a buffer that may move are present
 * @sgt: the mapping for DMA of a buffer that may move. NULL: it isn't mapped, and no page is
 *	present. Written with the buffer's lock held, and set with @lock held
 * @payer: the user whom @charged is charged to, with a reference; NULL: nobody
 * @charged: bytes of the table of the region's pages
 * @begun: access by the CPU has begun
 * @writable: the process may write it
 */
struct rxe_dmabuf {
	struct dma_buf		*buf;
	struct dma_buf_attachment *attach;
	struct iosys_map	map;
	struct mutex		lock;	/* faults */
	struct rxe_odp		*odp;
	struct sg_table		*sgt;
	struct rxe_user		*payer;
	u64			charged;
	bool			begun;
	bool			writable;
};

static int begin_cpu_access(struct rxe_dmabuf *dmabuf)
{
	int err = dma_buf_begin_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);

	dmabuf->begun = !err;
	return err;
}

static void end_cpu_access(struct rxe_dmabuf *dmabuf)
{
	if (dmabuf->begun)
		dma_buf_end_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);
	dmabuf->begun = false;
}

/* Undo map_movable(), however far it came. Context: the buffer's lock held */
static void unmap_movable(struct rxe_dmabuf *dmabuf)
{
	if (!iosys_map_is_null(&dmabuf->map))
		dma_buf_vunmap(dmabuf->buf, &dmabuf->map);
	iosys_map_clear(&dmabuf->map);
	if (dmabuf->sgt)
		dma_buf_unmap_attachment(dmabuf->attach, dmabuf->sgt, DMA_TO_DEVICE);
	WRITE_ONCE(dmabuf->sgt, NULL);
}

/*
 * The buffer is about to move, or its exporter takes it back for good. Perhaps in direct reclaim.
 * Context: the buffer's lock held. A pinned buffer has no such mapping, and doesn't move.
 */
static void take_pages_back(struct dma_buf_attachment *attach)
{
	struct rxe_dmabuf *dmabuf = attach->importer_priv;

	if (!dmabuf->sgt)
		return;
	rxe_odp_drop_all(dmabuf->odp);
	unmap_movable(dmabuf);
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer	= false,	/* only memory with struct pages */
	.rxe_move_notify	= take_pages_back,
};

/*
 * The table of pages needs whole ones. If the exporter moves the buffer to map it, it has called
 * take_pages_back(), and wouldn't tell of later moves. Context: the buffer's lock held
 */
static int map_for_cpu(struct rxe_dmabuf *dmabuf)
{
	int err = dma_buf_vmap(dmabuf->buf, &dmabuf->map);

	if (err)
		return err;
	if (!dmabuf->sgt || dmabuf->map.is_iomem || offset_in_page(dmabuf->map.vaddr))
		return -EOPNOTSUPP;
	return 0;
}

/* The buffer may still be moving to the mapped pages. Context: the buffer's lock held */
static int wait_for_contents(const struct dma_buf *buf)
{
	long left = dma_resv_wait_timeout(buf->resv, DMA_RESV_USAGE_KERNEL, false,
					  MAX_SCHEDULE_TIMEOUT);

	return left ? min(left, 0L) : -ETIMEDOUT;
}

/*
 * The device doesn't write by DMA. If the mapping said so, unmapping would overwrite what the CPU
 * has written, on machines that copy for DMA or whose DMA bypasses the caches. Context:
 * dmabuf->lock and the buffer's lock held
 */
static int map_movable(struct rxe_dmabuf *dmabuf)
{
	struct sg_table *sgt = dma_buf_map_attachment(dmabuf->attach, DMA_TO_DEVICE);
	int err;

	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	WRITE_ONCE(dmabuf->sgt, sgt);
	err = map_for_cpu(dmabuf) ?: wait_for_contents(dmabuf->buf);
	if (err)
		unmap_movable(dmabuf);
	else
		rxe_odp_set_all(dmabuf->odp, dmabuf->map.vaddr +
				((size_t)dmabuf->odp->first << PAGE_SHIFT));
	return err;
}

/*
 * At its new place, access by the CPU begins anew. That can't be done under the buffer's lock, and
 * may move the buffer. Context: dmabuf->lock held
 */
static int make_present(struct rxe_dmabuf *dmabuf)
{
	int err;

	end_cpu_access(dmabuf);
	err = begin_cpu_access(dmabuf);
	if (err)
		return err;
	dma_resv_lock(dmabuf->buf->resv, NULL);
	err = map_movable(dmabuf);
	dma_resv_unlock(dmabuf->buf->resv);
	return err;
}

/**
 * rxe_dmabuf_fault - make all pages of a buffer that may move present
 * @dmabuf: the buffer
 *
 * They may be taken back again at any time.
 *
 * Context: process, may sleep until the exporter has moved the buffer.
 *
 * Return: 0; -EFAULT if the region has ended; -EOPNOTSUPP for memory that isn't RAM; errors of
 * the exporter.
 */
int rxe_dmabuf_fault(struct rxe_dmabuf *dmabuf)
{
	int err = 0;

	mutex_lock(&dmabuf->lock);
	if (!dmabuf->buf)
		err = -EFAULT;
	else if (!READ_ONCE(dmabuf->sgt))
		err = make_present(dmabuf);
	mutex_unlock(&dmabuf->lock);
	return err;
}

/**
 * rxe_dmabuf_start - make the pages of a buffer that may move present for the first time
 * @dmabuf: the buffer
 * @odp: its pages that the region has
 *
 * Return: as rxe_dmabuf_fault().
 */
int rxe_dmabuf_start(struct rxe_dmabuf *dmabuf, struct rxe_odp *odp)
{
	dmabuf->odp = odp;
	return rxe_dmabuf_fault(dmabuf);
}

/**
 * rxe_dmabuf_may_move - may the exporter move a buffer?
 * @dmabuf: the buffer
 *
 * Return: true if so, and its pages must be made present; false if it stays where it is.
 */
bool rxe_dmabuf_may_move(const struct rxe_dmabuf *dmabuf)
{
	return rxe_dma_buf_may_move(dmabuf->buf);
}

static bool is_pinned(const struct rxe_dmabuf *dmabuf)
{
	return dma_buf_is_dynamic(dmabuf->buf) && !rxe_dmabuf_may_move(dmabuf);
}

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

static int attach_dmabuf(struct rxe_dmabuf *dmabuf, struct device *dev)
{
	struct dma_buf *buf = dmabuf->buf;
	int err;

	dmabuf->attach = dma_buf_is_dynamic(buf) ?
			 dma_buf_dynamic_attach(buf, dev, &attach_ops, dmabuf) :
			 dma_buf_attach(buf, dev);
	if (IS_ERR(dmabuf->attach))
		return PTR_ERR(dmabuf->attach);
	err = is_pinned(dmabuf) ? pin_dmabuf(dmabuf) : 0;
	if (err)
		dma_buf_detach(buf, dmabuf->attach);
	return err;
}

static void detach_dmabuf(struct rxe_dmabuf *dmabuf)
{
	if (is_pinned(dmabuf))
		unpin_dmabuf(dmabuf);
	dma_buf_detach(dmabuf->buf, dmabuf->attach);
}

static int map_fixed(struct rxe_dmabuf *dmabuf)
{
	int err = begin_cpu_access(dmabuf);

	if (err)
		return err;
	err = dma_buf_vmap_unlocked(dmabuf->buf, &dmabuf->map);
	if (!err && dmabuf->map.is_iomem) {
		dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
		err = -EOPNOTSUPP;
	}
	if (err)
		end_cpu_access(dmabuf);
	return err;
}

static void unmap_dmabuf(struct rxe_dmabuf *dmabuf)
{
	if (!rxe_dmabuf_may_move(dmabuf)) {
		dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
		return;
	}
	dma_resv_lock(dmabuf->buf->resv, NULL);
	unmap_movable(dmabuf);
	dma_resv_unlock(dmabuf->buf->resv);
}

static int attach_and_map(struct rxe_dmabuf *dmabuf, struct device *dev)
{
	int err = attach_dmabuf(dmabuf, dev);

	if (err || rxe_dmabuf_may_move(dmabuf))
		return err;
	err = map_fixed(dmabuf);
	if (err)
		detach_dmabuf(dmabuf);
	return err;
}

/**
 * rxe_dmabuf_get - attach a buffer for a region, and map it if it can't move
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
	mutex_init(&dmabuf->lock);
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
 * rxe_dmabuf_close - unmap and detach a buffer
 * @dmabuf: the buffer, whose pages no task uses
 *
 * Waits for a fault that is under way. Later faults fail.
 */
void rxe_dmabuf_close(struct rxe_dmabuf *dmabuf)
{
	mutex_lock(&dmabuf->lock);
	unmap_dmabuf(dmabuf);
	end_cpu_access(dmabuf);
	detach_dmabuf(dmabuf);
	dma_buf_put(dmabuf->buf);
	dmabuf->buf = NULL;
	mutex_unlock(&dmabuf->lock);
}

/**
 * rxe_dmabuf_put - give back a region's buffer
 * @dmabuf: the buffer, no longer in use; it may be closed
 */
void rxe_dmabuf_put(struct rxe_dmabuf *dmabuf)
{
	if (dmabuf->buf)
		rxe_dmabuf_close(dmabuf);
	rxe_user_uncharge(dmabuf->payer, dmabuf->charged);
	rxe_user_put(dmabuf->payer);
	kfree(dmabuf);
}

/**
 * rxe_dmabuf_charge - charge the caller's user for a region's table of pages
 * @dmabuf: the region's buffer, not charged yet; it pays back when it is put
 * @ibdev: device that a warning names
 * @length: bytes of the region
 *
 * A buffer may be registered any number of times.
 *
 * Return: 0; -ENOMEM if memory is short, or the user's budget.
 */
int rxe_dmabuf_charge(struct rxe_dmabuf *dmabuf, struct ib_device *ibdev, u64 length)
{
	u64 bytes = (length / PAGE_SIZE + 2) * sizeof(unsigned long);
	struct rxe_user *payer = rxe_user_get_payer();
	int err;

	if (IS_ERR(payer))
		return PTR_ERR(payer);
	err = rxe_user_charge(payer, ibdev, bytes);
	if (err) {
		rxe_user_put(payer);
		return err;
	}
	dmabuf->payer = payer;
	dmabuf->charged = bytes;
	return 0;
}

/**
 * rxe_dmabuf_check - may a region have this part of a buffer?
 * @dmabuf: the buffer
 * @offset: first byte in the buffer
 * @length: bytes
 * @access: enum ib_access_flags
 *
 * Return: 0; -EINVAL if the buffer doesn't have these bytes; -EACCES to write a read-only
 * buffer.
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
 * rxe_dmabuf_pages - list the pages of part of a buffer that stays where it is
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
