/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss recovery: what to do when packets, or the answers to them, don't come. Verdicts
 * only; the caller has the lock, tells the time and acts.
 */
#ifndef RXE_LOSS_RECOVERY_H
#define RXE_LOSS_RECOVERY_H

#include <loss/rtt.h>

/* Why a packet may be lost */
enum rxe_loss_hint {
	RXE_LOSS_NAK,		/* the peer asks for it */
	RXE_LOSS_GAP,		/* responses are missing before one that came */
	RXE_LOSS_SILENCE,	/* the timer fired */
};

enum rxe_loss_act {
	RXE_LOSS_WAIT,		/* it may only be late: arm the timer */
	RXE_LOSS_RESEND,	/* send so many packets from the oldest on again */
	RXE_LOSS_REWIND,	/* send everything from the oldest on again */
	RXE_LOSS_FAIL,		/* the retries are used up */
};

/**
 * struct rxe_loss_verdict - what to do
 * @act: enum rxe_loss_act
 * @npkts: RXE_LOSS_RESEND: packets
 * @timeout: the QP's timeout is over, and that was a retry
 */
struct rxe_loss_verdict {
	enum rxe_loss_act	act;
	u32			npkts;
	bool			timeout;
};

/**
 * struct rxe_loss_facts - what is in flight
 * @una: oldest PSN that isn't acknowledged
 * @rest: packets from there on that belong to the oldest work request and were sent
 * @burst: packets that one loss takes away: a train's, or one
 * @missing: RXE_LOSS_GAP: responses from @una on that are missing
 * @rd_atomic: the oldest work request is a READ or an atomic
 * @queued: trains that are still in this host's queues
 * @drained: trains that have left them since the QP was made
 */
struct rxe_loss_facts {
	u32	una;
	u32	rest;
	u32	burst;
	u32	missing;
	bool	rd_atomic;
	u32	queued;
	u32	drained;
};

/**
 * struct rxe_retry_limit - what the QP's owner asked for
 * @timeout: ns; 0: wait for ever
 * @retry_cnt: retries, 0 to 7
 */
struct rxe_retry_limit {
	u64	timeout;
	u8	retry_cnt;
};

/**
 * struct rxe_recovery - loss recovery of a QP
 * @retries: timeouts and NAKs since the last progress
 * @probes: how often something was sent again without counting as a retry since
 * @go_back: for so many more losses, everything that follows is sent again
 * @heard: the peer answered something since the last retry, if not the oldest packet
 * @in_doubt: the last resending may prove needless
 * @told: the peer, or its responses, had asked for it
 * @answer_ns: how long after @left_at an answer to it came; 0: none yet
 * @since: the last progress, or retry
 * @lossy_until: packets get lost on this path
 * @lossy_before: what that was before the doubtful resending
 * @resent_from: first PSN that was sent again the last time
 * @resent_end: one after the last one
 * @resent_at: when
 * @left_at: when the oldest packet had left before that
 * @drained: rxe_flight.drained at the last silence
 * @drained_at: when that was seen to change
 */
struct rxe_recovery {
	u8	retries;
	u8	probes;
	u8	go_back;
	bool	heard;
	bool	in_doubt;
	bool	told;
	u64	answer_ns;
	ktime_t	since;
	ktime_t	lossy_until;
	ktime_t	lossy_before;
	u32	resent_from;
	u32	resent_end;
	ktime_t	resent_at;
	ktime_t	left_at;
	u32	drained;
	ktime_t	drained_at;
};

struct rxe_loss_verdict
rxe_recovery_event(struct rxe_recovery *rec, const struct rxe_rtt *rtt,
		   const struct rxe_retry_limit *limit,
		   const struct rxe_loss_facts *facts, enum rxe_loss_hint hint,
		   ktime_t now);
void rxe_recovery_reset(struct rxe_recovery *rec, u32 psn);
void rxe_recovery_resent(struct rxe_recovery *rec, u32 from, u32 end,
			 ktime_t left_at, ktime_t now);
bool rxe_recovery_answered(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			   u32 una, ktime_t now);
bool rxe_recovery_doubled(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			  u32 psn, bool exact, ktime_t now);
void rxe_recovery_wait_anew(struct rxe_recovery *rec, ktime_t now);
u64 rxe_recovery_least_ns(const struct rxe_recovery *rec,
			  const struct rxe_retry_limit *limit, ktime_t now);
u64 rxe_recovery_wait_ns(const struct rxe_recovery *rec,
			 const struct rxe_rtt *rtt,
			 const struct rxe_retry_limit *limit, ktime_t now);
u64 rxe_rto_ns(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
	       const struct rxe_retry_limit *limit, ktime_t now);

/**
 * rxe_recovery_lossy - did anything get lost on the path of late?
 * @rec: loss recovery
 * @now: the time
 *
 * Return: true in the ten seconds after a loss.
 */
static inline bool rxe_recovery_lossy(const struct rxe_recovery *rec,
				      ktime_t now)
{
	return rec->lossy_until && !ktime_after(now, rec->lossy_until);
}

#endif /* RXE_LOSS_RECOVERY_H */
