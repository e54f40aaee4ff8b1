// SPDX-License-Identifier: GPL-2.0
/*
 * One high-resolution timer per QP, for retransmission (section 9.7.6.1.3) and for the
 * wait after an RNR NAK (section 9.7.5.2.8).
 *
 * Every response moves the deadline, but not the timer. If the timer fires before the
 * deadline, it is set to the deadline. A busy connection thus rarely touches its timer;
 * the timer of an idle connection doesn't run.
 *
 * Context: sq.lock held unless noted; the timer fires in softirq.
 */
#include <linux/indirect_call_wrapper.h>
#include <rxe/transport.h>
#include <transport/allowance.h>
#include <compat/timer.h>

/* RNR NAK timer codes in units of 10 us [table 45] */
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

/**
 * rxe_qp_retry_limit - the timeout and retry count that the QP's owner has set
 * @qp: the QP
 *
 * The timeout is 4.096 us * 2^timeout; 0: no timeout [9.7.6.1.3].
 *
 * Return: both, in the form for loss recovery.
 */
struct rxe_retry_limit rxe_qp_retry_limit(const struct rxe_qp *qp)
{
	u8 t = READ_ONCE(qp->attr.timeout) & 0x1f;

	return (struct rxe_retry_limit) {
		.timeout	= t ? 4096ULL << t : 0,
		.retry_cnt	= qp->attr.retry_cnt,
	};
}

static void set_deadline(struct rxe_rto *rto, ktime_t at, bool lazy)
{
	rto->deadline = at;
	rto->lazy = lazy;
	rto->graced = false;
}

static void arm_timer(struct rxe_sq *sq, ktime_t at)
{
	set_deadline(&sq->rto, at, false);
	if (hrtimer_is_queued(&sq->rto.timer) &&
	    !ktime_before(at, hrtimer_get_expires(&sq->rto.timer)))
		return;
	hrtimer_start(&sq->rto.timer, at, HRTIMER_MODE_ABS_SOFT);
}

static void start_wait(struct rxe_qp *qp, ktime_t now)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_retry_limit limit = rxe_qp_retry_limit(qp);
	u64 ns = rxe_recovery_wait_ns(&sq->rec, &sq->rtt, &limit, now);

	if (ns)
		arm_timer(sq, ktime_add_ns(now, ns));
}

/*
 * If the timer is queued and expires early enough, let it compute the deadline when it fires.
 * Most answers come before it fires.
 */
static bool leave_to_timer(struct rxe_qp *qp, ktime_t now)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_retry_limit limit = rxe_qp_retry_limit(qp);
	ktime_t expires = hrtimer_get_expires(&sq->rto.timer);
	u64 ns = rxe_recovery_least_ns(&sq->rec, &limit, now);

	if (!hrtimer_is_queued(&sq->rto.timer) ||
	    ktime_after(expires, ktime_add_ns(now, ns)))
		return false;
	set_deadline(&sq->rto, expires, true);
	return true;
}

/* Compute the deadline that leave_to_timer() has left to the timer */
static void find_deadline(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_retry_limit limit = rxe_qp_retry_limit(qp);
	u64 ns = rxe_recovery_wait_ns(&sq->rec, &sq->rtt, &limit, sq->rec.since);

	set_deadline(&sq->rto, ns ? ktime_add_ns(sq->rec.since, ns) : 0, false);
}

/**
 * rxe_wait - wait for an answer, until the next probe or the rest of the timeout
 * @qp: the QP
 */
void rxe_wait(struct rxe_qp *qp)
{
	start_wait(qp, ktime_get());
}

static void restart_wait(struct rxe_qp *qp, ktime_t now)
{
	rxe_recovery_wait_anew(&qp->sq.rec, now);
	if (!leave_to_timer(qp, now))
		start_wait(qp, now);
}

/**
 * rxe_wait_anew - restart the timeout, after an acknowledgment or the first packet
 *	in flight
 * @qp: the QP
 */
void rxe_wait_anew(struct rxe_qp *qp)
{
	restart_wait(qp, ktime_get());
}

/**
 * rxe_wait_settle - restart the timer once for all responses of a run
 * @qp: the QP; rto.moved says whether there were any
 */
void rxe_wait_settle(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	ktime_t now;

	if (!sq->rto.moved)
		return;
	sq->rto.moved = false;
	rxe_rto_cancel(&sq->rto);
	if (sq->flight.una == sq->flight.top)
		return;
	now = ktime_get();
	rxe_recovery_heard_at(&sq->rec, &sq->rtt, now);
	restart_wait(qp, now);
}

/**
 * rxe_path_suspect - packets in flight may be lost: probe soon
 * @qp: the QP
 *
 * Does nothing if no answer is expected, or during the wait after an RNR NAK. Context: any
 * but hard interrupt, sq.lock not held.
 */
void rxe_path_suspect(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	ktime_t now = ktime_get();

	spin_lock_bh(&sq->lock);
	if (sq->rto.deadline && sq->rnr.state != RXE_RNR_WAIT) {
		rxe_recovery_suspect(&sq->rec, now);
		start_wait(qp, now);
	}
	spin_unlock_bh(&sq->lock);
}

/**
 * rxe_rtt_start - time the acknowledgment of a packet, if none is timed now
 * @sq: the send queue
 * @psn: a new packet that asks for an acknowledgment, or the first packet that is sent
 *	again. A bad path would have no samples without packets that are sent again. Another
 *	answer is rarely mistaken for theirs
 * @fetch: the packet is a READ or an atomic
 */
void rxe_rtt_start(struct rxe_sq *sq, u32 psn, bool fetch)
{
	if (sq->timed.start)
		return;
	sq->timed.psn = psn;
	sq->timed.una = sq->flight.una;
	sq->timed.start = ktime_get();
	sq->timed.limited = false;
	sq->timed.fetch = fetch;
}

/**
 * rxe_rtt_ack - take a sample if the timed packet is acknowledged
 * @sq: the send queue
 * @psn: acknowledged PSN
 * @mtu: payload bytes of a full packet
 */
void rxe_rtt_ack(struct rxe_sq *sq, u32 psn, u32 mtu)
{
	struct rxe_cc_sample sample __uninitialized;
	struct rxe_allowance was;
	ktime_t now;

	if (!sq->timed.start || rxe_psn_diff(psn, sq->timed.psn) < 0)
		return;
	now = ktime_get();
	sample.rtt = max(ktime_to_ns(ktime_sub(now, sq->timed.start)), 1LL);
	sq->timed.start = 0;
	rxe_rtt_add(&sq->rtt, sample.rtt, now);
	sample.rtt_min = sq->rtt.min;
	sample.rtt_var = sq->rtt.var;
	sample.delivered = rxe_psn_diff(sq->flight.una, sq->timed.una);
	sample.mtu = mtu;
	sample.at = ktime_to_ns(now);
	sample.limited = sq->timed.limited;
	sample.fetch = sq->timed.fetch;
	sample.lossy = rxe_recovery_is_lossy(&sq->rec, now);
	was = rxe_allowance_get(sq);
	INDIRECT_CALL_1(sq->cc.ops->acked, rxe_window_acked, &sq->cc, &sample,
			sq->flight.una);
	rxe_allowance_trace(sq, was);
}

/*
 * If the timer is late because this CPU was busy, put off the deadline once. Answers may be
 * waiting for the CPU, too. They don't wait for as long as a virtual machine may have been stopped.
 */
static bool postpone_deadline(struct rxe_sq *sq, ktime_t now)
{
	u64 late = ktime_to_ns(ktime_sub(now, sq->rto.deadline));
	u64 more = max(late, rxe_rtt_most(&sq->rtt));

	if (sq->rnr.state == RXE_RNR_WAIT || sq->rto.graced || late < rxe_knob(timer_late_ns))
		return false;
	sq->rto.deadline = ktime_add_ns(now, min(more, rxe_knob(rto_max_ns)));
	sq->rto.graced = true;
	return true;
}

static enum hrtimer_restart rto_timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp, sq.rto.timer);
	struct rxe_sq *sq = &qp->sq;
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	ktime_t now = ktime_get();

	spin_lock(&sq->lock);
	if (sq->rto.lazy && sq->rto.deadline)
		find_deadline(qp);
	if (!sq->rto.deadline) {
		;	/* nothing to wait for any more */
	} else if (hrtimer_is_queued(timer)) {
		;	/* armed again while we waited for the lock */
	} else if (ktime_before(now, sq->rto.deadline) || postpone_deadline(sq, now)) {
		hrtimer_set_expires(timer, sq->rto.deadline);
		restart = HRTIMER_RESTART;
	} else {
		sq->rto.deadline = 0;
		sq->rto.fired = true;
	}
	spin_unlock(&sq->lock);
	if (restart == HRTIMER_NORESTART && READ_ONCE(sq->rto.fired))
		rxe_task_schedule(&qp->recv_task);
	return restart;
}

/**
 * rxe_timer_init - set up a QP's timer
 * @qp: the QP
 */
void rxe_timer_init(struct rxe_qp *qp)
{
	rxe_hrtimer_setup(&qp->sq.rto.timer, rto_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_timer_arm - let the wait time out in @ns, unless armed again or cancelled
 * @qp: the QP
 * @ns: nanoseconds
 */
void rxe_timer_arm(struct rxe_qp *qp, u64 ns)
{
	arm_timer(&qp->sq, ktime_add_ns(ktime_get(), ns));
}

/**
 * rxe_rto_reset - stop the timer
 * @sq: the send queue, both tasks paused
 *
 * Without a deadline, rxe_path_suspect() doesn't start it again. Context: process, sq.lock
 * not held.
 */
void rxe_rto_reset(struct rxe_sq *sq)
{
	spin_lock_bh(&sq->lock);
	rxe_rto_cancel(&sq->rto);
	sq->rto.moved = false;
	sq->rto.anew = false;
	spin_unlock_bh(&sq->lock);
	hrtimer_cancel(&sq->rto.timer);
}
