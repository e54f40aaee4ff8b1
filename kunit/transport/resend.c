// SPDX-License-Identifier: GPL-2.0
/*
 * Sending again (transport/recover.c, requester.c, timer.c) as the peer sees it: after a NAK and
 * after silence, as often as the retry count of the QP allows. Packets that the peer holds
 * aren't sent again.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define MTU	FAKE_MTU

/* 4.096 us * 2^10: 4 ms */
#define SHORT_TIMEOUT	10

/*
 * On a path that loses packets, a probe comes after half a millisecond. Here it comes after a
 * second: not while a case runs.
 */
static void put_off_probes(void)
{
	knob_set(rtt_guess_ns, NSEC_PER_SEC);
}

/* The peer requests a packet: everything from there on is sent again [9.7.5.1.2] */
static void nak_sequence(struct kunit *test)
{
	u32 i;

	put_off_probes();
	for (i = 0; i < 4; i++)
		peer_take_send(test, i, 1);
	peer_answer(test, PSN(2), RXE_NAK_PSN_SEQ);
	peer_expect_done(test, 0);
	peer_expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(2), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), NULL);
	fake_expect_nothing(test);
	peer_ack(test, PSN(3));
	peer_expect_done(test, 2);
	peer_expect_done(test, 3);
	peer_expect_losses(test, 1, 0);
}

/* A NAK in the middle of a message: sending continues there, not at its start */
static void nak_in_message(struct kunit *test)
{
	struct rxe_pkt pkt;
	u8 data[MTU];
	u32 i;

	put_off_probes();
	rnd_fill(fake(test)->mem, 8 * MTU, 3);
	peer_take_send(test, 1, 8 * MTU);
	peer_answer(test, PSN(5), RXE_NAK_PSN_SEQ);
	peer_expect_not_done(test);
	for (i = 5; i < 8; i++) {
		KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
		KUNIT_ASSERT_EQ(test, pkt.opcode, i < 7 ?
				IB_OPCODE_RC_SEND_MIDDLE :
				IB_OPCODE_RC_SEND_LAST);
		KUNIT_ASSERT_MEMEQ(test, data, fake(test)->mem + i * MTU, MTU);
	}
	fake_expect_nothing(test);
	peer_ack(test, PSN(7));
	peer_expect_done(test, 1);
}

/* A peer that holds the packets behind a loss: they aren't sent again */
static void peer_keeps(struct kunit *test)
{
	struct rxe_pkt pkt;
	u8 data[MTU];

	put_off_probes();
	rnd_fill(fake(test)->mem, 8 * MTU, 6);
	peer_take_send(test, 1, 8 * MTU);
	peer_nak_alone(test, PSN(2));
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
	KUNIT_EXPECT_EQ(test, pkt.opcode, IB_OPCODE_RC_SEND_MIDDLE);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(2));
	KUNIT_EXPECT_MEMEQ(test, data, fake(test)->mem + 2 * MTU, MTU);
	/* one packet more than is missing: the peer compares it with what it holds */
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(3), &pkt);
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	fake_expect_nothing(test);
	peer_nak_alone(test, PSN(5));
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(5), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(6), NULL);
	fake_expect_nothing(test);
	peer_ack(test, PSN(7));
	peer_expect_done(test, 1);
}

/* A peer that drops them: everything is sent again, now and for the next losses */
static void peer_drops(struct kunit *test)
{
	u32 i;

	put_off_probes();
	peer_take_send(test, 1, 8 * MTU);
	peer_nak_alone(test, PSN(2));
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(2), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(3), NULL);
	fake_expect_nothing(test);
	peer_nak_alone(test, PSN(4));
	for (i = 4; i < 8; i++)
		fake_expect(test, i < 7 ? IB_OPCODE_RC_SEND_MIDDLE :
			    IB_OPCODE_RC_SEND_LAST, PSN(i), NULL);
	fake_expect_nothing(test);
	peer_ack(test, PSN(7));
	peer_expect_done(test, 1);
	for (i = 0; i < 4; i++)
		peer_take_send(test, 2 + i, 1);
	peer_nak_alone(test, PSN(9));
	peer_expect_done(test, 2);
	for (i = 9; i < 12; i++)
		fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), NULL);
	fake_expect_nothing(test);
	peer_ack(test, PSN(11));
	for (i = 1; i < 4; i++)
		peer_expect_done(test, 2 + i);
}

/* A READ request was lost: it is sent again, for all of its responses */
static void read_nak(struct kunit *test)
{
	struct rxe_pkt pkt;

	put_off_probes();
	fake_read(test, 1, 0, 3 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_take_send(test, 2, 1);
	peer_nak_alone(test, PSN(0));
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 3 * MTU);
	fake_expect_nothing(test);
}

/*
 * Silence: sent again retry_cnt times, then an error; also for retry_cnt 7
 * [9.7.6.1.3]
 */
static void silence(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	u32 retry_cnt, i;
	struct rxe_pkt pkt;
	struct ib_wc wc;

	for (retry_cnt = 0; retry_cnt < 8; retry_cnt += 7) {
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		qp->sq.flight.psn = FAKE_SQ_PSN;
		qp->sq.flight.una = FAKE_SQ_PSN;
		qp->sq.flight.top = FAKE_SQ_PSN;
		qp->sq.rec.retries = 0;
		qp->attr.timeout = 0;
		qp->attr.retry_cnt = retry_cnt;
		fake_send(test, 1, 0, 1);
		fake_send(test, 2, 0, 1);
		/* The timeout starts here, even if the machine stood still between the sends */
		spin_lock_bh(&qp->sq.lock);
		qp->attr.timeout = SHORT_TIMEOUT;
		rxe_wait(qp);
		spin_unlock_bh(&qp->sq.lock);
		KUNIT_ASSERT_TRUE(test, fake_wait_completion(test,
							     fake(test)->scq,
							     &wc));
		/* before a round trip was measured, there are probes, too */
		for (i = 0; fake_take(test, &pkt, NULL); )
			i += pkt.psn == PSN(0);
		KUNIT_EXPECT_GE(test, i, retry_cnt + 1);
		KUNIT_EXPECT_LE(test, i, retry_cnt + 4);
		KUNIT_EXPECT_EQ(test, wc.wr_id, 1ull);
		KUNIT_EXPECT_EQ(test, (u32)wc.status, (u32)IB_WC_RETRY_EXC_ERR);
		peer_expect_failed(test, 2, IB_WC_WR_FLUSH_ERR);
		fake_expect_nothing(test);
		KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	}
}

/* Progress resets the retries: more losses than retry_cnt, one by one */
static void many_losses(struct kunit *test)
{
	struct rxe_pkt pkt;
	u32 i;

	/* 67 ms: the machine may stand still for a while between two steps */
	fake(test)->qp->attr.timeout = 14;
	fake(test)->qp->attr.retry_cnt = 7;
	for (i = 0; i < 20; i++) {
		fake_send(test, i, 0, 1);
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
		peer_ack(test, PSN(i));
		peer_expect_done(test, i);
		while (fake_take(test, &pkt, NULL))
			KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
	}
}

/* On a lossy path, probes are sent long before the timeout, and take no retry */
static void probe(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt;
	u32 i;

	qp->attr.timeout = 20;		/* 4 s: longer than fake_wait() would wait */
	qp->attr.retry_cnt = 1;
	qp->sq.rtt.smooth = NSEC_PER_MSEC;
	qp->sq.rec.lossy_until = ktime_add_ns(ktime_get(), rxe_knob(loss_memory_ns));
	fake_send(test, 1, 0, 1);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(0));
	}
	KUNIT_EXPECT_EQ(test, qp->sq.rec.retries, 0);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
}

/* On a path without loss, a probe is sent after silence_ns, before a long timeout */
static void first_probe(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	ktime_t start = ktime_get();
	struct rxe_pkt pkt;

	qp->attr.timeout = 20;		/* 4 s: longer than the test waits */
	qp->attr.retry_cnt = 1;
	peer_take_send(test, 1, 1);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 300ll);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, qp->sq.rec.retries, 0);
	KUNIT_EXPECT_GE(test, fake_counter(test, RXE_CNT_PROBE), 1ull);
	peer_expect_counted(test, RXE_CNT_ACK_TIMEOUT, 0);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	/* now that something seems to get lost, a round trip is enough */
	qp->sq.rtt.smooth = NSEC_PER_MSEC;
	qp->sq.rtt.var = 0;
	start = ktime_get();
	peer_take_send(test, 2, 1);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(1));
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 300ll);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
}

/* An idle connection is left alone: no timer, no packet */
static void idle(struct kunit *test)
{
	fake(test)->qp->attr.timeout = SHORT_TIMEOUT;
	peer_take_send(test, 1, 1);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, fake(test)->qp->sq.rto.deadline, (ktime_t)0);
}

/*
 * The peer answers a READ later than the probe is sent. A small window cuts the probe to one
 * packet. When the response to the first request comes, the rest isn't requested again, and no
 * round trip is measured.
 */
static void read_probed(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_sq *sq = &qp->sq;
	u8 data[MTU] = {};
	struct rxe_pkt pkt;

	qp->attr.timeout = 20;		/* 4 s: longer than the test takes */
	fake_read(test, 1, 0, 4 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	spin_lock_bh(&sq->lock);
	sq->cc.window = 1;
	spin_unlock_bh(&sq->lock);
	WRITE_ONCE(sq->sender.out.train.alone, true);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, pkt.dma_len, MTU);
	rxe_task_pause(&qp->send_task);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(1), data, MTU);
	KUNIT_EXPECT_EQ(test, sq->rtt.smooth, 0ull);
	rxe_task_resume(&qp->send_task);
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(2), data, MTU);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(3), data, MTU);
	peer_expect_done(test, 1);
}

/*
 * A READ is longer than the window. When its first part is requested again, the request doesn't go
 * beyond that part, though the window allows more: the peer would ignore it [9.7.5.1.4].
 */
static void read_rewound(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_sq *sq = &qp->sq;
	u8 data[MTU] = {};
	struct rxe_pkt pkt;

	qp->attr.timeout = 20;
	spin_lock_bh(&sq->lock);
	sq->cc.window = 4;
	spin_unlock_bh(&sq->lock);
	fake_read(test, 1, 0, 8 * MTU);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 4 * MTU);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	spin_lock_bh(&sq->lock);
	sq->cc.window = 4;
	rxe_sq_rewind(qp);
	spin_unlock_bh(&sq->lock);
	rxe_task_kick(&qp->send_task);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(1));
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 3 * MTU);
}

/*
 * Packets that were lost before a work request that can't be sent are still sent again,
 * alone or with all that follow
 */
static void loss_before_failure(struct kunit *test)
{
	struct ib_pd other = fake(test)->pd;

	put_off_probes();
	peer_take_send(test, 1, 1);
	peer_take_send(test, 2, 1);
	to_rxe_mr(fake(test)->mr)->key.pd = &other;
	fake_send(test, 3, 0, 8);
	to_rxe_mr(fake(test)->mr)->key.pd = &fake(test)->pd;
	peer_nak_alone(test, PSN(0));
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), NULL);
	fake_expect_nothing(test);
	peer_answer(test, PSN(1), RXE_NAK_PSN_SEQ);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	fake_expect_nothing(test);
	peer_expect_done(test, 1);
	peer_expect_not_done(test);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
	peer_expect_failed(test, 3, IB_WC_LOC_PROT_ERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(nak_sequence),
	KUNIT_CASE(nak_in_message),
	KUNIT_CASE(peer_keeps),
	KUNIT_CASE(peer_drops),
	KUNIT_CASE(read_nak),
	KUNIT_CASE(silence),
	KUNIT_CASE(many_losses),
	KUNIT_CASE(probe),
	KUNIT_CASE(first_probe),
	KUNIT_CASE(idle),
	KUNIT_CASE(read_probed),
	KUNIT_CASE(read_rewound),
	KUNIT_CASE(loss_before_failure),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-resend",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
