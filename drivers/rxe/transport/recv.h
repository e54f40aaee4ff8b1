/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive work requests, as the responder uses them (responder.c).
 */
#ifndef RXE_TRANSPORT_RECV_H
#define RXE_TRANSPORT_RECV_H

#include <rdma/ib_verbs.h>
#include <queue/recvq.h>
#include <queue/sharedq.h>
#include <rxe/wr.h>

struct rxe_qp;

/**
 * struct rxe_recv - receive work requests; owned by recv_task
 * @q: the posted work requests, unless @shared has them
 * @shared: the queue of the QP's SRQ, or NULL
 * @pd: protection domain of the work requests
 * @wqe: the work request in use
 * @off: bytes of a SEND that were written to @wqe
 * @ending: the R_Key that a SEND with Invalidate is invalidating, or 0; its data is written
 * @ending_len: bytes of its last packet
 */
struct rxe_recv {
	struct rxe_recvq	q;
	struct rxe_sharedq	*shared;
	struct ib_pd		*pd;
	struct rxe_rwqe		wqe;
	u32			off;
	u32			ending;
	u32			ending_len;
};

void rxe_recv_reset(struct rxe_recv *recv, const struct ib_qp *qp);
bool rxe_rq_next(struct rxe_qp *qp);
void rxe_recv_done(struct rxe_qp *qp, struct ib_wc *wc, bool solicited);
void rxe_recv_fail(struct rxe_qp *qp, struct ib_wc *wc);

#endif /* RXE_TRANSPORT_RECV_H */
