/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Retransmission timer, RNR NAKs and round trip samples (timer.c), protected by sq.lock.
 */
#ifndef RXE_TRANSPORT_TIMER_H
#define RXE_TRANSPORT_TIMER_H

#include <linux/hrtimer.h>
#include <loss/recovery.h>

struct rxe_qp;
struct rxe_sq;

/**
 * struct rxe_rto - the timer: for retransmission, and for the wait after an RNR NAK
 * @timer: fires in softirq
 * @deadline: when the wait times out; 0: never
 * @lazy: @deadline is earlier than the timeout. The timer computes the timeout when it fires
 * @graced: the timer fired late, and @deadline was put off
 * @fired: the wait timed out, and the receive task must act
 * @moved: this run of recv_task restarts the timer: a new acknowledgment or old data came
 * @anew: this run of send_task restarts the timer: it began to send when nothing was in flight
 */
struct rxe_rto {
	struct hrtimer	timer;
	ktime_t		deadline;
	bool		lazy;
	bool		graced;
	bool		fired;
	bool		moved;
	bool		anew;
};

/**
 * enum rxe_rnr_state - what the requester may send after an RNR NAK
 * @RXE_RNR_READY: everything: no RNR NAK came since the last progress
 * @RXE_RNR_WAIT: nothing, until the RNR timer fires
 * @RXE_RNR_ALONE: only the refused work request. A peer with this driver holds the packets
 *	behind it, and acknowledges them, too. After the answer, the rest is sent again
 */
enum rxe_rnr_state {
	RXE_RNR_READY,
	RXE_RNR_WAIT,
	RXE_RNR_ALONE,
};

/**
 * struct rxe_rnr - RNR NAKs since the last progress
 * @retries: their number
 * @state: enum rxe_rnr_state
 */
struct rxe_rnr {
	u8	retries;
	u8	state;
};

/**
 * struct rxe_timed - a packet whose acknowledgment is timed
 * @start: when it left; 0: none is timed
 * @psn: its PSN
 * @una: the oldest unacknowledged PSN at @start
 * @limited: the window has delayed a packet since @start
 * @fetch: the packet is a READ or an atomic: the peer answers with data
 */
struct rxe_timed {
	ktime_t	start;
	u32	psn;
	u32	una;
	bool	limited;
	bool	fetch;
};

/* Cancel the deadline; the timer itself may still fire, without effect */
static inline void rxe_rto_cancel(struct rxe_rto *rto)
{
	rto->deadline = 0;
	rto->fired = false;
}

/* No RNR NAK came since the last progress */
static inline void rxe_rnr_reset(struct rxe_rnr *rnr)
{
	*rnr = (struct rxe_rnr){ .state = RXE_RNR_READY };
}

/* No packet is timed */
static inline void rxe_timed_reset(struct rxe_timed *timed)
{
	*timed = (struct rxe_timed){};
}

void rxe_timer_init(struct rxe_qp *qp);
void rxe_rto_reset(struct rxe_sq *sq);
void rxe_timer_arm(struct rxe_qp *qp, u64 ns);
void rxe_wait_anew(struct rxe_qp *qp);
void rxe_wait(struct rxe_qp *qp);
void rxe_wait_settle(struct rxe_qp *qp);
void rxe_path_suspect(struct rxe_qp *qp);
void rxe_rtt_start(struct rxe_sq *sq, u32 psn, bool fetch);
void rxe_rtt_ack(struct rxe_sq *sq, u32 psn, u32 mtu);
u64 rxe_rnr_ns(u8 code);
struct rxe_retry_limit rxe_qp_retry_limit(const struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_TIMER_H */
