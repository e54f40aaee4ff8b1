// SPDX-License-Identifier: GPL-2.0
/*
 * cc/np.c: a flow gets one CNP per np_min_time_between_cnps.
 */
#include <cc/np.h>
#include <rxe/knobs.h>
#include "../util.h"

static void one_an_interval(struct kunit *test)
{
	u64 least = rxe_knob(np_min_time_between_cnps) * NSEC_PER_USEC, now;
	struct rxe_np np = {};
	u32 cnps = 0;

	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 0, 5));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 0, 5));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 0, 5 + least - 1));
	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 0, 5 + least));
	for (now = 6 + least; now < 5 + 101 * least; now += least / 7)
		cnps += rxe_np_due(&np, 0, now);
	KUNIT_EXPECT_GE(test, cnps, 85u);
	KUNIT_EXPECT_LE(test, cnps, 100u);
}

/* Two flows of a datagram QP get their CNPs independently */
static void flows(struct kunit *test)
{
	struct rxe_np np = {};

	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 3, 5));
	KUNIT_EXPECT_TRUE(test, rxe_np_due(&np, 4, 5));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 3, 6));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 4, 6));
	KUNIT_EXPECT_FALSE(test, rxe_np_due(&np, 3 + 5 * RXE_NP_FLOWS, 6));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_an_interval),
	KUNIT_CASE(flows),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-np",
	.test_cases = cases,
};

kunit_test_suite(suite);
