/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between completion queues (cq.c) and their events (cq_event.c).
 */
#ifndef RXE_VERBS_CQ_H
#define RXE_VERBS_CQ_H

#include <rxe/verbs.h>

bool rxe_cq_hold_event(struct rxe_cq *cq);
void rxe_cq_events_init(struct rxe_cq *cq);
void rxe_cq_events_end(struct rxe_cq *cq);

/* The event is due: rxe_cq_event() calls the handler. Context: cq->lock held */
static inline void rxe_cq_set_due(struct rxe_cq *cq)
{
	cq->armed = 0;
	cq->held = 0;
	cq->event_due = true;
}

/* A completion came for which the CQ is armed. Inline for rxe_cq_post(). Context: cq->lock held */
static inline void rxe_cq_raise(struct rxe_cq *cq)
{
	if (likely(!cq->period_us) || !rxe_cq_hold_event(cq))
		rxe_cq_set_due(cq);
}

#endif /* RXE_VERBS_CQ_H */
