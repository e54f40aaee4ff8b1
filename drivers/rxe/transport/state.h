/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Errors, flushing, events, reset (state.c).
 */
#ifndef RXE_TRANSPORT_STATE_H
#define RXE_TRANSPORT_STATE_H

#include <rdma/ib_verbs.h>

struct rxe_qp;

bool rxe_qp_to_err(struct rxe_qp *qp);
void rxe_qp_event_init(struct rxe_qp *qp);
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type event);
bool rxe_qp_flush(struct rxe_qp *qp);
void rxe_sq_check_drained(struct rxe_qp *qp);
void rxe_flush_init(struct rxe_qp *qp);
void rxe_qp_drop_posted(struct rxe_qp *qp);
void rxe_qp_reset(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_STATE_H */
