// SPDX-License-Identifier: GPL-2.0
/*
 * cc/window.c: the window grows while packets don't queue, follows delay when they do,
 * and loss down to one packet.
 */
#include <rxe/knobs.h>
#include <rxe/psn.h>
#include "events.h"

#define MS	((u64)NSEC_PER_MSEC)

static u32 una;		/* oldest unacknowledged PSN of the connection */

static void begin(struct rxe_cc *cc)
{
	una = 0xfffff0;
	rxe_cc_reset(cc, &rxe_cc_window);
}

/* @pkts are acknowledged in a round trip of @rtt, of which 1 ms is that of the empty path */
static void come_through(struct rxe_cc *cc, u32 pkts, u64 rtt, bool limited,
			 bool lossy)
{
	struct rxe_cc_sample sample = {
		.delivered = pkts, .rtt = rtt, .rtt_min = MS,
		.limited = limited, .lossy = lossy,
	};

	una = rxe_psn_add(una, pkts);
	cc->ops->acked(cc, &sample, una);
}

/* One packet in flight is lost, and all others are acknowledged */
static void lose_one(struct rxe_cc *cc)
{
	cc->ops->lost(cc, una, rxe_psn_add(una, cc->window));
	una = rxe_psn_add(una, cc->before);
}

/* The window doubles each round trip, up to window_max */
static void grows(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i, window;

	begin(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_first));
	for (i = 0; i < 8; i++) {
		window = cc.window;
		come_through(&cc, window, MS, true, false);
		KUNIT_ASSERT_EQ(test, cc.window, 2 * window);
	}
	for (i = 0; i < 10; i++)
		come_through(&cc, cc.window, MS, true, false);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_max));
}

/* After a loss, the window grows by at least one packet per round trip */
static void grows_by_one(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	cc.window = 4;
	cc.enough = 2;
	for (i = 5; i < 20; i++) {
		come_through(&cc, 1, MS, true, true);
		KUNIT_ASSERT_EQ(test, cc.window, i);
	}
}

/* If round trips vary, a long one doesn't count as a queue */
static void jitter(struct kunit *test)
{
	struct rxe_cc_sample sample = {
		.delivered = 64, .rtt = 6 * MS, .rtt_min = MS, .rtt_var = MS,
		.limited = true,
	};
	struct rxe_cc cc;

	begin(&cc);
	cc.ops->acked(&cc, &sample, una);
	KUNIT_EXPECT_FALSE(test, cc.queued);
	KUNIT_EXPECT_EQ(test, cc.window, 128u);
	sample.rtt_var = 0;
	cc.ops->acked(&cc, &sample, una);
	KUNIT_EXPECT_TRUE(test, cc.queued);
}

/* If the sender had nothing more to send, the window stays */
static void idle(struct kunit *test)
{
	struct rxe_cc cc;

	begin(&cc);
	come_through(&cc, 1, MS, false, false);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_first));
	come_through(&cc, 1, 100 * MS, false, false);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_first));
}

/* On a path of 1000 packets a millisecond the queue stays short */
static void stays(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 30; i++)
		come_through(&cc, cc.window, max(MS, cc.window * MS / 1000),
			     true, false);
	KUNIT_EXPECT_GE(test, cc.window, 3000u);
	KUNIT_EXPECT_LE(test, cc.window, 8000u);
}

/* A queue of other flows halves the window per round trip, down to window_calm */
static void shrinks(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	cc.window = 4096;
	come_through(&cc, 4096, 100 * MS, true, false);
	KUNIT_EXPECT_EQ(test, cc.window, 2048u);
	for (i = 0; i < 20; i++)
		come_through(&cc, cc.window, 100 * MS, true, false);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_calm));
	/* On a lossy path, it shrinks down to window_lossy. A smaller window doesn't grow */
	for (i = 0; i < 20; i++)
		come_through(&cc, cc.window, 100 * MS, true, true);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_lossy));
	cc.window = 2;
	come_through(&cc, 2, 100 * MS, true, true);
	KUNIT_EXPECT_EQ(test, cc.window, 2u);
}

/* Loss with a queue halves the window, once for all packets in flight */
static void halves(struct kunit *test)
{
	struct rxe_cc cc;
	u32 top;

	begin(&cc);
	cc.window = 1000;
	come_through(&cc, 1000, 100 * MS, false, false);
	top = rxe_psn_add(una, 1000);
	cc.ops->lost(&cc, una, top);
	KUNIT_EXPECT_EQ(test, cc.window, 500u);
	cc.ops->lost(&cc, rxe_psn_add(una, 999), rxe_psn_add(top, 500));
	KUNIT_EXPECT_EQ(test, cc.window, 500u);
	cc.ops->lost(&cc, top, rxe_psn_add(top, 500));
	KUNIT_EXPECT_EQ(test, cc.window, 250u);
}

/* Many losses shrink the window to one packet, never to 0 */
static void to_one(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 20; i++)
		lose_one(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	cc.window = 1000;
	cc.ops->timeout(&cc, una);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	cc.ops->lost(&cc, una, una);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
}

/* Without a queue, a loss rate of 1 % leaves a large window */
static void random_loss(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(11);
	struct rxe_cc cc;
	u64 sum = 0;
	u32 i, n;

	begin(&cc);
	for (i = 0; i < 2000; i++) {
		bool lost = false;

		for (n = 0; n < cc.window; n++)
			lost |= !rnd_below(&rnd, 100);
		if (lost)
			lose_one(&cc);
		else
			come_through(&cc, cc.window, MS, true, true);
		sum += cc.window;
	}
	KUNIT_EXPECT_GE(test, sum / i, 50ull);
	KUNIT_EXPECT_LE(test, sum / i, 400ull);
}

/*
 * After a timeout, the window doubles up to half of the old window and then grows slowly, also
 * while the packets that were in flight are sent again
 */
static void recovers(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	cc.window = 1024;
	cc.ops->timeout(&cc, rxe_psn_add(una, 4096));
	for (i = 0; i < 9; i++) {
		KUNIT_ASSERT_EQ(test, cc.window, BIT(i));
		come_through(&cc, cc.window, MS, true, true);
	}
	KUNIT_EXPECT_EQ(test, cc.window, 512u);
	come_through(&cc, cc.window, MS, true, true);
	KUNIT_EXPECT_EQ(test, cc.window, 512u + 128 + 1);
}

/* If a packet was only late, the window is restored */
static void undo(struct kunit *test)
{
	struct rxe_cc cc;

	begin(&cc);
	cc.window = 1000;
	cc.ops->timeout(&cc, una);
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 1000u);
	cc.window = 10;
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 10u);
}

/* After any events: at least one packet, at most window_max */
static void bounds(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(12);
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 100000; i++) {
		struct rxe_cc_sample sample = {
			.delivered = rnd_below(&rnd, 1 << 23),
			.rtt = 1 + (rnd_u64(&rnd) >> (20 + rnd_below(&rnd, 44))),
			.rtt_min = 1 + (rnd_u64(&rnd) >> (20 + rnd_below(&rnd, 44))),
			.limited = rnd_below(&rnd, 2), .lossy = rnd_below(&rnd, 2),
		};
		u32 psn = rnd_below(&rnd, 1 << 24);

		if (!play_loss(&rnd, &cc, psn, 6))
			cc.ops->acked(&cc, &sample, psn);
		KUNIT_ASSERT_GE(test, cc.window, 1u);
		KUNIT_ASSERT_LE(test, cc.window, (u32)rxe_knob(window_max));
	}
}

/* Packets were only late, after several timeouts: restore the window from before the first one */
static void timeouts(struct kunit *test)
{
	struct rxe_cc cc;

	rxe_cc_reset(&cc, &rxe_cc_window);
	cc.window = 400;
	cc.ops->timeout(&cc, 1000);
	cc.ops->timeout(&cc, 1000);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	KUNIT_EXPECT_EQ(test, cc.enough, 200u);
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 400u);
	rxe_cc_reset(&cc, &rxe_cc_swift);
	cc.swift.cwnd = 400ULL << 16;
	cc.ops->timeout(&cc, 1000);
	cc.ops->timeout(&cc, 1000);
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 400u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(timeouts),
	KUNIT_CASE(grows),
	KUNIT_CASE(grows_by_one),
	KUNIT_CASE(jitter),
	KUNIT_CASE(idle),
	KUNIT_CASE(stays),
	KUNIT_CASE(shrinks),
	KUNIT_CASE(halves),
	KUNIT_CASE(to_one),
	KUNIT_CASE(random_loss),
	KUNIT_CASE(recovers),
	KUNIT_CASE(undo),
	KUNIT_CASE(bounds),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-window",
	.test_cases = cases,
};

kunit_test_suite(suite);
