// SPDX-License-Identifier: GPL-2.0
/*
 * Copying payload, one contiguous run of bytes at a time. The source is a received
 * train, or the memory of a sender on this machine.
 *
 * Context: any; the caller holds the skb and the region. Memory is always
 * mapped: CONFIG_INFINIBAND_VIRT_DMA rules out highmem.
 */
#include <rxe/transport.h>

/**
 * rxe_skb_run - contiguous bytes of an skb
 * @skb: linear part and page frags; a frag_list isn't looked at
 * @off: offset from skb->data
 * @len: out: contiguous bytes there; 0 if the skb ends before @off
 *
 * Return: their address, or NULL.
 */
void *rxe_skb_run(const struct sk_buff *skb, u32 off, u32 *len)
{
	u32 end = skb_headlen(skb);
	int i;

	if (off < end) {
		*len = end - off;
		return skb->data + off;
	}
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		off -= end;
		end = skb_frag_size(frag);
		if (off < end) {
			*len = end - off;
			return skb_frag_address(frag) + off;
		}
	}
	*len = 0;
	return NULL;
}

/**
 * rxe_skb_icrc - continue an ICRC over bytes of an skb
 * @skb: see rxe_skb_run()
 * @off: where the bytes start
 * @len: how many
 * @state: in and out: the ICRC state
 *
 * Return: false if the skb is too short.
 */
bool rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 *state)
{
	while (len) {
		u32 run;
		void *p = rxe_skb_run(skb, off, &run);

		if (!run)
			return false;
		run = min(run, len);
		*state = rxe_icrc_update(*state, p, run);
		off += run;
		len -= run;
	}
	return true;
}

/* L_Key 0 is the kernel's local_dma_lkey; user space has no such key */
static bool seg_get(struct rxe_qp *qp, const struct ib_sge *sge, u64 off,
		    u32 len, struct rxe_seg *seg)
{
	struct rxe_key **key = &qp->sq.sender.source;

	seg->va = sge->addr + off;
	seg->len = len;
	seg->key = NULL;
	if (!sge->lkey && !qp->is_user)
		return true;
	if (rxe_key_keep(qp->rxe, qp->ibqp.pd, sge->lkey, 0, seg->va, len, key))
		return false;
	seg->key = *key;
	rxe_key_hold(seg->key);
	return true;
}

/**
 * rxe_unmap - give back the keys that rxe_map() took
 * @segs: its segments
 * @num: how many
 */
void rxe_unmap(struct rxe_seg *segs, u32 num)
{
	while (num--)
		if (segs[num].key)
			rxe_key_put(segs[num].key);
}

/**
 * rxe_map - find a piece of a send work request's data
 * @qp: the QP, for its PD
 * @wqe: the work request
 * @off: first byte of the message
 * @len: bytes; @off + @len is at most the message's length
 * @segs: out: room for as many segments as the QP may have SGEs, 1 at least
 *
 * Context: send_task, which drops sq.sender.source when its run ends.
 *
 * Return: how many there are, for rxe_unmap(), or -EFAULT if an L_Key doesn't
 * allow it.
 */
int rxe_map(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 off, u32 len,
	    struct rxe_seg *segs)
{
	const struct ib_sge *sge = wqe->sge;
	const struct ib_sge *end = sge + wqe->num_sge;
	u32 num = 0, n;

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
		if (!seg_get(qp, sge, off, n, &segs[num]))
			break;
		num++;
		off = 0;
		len -= n;
	}
	if (!len)
		return num;
	rxe_unmap(segs, num);
	return -EFAULT;
}

static void seg_run(struct rxe_data *data)
{
	const struct rxe_seg *seg = data->seg;

	if (data->off == seg->len) {
		seg = ++data->seg;
		data->off = 0;
	}
	data->run = seg->len - data->off;
	if (seg->key)
		data->at = rxe_key_run(seg->key, seg->va + data->off, &data->run);
	else
		data->at = (void *)(uintptr_t)(seg->va + data->off);
}

/* The payload of the next MIDDLE packet, whose only header is a BTH */
static void chunk_run(struct rxe_data *data)
{
	if (data->gap) {
		data->at += data->gap;
	} else {
		data->skb = data->skb->next;
		data->at = data->skb->data + RXE_BTH_BYTES;
	}
	data->run = data->chunk;
}

/* Find the next contiguous bytes */
static noinline void more_run(struct rxe_data *data)
{
	if (data->chunk)
		chunk_run(data);
	else if (data->skb)
		data->at = rxe_skb_run(data->skb, data->off, &data->run);
	else
		seg_run(data);
	data->off += data->run;
}

/* Consume the next contiguous bytes, *@len at most */
static const void *next_run(struct rxe_data *data, u32 *len)
{
	const void *p;

	if (!data->run)
		more_run(data);
	*len = min(*len, data->run);
	p = data->at;
	data->at += *len;
	data->run -= *len;
	data->taken += *len;
	return p;
}

/**
 * rxe_data_skip - skip payload
 * @data: the payload; advances
 * @len: bytes, at most what is left
 */
void rxe_data_skip(struct rxe_data *data, u32 len)
{
	while (len) {
		u32 run = len;

		next_run(data, &run);
		if (!run)
			break;
		len -= run;
	}
}

/**
 * rxe_data_read - copy payload to contiguous memory
 * @data: the payload; advances
 * @dst: where to
 * @len: bytes
 *
 * Return: false if the payload is too short.
 */
bool rxe_data_read(struct rxe_data *data, void *dst, u32 len)
{
	while (len) {
		u32 run = len;
		const void *p = next_run(data, &run);

		if (!run)
			return false;
		memcpy(dst, p, run);
		dst += run;
		len -= run;
	}
	return true;
}

/**
 * rxe_data_write - copy payload to memory that a key names
 * @data: the payload; advances
 * @len: bytes
 * @key: covers @va to @va + @len, writable
 * @va: where to
 *
 * Return: false if the payload is too short.
 */
bool rxe_data_write(struct rxe_data *data, u32 len, const struct rxe_key *key,
		    u64 va)
{
	while (len) {
		u32 run = len;
		void *dst = rxe_key_run(key, va, &run);

		if (!rxe_data_read(data, dst, run))
			return false;
		va += run;
		len -= run;
	}
	return true;
}

/**
 * rxe_gather - copy all of a send work request's data
 * @qp: the QP, for its PD
 * @wqe: the work request
 * @dst: where to
 *
 * Context: send_task.
 *
 * Return: 0, or -EFAULT if an L_Key doesn't allow it.
 */
int rxe_gather(struct rxe_qp *qp, const struct rxe_swqe *wqe, void *dst)
{
	struct rxe_data data = { .seg = qp->sq.sender.segs };
	int num = rxe_map(qp, wqe, 0, wqe->length, qp->sq.sender.segs);

	if (num < 0)
		return num;
	rxe_data_read(&data, dst, wqe->length);
	rxe_unmap(qp->sq.sender.segs, num);
	return 0;
}

/* Copy to one entry of a scatter list; L_Key 0 as in seg_get(). Return: 0, -EFAULT, -EIO. */
static int scatter_seg(struct rxe_qp *qp, struct rxe_key **key,
		       const struct ib_sge *sge, u64 off, struct rxe_data *data,
		       u32 len)
{
	u64 va = sge->addr + off;
	bool whole;

	if (!sge->lkey && !qp->is_user)
		whole = rxe_data_read(data, (void *)(uintptr_t)va, len);
	else if (!rxe_key_keep(qp->rxe, qp->ibqp.pd, sge->lkey,
			       IB_ACCESS_LOCAL_WRITE, va, len, key))
		whole = rxe_data_write(data, len, *key, va);
	else
		return -EFAULT;
	return whole ? 0 : -EIO;
}

/**
 * rxe_scatter - copy payload into a scatter list
 * @qp: the QP, for its PD
 * @list: where to
 * @dst_off: first byte of the list to write
 * @data: the payload; advances
 * @len: bytes
 *
 * Return: 0, -EFAULT if an L_Key doesn't allow it, -ENOSPC if the list is too
 * short, -EIO if the payload is too short.
 */
int rxe_scatter(struct rxe_qp *qp, const struct rxe_list *list, u64 dst_off,
		struct rxe_data *data, u32 len)
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
		err = scatter_seg(qp, list->key, sge, dst_off, data, n);
		if (err)
			return err;
		dst_off = 0;
		len -= n;
	}
	return len ? -ENOSPC : 0;
}
