/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of the QP's verbs; the QP itself is in transport.h.
 */
#ifndef RXE_QP_H
#define RXE_QP_H

#include <rdma/ib_verbs.h>

struct rdma_counter;
struct rdma_hw_stats;
struct rxe_dev;

/* ib_device_ops */
int rxe_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		  struct ib_udata *udata);
int rxe_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int rxe_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
void rxe_qp_class_changed(struct rxe_dev *rxe);
void rxe_qps_rerouted(struct rxe_dev *rxe);
int rxe_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int rxe_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int rxe_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

int rxe_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp);
int rxe_counter_unbind(struct ib_qp *ibqp);
int rxe_counter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *rxe_counter_alloc_stats(struct rdma_counter *counter);
int rxe_counter_update(struct rdma_counter *counter);

/* struct rxe_cq_ops */
void rxe_qp_cq_error(struct ib_qp *ibqp);
void rxe_qp_cq_armed(struct list_head *link);

/* qp/qp.c: module load and unload */
int rxe_qp_start(void);
void rxe_qp_stop(void);

#endif /* RXE_QP_H */
