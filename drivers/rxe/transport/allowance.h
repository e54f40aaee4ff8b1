/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces how an algorithm of congestion control changes the allowance. The caller takes the
 * allowance before it calls the algorithm, and compares it afterwards. While the tracepoints
 * are off, this costs two loads and a jump that isn't taken.
 */
#ifndef RXE_TRANSPORT_ALLOWANCE_H
#define RXE_TRANSPORT_ALLOWANCE_H

#include <transport/trace.h>

/**
 * struct rxe_allowance - limits of what a QP may send
 * @rate: bytes/s; 0: no limit
 * @window: packets in flight
 */
struct rxe_allowance {
	u64	rate;
	u32	window;
};

void rxe_allowance_changed(const struct rxe_qp *qp, struct rxe_allowance was);

/**
 * rxe_allowance_get - the allowance now
 * @sq: the send queue
 *
 * Return: the allowance.
 */
static inline struct rxe_allowance rxe_allowance_get(const struct rxe_sq *sq)
{
	return (struct rxe_allowance){ .rate = sq->cc.rate, .window = sq->cc.window };
}

/**
 * rxe_allowance_trace - trace the allowance if an algorithm has changed it
 * @sq: the send queue, its lock held
 * @was: the allowance before
 */
static inline void rxe_allowance_trace(struct rxe_sq *sq, struct rxe_allowance was)
{
	if (trace_rxe_cut_enabled() || trace_rxe_increase_enabled())
		rxe_allowance_changed(container_of(sq, struct rxe_qp, sq), was);
}

#endif /* RXE_TRANSPORT_ALLOWANCE_H */
