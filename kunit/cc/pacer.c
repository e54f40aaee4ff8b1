// SPDX-License-Identifier: GPL-2.0
/*
 * cc/pacer.c: over time, trains leave at the rate. At a low rate, trains are small. A late
 * sender may catch up with pace_late_ns, and no more.
 */
#include <cc/cc.h>
#include <rxe/knobs.h>
#include "../util.h"

static struct rxe_cc at_rate(u64 rate)
{
	struct rxe_cc cc = { .ops = &rxe_cc_window, .rate = rate, .next = NSEC_PER_SEC };

	return cc;
}

/* Bytes that leave within @ns if the sender asks every @step ns; packets of 1 KiB */
static u64 sent_in(struct rxe_cc *cc, u64 ns, u64 step)
{
	u64 now = NSEC_PER_SEC, end = now + ns, sum = 0;
	u32 bytes;

	for (; now < end; now += step) {
		while ((bytes = rxe_pacer_room(cc, now))) {
			bytes = max(bytes & ~1023u, 1024u);
			rxe_pacer_sent(cc, bytes, now);
			sum += bytes;
		}
	}
	return sum;
}

static void rates(struct kunit *test)
{
	static const u64 rate[] = { 125000, 1250000, 12500000, 125000000, 1250000000 };
	struct rxe_cc cc;
	u64 sum;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rate); i++) {
		cc = at_rate(rate[i]);
		sum = sent_in(&cc, NSEC_PER_SEC, 10 * NSEC_PER_USEC);
		KUNIT_EXPECT_GE(test, sum, rate[i] - rate[i] / 50);
		KUNIT_EXPECT_LE(test, sum, rate[i] + rate[i] / 50 + 1024);
	}
}

static void small_trains(struct kunit *test)
{
	struct rxe_cc cc = at_rate(1000000);

	KUNIT_EXPECT_EQ(test, rxe_pacer_room(&cc, NSEC_PER_SEC), 100u);
	KUNIT_EXPECT_EQ(test, rxe_pacer_room(&cc, NSEC_PER_SEC - 1), 0u);
	cc.rate = 1;
	KUNIT_EXPECT_EQ(test, rxe_pacer_room(&cc, NSEC_PER_SEC), 1u);
	cc.rate = 50000000000ULL;
	KUNIT_EXPECT_EQ(test, rxe_pacer_room(&cc, NSEC_PER_SEC), (u32)RXE_TRAIN_BYTES);
}

/* After a pause of a second, at most pace_late_ns worth of bytes and a train leave at once */
static void late(struct kunit *test)
{
	u64 rate = 10000000, most = rate * rxe_knob(pace_late_ns) / NSEC_PER_SEC;
	struct rxe_cc cc = at_rate(rate);
	u64 sum;

	cc.next = 0;
	sum = sent_in(&cc, 1, 1);
	KUNIT_EXPECT_GE(test, sum, most);
	KUNIT_EXPECT_LE(test, sum, most + 2048);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rates),
	KUNIT_CASE(small_trains),
	KUNIT_CASE(late),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-pacer",
	.test_cases = cases,
};

kunit_test_suite(suite);
