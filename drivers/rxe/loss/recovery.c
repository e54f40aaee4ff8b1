// SPDX-License-Identifier: GPL-2.0
/*
 * Loss recovery (section 9.7.5.1.2, 9.7.6.1.3).
 *
 * Theory. A packet without an answer is lost, or it is late. It is late in a queue, at a busy
 * peer, or because this host's own CPU was away. Sending a late packet again makes the queue
 * longer, and delays the answers further. So:
 *
 *   - A NAK, or responses behind a gap, show a loss. A packet that was sent again less
 *     than a round trip ago doesn't count as lost again.
 *   - Silence shows a loss if it is long enough. On a path that lost packets in the last
 *     loss_memory_ns, that is the longest likely round trip. On other paths it is
 *     silence_ns, or four times the QP's timeout if that is shorter. Then the oldest
 *     packets are sent again as a probe. After each probe the silence must be twice as
 *     long. A probe isn't counted as a retry.
 *   - A retry is counted when the QP's timeout is over (rxe_rto_ns()). It is also counted when
 *     a NAK comes after that long without progress, or after patience_ns if the QP has no
 *     timeout. None is counted if the peer meanwhile answered a packet behind all that it had
 *     answered before: it is alive, and gets on. The same answers again don't show that: the
 *     oldest packet may never get through.
 *   - Packets still in this host's queues can't have an answer. While the queues drain,
 *     silence shows nothing. If they are stuck, a retry is counted, but nothing is sent. Packets
 *     that wait for the next hop's address don't drain: without an answer, the stack drops them.
 *   - An answer may come much sooner after a resending than any round trip, or a second time.
 *     Both show that nothing was lost (as in Eifel, RFC 3522, and D-SACK, RFC 3708). So does an
 *     answer while the resending still waits for its turn at this host's queues. So does one
 *     that continues the response to an earlier READ request. The long round trip is remembered.
 *
 * Only what one loss takes away is sent again, a packet or a train. A peer like this driver
 * keeps the packets that follow. If these are missing, too, the peer doesn't keep them. Then
 * everything is sent again, also for the next losses.
 *
 * Pure; any context.
 */
#include <linux/minmax.h>
#include <loss/recovery.h>
#include <rxe/knobs.h>
#include <rxe/psn.h>

/**
 * rxe_recovery_reset - a new connection
 * @rec: loss recovery
 * @psn: first PSN
 */
void rxe_recovery_reset(struct rxe_recovery *rec, u32 psn)
{
	*rec = (struct rxe_recovery) {
		.resent_from	= psn,
		.resent_end	= psn,
		.heard_psn	= psn,
	};
}

/* Twice the longest recent round trip: a stall of that length is no loss */
static u64 get_longest_rtt(const struct rxe_rtt *rtt, u64 now)
{
	return min(2 * rxe_rtt_longest(rtt, now), rxe_knob(rto_max_ns));
}

/**
 * rxe_rto_ns - how long to wait for a response
 * @rec: loss recovery
 * @rtt: round trips
 * @limit: of the QP
 * @now: the time
 *
 * The specification allows one to four times the QP's timeout. The upper bound here is
 * patience_ns, moved into that range: an older packet is more likely lost than late.
 *
 *   after a retry       the upper bound
 *   on a lossy path     twice the measured round trip, within the bounds. Probes alone don't
 *                       make the path lossy here: their answer may be one to a late packet
 *   without losses      patience_ns, but at most four times the upper bound. The peer's CPU
 *                       is probably away, as those of virtual machines are
 *   nothing measured    patience_ns at least (RFC 6298)
 *
 * If a recent round trip was longer, the result is at least twice that, up to rto_max_ns.
 *
 * Return: nanoseconds; 0: wait for ever.
 */
u64 rxe_rto_ns(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
	       const struct rxe_retry_limit *limit, u64 now)
{
	u64 t = limit->timeout, most = clamp(rxe_knob(patience_ns), t, 4 * t), rto;

	if (!t)
		return 0;
	if (rec->retries)
		rto = most;
	else if (rtt->smooth && !rec->guessed && rxe_recovery_is_lossy(rec, now))
		rto = clamp(2 * rxe_rtt_most(rtt), t, most);
	else if (rtt->smooth)
		rto = clamp(rxe_knob(patience_ns), most, 4 * most);
	else
		rto = max(most, rxe_knob(patience_ns));
	return max(rto, get_longest_rtt(rtt, now));
}

/*
 * Least time between two retries that NAKs or gaps use up. Timeout 0 only switches off the timer
 * [9.7.6.1.3]: a peer that keeps asking for the same packet must not do so for ever.
 */
static u64 get_told_ns(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
		       const struct rxe_retry_limit *limit, u64 now)
{
	return rxe_rto_ns(rec, rtt, limit, now) ?:
	       max(rxe_knob(patience_ns), get_longest_rtt(rtt, now));
}

/* Is the time since the last progress shorter than the timeout? */
static bool is_in_time(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
		       const struct rxe_retry_limit *limit, u64 now)
{
	u64 rto = rxe_rto_ns(rec, rtt, limit, now);

	return !rto || now < rec->since + rto;
}

/* Silence after which a probe is sent; 0: no probe */
static u64 get_probe_wait_ns(const struct rxe_recovery *rec,
			     const struct rxe_rtt *rtt,
			     const struct rxe_retry_limit *limit, u64 now)
{
	u64 ns = max(rxe_rtt_most(rtt), rxe_knob(rtt_guess_ns));
	u64 silence = rxe_knob(silence_ns);

	if (rtt->smooth)
		silence = min(silence, 4 * limit->timeout);
	if (!rtt->smooth || !rxe_recovery_is_lossy(rec, now))
		ns = limit->timeout ? max(max(ns, silence), get_longest_rtt(rtt, now)) : 0;
	return ns << rec->probes;
}

/**
 * rxe_recovery_least_ns - a cheap lower bound of rxe_recovery_wait_ns()
 * @rec: loss recovery, just after rxe_recovery_wait_anew()
 * @limit: of the QP
 * @now: the time
 *
 * Return: nanoseconds from now.
 */
u64 rxe_recovery_least_ns(const struct rxe_recovery *rec,
			  const struct rxe_retry_limit *limit, u64 now)
{
	u64 t = limit->timeout ?: rxe_knob(silence_ns);

	return min(t, rxe_recovery_is_lossy(rec, now) ? rxe_knob(rtt_guess_ns) :
							rxe_knob(silence_ns));
}

/**
 * rxe_recovery_wait_ns - when should the timer fire?
 * @rec: loss recovery
 * @rtt: round trips
 * @limit: of the QP
 * @now: the time
 *
 * Return: nanoseconds from now: for a probe, or what is left of the QP's timeout;
 * 0: never.
 */
u64 rxe_recovery_wait_ns(const struct rxe_recovery *rec,
			 const struct rxe_rtt *rtt,
			 const struct rxe_retry_limit *limit, u64 now)
{
	u64 rto = rxe_rto_ns(rec, rtt, limit, now);
	u64 probe = get_probe_wait_ns(rec, rtt, limit, now);
	u64 end = rec->since + rto, left = end > now ? end - now : 1;

	if (!rto)
		return probe;
	return probe ? min(probe, left) : left;
}

/**
 * rxe_recovery_wait_anew - restart the wait, after an acknowledgment or the first packet
 *	in flight
 * @rec: loss recovery
 * @now: the time
 */
void rxe_recovery_wait_anew(struct rxe_recovery *rec, u64 now)
{
	rec->since = now;
	rec->probes = 0;
}

/**
 * rxe_recovery_resent - note that packets are sent again
 * @rec: loss recovery
 * @from: the first, which is the oldest that isn't acknowledged
 * @end: one after the last
 * @left_at: when @from was sent before, as far as is known
 * @now: the time
 */
void rxe_recovery_resent(struct rxe_recovery *rec, u32 from, u32 end,
			 u64 left_at, u64 now)
{
	rec->resent_from = from;
	rec->resent_end = end;
	rec->resent_at = now;
	rec->left_at = left_at;
	rec->answer_ns = 0;
}

/**
 * rxe_recovery_leaves - the first packet of a resending leaves
 * @rec: loss recovery
 * @now: the time
 *
 * This may be long after the verdict, if other senders share the host's queues. The timeout of
 * a retry begins now.
 */
void rxe_recovery_leaves(struct rxe_recovery *rec, u64 now)
{
	rec->unsent = false;
	rec->resent_at = now;
	if (!rec->retrying)
		return;
	rec->retrying = false;
	rec->since = now;
}

/* Nothing was lost */
static void undo_loss(struct rxe_recovery *rec)
{
	rec->in_doubt = false;
	rec->unsent = false;
	rec->retrying = false;
	rec->lossy_until = rec->lossy_before;
	rec->guessed = rec->guessed_before;
}

/* The peer was only silent: that it may be for so long counts like a round trip */
static void undo_silence(struct rxe_recovery *rec, struct rxe_rtt *rtt, u64 now)
{
	undo_loss(rec);
	rxe_rtt_stall(rtt, now - rec->since, now);
}

/**
 * rxe_recovery_too_soon - does an answer come too soon to be one to the last resending?
 * @rec: loss recovery
 * @rtt: round trips
 * @una: oldest PSN that isn't acknowledged now
 * @now: the time
 *
 * An answer within half of the shortest round trip is an answer to the first transmission.
 *
 * Return: true if so: the time since the resending is no round trip.
 */
bool rxe_recovery_too_soon(const struct rxe_recovery *rec, const struct rxe_rtt *rtt,
			   u32 una, u64 now)
{
	return !rec->unsent && rxe_psn_diff(una, rec->resent_from) > 0 &&
	       now < rec->resent_at + rtt->min / 2;
}

/**
 * rxe_recovery_answered - note progress after a resending that is in doubt
 * @rec: loss recovery
 * @rtt: round trips; learns how long this one took
 * @una: oldest PSN that isn't acknowledged now
 * @now: the time
 *
 * An answer before the first resending, or too soon after one, shows that nothing was lost.
 * Exception: if the peer asked for the resending, the time shows nothing.
 *
 * Return: true if nothing had been lost.
 */
bool rxe_recovery_answered(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			   u32 una, u64 now)
{
	if (rec->unsent) {
		if (rec->told || rec->again)
			return false;
		undo_silence(rec, rtt, now);
		return true;
	}
	if (rec->answer_ns || rxe_psn_diff(una, rec->resent_from) <= 0)
		return false;
	rec->answer_ns = now > rec->left_at ? now - rec->left_at : 1;
	if (rec->told || !rxe_recovery_too_soon(rec, rtt, una, now))
		return false;
	undo_loss(rec);
	rxe_rtt_add(rtt, rec->answer_ns, now);
	return true;
}

/**
 * rxe_recovery_doubled - note that an answer came twice
 * @rec: loss recovery
 * @rtt: round trips; learns how long the doubtful one took
 * @psn: what it answers
 * @exact: it answers @psn only; an ACK answers all packets before it, too
 * @now: the time
 *
 * The peer received both transmissions. This proves the resending needless only for the oldest
 * packet. Later packets may have arrived the first time, even if the oldest was lost.
 *
 * Return: true if a resending was in doubt, and nothing had been lost.
 */
bool rxe_recovery_doubled(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			  u32 psn, bool exact, u64 now)
{
	bool oldest = exact ? psn == rec->resent_from :
		      rec->resent_end == rxe_psn_add(rec->resent_from, 1);

	if (!rec->in_doubt || !rec->answer_ns || !oldest)
		return false;
	if (rec->unsent && !rec->again)	/* it answers the resending of another packet */
		return false;
	undo_loss(rec);
	rxe_rtt_add(rtt, rec->answer_ns, now);
	return true;
}

/**
 * rxe_recovery_continued - note that a READ response continues an earlier one
 * @rec: loss recovery
 * @rtt: round trips; learns how long the peer was silent
 * @psn: PSN of the response, which isn't the first packet of one
 * @now: the time
 *
 * The response to a READ request that is sent again begins with a first packet. If the oldest
 * packet comes as another one, the peer is still serving the request before [9.7.5.1.3].
 *
 * Return: true if a resending was in doubt, and nothing had been lost.
 */
bool rxe_recovery_continued(struct rxe_recovery *rec, struct rxe_rtt *rtt,
			    u32 psn, u64 now)
{
	if (!rec->in_doubt || rec->told || psn != rec->resent_from)
		return false;
	undo_silence(rec, rtt, now);
	return true;
}

/**
 * rxe_recovery_heard_at - a response came: learn how long the peer was silent before it
 * @rec: loss recovery
 * @rtt: round trips
 * @now: the time
 *
 * The responses to one READ may come with long pauses, if the peer serves many in turn. If
 * something was sent again meanwhile, the response may be the answer to that. Then nothing is
 * learnt.
 */
void rxe_recovery_heard_at(const struct rxe_recovery *rec, struct rxe_rtt *rtt, u64 now)
{
	u64 ns = now - rec->since;

	if (ns > rtt->next && rec->resent_at <= rec->since)
		rxe_rtt_stall(rtt, ns, now);
}

/* Was the oldest packet sent again too recently for an answer? */
static bool is_just_resent(const struct rxe_recovery *rec,
			   const struct rxe_rtt *rtt, u32 una, u64 now)
{
	if (rxe_psn_diff(una, rec->resent_from) < 0 ||
	    rxe_psn_diff(una, rec->resent_end) >= 0)
		return false;
	return now < rec->resent_at + rxe_rtt_most(rtt);
}

/* Return: false if the retries are used up */
static bool count_retry(struct rxe_recovery *rec,
			const struct rxe_retry_limit *limit, u64 now)
{
	rec->since = now;
	rec->retrying = true;
	if (rec->heard) {
		rec->heard = false;
		return true;
	}
	return rec->retries++ < limit->retry_cnt;
}

static struct rxe_loss_verdict judge_loss(struct rxe_recovery *rec,
					  const struct rxe_loss_facts *facts)
{
	/* Where only silence speaks of losses, a READ behind a probed one may be late, too */
	bool late = rec->guessed && facts->rd_atomic;
	bool follows = facts->una == rec->resent_end &&
		       facts->una != rec->resent_from && !late;

	if (rec->go_back)
		rec->go_back--;
	else if (follows)
		rec->go_back = rxe_knob(go_back);
	if (rec->go_back || facts->rest < facts->burst)
		return (struct rxe_loss_verdict){ .act = RXE_LOSS_REWIND };
	return (struct rxe_loss_verdict) {
		.act = RXE_LOSS_RESEND,
		.npkts = facts->rd_atomic ? facts->rest : facts->burst,
	};
}

/*
 * The packet may only be late; on a path that reorders, even after a NAK. If another
 * packet was in doubt before, it counts as lost now.
 */
static void mark_doubtful(struct rxe_recovery *rec, u32 una, bool told)
{
	if (!rec->in_doubt || una != rec->doubted) {
		rec->lossy_before = rec->lossy_until;
		rec->guessed_before = rec->guessed;
		rec->again = false;
	} else if (!rec->unsent) {
		rec->again = true;
	}
	rec->doubted = una;
	rec->in_doubt = true;
	rec->unsent = true;
	rec->told = told;
}

static void set_lossy(struct rxe_recovery *rec, u64 now)
{
	rec->lossy_until = now + rxe_knob(loss_memory_ns);
	rec->guessed = false;
}

/**
 * rxe_recovery_suspect - note a change of the path: packets in flight may be lost
 * @rec: loss recovery
 * @now: the time
 *
 * The path now counts as lossy, so the next probe comes soon. The timeout is restarted, since
 * it is shorter on a lossy path.
 */
void rxe_recovery_suspect(struct rxe_recovery *rec, u64 now)
{
	rec->probes = 0;
	if (!rxe_recovery_is_lossy(rec, now))
		rec->since = now;
	set_lossy(rec, now);
}

/* The next probe comes later */
static void count_probe(struct rxe_recovery *rec)
{
	if (rec->probes < RXE_PROBES_ORDER)
		rec->probes++;
}

/*
 * Packets are still in this host's queues. If the queues are stuck, a retry is counted, but
 * not before patience_ns: the netdev's CPU may have been away. Exception: packets that wait for
 * the next hop's address don't wait for that CPU.
 */
static struct rxe_loss_verdict judge_full_queue(struct rxe_recovery *rec,
						const struct rxe_rtt *rtt,
						const struct rxe_retry_limit *limit,
						const struct rxe_loss_facts *facts,
						u64 now)
{
	struct rxe_loss_verdict verdict = { .act = RXE_LOSS_WAIT };

	if (facts->drained != rec->drained) {
		rec->drained = facts->drained;
		rec->drained_at = now;
		rxe_recovery_wait_anew(rec, now);
	} else if (is_in_time(rec, rtt, limit, now)) {
		count_probe(rec);
	} else if (!facts->unresolved && now < rec->drained_at + rxe_knob(patience_ns)) {
		rec->since = now;
	} else {
		verdict.timeout = true;
		if (!count_retry(rec, limit, now))
			verdict.act = RXE_LOSS_FAIL;
		rec->retrying = false;	/* nothing is sent */
	}
	return verdict;
}

/*
 * What left before a queue fills anew is no progress of that queue. Nor is what leaves while the
 * next hop doesn't answer: the stack drops it.
 */
static void forget_drained(struct rxe_recovery *rec, const struct rxe_loss_facts *facts, u64 now)
{
	if (facts->queued && !facts->unresolved)
		return;
	rec->drained = facts->drained;
	if (!facts->queued)
		rec->drained_at = now;
}

static struct rxe_loss_verdict judge_silence(struct rxe_recovery *rec,
					     const struct rxe_rtt *rtt,
					     const struct rxe_retry_limit *limit,
					     const struct rxe_loss_facts *facts,
					     u64 now)
{
	struct rxe_loss_verdict verdict = { .act = RXE_LOSS_REWIND };
	bool timeout;

	forget_drained(rec, facts, now);
	if (facts->queued)
		return judge_full_queue(rec, rtt, limit, facts, now);
	timeout = !is_in_time(rec, rtt, limit, now);
	mark_doubtful(rec, facts->una, false);
	if (timeout) {
		set_lossy(rec, now);
		if (!count_retry(rec, limit, now))
			verdict.act = RXE_LOSS_FAIL;
		verdict.timeout = true;
		return verdict;
	}
	/* Don't extend the lossy time: a slow peer is no loss */
	if (!rxe_recovery_is_lossy(rec, now)) {
		set_lossy(rec, now);
		rec->guessed = true;
	}
	count_probe(rec);
	return judge_loss(rec, facts);
}

/**
 * rxe_recovery_event - decide what to do on a hint of a loss
 * @rec: loss recovery
 * @rtt: round trips
 * @limit: of the QP
 * @facts: what is in flight
 * @hint: the hint
 * @now: the time
 *
 * Return: the verdict. A caller that sends something again calls rxe_recovery_resent().
 */
struct rxe_loss_verdict
rxe_recovery_event(struct rxe_recovery *rec, const struct rxe_rtt *rtt,
		   const struct rxe_retry_limit *limit,
		   const struct rxe_loss_facts *facts, enum rxe_loss_hint hint,
		   u64 now)
{
	bool in_time;

	if (hint == RXE_LOSS_SILENCE)
		return judge_silence(rec, rtt, limit, facts, now);
	if (is_just_resent(rec, rtt, facts->una, now))
		return (struct rxe_loss_verdict){ .act = RXE_LOSS_WAIT };
	mark_doubtful(rec, facts->una, true);
	set_lossy(rec, now);
	/* The peer is alive: at most one hint per timeout counts as a retry */
	in_time = now < rec->since + get_told_ns(rec, rtt, limit, now);
	if (!(limit->retry_cnt && in_time) && !count_retry(rec, limit, now))
		return (struct rxe_loss_verdict){ .act = RXE_LOSS_FAIL };
	if (hint == RXE_LOSS_GAP)
		return (struct rxe_loss_verdict) {
			.act = RXE_LOSS_RESEND, .npkts = facts->missing,
		};
	return judge_loss(rec, facts);
}
