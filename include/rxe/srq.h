/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shared receive queue (verbs/srq.c).
 */
#ifndef RXE_SRQ_H
#define RXE_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <queue/sharedq.h>

/**
 * struct rxe_srq - shared receive queue
 * @ibsrq: the RDMA core's SRQ
 * @is_user: a process posts; false: a kernel consumer
 * @modify: one modify_srq at a time
 * @shared: the queue, from which the QPs take
 */
struct rxe_srq {
	struct ib_srq		ibsrq;
	bool			is_user;
	struct mutex		modify;	/* rxe_modify_srq() */
	struct rxe_sharedq	shared;
};

static inline struct rxe_srq *to_rxe_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rxe_srq, ibsrq);
}

/* ib_device_ops */
int rxe_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata);
int rxe_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rxe_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rxe_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int rxe_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);

#endif /* RXE_SRQ_H */
