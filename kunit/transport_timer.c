// SPDX-License-Identifier: GPL-2.0
/*
 * transport/timer.c: the RNR timer codes of table 45, the retransmission
 * timeout within the bounds that the QP's timeout sets, round trip samples of the
 * right packets only, and the window that follows from them.
 */
#include <rxe/transport.h>
#include "util.h"

static struct rxe_qp *qp(struct kunit *test)
{
	return test->priv;
}

static int qp_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct rxe_qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

/* Table 45, in units of 10 us */
static void rnr_codes(struct kunit *test)
{
	static const u32 want[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
		12288, 16384, 24576, 32768, 49152
	};
	u32 code;

	for (code = 0; code < 256; code++)
		KUNIT_EXPECT_EQ_MSG(test, rxe_rnr_ns(code),
				    want[code & 31] * 10000ull, "code %u", code);
}

static u64 rto(struct kunit *test)
{
	return rxe_rto_ns(qp(test), NSEC_PER_SEC);
}

/* Something got lost, and that's no longer ago than counts */
static void make_lossy(struct kunit *test)
{
	qp(test)->sq.lossy_until = NSEC_PER_SEC;
}

static void rto_never(struct kunit *test)
{
	qp(test)->attr.timeout = 0;
	KUNIT_EXPECT_EQ(test, rto(test), 0ull);
	qp(test)->sq.srtt = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, rto(test), 0ull);
}

/* Section 9.7.6.1.3: at least the timeout, at most four times as long */
static void rto_bounds(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(9);
	u64 t, ns;
	u32 i;

	make_lossy(test);
	for (i = 0; i < 31 * 1000; i++) {
		qp(test)->attr.timeout = 1 + i % 31;
		qp(test)->sq.srtt = rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 40));
		qp(test)->sq.rttvar = rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 40));
		t = 4096ull << qp(test)->attr.timeout;
		ns = rto(test);
		KUNIT_ASSERT_GE(test, ns, t);
		KUNIT_ASSERT_LE(test, ns, 4 * t);
	}
}

/* Nothing is known of the round trip: the most that is allowed, to a second */
static void rto_without_sample(struct kunit *test)
{
	u64 t;
	u32 i;

	make_lossy(test);
	for (i = 1; i < 32; i++) {
		qp(test)->attr.timeout = i;
		t = 4096ull << i;
		KUNIT_EXPECT_EQ(test, rto(test),
				clamp(1000000000ull, t, 4 * t));
	}
}

/* After a timeout, too: the sample that made it too short is no good */
static void rto_backs_off(struct kunit *test)
{
	make_lossy(test);
	qp(test)->attr.timeout = 14;
	qp(test)->sq.srtt = 1000;
	KUNIT_EXPECT_EQ(test, rto(test), 4096ull << 14);
	qp(test)->sq.retries = 1;
	KUNIT_EXPECT_EQ(test, rto(test), 4 * (4096ull << 14));
}

/* Nothing was lost for a while: whoever doesn't answer is rather slow */
static void rto_without_loss(struct kunit *test)
{
	qp(test)->attr.timeout = 14;
	qp(test)->sq.srtt = 1000;
	KUNIT_EXPECT_EQ(test, rto(test), 4 * (4096ull << 14));
	qp(test)->sq.lossy_until = NSEC_PER_SEC - 1;
	KUNIT_EXPECT_EQ(test, rto(test), 4 * (4096ull << 14));
}

/* Pretend that the packet being timed left @ns ago */
static void left_ago(struct rxe_sq *sq, u64 ns)
{
	sq->rtt_start = ktime_sub_ns(ktime_get(), ns);
}

static void rtt_one_at_a_time(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	ktime_t first;

	rxe_rtt_start(sq, 100);
	first = sq->rtt_start;
	KUNIT_EXPECT_NE(test, first, (ktime_t)0);
	rxe_rtt_start(sq, 200);
	KUNIT_EXPECT_EQ(test, sq->rtt_psn, 100u);
	KUNIT_EXPECT_EQ(test, sq->rtt_start, first);
	rxe_rtt_ack(sq, 99);
	KUNIT_EXPECT_EQ(test, sq->rtt_start, first);
	rxe_rtt_ack(sq, 100);
	KUNIT_EXPECT_EQ(test, sq->rtt_start, (ktime_t)0);
	rxe_rtt_start(sq, 200);
	KUNIT_EXPECT_EQ(test, sq->rtt_psn, 200u);
}

static void rtt_over_the_seam(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;

	rxe_rtt_start(sq, 0xfffffe);
	rxe_rtt_ack(sq, 0xfffffd);
	KUNIT_EXPECT_NE(test, sq->rtt_start, (ktime_t)0);
	rxe_rtt_ack(sq, 3);
	KUNIT_EXPECT_EQ(test, sq->rtt_start, (ktime_t)0);
}

static void rtt_follows(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	u32 i;

	for (i = 0; i < 100; i++) {
		rxe_rtt_start(sq, i);
		left_ago(sq, 50 * NSEC_PER_MSEC);
		rxe_rtt_ack(sq, i);
	}
	KUNIT_EXPECT_GE(test, sq->srtt, 49 * (u64)NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, sq->srtt, 80 * (u64)NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, sq->rttvar, 40 * (u64)NSEC_PER_MSEC);
	for (i = 100; i < 200; i++) {
		rxe_rtt_start(sq, i);
		left_ago(sq, NSEC_PER_SEC);
		rxe_rtt_ack(sq, i);
	}
	KUNIT_EXPECT_GE(test, sq->srtt, 990 * (u64)NSEC_PER_MSEC);
}

/* Smoothed values stay sane whatever the samples are */
static void rtt_random(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	struct rnd_state rnd = rnd_init(10);
	u64 max = 0, ns;
	u32 i;

	for (i = 0; i < 10000; i++) {
		ns = 1000 + (prandom_u32_state(&rnd) >> rnd_below(&rnd, 20));
		max = max(max, ns);
		rxe_rtt_start(sq, i);
		left_ago(sq, ns);
		rxe_rtt_ack(sq, i);
		/* the clock goes on while the sample is taken */
		KUNIT_ASSERT_LE(test, sq->srtt, max + NSEC_PER_SEC);
		KUNIT_ASSERT_LE(test, sq->rttvar, max + NSEC_PER_SEC);
	}
}

/* @pkts come through in a round trip of @ns; does the window keep some back? */
static void come_through(struct rxe_sq *sq, u32 pkts, u64 ns, bool limited)
{
	u32 last = rxe_psn_add(sq->una, pkts - 1);

	rxe_rtt_start(sq, last);
	left_ago(sq, ns);
	sq->limited = limited;
	sq->una = rxe_psn_add(last, 1);
	rxe_rtt_ack(sq, last);
}

static void round_trip(struct rxe_sq *sq, u32 pkts, u64 ns)
{
	come_through(sq, pkts, ns, true);
}

/* All that the window lets go comes through at once: it doubles, to its end */
static void window_grows(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	u32 i, window;

	sq->window = RXE_WINDOW_MIN;
	sq->una = 0xfffff0;
	for (i = 0; i < 4; i++) {
		window = sq->window;
		round_trip(sq, window, NSEC_PER_SEC);
		/* the clock goes on while the sample is taken */
		KUNIT_ASSERT_GE(test, sq->window, window * 9 / 5);
		KUNIT_ASSERT_LE(test, sq->window, 2 * window);
	}
	for (i = 0; i < 10; i++)
		round_trip(sq, sq->window, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, sq->window, (u32)RXE_WINDOW_MAX);
}

/* More in flight only waits longer: twice bandwidth times delay is enough */
static void window_stays(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	const u64 rtt = NSEC_PER_SEC;
	const u32 rate = 1000;		/* packets in a round trip */
	u32 i;

	sq->window = RXE_WINDOW_MIN;
	for (i = 0; i < 30; i++) {
		u32 queued = sq->window > rate ? sq->window - rate : 0;

		round_trip(sq, sq->window, rtt + rtt / rate * queued);
	}
	KUNIT_EXPECT_GE(test, sq->window, rate * 9 / 5);
	KUNIT_EXPECT_LE(test, sq->window, 2 * rate);
}

/* Where packets get lost, it shrinks when they queue, though it kept none back */
static void window_shrinks(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;

	sq->window = 4000;
	sq->rtt_min = NSEC_PER_SEC / 10;
	sq->rtt_min_at = ktime_get();
	come_through(sq, 2000, NSEC_PER_SEC, false);
	KUNIT_EXPECT_EQ(test, sq->window, 4000u);
	rxe_sq_lost(sq);
	come_through(sq, 2000, NSEC_PER_SEC, false);
	KUNIT_EXPECT_GE(test, sq->window, 360u);
	KUNIT_EXPECT_LE(test, sq->window, 400u);
	come_through(sq, 100, NSEC_PER_SEC, false);
	KUNIT_EXPECT_EQ(test, sq->window, (u32)RXE_WINDOW_MIN);
	/* lower to a peer that drops what follows, unless losses are trains */
	sq->go_back = 1;
	come_through(sq, 100, NSEC_PER_SEC, false);
	KUNIT_EXPECT_EQ(test, sq->window, (u32)RXE_WINDOW_MIN);
	sq->out.train.alone = true;
	come_through(sq, 100, NSEC_PER_SEC, false);
	KUNIT_EXPECT_EQ(test, sq->window, (u32)RXE_WINDOW_DROPS);
}

/* What the sender had no more to send says nothing about the path */
static void window_idle(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;

	sq->window = 1000;
	rxe_rtt_start(sq, 0);
	left_ago(sq, NSEC_PER_SEC);
	sq->una = 1;
	rxe_rtt_ack(sq, 0);
	KUNIT_EXPECT_EQ(test, sq->window, 1000u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(window_grows),
	KUNIT_CASE(window_stays),
	KUNIT_CASE(window_shrinks),
	KUNIT_CASE(window_idle),
	KUNIT_CASE(rnr_codes),
	KUNIT_CASE(rto_never),
	KUNIT_CASE(rto_bounds),
	KUNIT_CASE(rto_without_sample),
	KUNIT_CASE(rto_backs_off),
	KUNIT_CASE(rto_without_loss),
	KUNIT_CASE(rtt_one_at_a_time),
	KUNIT_CASE(rtt_over_the_seam),
	KUNIT_CASE(rtt_follows),
	KUNIT_CASE(rtt_random),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-timer",
	.init = qp_init,
	.test_cases = cases,
};

kunit_test_suite(suite);
