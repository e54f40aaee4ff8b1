/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pacing: a QP whose rate is limited by congestion control waits between trains (pace.c).
 */
#ifndef RXE_TRANSPORT_PACE_H
#define RXE_TRANSPORT_PACE_H

#include <linux/types.h>

struct rxe_qp;

/* Tasks that wait for the timer: bits of rxe_pace.waits */
#define RXE_PACE_SEND	BIT(0)		/* send_task */
#define RXE_PACE_RECV	BIT(1)		/* recv_task, with a READ response */

/**
 * struct rxe_pace - tasks that wait for the pacing timer of a QP; protected by sq.lock
 * @waits: tasks to run when it fires, RXE_PACE_*; may be read without the lock
 * @reads_first: recv_task runs first the next time, then send_task again
 *
 * Requests and READ responses of a QP share one rate: a CNP names a QP, not a direction.
 */
struct rxe_pace {
	u8	waits;
	bool	reads_first;
};

void rxe_pace_init(struct rxe_qp *qp);
void rxe_pace_reset(struct rxe_qp *qp);
void rxe_pace_release(struct rxe_qp *qp);
u32 rxe_pace_room(struct rxe_qp *qp, u8 who);
u32 rxe_pace_ask(struct rxe_qp *qp, u8 who);
void rxe_pace_charge(struct rxe_qp *qp, u32 bytes);
void rxe_pace_asked(struct rxe_qp *qp);
void rxe_pace_turned(struct rxe_qp *qp, u64 from, bool idle);

#endif /* RXE_TRANSPORT_PACE_H */
