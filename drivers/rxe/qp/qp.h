/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of qp/ share.
 */
#ifndef RXE_QP_QP_H
#define RXE_QP_QP_H

struct rxe_qp;

/* reset.c */
void rxe_qp_drop_posted(struct rxe_qp *qp);
void rxe_qp_reset(struct rxe_qp *qp);

#endif /* RXE_QP_QP_H */
