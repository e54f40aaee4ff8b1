// SPDX-License-Identifier: GPL-2.0
/*
 * transport/timer.c: the RNR timer codes of table 45, round trips of the right packets only, and
 * timers that fire late.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define LATE_NS	(100ULL * NSEC_PER_SEC)

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

static ktime_t deadline(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;
	ktime_t at;

	spin_lock_bh(&sq->lock);
	at = sq->rto.deadline;
	spin_unlock_bh(&sq->lock);
	return at;
}

/* Let the timer fire now, LATE_NS after its deadline. Return: the time before it fired */
static ktime_t fire_late(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;
	unsigned long end = jiffies + 5 * HZ;
	ktime_t now = ktime_get(), was = ktime_sub_ns(now, LATE_NS);

	spin_lock_bh(&sq->lock);
	sq->rto.deadline = was;
	sq->rto.lazy = false;
	spin_unlock_bh(&sq->lock);
	hrtimer_start(&sq->rto.timer, now, HRTIMER_MODE_ABS_SOFT);
	while (deadline(test) == was) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		usleep_range(50, 100);
	}
	return now;
}

/* The deadline was put off by the lateness, up to rto_max_ns, and nothing is sent */
static void expect_postponed(struct kunit *test)
{
	ktime_t now = fire_late(test);
	s64 more = ktime_to_ns(ktime_sub(deadline(test), now));

	KUNIT_ASSERT_GE(test, more, (s64)rxe_knob(rto_max_ns));
	KUNIT_ASSERT_LT(test, more, (s64)LATE_NS / 2);
	fake_expect_nothing(test);
}

/* The oldest packet is sent again */
static void expect_resent(struct kunit *test)
{
	struct rxe_pkt pkt;

	fire_late(test);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
}

/* A packet is in flight, and the timer doesn't fire by itself meanwhile */
static void wait_for_answer(struct kunit *test)
{
	fake(test)->qp->attr.timeout = 20;	/* 4 s: longer than the test takes */
	knob_set(silence_ns, 10ULL * NSEC_PER_SEC);
	peer_take_send(test, 1, 1);
}

/*
 * The CPU was busy: answers may wait for it, too. The deadline is put off by as long as the timer
 * was late, once for each wait. The machine may have been stopped for longer: then it is put off
 * by less.
 */
static void late_once(struct kunit *test)
{
	wait_for_answer(test);
	expect_postponed(test);
	expect_resent(test);
	peer_take_send(test, 2, 1);
	expect_postponed(test);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
}

/* Below timer_late_ns, the timer is in time */
static void hardly_late(struct kunit *test)
{
	wait_for_answer(test);
	knob_set(timer_late_ns, 2 * LATE_NS);
	expect_resent(test);
}

/* No answer is expected after an RNR NAK: the wait ends, however late that is */
static void late_after_rnr(struct kunit *test)
{
	wait_for_answer(test);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK);	/* 655.36 ms */
	KUNIT_ASSERT_EQ(test, fake(test)->qp->sq.rnr.state, (u8)RXE_RNR_WAIT);
	fake_expect_nothing(test);
	expect_resent(test);
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

static struct kunit_case late_cases[] = {
	KUNIT_CASE(late_once),
	KUNIT_CASE(hardly_late),
	KUNIT_CASE(late_after_rnr),
	{}
};

static struct kunit_suite late_suite = {
	.name = "transport-timer-late",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = late_cases,
};

kunit_test_suites(&suite, &late_suite);
