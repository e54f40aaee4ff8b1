// SPDX-License-Identifier: GPL-2.0
/*
 * RNR NAKs (transport/completer.c, timer.c) as the peer sees them. The QP waits as long as the NAK
 * says, and as often as its RNR retry count allows. Only the refused work request is sent again.
 */
#include "../peer.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)

/* After an RNR NAK only the refused work request is sent again */
static void expect_refused(struct kunit *test)
{
	struct rxe_pkt pkt;

	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_ASSERT_EQ(test, pkt.psn, PSN(0));
	KUNIT_ASSERT_FALSE(test, fake_take(test, &pkt, NULL));
}

/* The QP waits for the time in the RNR NAK [9.7.5.2.8]. This peer drops later packets. */
static void rnr(struct kunit *test)
{
	ktime_t start;
	u32 i;

	fake(test)->qp->attr.rnr_retry = 7;
	peer_take_send(test, 1, 1);
	peer_take_send(test, 2, 1);
	for (i = 0; i < 20; i++) {		/* 7 is for ever */
		start = ktime_get();
		peer_answer(test, PSN(0), RXE_AETH_RNR_NAK | 14);	/* 1.28 ms */
		expect_refused(test);
		KUNIT_ASSERT_GE(test, ktime_us_delta(ktime_get(), start), 1280ll);
	}
	peer_expect_not_done(test);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
}

/* This peer holds the packets behind a refused work request: they aren't sent again */
static void rnr_kept(struct kunit *test)
{
	struct rxe_pkt pkt;

	peer_take_send(test, 1, 1);
	peer_take_send(test, 2, 1);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	fake_send(test, 3, 0, 1);
	expect_refused(test);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 1);
	peer_expect_done(test, 2);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(2), NULL);
	KUNIT_EXPECT_FALSE(test, fake_take(test, &pkt, NULL));
	peer_ack(test, PSN(2));
	peer_expect_done(test, 3);
}

/* The refused work request is lost when it is sent again: a probe follows */
static void rnr_lost(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	ktime_t start;

	qp->attr.timeout = 20;		/* 4 s */
	peer_take_send(test, 1, 1);
	peer_take_send(test, 2, 1);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	expect_refused(test);
	start = ktime_get();
	WRITE_ONCE(qp->sq.sender.out.train.alone, true);
	expect_refused(test);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 2000ll);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 1);
	peer_expect_done(test, 2);
}

/* The refused packet had come twice: its second RNR NAK doesn't count as a retry */
static void rnr_twice(struct kunit *test)
{
	fake(test)->qp->attr.rnr_retry = 1;
	peer_take_send(test, 1, 1);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK);	/* 655.36 ms */
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK);
	expect_refused(test);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
}

/*
 * The timer has fired when the RNR NAK comes: the wait isn't cut short, and the retries of
 * earlier silence are forgotten, since the peer has answered
 */
static void rnr_and_timeout(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;

	peer_take_send(test, 1, 1);
	spin_lock_bh(&sq->lock);
	sq->rto.fired = true;
	sq->rec.retries = 7;
	spin_unlock_bh(&sq->lock);
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK);	/* 655.36 ms */
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, sq->rnr.state, (u8)RXE_RNR_WAIT);
	KUNIT_EXPECT_EQ(test, sq->rec.retries, 0u);
}

static void rnr_exceeded(struct kunit *test)
{
	u32 i;

	fake(test)->qp->attr.rnr_retry = 3;
	peer_take_send(test, 1, 1);
	peer_take_send(test, 2, 1);
	for (i = 0; i < 3; i++) {
		peer_answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
		expect_refused(test);
	}
	peer_answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	peer_expect_failed(test, 1, IB_WC_RNR_RETRY_EXC_ERR);
	peer_expect_failed(test, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	peer_expect_counted(test, RXE_CNT_RCVD_RNR, 4);
	peer_expect_counted(test, RXE_CNT_RNR_RETRY, 3);
	peer_expect_counted(test, RXE_CNT_RNR_EXCEEDED, 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rnr),
	KUNIT_CASE(rnr_kept),
	KUNIT_CASE(rnr_lost),
	KUNIT_CASE(rnr_twice),
	KUNIT_CASE(rnr_and_timeout),
	KUNIT_CASE(rnr_exceeded),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-rnr",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
