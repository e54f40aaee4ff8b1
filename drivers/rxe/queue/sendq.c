// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue (section 10.2.2): a ring, and copies of the imported work requests.
 *
 * Context: init and free: process; the others: sq.lock held.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <queue/sendq.h>
#include <rxe/dev.h>
#include <rxe/wire.h>

static const u32 max_msg = RXE_MAX_MSG;

/*
 * Bytes for the scatter list, or for inline data, behind a work request. The data of an
 * ATOMIC WRITE is always inline.
 */
static u32 get_data_bytes(const struct ib_qp_cap *cap)
{
	return max3((size_t)cap->max_inline_data,
		    cap->max_send_sge * sizeof(struct ib_sge), sizeof(u64));
}

/**
 * rxe_sendq_init - set up a send queue
 * @q: the queue, zeroed
 * @uctx: of the process that posts; NULL for a kernel consumer
 * @services: what may be posted: rxe_service.wrs or .kernel_wrs of its QP
 * @mtu: limit of bytes per datagram; NULL: not a queue of datagrams
 * @cap: number of work requests, and SGEs and bytes of inline data per work request;
 *	all checked. Out: the numbers that fit
 *
 * Return: 0, -ENOMEM; the caller calls rxe_sendq_free() in both cases.
 */
int rxe_sendq_init(struct rxe_sendq *q, struct ib_ucontext *uctx,
		   u8 services, const u32 *mtu, struct ib_qp_cap *cap)
{
	u32 head = uctx ? sizeof(struct rxe_send_wqe) : sizeof(struct rxe_swqe);
	u32 data = get_data_bytes(cap);
	struct rxe_ring *ring;
	int err;

	ring = rxe_ring_create(uctx, max(cap->max_send_wr, 1U), head + data);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	q->ring = ring;
	q->stride = ALIGN(sizeof(struct rxe_swqe) + data, sizeof(u64));
	err = rxe_ring_charge(ring, size_mul(ring->mask + 1, q->stride));
	if (err)
		return err;
	q->wqes = kvcalloc(ring->mask + 1, q->stride, RXE_GFP_USER);
	if (!q->wqes)
		return -ENOMEM;
	cap->max_send_wr = rxe_ring_get_capacity(ring);
	cap->max_inline_data = min_t(u32, data, RXE_MAX_INLINE);
	q->rules = (struct rxe_wr_rules) {
		.services	= services,
		.datagram	= mtu,
		.max_sge	= cap->max_send_sge,
		.max_inline	= cap->max_inline_data,
		.max_msg	= mtu ?: &max_msg,
	};
	return 0;
}

/**
 * rxe_sendq_free - free the memory of a send queue
 * @q: the queue; rxe_sendq_init() may have failed
 */
void rxe_sendq_free(struct rxe_sendq *q)
{
	kvfree(q->wqes);
	if (q->ring)
		rxe_ring_destroy(q->ring);
}

/**
 * rxe_sendq_drop_posted - forget work requests that weren't imported
 * @q: the queue; all imported work requests have been completed or forgotten
 * @is_user: a process posted them
 */
void rxe_sendq_drop_posted(struct rxe_sendq *q, bool is_user)
{
	struct rxe_ring *ring = q->ring;
	u32 num = rxe_ring_count_pending(ring), i;

	/* A process may have set any number, and its AHs aren't held */
	for (i = 0; !is_user && i < num; i++)
		rxe_swqe_put_ah(rxe_ring_peek(ring, i));
	ring->index = (ring->index + num) & ring->mask;
	q->head += num;
	q->tail = q->head;
	q->cur = q->head;
	rxe_ring_release(ring, q->tail);
}

/**
 * rxe_sendq_reset - forget all work requests
 * @q: the queue
 * @is_user: a process posted them
 */
void rxe_sendq_reset(struct rxe_sendq *q, bool is_user)
{
	for (; q->tail != q->head; q->tail++)
		rxe_swqe_put_ah(rxe_sendq_get_wqe(q, q->tail));
	rxe_sendq_drop_posted(q, is_user);
}
