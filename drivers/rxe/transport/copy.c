// SPDX-License-Identifier: GPL-2.0
/*
 * Moving payload between skbs and memory regions, a contiguous run at a time.
 *
 * Context: any; the caller holds the skb and the region. Memory is always
 * mapped: CONFIG_INFINIBAND_VIRT_DMA rules out highmem.
 */
#include <rxe/transport.h>

/**
 * rxe_skb_run - contiguous bytes of an skb
 * @skb: linear part and page frags; no frag_list (net/ linearizes those)
 * @off: offset from skb->data, less than skb->len
 * @len: out: bytes that are contiguous there
 *
 * Return: their address.
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
 * @state: ICRC state so far
 *
 * Return: the new state.
 */
u32 rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 state)
{
	while (len) {
		u32 run;
		void *p = rxe_skb_run(skb, off, &run);

		if (!run)
			break;
		run = min(run, len);
		state = rxe_icrc_update(state, p, run);
		off += run;
		len -= run;
	}
	return state;
}

/**
 * rxe_skb_to_mr - copy from an skb into a memory region
 * @skb: see rxe_skb_run()
 * @off: where in the skb
 * @len: bytes
 * @mr: covers @va to @va + @len, writable
 * @va: where in the region
 */
void rxe_skb_to_mr(const struct sk_buff *skb, u32 off, u32 len,
		   const struct rxe_mr *mr, u64 va)
{
	while (len) {
		u32 run;
		void *p = rxe_skb_run(skb, off, &run);

		if (!run)
			break;
		run = min(run, len);
		rxe_mr_write(mr, va, p, run);
		off += run;
		va += run;
		len -= run;
	}
}

/* The local memory of one SGE: a region, or any address of the kernel's own */
struct sge_mem {
	struct rxe_mr	*mr;
	u64		va;
};

/* L_Key 0 is the kernel's local_dma_lkey; user space has no such key */
static bool sge_get(struct rxe_qp *qp, const struct ib_sge *sge, u64 off,
		    u32 len, int access, struct sge_mem *mem)
{
	mem->va = sge->addr + off;
	mem->mr = NULL;
	if (!sge->lkey && !qp->is_user)
		return true;
	mem->mr = rxe_mr_get(qp->rxe, qp->ibqp.pd, sge->lkey, access, mem->va,
			     len);
	return mem->mr;
}

static void sge_put(struct sge_mem *mem)
{
	if (mem->mr)
		rxe_mr_put(mem->mr);
}

static void sge_read(const struct sge_mem *mem, void *dst, u32 len)
{
	if (mem->mr)
		rxe_mr_read(mem->mr, mem->va, dst, len);
	else
		memcpy(dst, (void *)(uintptr_t)mem->va, len);
}

/**
 * rxe_gather - copy a piece of a send work request's data
 * @qp: the QP, for its PD
 * @wqe: the work request
 * @off: first byte of the message to copy
 * @dst: where to
 * @len: bytes; @off + @len is at most the message's length
 *
 * Return: 0, or -EFAULT if an L_Key doesn't allow it.
 */
int rxe_gather(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 off,
	       void *dst, u32 len)
{
	const struct ib_sge *sge = wqe->sge;
	const struct ib_sge *end = sge + wqe->num_sge;

	if (wqe->flags & IB_SEND_INLINE) {
		memcpy(dst, wqe->data + off, len);
		return 0;
	}
	for (; sge < end && len; sge++) {
		struct sge_mem mem;
		u32 n;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		if (!sge_get(qp, sge, off, n, 0, &mem))
			return -EFAULT;
		sge_read(&mem, dst, n);
		sge_put(&mem);
		off = 0;
		dst += n;
		len -= n;
	}
	return len ? -EFAULT : 0;
}

/* Where scattered bytes come from: an skb at an offset, or plain memory */
struct scatter_src {
	const struct sk_buff	*skb;
	u32			off;
	const void		*mem;
};

static void sge_write(const struct sge_mem *mem, struct scatter_src *src,
		      u32 len)
{
	void *dst = (void *)(uintptr_t)mem->va;

	if (!src->skb && mem->mr)
		rxe_mr_write(mem->mr, mem->va, src->mem, len);
	else if (!src->skb)
		memcpy(dst, src->mem, len);
	else if (mem->mr)
		rxe_skb_to_mr(src->skb, src->off, len, mem->mr, mem->va);
	else
		skb_copy_bits(src->skb, src->off, dst, len);
	src->off += len;
	src->mem += len;
}

static int scatter(struct rxe_qp *qp, const struct ib_sge *sge, u32 num_sge,
		   u64 dst_off, struct scatter_src *src, u32 len)
{
	const struct ib_sge *end = sge + num_sge;

	for (; sge < end && len; sge++) {
		struct sge_mem mem;
		u32 n;

		if (dst_off >= sge->length) {
			dst_off -= sge->length;
			continue;
		}
		n = min_t(u64, len, sge->length - dst_off);
		if (!sge_get(qp, sge, dst_off, n, IB_ACCESS_LOCAL_WRITE, &mem))
			return -EFAULT;
		sge_write(&mem, src, n);
		sge_put(&mem);
		dst_off = 0;
		len -= n;
	}
	return len ? -ENOSPC : 0;
}

/**
 * rxe_scatter_skb - copy from an skb into a scatter list
 * @qp: the QP, for its PD
 * @sge: the list
 * @num_sge: its length
 * @dst_off: first byte of the list to write
 * @skb: see rxe_skb_run()
 * @off: where in the skb
 * @len: bytes
 *
 * Return: 0, -EFAULT if an L_Key doesn't allow it, -ENOSPC if the list is too
 * short.
 */
int rxe_scatter_skb(struct rxe_qp *qp, const struct ib_sge *sge, u32 num_sge,
		    u64 dst_off, const struct sk_buff *skb, u32 off, u32 len)
{
	struct scatter_src src = { .skb = skb, .off = off };

	return scatter(qp, sge, num_sge, dst_off, &src, len);
}

/**
 * rxe_scatter - copy from kernel memory into a scatter list
 * @qp: the QP, for its PD
 * @sge: the list
 * @num_sge: its length
 * @dst_off: first byte of the list to write
 * @mem: where from
 * @len: bytes
 *
 * Return: as rxe_scatter_skb().
 */
int rxe_scatter(struct rxe_qp *qp, const struct ib_sge *sge, u32 num_sge,
		u64 dst_off, const void *mem, u32 len)
{
	struct scatter_src src = { .mem = mem };

	return scatter(qp, sge, num_sge, dst_off, &src, len);
}
