// SPDX-License-Identifier: GPL-2.0
/*
 * transport/timer.c: the RNR timer codes of table 45, and round trips of the right
 * packets only.
 */
#include <rxe/transport.h>
#include "../util.h"

static struct rxe_qp *qp(struct kunit *test)
{
	return test->priv;
}

static int qp_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct rxe_qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	rxe_cc_reset(&qp(test)->sq.cc, &rxe_cc_window);
	return 0;
}

/* In units of 10 us [table 45] */
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

static void rtt_one_at_a_time(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;
	ktime_t first;

	rxe_rtt_start(sq, 100, false);
	first = sq->timed.start;
	KUNIT_EXPECT_NE(test, first, (ktime_t)0);
	rxe_rtt_start(sq, 200, false);
	KUNIT_EXPECT_EQ(test, sq->timed.psn, 100u);
	KUNIT_EXPECT_EQ(test, sq->timed.start, first);
	rxe_rtt_ack(sq, 99, 1024);
	KUNIT_EXPECT_EQ(test, sq->timed.start, first);
	rxe_rtt_ack(sq, 100, 1024);
	KUNIT_EXPECT_EQ(test, sq->timed.start, (ktime_t)0);
	rxe_rtt_start(sq, 200, false);
	KUNIT_EXPECT_EQ(test, sq->timed.psn, 200u);
}

static void rtt_over_the_seam(struct kunit *test)
{
	struct rxe_sq *sq = &qp(test)->sq;

	rxe_rtt_start(sq, 0xfffffe, false);
	rxe_rtt_ack(sq, 0xfffffd, 1024);
	KUNIT_EXPECT_NE(test, sq->timed.start, (ktime_t)0);
	rxe_rtt_ack(sq, 3, 1024);
	KUNIT_EXPECT_EQ(test, sq->timed.start, (ktime_t)0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rnr_codes),
	KUNIT_CASE(rtt_one_at_a_time),
	KUNIT_CASE(rtt_over_the_seam),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-timer",
	.init = qp_init,
	.test_cases = cases,
};

kunit_test_suite(suite);
