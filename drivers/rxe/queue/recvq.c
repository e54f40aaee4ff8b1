// SPDX-License-Identifier: GPL-2.0
/*
 * The receive queue (section 10.2.2): posting to a ring, and taking from it.
 *
 * Context: post: any, for kernel consumers; take: the receive task of the queue's QP.
 */
#include <linux/slab.h>
#include <rxe/ring.h>
#include <queue/recvq.h>

/**
 * rxe_recvq_init - set up a receive queue
 * @recvq: the queue, zeroed
 * @uctx: of the process that posts; NULL for a kernel consumer
 * @cap: number of work requests, and of SGEs per work request, both checked. Out: the
 *	number of work requests that fit
 *
 * Return: 0, -ENOMEM.
 */
int rxe_recvq_init(struct rxe_recvq *recvq, struct ib_ucontext *uctx,
		   struct ib_qp_cap *cap)
{
	struct rxe_ring *ring;

	spin_lock_init(&recvq->lock);
	recvq->max_sge = cap->max_recv_sge;
	ring = rxe_ring_create(uctx, max(cap->max_recv_wr, 1U),
			       rxe_recvq_get_wqe_size(cap->max_recv_sge));
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	recvq->ring = ring;
	cap->max_recv_wr = rxe_ring_get_capacity(ring);
	return 0;
}

/**
 * rxe_recvq_free - free the memory of a receive queue
 * @recvq: the queue; rxe_recvq_init() may have failed
 */
void rxe_recvq_free(struct rxe_recvq *recvq)
{
	if (recvq->ring)
		rxe_ring_destroy(recvq->ring);
}

/**
 * rxe_recvq_reset - forget the posted work requests
 * @recvq: the queue; no QP takes from it, but a process may still post
 */
void rxe_recvq_reset(struct rxe_recvq *recvq)
{
	u32 left = rxe_ring_get_capacity(recvq->ring) + 1;

	while (left-- && rxe_ring_get_head(recvq->ring))
		rxe_ring_pop(recvq->ring);
}

static int post_one_recv(struct rxe_recvq *recvq, const struct ib_recv_wr *wr)
{
	struct rxe_recv_wqe *wqe = rxe_ring_get_post_place(recvq->ring);
	int i;

	if (!wqe)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > recvq->max_sge)
		return -EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->dma.num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		wqe->dma.sge[i].addr = wr->sg_list[i].addr;
		wqe->dma.sge[i].length = wr->sg_list[i].length;
		wqe->dma.sge[i].lkey = wr->sg_list[i].lkey;
	}
	rxe_ring_post(recvq->ring);
	return 0;
}

/**
 * rxe_recvq_post - post a kernel consumer's work requests
 * @recvq: the queue
 * @wr: the work requests
 * @bad_wr: out: the first that was refused; if none was, it isn't written
 *
 * Return: 0, -EINVAL for a work request that doesn't fit, -ENOMEM if the queue is full.
 */
int rxe_recvq_post(struct rxe_recvq *recvq, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&recvq->lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one_recv(recvq, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&recvq->lock, flags);
	return err;
}

/**
 * rxe_recvq_take - take the oldest work request out of the queue
 * @recvq: the queue
 * @wqe: out: the work request; a corrupt one has room for 0 bytes
 *
 * Return: false if none is posted.
 */
bool rxe_recvq_take(struct rxe_recvq *recvq, struct rxe_rwqe *wqe)
{
	const void *elem = rxe_ring_get_head(recvq->ring);

	if (!elem)
		return false;
	rxe_import_recv(recvq->max_sge, elem, wqe);
	rxe_ring_pop(recvq->ring);
	return true;
}
