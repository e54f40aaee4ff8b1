/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flushing and draining of a QP (flush.c).
 */
#ifndef RXE_TRANSPORT_FLUSH_H
#define RXE_TRANSPORT_FLUSH_H

#include <linux/types.h>

struct rxe_qp;

/**
 * struct rxe_stop - why the send queue has stopped; under sq.lock
 * @failed: enum ib_wc_status of the oldest work request, which ended the QP; the flush
 *	completes it
 * @stalled: a work request can't be sent; it fails when it is the oldest
 * @drained: SQD: nothing was in flight; the event was raised if it was asked for
 */
struct rxe_stop {
	u8			failed;
	bool			stalled;
	bool			drained;
};

/* The send queue hasn't stopped */
static inline void rxe_stop_reset(struct rxe_stop *stop)
{
	*stop = (struct rxe_stop){};
}

bool rxe_qp_flush(struct rxe_qp *qp);
bool rxe_sq_flush(struct rxe_qp *qp);
void rxe_sq_check_drained(struct rxe_qp *qp);
void rxe_flush_init(struct rxe_qp *qp);
void rxe_flush_reset(struct rxe_qp *qp);
void rxe_flush_armed(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_FLUSH_H */
