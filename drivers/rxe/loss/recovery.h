/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss recovery: what to do when packets or their answers don't arrive. Gives verdicts
 * only; the caller has the lock, passes the time and acts.
 */
#ifndef RXE_LOSS_RECOVERY_H
#define RXE_LOSS_RECOVERY_H

#include <loss/rtt.h>
#include <rxe/psn.h>

/* Why a packet may be lost */
enum rxe_loss_hint {
	RXE_LOSS_NAK,		/* the peer asks for the packet */
	RXE_LOSS_GAP,		/* responses are missing before one that came */
	RXE_LOSS_SILENCE,	/* the timer fired */
};

enum rxe_loss_act {
	RXE_LOSS_WAIT,		/* the packet may only be late: arm the timer */
	RXE_LOSS_RESEND,	/* send @npkts packets from the oldest on again */
	RXE_LOSS_REWIND,	/* send everything from the oldest on again */
	RXE_LOSS_FAIL,		/* the retries are used up */
};

/**
 * struct rxe_loss_verdict - what to do
 * @act: enum rxe_loss_act
 * @npkts: RXE_LOSS_RESEND: packets to send
 * @timeout: the QP's timeout is over
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
 * @drained: trains that have left these queues since the QP was made
 * @unresolved: the next hop's address isn't known: trains wait for it, and are dropped if it
 *	doesn't answer
 */
struct rxe_loss_facts {
	u32	una;
	u32	rest;
	u32	burst;
	u32	missing;
	bool	rd_atomic;
	u32	queued;
	u32	drained;
	bool	unresolved;
};

/**
 * struct rxe_retry_limit - timeout and retries that the QP's owner asked for
 * @timeout: ns; 0: silence uses up no retries
 * @retry_cnt: retries, 0 to 7
 */
struct rxe_retry_limit {
	u64	timeout;
	u8	retry_cnt;
};

/**
 * struct rxe_recovery - loss recovery of a QP
 * @retries: timeouts and NAKs since the last progress
 * @probes: probes since the last progress, which aren't counted as retries; RXE_PROBES_ORDER:
 *	so many or more
 * @guessed: only probes made the path count as lossy
 * @guessed_before: @guessed before the resending in doubt
 * @go_back: number of next losses after which everything is sent again
 * @heard: since the last retry, the peer answered a packet behind @heard_psn
 * @in_doubt: the last resending may have been needless
 * @told: a NAK, or responses behind a gap, caused the last resending
 * @unsent: the resending in doubt hasn't begun: it waits for its turn at this host's queues
 * @again: the packet in doubt was sent again before that
 * @retrying: a retry was counted, and its packets haven't left
 * @doubted: the packet in doubt
 * @answer_ns: time from @left_at to the first answer after it; 0: none yet
 * @since: time of the last progress or retry
 * @lossy_until: until when the path counts as lossy
 * @lossy_before: @lossy_until before the resending in doubt
 * @resent_from: first PSN of the last resending
 * @resent_end: one after its last PSN
 * @resent_at: time of the last resending
 * @left_at: when the oldest packet was sent before that
 * @drained_at: when a change of @drained, or an empty queue, was last seen
 * @drained: rxe_loss_facts.drained at the last silence
 * @heard_psn: highest PSN that the peer has answered since the last progress. Progress sets it to
 *	the oldest PSN that isn't acknowledged, so it is always less than 2^23 packets away
 */
struct rxe_recovery {
	u8	retries;
	u8	probes;
	bool	guessed;
	bool	guessed_before;
	u8	go_back;
	bool	heard;
	bool	in_doubt;
	bool	told;
	bool	unsent;
	bool	again;
	bool	retrying;
	u32	doubted;
	u64	answer_ns;
	u64	since;
	u64	lossy_until;
	u64	lossy_before;
	u32	resent_from;
	u32	resent_end;
	u64	resent_at;
	u64	left_at;
	u64	drained_at;
	u32	drained;
	u32	heard_psn;
};

struct rxe_loss_verdict
rxe_recovery_event(struct rxe_recovery *rec, const struct rxe_rtt *rtt,
		   const struct rxe_retry_limit *limit,
		   const struct rxe_loss_facts *facts, enum rxe_loss_hint hint,
		   u64 now);
void rxe_recovery_reset(struct rxe_recovery *rec, u32 psn);
void rxe_recovery_resent(struct rxe_recovery *rec, u32 from, u32 end,
			 u64 left_at, u64 now);
void rxe_recovery_leaves(struct rxe_recovery *rec, u64 now);
bool rxe_recovery_too_soon(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
			   u32 una, u64 now);
bool rxe_recovery_answered(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			   u32 una, u64 now);
bool rxe_recovery_doubled(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			  u32 psn, bool exact, u64 now);
bool rxe_recovery_continued(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			    u32 psn, u64 now);
void rxe_recovery_heard_at(const struct rxe_recovery *rec, struct rxe_rtt *rtt, u64 now);
void rxe_recovery_suspect(struct rxe_recovery *rec, u64 now);
void rxe_recovery_wait_anew(struct rxe_recovery *rec, u64 now);
u64 rxe_recovery_least_ns(const struct rxe_recovery *rec,
			  const struct rxe_retry_limit *limit, u64 now);
u64 rxe_recovery_wait_ns(const struct rxe_recovery *rec,
			 const struct rxe_rtt *rtt,
			 const struct rxe_retry_limit *limit, u64 now);
u64 rxe_rto_ns(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
	       const struct rxe_retry_limit *limit, u64 now);

/* Everything before @una was acknowledged: the count of retries begins anew */
static inline void rxe_recovery_note_progress(struct rxe_recovery *rec, u32 una)
{
	rec->retries = 0;
	rec->heard = false;
	rec->heard_psn = una;
}

/* The peer is alive, but not ready: likewise, without progress */
static inline void rxe_recovery_note_alive(struct rxe_recovery *rec)
{
	rec->retries = 0;
}

/*
 * The peer answered @psn, which is behind the oldest packet. Only an answer that is further than
 * all before counts: one that comes again and again must not make the retries endless.
 */
static inline void rxe_recovery_note_heard(struct rxe_recovery *rec, u32 psn)
{
	if (rxe_psn_diff(psn, rec->heard_psn) <= 0)
		return;
	rec->heard_psn = psn;
	rec->heard = true;
}

/* Sending begins anew after a wait that the peer asked for */
static inline void rxe_recovery_restart(struct rxe_recovery *rec, u64 now)
{
	rec->since = now;
}

/* More was acknowledged than was sent again, which went up to @psn: the peer keeps packets */
static inline void rxe_recovery_catch_up(struct rxe_recovery *rec, u32 psn)
{
	rec->go_back = 0;
	rec->resent_end = psn;
}

/**
 * rxe_recovery_is_lossy - did the path lose packets recently?
 * @rec: loss recovery
 * @now: the time
 *
 * Return: true until loss_memory_ns after a loss.
 */
static inline bool rxe_recovery_is_lossy(const struct rxe_recovery *rec,
					 u64 now)
{
	return rec->lossy_until && now <= rec->lossy_until;
}

#endif /* RXE_LOSS_RECOVERY_H */
