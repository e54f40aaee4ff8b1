/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gaps (gap.c): is what is missing lost, or only late?
 */
#ifndef RXE_TRANSPORT_GAP_H
#define RXE_TRANSPORT_GAP_H

#include <linux/ktime.h>
#include <linux/time64.h>

struct rxe_qp;

/**
 * struct rxe_gap - what is missing while trains are held, and is it lost or late?
 * @psn: the packet that is missing
 * @since: when that was seen; 0: nothing is missing
 * @patience: ns to wait before it counts as lost, from reorder_ns to reorder_max_ns:
 *	packets change places where one CPU hands them to another. Grows when what was
 *	asked for again had only been late
 * @asked_psn: the packet that was asked for again the last time
 * @asked: it was, and hasn't come twice since
 */
struct rxe_gap {
	u32	psn;
	ktime_t	since;
	u64	patience;
	u32	asked_psn;
	bool	asked;
};

bool rxe_gap_lost(struct rxe_qp *qp, struct rxe_gap *gap, bool missing,
		  u32 psn);
void rxe_gap_late(struct rxe_gap *gap, u32 psn);
void rxe_gap_reset(struct rxe_gap *gap);
void rxe_gap_timer_init(struct rxe_qp *qp);
void rxe_gap_watch(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_GAP_H */
