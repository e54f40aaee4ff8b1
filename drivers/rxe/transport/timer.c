// SPDX-License-Identifier: GPL-2.0
/*
 * Time: one high-resolution timer a QP, for retransmission (section 9.7.6.1.3)
 * and for the wait after an RNR NAK (section 9.7.5.2.8).
 *
 * The deadline moves with every response; the timer itself is left alone and
 * put off when it fires early, so that a busy connection doesn't touch it and
 * an idle one has none.
 *
 * Context: sq.lock held unless noted; the timer fires in softirq.
 */
#include <rxe/transport.h>
#include <compat/timer.h>

/* How late a response may be before it must be lost, if the QP allows less */
#define RXE_PATIENCE_NS	((u64)NSEC_PER_SEC)

/* How long a loss makes a path a lossy one, and a round trip counts as the shortest */
#define RXE_MEMORY_NS	(10ULL * NSEC_PER_SEC)

/* The least that a probe waits: less than that is the machine's own doing */
#define RXE_PROBE_NS	(500ULL * NSEC_PER_USEC)

/* So long a silence is a loss rather than a slow peer, though none was known of */
#define RXE_SILENCE_NS	(300ULL * NSEC_PER_MSEC)

/* RNR NAK timer codes in units of 10 us (table 45) */
static const u32 rnr_table[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

/**
 * rxe_rnr_ns - how long an RNR NAK asks to wait
 * @code: timer field of the syndrome, 0 to 31
 *
 * Return: nanoseconds, 10 us to 655.36 ms.
 */
u64 rxe_rnr_ns(u8 code)
{
	return rnr_table[code & RXE_AETH_VALUE_MASK] * 10ULL * NSEC_PER_USEC;
}

/* The QP's timeout: 4.096 us * 2^timeout; 0: never (section 9.7.6.1.3) */
static u64 timeout_ns(const struct rxe_qp *qp)
{
	u8 t = READ_ONCE(qp->attr.timeout) & 0x1f;

	return t ? 4096ULL << t : 0;
}

/**
 * rxe_rtt_most - how long an answer takes, at the most, as far as we know
 * @sq: the send queue
 *
 * Return: nanoseconds; a guess while nothing was measured.
 */
u64 rxe_rtt_most(const struct rxe_sq *sq)
{
	return sq->srtt ? sq->srtt + 4 * sq->rttvar : RXE_PROBE_NS;
}

/**
 * rxe_sq_lossy - did anything get lost on the path of late?
 * @sq: the send queue
 * @now: the time
 *
 * Return: true in the ten seconds after a loss.
 */
bool rxe_sq_lossy(const struct rxe_sq *sq, ktime_t now)
{
	return !ktime_after(now, sq->lossy_until);
}

/**
 * rxe_rto_ns - how long to wait for a response
 * @qp: the QP
 * @now: the time
 *
 * The specification allows one to four times the QP's timeout. Where packets do
 * get lost, the measured round trip moves it within those bounds. Where they
 * don't, the peer is rather slow, and patience is longest; likewise before there
 * is a measurement, and when the peer has kept silent already. Beyond
 * RXE_PATIENCE_NS a packet is rather lost than late, and the QP's timeout is taken
 * as it is.
 *
 * Return: nanoseconds; 0: wait for ever.
 */
u64 rxe_rto_ns(const struct rxe_qp *qp, ktime_t now)
{
	const struct rxe_sq *sq = &qp->sq;
	u64 t = timeout_ns(qp);
	u64 most = clamp(RXE_PATIENCE_NS, t, 4 * t);

	if (!t || !sq->srtt || sq->retries || !rxe_sq_lossy(sq, now))
		return most;
	return clamp(2 * rxe_rtt_most(sq), t, most);
}

static void arm(struct rxe_sq *sq, ktime_t at)
{
	sq->deadline = at;
	if (hrtimer_is_queued(&sq->timer) &&
	    !ktime_before(at, hrtimer_get_expires(&sq->timer)))
		return;
	hrtimer_start(&sq->timer, at, HRTIMER_MODE_ABS_SOFT);
}

/*
 * Where packets do get lost, an answer that is overdue by its round trip is worth
 * a question, at longer and longer intervals. Where they don't, the QP's timeout
 * may be much longer than it takes to tell that one has: RDMA_CM asks for a second
 * or two. 0: don't ask.
 */
static u64 probe_ns(const struct rxe_qp *qp, u64 rto, ktime_t now)
{
	const struct rxe_sq *sq = &qp->sq;
	u64 ns = max(rxe_rtt_most(sq), RXE_PROBE_NS);

	if (!sq->srtt || !rxe_sq_lossy(sq, now))
		ns = rto ? max(ns, RXE_SILENCE_NS) : 0;
	return ns << min_t(u8, sq->probes, 16);
}

/**
 * rxe_sq_lost - something was lost on the path
 * @sq: the send queue
 */
void rxe_sq_lost(struct rxe_sq *sq)
{
	sq->lossy_until = ktime_add_ns(ktime_get(), RXE_MEMORY_NS);
}

/**
 * rxe_probe_due - the timer fired: for a probe, or is the QP's timeout over?
 * @qp: the QP
 *
 * Return: true for a probe.
 */
bool rxe_probe_due(const struct rxe_qp *qp)
{
	ktime_t now = ktime_get();
	u64 rto = rxe_rto_ns(qp, now);

	return !rto || ktime_before(now, ktime_add_ns(qp->sq.since, rto));
}

static void wait_from(struct rxe_qp *qp, ktime_t now)
{
	struct rxe_sq *sq = &qp->sq;
	u64 rto = rxe_rto_ns(qp, now), probe = probe_ns(qp, rto, now);
	ktime_t at = ktime_add_ns(sq->since, rto);

	if (probe && (!rto || ktime_before(ktime_add_ns(now, probe), at)))
		at = ktime_add_ns(now, probe);
	else if (!rto)
		return;
	arm(sq, at);
}

/**
 * rxe_wait - wait for an answer, for a probe's time or what is left of the timeout
 * @qp: the QP
 */
void rxe_wait(struct rxe_qp *qp)
{
	wait_from(qp, ktime_get());
}

/**
 * rxe_wait_anew - something was acknowledged, or sent after none was in flight
 * @qp: the QP
 */
void rxe_wait_anew(struct rxe_qp *qp)
{
	qp->sq.since = ktime_get();
	qp->sq.probes = 0;
	wait_from(qp, qp->sq.since);
}

/**
 * rxe_rtt_start - time the acknowledgment of a packet, if none is timed now
 * @sq: the send queue
 * @psn: a packet that asks for an acknowledgment, and was never sent before, or
 *	the first of those that are sent again: on a bad path nothing else would
 *	ever be timed, and little follows it that could be taken for its answer
 */
void rxe_rtt_start(struct rxe_sq *sq, u32 psn)
{
	if (sq->rtt_start)
		return;
	sq->rtt_psn = psn;
	sq->rtt_una = sq->una;
	sq->rtt_start = ktime_get();
	sq->limited = false;
}

/* Smoothed as in RFC 6298 */
static void smooth(struct rxe_sq *sq, s64 rtt)
{
	s64 err = rtt - (s64)sq->srtt;

	if (!sq->srtt) {
		sq->srtt = rtt;
		sq->rttvar = rtt / 2;
		return;
	}
	sq->rttvar += (abs(err) - (s64)sq->rttvar) / 4;
	sq->srtt += err / 8;
}

/* Where each packet may get lost by itself, and all that follows it with it, less */
static u32 window_min(const struct rxe_sq *sq)
{
	if (sq->go_back && rxe_sq_alone(sq))
		return RXE_WINDOW_DROPS;
	return RXE_WINDOW_MIN;
}

/*
 * The window is twice bandwidth times delay: what came through in this round
 * trip, had it taken no longer than the shortest. While the path takes all that
 * the window lets go, it doubles; when packets begin to queue, it stays. Where
 * packets get lost it shrinks, too: what was lost comes again behind all that queues.
 */
static void adapt_window(struct rxe_sq *sq, u64 rtt, ktime_t now)
{
	u64 through = rxe_psn_diff(sq->una, sq->rtt_una);
	u64 window;

	if (!sq->rtt_min || rtt <= sq->rtt_min ||
	    ktime_after(now, ktime_add_ns(sq->rtt_min_at, RXE_MEMORY_NS))) {
		sq->rtt_min = rtt;
		sq->rtt_min_at = now;
	}
	if (!sq->limited && !(rxe_sq_lossy(sq, now) && rtt > 2 * sq->rtt_min))
		return;
	window = div64_u64(2 * through * sq->rtt_min, rtt);
	sq->window = clamp_t(u64, window, window_min(sq), RXE_WINDOW_MAX);
}

/**
 * rxe_rtt_ack - take a sample if the timed packet is acknowledged
 * @sq: the send queue
 * @psn: acknowledged PSN
 */
void rxe_rtt_ack(struct rxe_sq *sq, u32 psn)
{
	ktime_t now;
	s64 rtt;

	if (!sq->rtt_start || rxe_psn_diff(psn, sq->rtt_psn) < 0)
		return;
	now = ktime_get();
	rtt = max(ktime_to_ns(ktime_sub(now, sq->rtt_start)), 1LL);
	sq->rtt_start = 0;
	smooth(sq, rtt);
	adapt_window(sq, rtt, now);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp, sq.timer);
	struct rxe_sq *sq = &qp->sq;
	enum hrtimer_restart restart = HRTIMER_NORESTART;

	spin_lock(&sq->lock);
	if (!sq->deadline) {
		;	/* nothing to wait for any more */
	} else if (hrtimer_is_queued(timer)) {
		;	/* armed again while we waited for the lock */
	} else if (ktime_before(ktime_get(), sq->deadline)) {
		hrtimer_set_expires(timer, sq->deadline);
		restart = HRTIMER_RESTART;
	} else {
		sq->deadline = 0;
		sq->timer_fired = true;
	}
	spin_unlock(&sq->lock);
	if (restart == HRTIMER_NORESTART && READ_ONCE(sq->timer_fired))
		rxe_task_schedule(&qp->recv_task);
	return restart;
}

/**
 * rxe_timer_init - set up a QP's timer
 * @qp: the QP
 */
void rxe_timer_init(struct rxe_qp *qp)
{
	rxe_hrtimer_setup(&qp->sq.timer, timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_timer_arm - act in @ns from now unless armed again or cancelled
 * @qp: the QP
 * @ns: nanoseconds
 */
void rxe_timer_arm(struct rxe_qp *qp, u64 ns)
{
	arm(&qp->sq, ktime_add_ns(ktime_get(), ns));
}

/**
 * rxe_timer_cancel - don't act
 * @qp: the QP
 */
void rxe_timer_cancel(struct rxe_qp *qp)
{
	qp->sq.deadline = 0;
	qp->sq.timer_fired = false;
}
