/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP's number, state, errors and events (state.c).
 */
#ifndef RXE_TRANSPORT_STATE_H
#define RXE_TRANSPORT_STATE_H

#include <rdma/ib_verbs.h>

struct rxe_dev;
struct rxe_qp;

struct rxe_qp *rxe_qp_get(struct rxe_dev *rxe, u32 qpn);
struct rxe_qp *rxe_qp_get_bh(struct rxe_dev *rxe, u32 qpn);
void rxe_qp_put(struct rxe_qp *qp);
bool rxe_qp_to_err(struct rxe_qp *qp);
void rxe_qp_to_sqe(struct rxe_qp *qp);
void rxe_qp_event_init(struct rxe_qp *qp);
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type event);

#endif /* RXE_TRANSPORT_STATE_H */
