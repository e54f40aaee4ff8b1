// SPDX-License-Identifier: GPL-2.0
/*
 * Scatter lists: from work requests to memory, with the checks of their L_Keys
 * (section 10.6.3).
 *
 * Context: the task that handles the work request.
 */
#include <payload/payload.h>
#include <rxe/wr.h>

/* With one SGE, the segment needs no reference but that of rxe_source.key, which lasts longer */
static bool borrows_key(const struct rxe_swqe *wqe)
{
	return wqe->num_sge == 1;
}

/* L_Key 0 is the kernel's local_dma_lkey; user space has no such key. Return: as rxe_key_use() */
static int find_seg(struct rxe_source *source, const struct ib_sge *sge, u64 off,
		    u32 len, struct rxe_seg *seg)
{
	int err;

	seg->va = sge->addr + off;
	seg->len = len;
	seg->key = NULL;
	if (!sge->lkey && !source->is_user)
		return 0;
	err = rxe_key_use(source->pd, NULL, sge->lkey, 0, seg->va, len, sge->length - off,
			  &source->pager, &source->key);
	if (err)
		return err;
	seg->key = source->key;
	return 0;
}

/**
 * rxe_unmap - drop the keys that rxe_map() took
 * @wqe: the work request
 * @segs: its segments
 * @num: number of segments
 */
void rxe_unmap(const struct rxe_swqe *wqe, struct rxe_seg *segs, u32 num)
{
	if (likely(borrows_key(wqe)))
		return;
	while (num--)
		if (segs[num].key)
			rxe_key_put(segs[num].key);
}

/**
 * rxe_map - find a piece of a send work request's data
 * @source: its memory
 * @wqe: the work request
 * @off: first byte of the message
 * @len: bytes; @off + @len is at most the message's length
 * @segs: out: room for as many segments as the QP may have SGEs, 1 at least
 *
 * Context: send_task, which drops @source->key when its run ends.
 *
 * Return: number of segments, for rxe_unmap(); -EFAULT if the scatter list is too short; or
 * an error of rxe_key_use() with @source->pager.
 */
int rxe_map(struct rxe_source *source, const struct rxe_swqe *wqe, u32 off, u32 len,
	    struct rxe_seg *segs)
{
	const struct ib_sge *sge = wqe->sge;
	const struct ib_sge *end = sge + wqe->num_sge;
	u32 num = 0, n;
	int err = -EFAULT;

	if (wqe->flags & IB_SEND_INLINE) {
		*segs = (struct rxe_seg) {
			.va	= (uintptr_t)wqe->data + off,
			.len	= len,
		};
		return 1;
	}
	for (; sge < end && len; sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		err = find_seg(source, sge, off, n, &segs[num]);
		if (err)
			break;
		if (segs[num].key && !borrows_key(wqe))
			rxe_key_hold(segs[num].key);
		num++;
		off = 0;
		len -= n;
	}
	if (!len)
		return num;
	rxe_unmap(wqe, segs, num);
	return err ?: -EFAULT;
}

/**
 * rxe_gather - copy all of a send work request's data
 * @source: its memory
 * @wqe: the work request
 * @segs: room as for rxe_map()
 * @dst: where to
 *
 * Context: send_task.
 *
 * Return: 0, or an error as rxe_map().
 */
int rxe_gather(struct rxe_source *source, const struct rxe_swqe *wqe,
	       struct rxe_seg *segs, void *dst)
{
	struct rxe_data data = { .seg = segs };
	int num = rxe_map(source, wqe, 0, wqe->length, segs);

	if (num < 0)
		return num;
	rxe_data_read(&data, dst, wqe->length);
	rxe_unmap(wqe, segs, num);
	return 0;
}

/* Copy to one entry of a scatter list; L_Key 0 as in find_seg(). Return: as rxe_scatter() */
static int scatter_seg(const struct rxe_list *list, const struct ib_sge *sge, u64 off,
		       struct rxe_data *data, u32 len)
{
	u64 va = sge->addr + off;
	bool whole;
	int err;

	if (!sge->lkey && !list->is_user) {
		whole = rxe_data_read(data, (void *)(uintptr_t)va, len);
		return whole ? 0 : -EIO;
	}
	err = rxe_key_use(list->pd, NULL, sge->lkey, IB_ACCESS_LOCAL_WRITE, va, len,
			  sge->length - off, list->pager, list->key);
	if (err)
		return err;
	return rxe_data_write(data, len, *list->key, va) ? 0 : -EIO;
}

/**
 * rxe_scatter - copy payload into a scatter list
 * @list: where to
 * @dst_off: first byte of the list to write
 * @data: the payload; advances
 * @len: bytes
 *
 * Return: 0; -ENOSPC if the list is too short; -EIO if the payload is too short; or an error
 * of rxe_key_use() with the list's pager. On errors, part of the payload may have been copied.
 */
int rxe_scatter(const struct rxe_list *list, u64 dst_off, struct rxe_data *data, u32 len)
{
	const struct ib_sge *sge = list->sge;
	const struct ib_sge *end = sge + list->num_sge;

	for (; sge < end && len; sge++) {
		int err;
		u32 n;

		if (dst_off >= sge->length) {
			dst_off -= sge->length;
			continue;
		}
		n = min_t(u64, len, sge->length - dst_off);
		err = scatter_seg(list, sge, dst_off, data, n);
		if (err)
			return err;
		dst_off = 0;
		len -= n;
	}
	return len ? -ENOSPC : 0;
}
