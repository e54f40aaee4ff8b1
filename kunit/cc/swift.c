// SPDX-License-Identifier: GPL-2.0
/*
 * cc/swift.c: the window grows while round trips are below the target, and shrinks in
 * proportion to the excess. A window below one packet is a rate.
 */
#include <rxe/knobs.h>
#include <rxe/psn.h>
#include "events.h"

#define MS	((u64)NSEC_PER_MSEC)

static u32 una;		/* oldest unacknowledged PSN of the connection */

static void begin(struct rxe_cc *cc)
{
	una = 0xfffff0;
	rxe_cc_reset(cc, &rxe_cc_swift);
}

static void come_through(struct rxe_cc *cc, u64 rtt)
{
	struct rxe_cc_sample sample = {
		.delivered = cc->window, .rtt = rtt, .rtt_min = MS, .mtu = 1024,
		.limited = true,
	};

	una = rxe_psn_add(una, cc->window);
	cc->ops->acked(cc, &sample, una);
}

static void grows(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_first));
	for (i = 1; i <= 100; i++)
		come_through(&cc, MS);
	KUNIT_EXPECT_EQ(test, cc.window, (u32)rxe_knob(window_first) + 100);
	KUNIT_EXPECT_EQ(test, cc.rate, 0ULL);
}

/* The window shrinks by swift_beta of the part above the target, at most by swift_mdf */
static void shrinks(struct kunit *test)
{
	u64 queue = rxe_knob(swift_target_ns) + rxe_knob(swift_flows_ns) / 8;
	struct rxe_cc cc;

	begin(&cc);		/* a window of 64 */
	come_through(&cc, MS + queue + MS);
	KUNIT_EXPECT_GE(test, cc.window, 40u);
	KUNIT_EXPECT_LE(test, cc.window, 44u);
	begin(&cc);
	come_through(&cc, 1000 * MS);
	KUNIT_EXPECT_EQ(test, cc.window, 32u);
}

/* swift_path_ns: a queue at the start of a connection isn't taken for the path */
static void long_path(struct kunit *test)
{
	struct rxe_cc cc;

	knob_set(swift_path_ns, MS / 2);
	begin(&cc);
	come_through(&cc, MS);
	KUNIT_EXPECT_LT(test, cc.window, (u32)rxe_knob(window_first));
}

/* With many flows, less than one packet per round trip leaves */
static void below_one(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 8; i++)
		come_through(&cc, 100 * MS);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	KUNIT_EXPECT_EQ(test, cc.rate, 1024ULL * 10 / 4);
	for (i = 0; i < 100; i++)
		come_through(&cc, 100 * MS);
	KUNIT_EXPECT_GT(test, cc.rate, 0ULL);
	rxe_pacer_sent(&cc, 1024, 1);
	come_through(&cc, MS);
	KUNIT_EXPECT_EQ(test, cc.rate, 0ULL);
	KUNIT_EXPECT_EQ(test, cc.next, 0ULL);	/* a new limit begins at once */
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
}

/* A round trip during which the machine was stopped doesn't stop the connection for as long */
static void stopped_machine(struct kunit *test)
{
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 7; i++)
		come_through(&cc, 3600 * 1000 * MS);
	KUNIT_EXPECT_GE(test, cc.rate, 1024 * NSEC_PER_SEC / 2 / rxe_knob(rto_max_ns));
}

/* One cut for all packets in flight; if the packet was only late, the cut is undone */
static void loss(struct kunit *test)
{
	u32 top = rxe_psn_add(0xfffff0, 64);
	struct rxe_cc cc;

	begin(&cc);
	cc.ops->lost(&cc, una, top);
	KUNIT_EXPECT_EQ(test, cc.window, 32u);
	cc.ops->lost(&cc, rxe_psn_add(una, 10), top);
	KUNIT_EXPECT_EQ(test, cc.window, 32u);
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 64u);
	cc.ops->timeout(&cc, top);
	KUNIT_EXPECT_EQ(test, cc.window, 1u);
	come_through(&cc, MS);		/* of the same flight: the cut can still be undone */
	cc.ops->undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.window, 64u);
}

/*
 * The round trip of a READ includes the transfer of its data. That of a SEND includes the transfer
 * of the packets before its last one. In both cases, this is the data that the window has in
 * flight. So with READs, too, the window settles where the path is full and the queue is short.
 * This holds even if @rtt_min is that of a short SEND. Here, the path takes 10 us per packet, and
 * holds 10 packets.
 */
static void fetches(struct kunit *test)
{
	const u64 base = 100 * NSEC_PER_USEC, each = 10 * NSEC_PER_USEC;
	const u64 most = base + rxe_knob(swift_target_ns) + rxe_knob(swift_flows_ns);
	struct rxe_cc_sample sample = { .rtt_min = base, .mtu = 1024 };
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 1000; i++) {
		sample.fetch = i % 2;		/* a READ of all the window, and a short SEND */
		sample.limited = sample.fetch;
		sample.delivered = sample.fetch ? cc.window : 1;
		sample.rtt = max(base, sample.delivered * each);
		una = rxe_psn_add(una, sample.delivered);
		cc.ops->acked(&cc, &sample, una);
		KUNIT_ASSERT_GE(test, cc.window, (u32)(base / each));
		KUNIT_ASSERT_EQ(test, cc.rate, 0ULL);
		if (i > 100)
			KUNIT_ASSERT_LE(test, cc.window * each, most);
	}
}

/* After any events, the window or the rate allows sending */
static void any(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(3);
	struct rxe_cc cc;
	u32 i;

	begin(&cc);
	for (i = 0; i < 20000; i++) {
		if (!play_loss(&rnd, &cc, una, 8))
			come_through(&cc, 1 + (rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 39))));
		KUNIT_ASSERT_GE(test, cc.window, 1u);
		KUNIT_ASSERT_LE(test, cc.window, (u32)rxe_knob(window_max));
		KUNIT_ASSERT_TRUE(test, cc.window == 1 || !cc.rate);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(grows),
	KUNIT_CASE(shrinks),
	KUNIT_CASE(long_path),
	KUNIT_CASE(below_one),
	KUNIT_CASE(stopped_machine),
	KUNIT_CASE(fetches),
	KUNIT_CASE(loss),
	KUNIT_CASE(any),
	{}
};

static struct kunit_suite suite = {
	.name = "cc-swift",
	.init = knobs_save,
	.exit = knobs_restore,
	.test_cases = cases,
};

kunit_test_suite(suite);
