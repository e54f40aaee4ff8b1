/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that came too early, and the QP's timer for missing packets (gap.c).
 */
#ifndef RXE_TRANSPORT_GAP_H
#define RXE_TRANSPORT_GAP_H

#include <loss/gap.h>

struct rxe_qp;

void rxe_gap_timer_init(struct rxe_qp *qp);
void rxe_gap_timer_reset(struct rxe_qp *qp);
bool rxe_gap_is_lost(struct rxe_qp *qp, struct rxe_gap *gap, u32 psn);
void rxe_gap_watch(struct rxe_qp *qp);

/* Inline, since rarely is anything missing. @missing: a later packet came */
static inline bool rxe_gap_lost(struct rxe_qp *qp, struct rxe_gap *gap, bool missing, u32 psn)
{
	if (missing)
		return rxe_gap_is_lost(qp, gap, psn);
	rxe_gap_end(gap);
	return false;
}

#endif /* RXE_TRANSPORT_GAP_H */
