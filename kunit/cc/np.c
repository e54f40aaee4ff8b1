// SPDX-License-Identifier: GPL-2.0
/*
 * cc/np.c: a QP sends one CNP per np_min_time_between_cnps.
 */
#include <cc/np.h>
#include <rxe/knobs.h>
#include "../util.h"

static void one_an_interval(struct kunit *test)
{
	u64 least = rxe_knob(np_min_time_between_cnps) * NSEC_PER_USEC, now;
	struct rxe_np np = {};
	u32 cnps = 0;

	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 5));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 5));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 5 + least - 1));
	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 5 + least));
	for (now = 6 + least; now < 5 + 101 * least; now += least / 7)
		cnps += rxe_np_due(&np, now);
	KUNIT_EXPECT_GE(test, cnps, 85u);
	KUNIT_EXPECT_LE(test, cnps, 100u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_an_interval),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-np",
	.test_cases = cases,
};

kunit_test_suite(suite);
