// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN, the reaction point: the rate of a QP follows congestion notification packets
 * (CNPs).
 *
 * Theory (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). A
 * switch marks packets while its queue is longer than a threshold. The receiver answers marks
 * with CNPs. The sender keeps a rate RC, a target RT to return to, and alpha. Alpha is an
 * estimate of the fraction of periods that are congested:
 *
 *   CNP	RT = RC;  RC = RC * (1 - alpha / 2);  alpha = (1 - g) * alpha + g
 *		at most once in rp_rate_reduce_monitor_period
 *   no CNP	for rp_dce_tcp_rtt: alpha = (1 - g) * alpha
 *   increase	each rp_byte_reset bytes, and each rp_time_reset; both count their increases
 *		since the last cut, BC and T:
 *		max(BC, T) < F: fast recovery	RC = (RC + RT) / 2
 *		min(BC, T) <= F: additive	RT += AI, then likewise
 *		otherwise: hyper		RT += HAI * (min(BC, T) - F + 1), then likewise
 *
 * with F = rp_threshold, AI = rp_ai_rate, HAI = rp_hai_rate and 1 - g = rp_dce_tcp_g / 1024.
 * The factor alpha / 2 is alpha * 2^(10 - rp_gd). These are the parameters and units of mlx5.
 *
 * A QP without CNPs has no rate limit, and costs nothing. The first CNP sets the rate: the
 * throughput of the last round trip in which the window was the limit, after a cut. Without such
 * a round trip, rp_max_rate is cut. The next round trip in which the window is the limit then
 * sets the rate anew. For a QP that only answers READs, the throughput between two READs does
 * that: it has no acknowledgments, but the peer asks for more when it has received something. Such
 * requests also measure the round trip. At rp_max_rate, the limit ends. No timer runs: timer
 * events are handled when the next train leaves, or the next CNP comes. The window also limits the
 * packets in flight, and reacts to loss. Marked READ responses halve it.
 *
 * Context: as struct rxe_cc_ops.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>

#define ALPHA_BITS	20
#define MBIT		(1000000ULL / 8)	/* bytes/s of 1 Mb/s */

static u64 get_max_rate(void)
{
	return (rxe_knob(rp_max_rate) ?: RXE_LINE_RATE) * MBIT;
}

static u64 get_min_rate(void)
{
	return min(rxe_knob(rp_min_rate) * MBIT, get_max_rate());
}

/* Raise the target as the stages require, and move the rate halfway to the target */
static void increase_rate(struct rxe_cc *cc)
{
	struct rxe_dcqcn *d = &cc->dcqcn;
	u32 low = min(d->byte_stage, d->time_stage), high = max(d->byte_stage, d->time_stage);
	u32 f = rxe_knob(rp_threshold);

	if (low > f)
		d->target += rxe_knob(rp_hai_rate) * MBIT * (low - f + 1);
	else if (high >= f)
		d->target += rxe_knob(rp_ai_rate) * MBIT;
	d->target = min(d->target, get_max_rate());
	cc->rate = (cc->rate + d->target + 1) / 2;
}

/* The last round trip; 0 if it is too old to describe the path */
static u64 get_recent_rtt(const struct rxe_cc *cc, u64 now)
{
	s64 age = now - cc->seen_at;	/* perhaps below 0: the caller took the time earlier */

	/* A READ in progress may have held up the next one for longer */
	return age <= (s64)rxe_knob(loss_memory_ns) ?
	       min_t(u64, cc->seen_rtt, rxe_knob(loss_memory_ns)) : 0;
}

/*
 * Scale a timer of @us to the round trip. Marks on packets sent before a cut say nothing about
 * the rate after the cut. Cuts are therefore at least one measured round trip apart. The other
 * timers keep their ratio to the time between cuts: under continuous CNPs, neither alpha decays
 * nor the rate rises between two cuts. In the paper, queues are short, and the timers are
 * longer than round trips anyway.
 */
static u64 scale_period_ns(const struct rxe_cc *cc, u64 us, u64 now)
{
	u64 cut = rxe_knob(rp_rate_reduce_monitor_period);
	u64 rtt = get_recent_rtt(cc, now);

	if (rtt <= cut * NSEC_PER_USEC)
		return us * NSEC_PER_USEC;
	return mul_u64_u64_div_u64(rtt, us, max(cut, 1ULL));
}

/* Minimum time between cuts: the knob, or one round trip if that is longer */
static u64 get_cut_interval_ns(const struct rxe_cc *cc, u64 now)
{
	return max(rxe_knob(rp_rate_reduce_monitor_period) * NSEC_PER_USEC,
		   get_recent_rtt(cc, now));
}

/*
 * Time between increases by the timer. A QP whose peer's READs measure the round trip has few
 * samples. Its peer asks for little, so the queue stays short: the timer is only at least one round
 * trip. Stretched by more, a flow with a low rate wouldn't get its share for seconds.
 */
static u64 get_time_reset_ns(const struct rxe_cc *cc, u64 now)
{
	u64 us = rxe_knob(rp_time_reset);

	if (!cc->turned)
		return scale_period_ns(cc, us, now);
	return max(us * NSEC_PER_USEC, get_recent_rtt(cc, now));
}

static void decay_alpha(struct rxe_dcqcn *d)
{
	d->alpha = (u64)d->alpha * rxe_knob(rp_dce_tcp_g) >> 10;
}

/* Handle the timer events that are due at @now, in order of time */
static void handle_due_events(struct rxe_cc *cc, u64 now)
{
	u64 alpha_ns = scale_period_ns(cc, rxe_knob(rp_dce_tcp_rtt), now);
	u64 time_ns = get_time_reset_ns(cc, now);
	struct rxe_dcqcn *d = &cc->dcqcn;
	u32 left = RXE_RATE_EVENTS;

	while (left-- && min(d->alpha_from + alpha_ns, d->time_from + time_ns) <= now) {
		if (d->alpha_from + alpha_ns <= d->time_from + time_ns) {
			decay_alpha(d);
			d->alpha_from += alpha_ns;
		} else {
			d->time_stage++;
			increase_rate(cc);
			d->time_from += time_ns;
		}
	}
}

/* From rp_max_rate on, the rate isn't limited */
static void end_limit_at_max(struct rxe_cc *cc)
{
	if (cc->rate >= get_max_rate())
		cc->rate = 0;
}

/* @seen: measured throughput; 0: none */
static void start_limit(struct rxe_cc *cc, u64 seen, u64 now)
{
	u64 known = rxe_knob(rp_rate_to_set_on_first_cnp) * MBIT ?: seen;
	u64 rate = known ?: get_max_rate();

	cc->rate = clamp(rate, get_min_rate(), get_max_rate());
	cc->next = now;
	cc->dcqcn = (struct rxe_dcqcn) {
		.target	= cc->rate,
		.alpha	= rxe_knob(rp_initial_alpha_value) << (ALPHA_BITS - 10),
		.assumed = !known,
		.told_at = now,
		.since	= now,
	};
}

/*
 * Does a cut set the target to the rate? With rp_clamp_tgt_rate, each cut does. Otherwise the
 * rate must have risen since the last cut. An increase by the timer counts only if
 * rp_clamp_tgt_rate_ati is set; an increase by the byte counter always counts.
 */
static bool moves_target(const struct rxe_dcqcn *d)
{
	return rxe_knob(rp_clamp_tgt_rate) || d->byte_stage ||
	       (d->time_stage && rxe_knob(rp_clamp_tgt_rate_ati));
}

static void cut_rate(struct rxe_cc *cc, u64 now)
{
	struct rxe_dcqcn *d = &cc->dcqcn;
	u64 less = cc->rate * d->alpha >> (ALPHA_BITS - 10 + rxe_knob(rp_gd));
	u64 least = max(div64_u64(cc->rate * rxe_knob(rp_min_dec_fac), 100), get_min_rate());

	if (moves_target(d))
		d->target = cc->rate;
	cc->rate = max(cc->rate - min(less, cc->rate), least);
	decay_alpha(d);
	d->alpha += (1024 - rxe_knob(rp_dce_tcp_g)) << (ALPHA_BITS - 10);
	d->byte_stage = 0;
	d->time_stage = 0;
	d->bytes = 0;
	d->time_from = now;
	d->alpha_from = now;
	d->cut_at = now;
}

/*
 * May the rate be cut again? A CNP says nothing about an assumed rate at which nothing was sent
 * yet: the marks are those of earlier packets.
 */
static bool may_cut(const struct rxe_cc *cc, u64 now)
{
	const struct rxe_dcqcn *d = &cc->dcqcn;

	if (d->assumed && !d->bytes && !d->byte_stage)
		return false;
	return now - d->cut_at >= get_cut_interval_ns(cc, now);
}

static void dcqcn_cnp(struct rxe_cc *cc, u64 now)
{
	if (!cc->rate) {
		start_limit(cc, cc->seen, now);
	} else {
		cc->dcqcn.told_at = now;
		if (!may_cut(cc, now))
			return;
		handle_due_events(cc, now);
	}
	cut_rate(cc, now);
}

static void dcqcn_sent(struct rxe_cc *cc, u32 bytes, u64 now)
{
	struct rxe_dcqcn *d = &cc->dcqcn;
	u64 reset = rxe_knob(rp_byte_reset);
	u32 left = RXE_RATE_EVENTS;

	handle_due_events(cc, now);
	for (d->bytes += bytes; d->bytes >= reset && left; d->bytes -= reset, left--) {
		d->byte_stage++;
		increase_rate(cc);
	}
	if (d->bytes >= reset)
		d->bytes %= reset;
	d->asked_bytes += bytes;
	end_limit_at_max(cc);
}

/* CNPs have cut an assumed rate since the last round trip: repeat the cut with the measured one */
static void repeat_cut(struct rxe_cc *cc, u64 seen, u64 at)
{
	start_limit(cc, seen, at);
	cut_rate(cc, at);
}

/*
 * A READ request came. The peer sent it when it had the response that had left at @from, so the
 * time since then is a round trip. Exception: if nothing was left to be sent, the peer may have
 * paused. The round trip then is at least the time until the last CNP. A pause must not stretch
 * the timers by much.
 */
static void dcqcn_turned(struct rxe_cc *cc, u64 from, u64 now, bool idle)
{
	u64 told = cc->dcqcn.told_at, most = rxe_knob(rp_time_reset) * NSEC_PER_USEC;

	if (from < cc->dcqcn.since)
		return;
	if (told > from)
		most = max(most, told - from);
	cc->seen_rtt = idle ? min(now - from, most) : now - from;
	cc->seen_at = now;
	cc->turned = true;
}

/*
 * The peer's READs come at the pace at which the path delivers the answers. This gives the
 * throughput between two READs, for the cut of an assumed rate. A pause of the peer doesn't
 * count: the time ends with the last CNP.
 */
static void dcqcn_asked(struct rxe_cc *cc, u64 now)
{
	struct rxe_dcqcn *d = &cc->dcqcn;
	u64 seen = U64_MAX;

	if (!d->assumed)
		return;
	if (d->asked_at && d->told_at > d->asked_at && d->asked_bytes >= RXE_ASKED_LEAST)
		seen = div64_u64(min(d->asked_bytes, U64_MAX / NSEC_PER_SEC) * NSEC_PER_SEC,
				 d->told_at - d->asked_at);
	if (seen && seen < d->target) {
		repeat_cut(cc, seen, d->told_at);
		return;
	}
	if (d->told_at > d->asked_at || now - d->asked_at >= get_cut_interval_ns(cc, now)) {
		d->asked_at = now;
		d->asked_bytes = 0;
	}
}

/*
 * READ responses were marked. The peer may send all that is asked for before it gets a CNP, and
 * measures the round trip only when it is asked for more. So ask for less at a time, and grow
 * slowly: see fetch_after_mark().
 */
static void dcqcn_marked(struct rxe_cc *cc, u32 una, u32 top, u64 now)
{
	u32 was = cc->window, least = min_t(u32, was, rxe_knob(window_lossy));

	cc->marked_at = now;
	cc->queued = true;
	rxe_window_lost(cc, una, top);
	cc->window = max(cc->window, least);
	if (cc->window < was)
		cc->before = cc->window;	/* a mark is no error that can be undone */
}

/*
 * Is the window less than twice what the rate sends in a round trip? Otherwise, the window
 * needn't grow. Without this check, it would grow if the first round trips include a queue:
 * rtt_min then includes the queue, too, which isn't detected.
 */
static bool window_holds_back(const struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	u64 sent = mul_u64_u64_div_u64(cc->rate, s->rtt, (u64)NSEC_PER_SEC * s->mtu);

	return cc->window < 2 * sent;
}

/* A READ's round trip includes the transfer of its data: take a recent sample, or the shortest */
static void note_rtt(struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	if (s->fetch && get_recent_rtt(cc, s->at))
		return;
	cc->seen_rtt = s->fetch ? s->rtt_min : s->rtt;
	cc->seen_at = s->at;
	cc->turned = false;
}

/*
 * If the window was not the limit, the throughput is only a lower bound of what the path takes.
 * Most of the QP's packets may be READ responses, which no round trip measures.
 */
static void note_throughput(struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	u64 seen = div64_u64((u64)s->delivered * s->mtu * NSEC_PER_SEC, s->rtt);

	if (s->limited || (cc->seen && seen > cc->seen))
		cc->seen = seen;
}

/*
 * A round trip of a READ ended, after marks. Its length says nothing about the queue: the peer
 * limits its rate. So the window grows by one packet in a round trip, and marks shrink it.
 */
static void fetch_after_mark(struct rxe_cc *cc, struct rxe_cc_sample *s, u32 una)
{
	bool limited = s->limited;

	s->limited = false;
	rxe_window_acked(cc, s, una);
	if (!limited || (cc->cut && !cc->restart))
		return;
	if (cc->window < cc->enough)	/* after a timeout */
		cc->window = min(2 * cc->window, cc->enough);
	else if (cc->window < rxe_knob(window_max))
		cc->window++;
}

static bool is_marked(const struct rxe_cc *cc, u64 now)
{
	s64 age = now - cc->marked_at;	/* perhaps below 0: the caller took the time earlier */

	return cc->marked_at && age <= (s64)rxe_knob(loss_memory_ns);
}

static void dcqcn_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una)
{
	struct rxe_cc_sample sample = *s;

	note_rtt(cc, s);
	/* The peer sends the data of a READ or an atomic: it has no part in this QP's rate */
	if (!s->fetch)
		note_throughput(cc, s);
	if (!s->fetch && cc->rate) {
		if (cc->dcqcn.assumed && s->limited)
			repeat_cut(cc, cc->seen, cc->dcqcn.cut_at);
		cc->dcqcn.assumed = false;
		sample.limited &= window_holds_back(cc, s);
	}
	if (s->fetch && is_marked(cc, s->at))
		fetch_after_mark(cc, &sample, una);
	else
		rxe_window_acked(cc, &sample, una);
}

const struct rxe_cc_ops rxe_cc_dcqcn = {
	.name		= "dcqcn",
	.init		= rxe_window_init,
	.acked		= dcqcn_acked,
	.lost		= rxe_window_lost,
	.timeout	= rxe_window_timeout,
	.undo		= rxe_window_undo,
	.cnp		= dcqcn_cnp,
	.sent		= dcqcn_sent,
	.asked		= dcqcn_asked,
	.turned		= dcqcn_turned,
	.marked		= dcqcn_marked,
	.ecn		= true,
};
