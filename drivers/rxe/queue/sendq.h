/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A send queue: work requests from posting to completion (sendq.c). It is independent of
 * the QP.
 */
#ifndef RXE_QUEUE_SENDQ_H
#define RXE_QUEUE_SENDQ_H

#include <rdma/ib_verbs.h>
#include <rxe/path.h>
#include <rxe/ring.h>
#include <rxe/wr.h>

/**
 * struct rxe_sendq - a send queue
 * @rules: what may be posted
 * @ring: the work requests as posted; struct rxe_send_wqe from user space,
 *	struct rxe_swqe from kernel consumers
 * @wqes: copies, one place for each place of @ring
 * @stride: bytes of a place in @wqes
 * @tail: oldest work request that has not completed
 * @cur: work request being sent
 * @head: one after the newest that was imported (free-running, like the two
 *	above)
 */
struct rxe_sendq {
	struct rxe_wr_rules	rules;
	struct rxe_ring		*ring;
	void			*wqes;
	u32			stride;
	u32			tail;
	u32			cur;
	u32			head;
};

/**
 * rxe_sendq_get_wqe - a work request
 * @q: the queue
 * @index: @q->tail up to @q->head
 *
 * Return: the copy; for @q->head, the place for the next copy.
 */
static inline struct rxe_swqe *rxe_sendq_get_wqe(const struct rxe_sendq *q, u32 index)
{
	return q->wqes + (size_t)(index & q->ring->mask) * q->stride;
}

/* The work request is done: put its AH, if any */
static inline void rxe_swqe_put_ah(const struct rxe_swqe *wqe)
{
	if (wqe->ah)
		rxe_ah_put(wqe->ah);
}

int rxe_sendq_init(struct rxe_sendq *q, struct ib_ucontext *uctx,
		   u8 services, const u32 *mtu, struct ib_qp_cap *cap);
void rxe_sendq_free(struct rxe_sendq *q);
void rxe_sendq_drop_posted(struct rxe_sendq *q, bool is_user);
void rxe_sendq_reset(struct rxe_sendq *q, bool is_user);

#endif /* RXE_QUEUE_SENDQ_H */
