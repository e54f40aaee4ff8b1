// SPDX-License-Identifier: GPL-2.0
/*
 * The code of the tracepoints, and the choice of the tracepoint for a changed allowance.
 *
 * Context: sq.lock held.
 */
#define CREATE_TRACE_POINTS	/* only here, since it generates the code */
#include <transport/allowance.h>

/* Rate 0 means no limit: it is the highest rate */
static bool is_lower_rate(u64 rate, u64 than)
{
	return rate - 1 < than - 1;
}

/**
 * rxe_allowance_changed - trace what an algorithm did
 * @qp: the QP
 * @was: the allowance before
 */
void rxe_allowance_changed(const struct rxe_qp *qp, struct rxe_allowance was)
{
	const struct rxe_cc *cc = &qp->sq.cc;

	if (is_lower_rate(cc->rate, was.rate) || cc->window < was.window)
		trace_rxe_cut(qp, was.rate, was.window);
	else if (cc->rate != was.rate || cc->window != was.window)
		trace_rxe_increase(qp, was.rate, was.window);
}
