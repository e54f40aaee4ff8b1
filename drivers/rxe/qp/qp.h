/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of qp/.
 */
#ifndef RXE_QP_QP_H
#define RXE_QP_QP_H

#include <rxe/qp.h>

struct ib_send_wr;
struct rxe_qp;

typedef void (*rxe_qp_fn)(struct rxe_qp *qp, void *arg);

/* mad.c */
bool rxe_mad_refused(struct rxe_qp *qp, const struct ib_send_wr *wr);

/* qp.c */
void rxe_visit_qps(struct rxe_dev *rxe, rxe_qp_fn fn, void *arg);

/* reset.c */
void rxe_qp_drop_posted(struct rxe_qp *qp);
void rxe_qp_reset(struct rxe_qp *qp);

#endif /* RXE_QP_QP_H */
