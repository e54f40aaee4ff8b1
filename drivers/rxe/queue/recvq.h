/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive queue: posted work requests that the responder takes (recvq.c). It is
 * independent of the QP. Several QPs may share a queue, in a struct rxe_sharedq.
 */
#ifndef RXE_QUEUE_RECVQ_H
#define RXE_QUEUE_RECVQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include <rxe/wr.h>

struct rxe_ring;

/**
 * struct rxe_recvq - a receive queue
 * @ring: receive work requests as posted (struct rxe_recv_wqe)
 * @max_sge: limit of SGEs per work request
 * @lock: one kernel poster at a time
 */
struct rxe_recvq {
	struct rxe_ring		*ring;
	u32			max_sge;
	spinlock_t		lock;	/* kernel posters; see also struct rxe_sharedq */
};

/* Bytes of a posted work request with @max_sge SGEs */
static inline u32 rxe_recvq_get_wqe_size(u32 max_sge)
{
	return sizeof(struct rxe_recv_wqe) + max_sge * sizeof(struct rxe_sge);
}

int rxe_recvq_init(struct rxe_recvq *recvq, struct ib_ucontext *uctx,
		   struct ib_qp_cap *cap);
void rxe_recvq_free(struct rxe_recvq *recvq);
void rxe_recvq_reset(struct rxe_recvq *recvq);
int rxe_recvq_post(struct rxe_recvq *recvq, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
bool rxe_recvq_take(struct rxe_recvq *recvq, struct rxe_rwqe *wqe);

#endif /* RXE_QUEUE_RECVQ_H */
