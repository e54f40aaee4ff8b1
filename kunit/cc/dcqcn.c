// SPDX-License-Identifier: GPL-2.0
/*
 * cc/dcqcn.c: step by step, the rate is that of an independent model of the paper. A QP
 * without CNPs has no rate. A flood of CNPs leaves the minimum rate.
 */
#include <cc/cc.h>
#include <rxe/knobs.h>
#include "../util.h"

#define US	((u64)NSEC_PER_USEC)
#define MBIT	(1000000ULL / 8)

/*
 * An event at @now, and the model's state behind it. Rates are bytes/s, @alpha is in units
 * of 2^-20.
 */
struct step {
	enum { CNP, SENT }	op;
	u64			now;
	u32			bytes;
	u64			rate;
	u64			target;
	u32			alpha;
	u32			byte_stage;
	u32			time_stage;
};

#include "dcqcn_vectors.h"

/* The model uses real numbers. The driver rounds alpha off in each of its periods */
static void expect_near(struct kunit *test, u64 is, u64 want, u32 step)
{
	KUNIT_ASSERT_LE_MSG(test, max(is, want) - min(is, want), want / 2000 + 220,
			    "step %u: %llu, not %llu", step, is, want);
}

static void play(struct kunit *test, const struct step *step, u32 steps, u64 first)
{
	struct rxe_cc cc;
	u32 i;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = first;
	for (i = 0; i < steps; i++, step++) {
		if (step->op == CNP)
			cc.ops->cnp(&cc, step->now);
		else
			cc.ops->sent(&cc, step->bytes, step->now);
		expect_near(test, cc.rate, step->rate, i);
		expect_near(test, cc.dcqcn.target, step->target, i);
		expect_near(test, cc.dcqcn.alpha, step->alpha, i);
		KUNIT_ASSERT_EQ_MSG(test, cc.dcqcn.byte_stage, step->byte_stage, "step %u", i);
		KUNIT_ASSERT_EQ_MSG(test, cc.dcqcn.time_stage, step->time_stage, "step %u", i);
	}
}

/* The parameters are PARAMS in dcqcn_model.py */
static void model_paper(struct kunit *test)
{
	knob_set(rp_clamp_tgt_rate, 1);
	knob_set(rp_time_reset, 1500);
	knob_set(rp_byte_reset, 150000);
	knob_set(rp_threshold, 5);
	knob_set(rp_dce_tcp_g, 1019);
	knob_set(rp_dce_tcp_rtt, 55);
	knob_set(rp_rate_reduce_monitor_period, 50);
	play(test, paper_steps, ARRAY_SIZE(paper_steps), 1000 * MBIT);
}

static void model_mlx5(struct kunit *test)
{
	knob_set(rp_clamp_tgt_rate, 0);
	knob_set(rp_time_reset, 300);
	knob_set(rp_byte_reset, 32767);
	knob_set(rp_threshold, 1);
	knob_set(rp_dce_tcp_g, 1019);
	knob_set(rp_dce_tcp_rtt, 1);
	knob_set(rp_rate_reduce_monitor_period, 4);
	play(test, mlx5_steps, ARRAY_SIZE(mlx5_steps), 10000 * MBIT);
}

/* A flood of CNPs cuts once per period, and leaves the minimum rate */
static void flood(struct kunit *test)
{
	struct rxe_cc cc;
	u64 period = rxe_knob(rp_rate_reduce_monitor_period), now = 1, was;
	u32 i;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	KUNIT_EXPECT_EQ(test, cc.rate, 0ULL);
	cc.seen = 1000 * MBIT;
	cc.ops->cnp(&cc, now);
	was = cc.rate;
	for (i = 1; i < period; i++)
		cc.ops->cnp(&cc, now += US);
	KUNIT_EXPECT_EQ(test, cc.rate, was);
	cc.ops->cnp(&cc, now += US);
	KUNIT_EXPECT_LT(test, cc.rate, was);
	for (i = 0; i < 100 * period; i++)
		cc.ops->cnp(&cc, now += US);
	KUNIT_EXPECT_EQ(test, cc.rate, rxe_knob(rp_min_rate) * MBIT);
	KUNIT_EXPECT_GE(test, cc.window, 1u);
}

/* A round trip of @rtt, in which 100 packets were acknowledged */
static void round_trip(struct rxe_cc *cc, u64 rtt)
{
	struct rxe_cc_sample sample = {
		.delivered = 100, .rtt = rtt, .rtt_min = rtt, .mtu = 1000,
		.limited = true,
	};

	cc->ops->acked(cc, &sample, 0);
}

/* There is at most one cut per round trip, once a round trip was measured */
static void once_a_round_trip(struct kunit *test)
{
	u64 rtt = 100 * NSEC_PER_MSEC, now = 1, was;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	round_trip(&cc, rtt);
	cc.ops->cnp(&cc, now);
	was = cc.rate;
	KUNIT_EXPECT_GE(test, was, 500000ULL);	/* half of the throughput */
	KUNIT_EXPECT_LE(test, was, 501000ULL);
	cc.ops->cnp(&cc, now + rtt - 1);
	KUNIT_EXPECT_EQ(test, cc.rate, was);
	cc.ops->cnp(&cc, now + rtt);
	KUNIT_EXPECT_LT(test, cc.rate, was);
}

/*
 * The other timers keep their ratio to the time between cuts: nothing rises between two
 * consecutive cuts. The timers follow the last round trip, not the one at the cut.
 */
static void timers_stretch(struct kunit *test)
{
	u64 rtt = 100 * NSEC_PER_MSEC, now = 1, was;
	u64 reset = rtt * rxe_knob(rp_time_reset) / rxe_knob(rp_rate_reduce_monitor_period);
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	round_trip(&cc, rtt);
	cc.ops->cnp(&cc, now);
	was = cc.rate;
	cc.ops->cnp(&cc, now += rtt);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.target, was);
	KUNIT_EXPECT_GE(test, cc.dcqcn.alpha, 1023u << 10);
	cc.ops->sent(&cc, 0, now + reset - 1);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 0u);
	cc.ops->sent(&cc, 0, now + reset);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 1u);
	now += reset;
	round_trip(&cc, NSEC_PER_MSEC / 2);
	cc.ops->sent(&cc, 0, now + rxe_knob(rp_time_reset) * US);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 2u);
}

/* CNPs may come during the first round trip: its throughput is cut once it is known */
static void cnp_comes_first(struct kunit *test)
{
	struct rxe_cc cc;
	u64 now = 1;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.ops->cnp(&cc, now);
	cc.ops->cnp(&cc, now += NSEC_PER_MSEC);
	KUNIT_EXPECT_GT(test, cc.rate, 1000 * MBIT);
	round_trip(&cc, 100 * NSEC_PER_MSEC);
	KUNIT_EXPECT_GE(test, cc.rate, 500000ULL);
	KUNIT_EXPECT_LE(test, cc.rate, 501000ULL);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.target, 1000000ULL);
	round_trip(&cc, NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, cc.rate, 501000ULL);
}

/* At a limited rate, the window grows to twice what the rate sends in a round trip */
static void window_waits(struct kunit *test)
{
	u64 rtt = 10 * NSEC_PER_MSEC;
	struct rxe_cc_sample sample = {
		.delivered = 100, .rtt = rtt, .rtt_min = rtt, .mtu = 1000, .limited = true,
	};
	struct rxe_cc cc;
	u32 was;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1;
	cc.rate = 100 * 1000 * 40;
	was = cc.window;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_GT(test, cc.window, was);
	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1;
	cc.rate = 100 * 1000 * 25;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.window, was);
	cc.rate = 0;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_GT(test, cc.window, was);
}

/* The peer sends the data of a READ, at its own rate. The round trip has the time of this data */
static void fetched(struct kunit *test)
{
	struct rxe_cc_sample sample = {
		.delivered = 100, .rtt = 50 * NSEC_PER_MSEC, .rtt_min = NSEC_PER_MSEC,
		.mtu = 1000, .limited = true, .fetch = true,
	};
	struct rxe_cc cc;
	u32 was;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	was = cc.window;
	cc.rate = 1;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.seen, 0ULL);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, (u64)NSEC_PER_MSEC);
	round_trip(&cc, 2 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, cc.seen, 50000000ULL);
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.seen, 50000000ULL);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, 2ULL * NSEC_PER_MSEC);
	/* the rate doesn't keep the window of READs small */
	sample.rtt = NSEC_PER_MSEC;
	sample.delivered = 4 * was;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.window, min_t(u32, 8 * was, rxe_knob(window_max)));
}

/* Return: true if a CNP at @now cuts the rate */
static bool cuts(struct rxe_cc *cc, u64 now)
{
	u64 was = cc->rate;

	cc->ops->cnp(cc, now);
	return cc->rate < was;
}

/* A QP that answers READs learns the round trip from the peer's requests */
static void turns(struct kunit *test)
{
	u64 rtt = 20 * NSEC_PER_MSEC, now = NSEC_PER_SEC;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1000 * MBIT;
	cc.ops->cnp(&cc, now);
	cc.ops->turned(&cc, now - 1, now + rtt, false);	/* not while the rate was limited */
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, 0ULL);
	cc.ops->turned(&cc, now, now + rtt, false);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, rtt);
	KUNIT_EXPECT_FALSE(test, cuts(&cc, now + rtt - 1));
	KUNIT_EXPECT_TRUE(test, cuts(&cc, now + rtt));
}

/* If nothing was left to be sent, the peer may have paused. Only CNPs show a long round trip */
static void turns_idle(struct kunit *test)
{
	u64 now = NSEC_PER_SEC, most = rxe_knob(rp_time_reset) * US;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1000 * MBIT;
	cc.ops->cnp(&cc, now);
	cc.ops->turned(&cc, now, now + most - 1, true);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, most - 1);
	cc.ops->turned(&cc, now, now + NSEC_PER_SEC, true);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, most);
	now += NSEC_PER_SEC;
	cc.ops->cnp(&cc, now + 3 * most);
	cc.ops->turned(&cc, now, now + NSEC_PER_SEC, true);
	KUNIT_EXPECT_EQ(test, cc.seen_rtt, 3 * most);
}

/* Marked READ responses halve the window once per window, down to its least on a bad path */
static void reads_marked(struct kunit *test)
{
	u32 least = rxe_knob(window_lossy), psn = 100, was;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	was = cc.window;
	cc.queued = false;
	cc.ops->marked(&cc, psn, psn + was, 1);
	KUNIT_EXPECT_EQ(test, cc.window, was / 2);
	cc.ops->marked(&cc, psn + was - 1, psn + 2 * was, 1);
	KUNIT_EXPECT_EQ(test, cc.window, was / 2);
	for (psn += was; psn < 1000; psn += was)
		cc.ops->marked(&cc, psn, psn + was, 1);
	KUNIT_EXPECT_EQ(test, cc.window, least);
	cc.window = 1;
	cc.ops->marked(&cc, psn, psn + was, 1);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	KUNIT_EXPECT_EQ(test, cc.rate, 0ULL);
}

/* After marks on READ responses, the window grows by one packet in a round trip, for a time */
static void reads_after_mark(struct kunit *test)
{
	struct rxe_cc_sample sample = {
		.delivered = 100, .rtt = NSEC_PER_MSEC, .rtt_min = NSEC_PER_MSEC, .mtu = 1000,
		.limited = true, .fetch = true, .at = NSEC_PER_SEC,
	};
	struct rxe_cc cc;
	u32 was;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	was = cc.window / 2;
	cc.ops->marked(&cc, 100, 200, NSEC_PER_SEC);
	cc.ops->acked(&cc, &sample, 199);
	KUNIT_EXPECT_EQ(test, cc.window, was);	/* packets in flight when they were marked */
	cc.ops->acked(&cc, &sample, 200);
	KUNIT_EXPECT_EQ(test, cc.window, was + 1);
	sample.limited = false;
	cc.ops->acked(&cc, &sample, 300);
	KUNIT_EXPECT_EQ(test, cc.window, was + 1);
	sample.limited = true;
	sample.at += rxe_knob(loss_memory_ns) + 2 * NSEC_PER_MSEC + 200000;
	cc.ops->acked(&cc, &sample, 300);
	KUNIT_EXPECT_EQ(test, cc.window, 200u);
}

/* The timer isn't stretched in proportion to a round trip that READs measured */
static void turns_timer(struct kunit *test)
{
	u64 reset = rxe_knob(rp_time_reset) * US, rtt = 3 * reset, now = NSEC_PER_SEC;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1000 * MBIT;
	cc.ops->cnp(&cc, now);
	cc.ops->turned(&cc, now, now + rtt, false);
	cc.ops->sent(&cc, 0, now + rtt - 1);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 0u);
	cc.ops->sent(&cc, 0, now + rtt);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 1u);
	cc.ops->turned(&cc, now + 1, now + 2, false);
	cc.ops->sent(&cc, 0, now + rtt + reset);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 2u);
}

/*
 * A QP that answers READs has no acknowledgments. The throughput between two READs is cut once it
 * is known. Before, an assumed rate at which nothing was sent isn't cut again.
 */
static void measures_reads(struct kunit *test)
{
	u64 now = NSEC_PER_SEC, was;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.ops->cnp(&cc, now);
	was = cc.rate;
	KUNIT_EXPECT_FALSE(test, cuts(&cc, now += NSEC_PER_MSEC));
	cc.ops->asked(&cc, now += NSEC_PER_MSEC);
	cc.ops->sent(&cc, 32000, now);
	KUNIT_EXPECT_TRUE(test, cuts(&cc, now + NSEC_PER_MSEC));
	KUNIT_EXPECT_FALSE(test, cuts(&cc, now += 40 * NSEC_PER_MSEC));
	KUNIT_EXPECT_GT(test, cc.rate, was / 3);
	/* the peer has paused before this READ */
	cc.ops->asked(&cc, now + NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.target, 800000ULL);
	KUNIT_EXPECT_GE(test, cc.rate, 400000ULL);
	KUNIT_EXPECT_LE(test, cc.rate, 401000ULL);
	was = cc.rate;
	cc.ops->asked(&cc, now + 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, cc.rate, was);
}

/* Time without CNPs doesn't count either if it lies before the READ */
static void measures_later_reads(struct kunit *test)
{
	u64 now = NSEC_PER_SEC;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.ops->cnp(&cc, now);
	cc.ops->asked(&cc, now += NSEC_PER_MSEC);
	cc.ops->sent(&cc, 1000, now);
	cc.ops->asked(&cc, now += 10 * NSEC_PER_MSEC);
	cc.ops->sent(&cc, 32000, now);
	cc.ops->asked(&cc, now + 1);	/* two READs came together */
	cc.ops->sent(&cc, 32000, now + 1);
	cc.ops->cnp(&cc, now + 40 * NSEC_PER_MSEC);
	cc.ops->asked(&cc, now + 40 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.target, 1600000ULL);
}

/* The timers don't follow a round trip that ended long ago */
static void old_round_trip(struct kunit *test)
{
	u64 rtt = 100 * NSEC_PER_MSEC, memory = rxe_knob(loss_memory_ns), was;
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	round_trip(&cc, rtt);
	cc.ops->cnp(&cc, memory - rtt);
	was = cc.rate;
	cc.ops->cnp(&cc, memory - 1);
	KUNIT_EXPECT_EQ(test, cc.rate, was);
	cc.ops->sent(&cc, 0, memory);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.time_stage, 0u);
	cc.ops->sent(&cc, 0, memory + 1);
	KUNIT_EXPECT_GT(test, cc.dcqcn.time_stage, 0u);
}

/* A later throughput is higher than the one that was measured when the window was the limit */
static void better_later(struct kunit *test)
{
	struct rxe_cc_sample sample = {
		.delivered = 100, .rtt = NSEC_PER_MSEC, .rtt_min = NSEC_PER_MSEC, .mtu = 1000,
	};
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	round_trip(&cc, 10 * NSEC_PER_MSEC);
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.seen, 100000000ULL);
	sample.delivered = 1;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.seen, 100000000ULL);
}

/* The first CNP doesn't cut a throughput that neither window nor rate limited */
static void unlimited_sample(struct kunit *test)
{
	struct rxe_cc_sample sample = {
		.delivered = 1, .rtt = NSEC_PER_MSEC, .rtt_min = NSEC_PER_MSEC, .mtu = 1000,
	};
	struct rxe_cc cc;
	u64 rate;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	knob_set(rp_max_rate, 10000);
	cc.ops->acked(&cc, &sample, 0);
	cc.ops->cnp(&cc, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.target, 10000 * MBIT);
	KUNIT_EXPECT_GE(test, cc.rate, 4900 * MBIT);
	/* After one round trip, the throughput is known, and is cut */
	cc.ops->acked(&cc, &sample, 0);
	rate = cc.rate;
	sample.limited = true;
	sample.delivered = 1000;
	cc.ops->acked(&cc, &sample, 0);
	KUNIT_EXPECT_EQ(test, cc.rate, rate);
}

/* rp_byte_reset falls while the count of bytes is high: the increases come a few at a time */
static void byte_reset_falls(struct kunit *test)
{
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	knob_set(rp_byte_reset, 32000000);
	knob_set(rp_time_reset, 32000);
	cc.ops->cnp(&cc, 1);
	cc.ops->sent(&cc, 31000000, 2);
	KUNIT_EXPECT_EQ(test, cc.dcqcn.byte_stage, 0u);
	knob_set(rp_byte_reset, 64);
	cc.ops->sent(&cc, 64, 3);
	KUNIT_EXPECT_GT(test, cc.dcqcn.byte_stage, 0u);
	KUNIT_EXPECT_LT(test, cc.dcqcn.byte_stage, 1000u);
}

/* Without more CNPs, the rate recovers, and then isn't limited any more */
static void recovers(struct kunit *test)
{
	struct rxe_cc cc;
	u64 now = 1;
	u32 i;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = 1000 * MBIT;
	cc.ops->cnp(&cc, now);
	KUNIT_EXPECT_LE(test, cc.rate, 501 * MBIT);
	for (i = 0; i < 1000000 && cc.rate; i++) {
		now = max(now, cc.next);
		KUNIT_ASSERT_GT(test, rxe_pacer_room(&cc, now), 0u);
		rxe_pacer_sent(&cc, min(rxe_pacer_room(&cc, now), 65536u), now);
	}
	KUNIT_EXPECT_EQ(test, cc.rate, 0ULL);
}

/* After a pause, even the first packet leaves at the rate that has recovered meanwhile */
static void pause_ends_limit(struct kunit *test)
{
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	cc.seen = MBIT;
	cc.ops->cnp(&cc, 1);
	rxe_pacer_sent(&cc, 4096, 3600ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_LT(test, cc.next, 3600ULL * NSEC_PER_SEC + NSEC_PER_MSEC);
}

/* With any knobs and any events, the rate stays within its limits */
static void any(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(7);
	u64 now = 1, most;
	struct rxe_cc cc;
	u32 i;

	rxe_cc_reset(&cc, &rxe_cc_dcqcn);
	for (i = 0; i < 20000; i++) {
		knob_set(rp_gd, rnd_below(&rnd, 16));
		knob_set(rp_min_dec_fac, rnd_below(&rnd, 101));
		knob_set(rp_dce_tcp_g, rnd_below(&rnd, 1025));
		knob_set(rp_threshold, 1 + rnd_below(&rnd, 31));
		knob_set(rp_max_rate, rnd_below(&rnd, 400001));
		knob_set(rp_min_rate, 1 + rnd_below(&rnd, 100000));
		knob_set(rp_hai_rate, 1 + rnd_below(&rnd, 100000));
		knob_set(rp_byte_reset, 64 + rnd_below(&rnd, 100000));
		now += rnd_below(&rnd, 1 << 24);
		most = 400000 * MBIT;
		if (!cc.rate || !rnd_below(&rnd, 3)) {
			cc.seen = rnd_u64(&rnd) >> rnd_below(&rnd, 64);
			cc.ops->cnp(&cc, now);
			KUNIT_ASSERT_GT(test, cc.rate, 0ULL);
		} else {
			rxe_pacer_sent(&cc, rnd_below(&rnd, 1 << 16), now);
		}
		KUNIT_ASSERT_LE(test, cc.rate, most);
		KUNIT_ASSERT_LE(test, cc.dcqcn.alpha, 1u << 20);
		KUNIT_ASSERT_TRUE(test, !cc.rate || cc.rate >= MBIT);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(model_paper),
	KUNIT_CASE(model_mlx5),
	KUNIT_CASE(flood),
	KUNIT_CASE(once_a_round_trip),
	KUNIT_CASE(timers_stretch),
	KUNIT_CASE(cnp_comes_first),
	KUNIT_CASE(window_waits),
	KUNIT_CASE(unlimited_sample),
	KUNIT_CASE(fetched),
	KUNIT_CASE(turns),
	KUNIT_CASE(turns_idle),
	KUNIT_CASE(reads_marked),
	KUNIT_CASE(reads_after_mark),
	KUNIT_CASE(turns_timer),
	KUNIT_CASE(measures_reads),
	KUNIT_CASE(measures_later_reads),
	KUNIT_CASE(old_round_trip),
	KUNIT_CASE(better_later),
	KUNIT_CASE(byte_reset_falls),
	KUNIT_CASE(recovers),
	KUNIT_CASE(pause_ends_limit),
	KUNIT_CASE(any),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-dcqcn",
	.init = knobs_save,
	.exit = knobs_restore,
	.test_cases = cases,
};

kunit_test_suite(suite);
