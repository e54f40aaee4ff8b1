/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flushing, draining (flush.c).
 */
#ifndef RXE_TRANSPORT_FLUSH_H
#define RXE_TRANSPORT_FLUSH_H

#include <linux/types.h>

struct rxe_qp;

bool rxe_qp_flush(struct rxe_qp *qp);
bool rxe_sq_flush(struct rxe_qp *qp);
void rxe_sq_check_drained(struct rxe_qp *qp);
void rxe_flush_init(struct rxe_qp *qp);
void rxe_flush_stop(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_FLUSH_H */
