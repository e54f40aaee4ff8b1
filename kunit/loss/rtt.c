// SPDX-License-Identifier: GPL-2.0
/*
 * loss/rtt.c: smoothing follows the samples and stays within bounds. The shortest and the
 * longest sample are forgotten after a while.
 */
#include <loss/rtt.h>
#include <rxe/knobs.h>
#include "../util.h"

#define MS	((u64)NSEC_PER_MSEC)

/* @count samples of @ns, a millisecond apart; returns the time of the last */
static u64 add_rtts(struct rxe_rtt *rtt, u32 count, u64 ns, u64 now)
{
	while (count--) {
		now += MS;
		rxe_rtt_add(rtt, ns, now);
	}
	return now;
}

static void follows(struct kunit *test)
{
	struct rxe_rtt rtt = {};
	u64 now = add_rtts(&rtt, 100, 50 * MS, MS);

	KUNIT_EXPECT_EQ(test, rtt.smooth, 50 * MS);
	KUNIT_EXPECT_LE(test, rtt.var, MS);
	add_rtts(&rtt, 100, 1000 * MS, now);
	KUNIT_EXPECT_GE(test, rtt.smooth, 990 * MS);
}

/* After one long round trip, the wait is longer than that round trip */
static void stall(struct kunit *test)
{
	struct rxe_rtt rtt = {};
	u64 now = add_rtts(&rtt, 100, MS, MS);

	add_rtts(&rtt, 1, 200 * MS, now);
	KUNIT_EXPECT_GE(test, rxe_rtt_most(&rtt), 200 * MS);
	KUNIT_EXPECT_EQ(test, rtt.max, 200 * MS);
	KUNIT_EXPECT_EQ(test, rtt.min, MS);
}

static void guess(struct kunit *test)
{
	struct rxe_rtt rtt = {};

	KUNIT_EXPECT_EQ(test, rxe_rtt_most(&rtt), rxe_knob(rtt_guess_ns));
}

/* The shortest and longest round trips are forgotten after ten seconds */
static void forgets(struct kunit *test)
{
	struct rxe_rtt rtt = {};
	u64 now = MS;

	rxe_rtt_add(&rtt, MS, now);
	rxe_rtt_add(&rtt, 9 * MS, now);
	now += rxe_knob(loss_memory_ns);
	rxe_rtt_add(&rtt, 5 * MS, now);
	KUNIT_EXPECT_EQ(test, rtt.min, MS);
	KUNIT_EXPECT_EQ(test, rtt.max, 9 * MS);
	now += MS;
	rxe_rtt_add(&rtt, 5 * MS, now);
	KUNIT_EXPECT_EQ(test, rtt.min, 5 * MS);
	KUNIT_EXPECT_EQ(test, rtt.max, 5 * MS);
}

/* A long round trip isn't forgotten while others are nearly as long */
static void longest(struct kunit *test)
{
	u64 memory = rxe_knob(loss_memory_ns);
	struct rxe_rtt rtt = {};

	rxe_rtt_add(&rtt, 3000 * MS, MS);
	rxe_rtt_add(&rtt, 2900 * MS, MS + memory / 2);
	rxe_rtt_add(&rtt, 9 * MS, MS + memory);
	KUNIT_EXPECT_EQ(test, rxe_rtt_longest(&rtt, MS + memory), 3000 * MS);
	KUNIT_EXPECT_EQ(test, rxe_rtt_longest(&rtt, 2 * MS + memory), 2900 * MS);
	rxe_rtt_add(&rtt, 9 * MS, 2 * MS + memory);
	KUNIT_EXPECT_EQ(test, rtt.max, 2900 * MS);
	rxe_rtt_add(&rtt, 8 * MS, 3 * MS + 2 * memory);
	KUNIT_EXPECT_EQ(test, rtt.max, 8 * MS);
	rxe_rtt_add(&rtt, 7 * MS, 4 * MS + 2 * memory);
	KUNIT_EXPECT_EQ(test, rxe_rtt_longest(&rtt, 4 * MS + 4 * memory), 0ull);
	rxe_rtt_add(&rtt, 6 * MS, 4 * MS + 4 * memory);
	KUNIT_EXPECT_EQ(test, rtt.max, 6 * MS);
}

/* Smoothed values stay within the samples, whatever these are */
static void random_rtts(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(10);
	struct rxe_rtt rtt = {};
	u64 max = 0, ns;
	u32 i;

	for (i = 0; i < 10000; i++) {
		ns = 1 + (rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 40)));
		max = max(max, ns);
		rxe_rtt_add(&rtt, ns, i * MS);
		KUNIT_ASSERT_LE(test, rtt.smooth, max);
		KUNIT_ASSERT_LE(test, rtt.var, max);
		KUNIT_ASSERT_LE(test, rtt.min, rtt.max);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(follows),
	KUNIT_CASE(stall),
	KUNIT_CASE(guess),
	KUNIT_CASE(forgets),
	KUNIT_CASE(longest),
	KUNIT_CASE(random_rtts),
	{}
};

static struct kunit_suite suite = {
	.name = "loss-rtt",
	.test_cases = cases,
};

kunit_test_suite(suite);
