// SPDX-License-Identifier: GPL-2.0
/*
 * Missing requests (transport/gap.c, responder.c) as the peer sees them. Each gap is
 * requested once, and again if the packet that fills it gets lost, too. Held packets are executed
 * in order.
 */
#include "../peer.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)

/* One NAK for a gap, however many packets follow it [C9-112]; they are held [9.7.4.1.1] */
static void gap(struct kunit *test)
{
	u32 i;

	peer_post_bytes(test);
	for (i = 1; i < 9; i++)
		peer_byte(test, i);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->rcq);
	peer_byte(test, 0);
	peer_expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);	/* the held packets may be forged */
	peer_byte(test, 1);
	peer_expect_ack(test, PSN(8), 9);
	peer_expect_bytes(test, 0, 8);
}

/* Two gaps: when the first is filled, the second is requested */
static void two_gaps(struct kunit *test)
{
	u64 *patience = &fake(test)->qp->rq.gap.patience;

	peer_post_bytes(test);
	peer_byte(test, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	peer_byte(test, 4);
	peer_byte(test, 3);	/* they needn't come in order */
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	peer_byte(test, 0);
	peer_expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	*patience = 0;		/* each request raises it to reorder_ns */
	peer_byte(test, 1);
	peer_expect_nak(test, PSN(2), RXE_NAK_PSN_SEQ);
	peer_expect_bytes(test, 0, 1);
	*patience = 0;
	peer_byte(test, 2);
	peer_expect_nak(test, PSN(3), RXE_NAK_PSN_SEQ);
	peer_byte(test, 3);
	peer_expect_ack(test, PSN(4), 5);
	peer_expect_bytes(test, 2, 4);
}

/* A retransmission is lost, too: an early packet with a lower PSN than the last shows that */
static void lost_again(struct kunit *test)
{
	u32 i;

	peer_post_bytes(test);
	for (i = 1; i < 4; i++)
		peer_byte(test, i);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	for (i = 1; i < 4; i++)
		peer_byte(test, i);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	fake_expect_nothing(test);
	peer_byte(test, 0);
	peer_expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	peer_byte(test, 1);
	peer_expect_ack(test, PSN(3), 4);
	peer_expect_bytes(test, 0, 3);
}

/* A requested packet comes twice: it was only late, and the patience grows */
static void only_late(struct kunit *test)
{
	struct rxe_gap *gap = &fake(test)->qp->rq.gap;
	struct rxe_pkt pkt;

	peer_post_bytes(test);
	peer_byte(test, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	gap->patience = NSEC_PER_SEC / 20;
	peer_byte(test, 0);
	peer_expect_ack(test, PSN(0), 1);
	peer_byte(test, 2);
	peer_expect_ack(test, PSN(2), 3);
	gap->patience = 0;
	peer_byte(test, 0);
	peer_expect_ack(test, PSN(2), 3);
	KUNIT_EXPECT_GE(test, gap->patience, rxe_knob(reorder_ns));
	gap->patience = NSEC_PER_SEC / 20;
	peer_byte(test, 4);
	fake_expect_nothing(test);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(3));
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
	peer_expect_bytes(test, 0, 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(gap),
	KUNIT_CASE(two_gaps),
	KUNIT_CASE(lost_again),
	KUNIT_CASE(only_late),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-gap",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
