/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel mapping of a dma-buf: since 6.2, the functions that take the buffer's lock end
 * with _unlocked, and the others want it to be held. Before, exporters took it. The importer's
 * callback for a buffer that moves has another name since 7.0. A kernel without
 * CONFIG_DMA_SHARED_BUFFER has no dma-buf.
 */
#ifndef RXE_COMPAT_DMABUF_H
#define RXE_COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/errno.h>
#include <compat/have.h>

#ifdef HAVE_DMA_BUF_INVALIDATE_MAPPINGS
#define rxe_move_notify		invalidate_mappings
#define rxe_dma_buf_will_move	dma_buf_invalidate_mappings	/* for exporters: unit tests */
#else
#define rxe_move_notify		move_notify
#define rxe_dma_buf_will_move	dma_buf_move_notify
#endif

#ifdef HAVE_DMA_BUF_VMAP_UNLOCKED
/* May the buffer move, and be mapped for the CPU with its lock held? */
#define rxe_dma_buf_may_move(buf)	dma_buf_is_dynamic(buf)
#else
#define rxe_dma_buf_may_move(buf)	false
#endif

#ifdef CONFIG_DMA_SHARED_BUFFER
#ifndef HAVE_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif
#else
/* dma_buf_get() fails, so the others are never called */
#define dma_buf_get(fd)				((struct dma_buf *)ERR_PTR(-EOPNOTSUPP))
#define dma_buf_put(buf)			do { } while (0)
#define dma_buf_attach(buf, dev)		((struct dma_buf_attachment *)NULL)
#define dma_buf_dynamic_attach(buf, dev, ops, priv) \
					((void)(ops), (struct dma_buf_attachment *)NULL)
#define dma_buf_detach(buf, attach)		do { } while (0)
#define dma_buf_pin(attach)			(-EOPNOTSUPP)
#define dma_buf_unpin(attach)			do { } while (0)
#define dma_buf_map_attachment(attach, dir)	((struct sg_table *)ERR_PTR(-EOPNOTSUPP))
#define dma_buf_unmap_attachment(attach, sgt, dir) do { } while (0)
#define dma_resv_wait_timeout(resv, usage, intr, timeout) (-EOPNOTSUPP)
#define dma_buf_vmap(buf, map)			(-EOPNOTSUPP)
#define dma_buf_vunmap(buf, map)		do { } while (0)
#define dma_buf_vmap_unlocked(buf, map)		(-EOPNOTSUPP)
#define dma_buf_vunmap_unlocked(buf, map)	do { } while (0)
#define dma_buf_begin_cpu_access(buf, dir)	(-EOPNOTSUPP)
#define dma_buf_end_cpu_access(buf, dir)	do { } while (0)
#endif

#endif /* RXE_COMPAT_DMABUF_H */
