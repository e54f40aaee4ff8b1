// SPDX-License-Identifier: GPL-2.0
/*
 * The completer (transport/completer.c) as its peer sees it. Each work request completes exactly
 * once and in order. READ responses and atomic results get to their place. Answers to packets that
 * were never sent are ignored.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define MTU	FAKE_MTU

/* One ACK for several work requests; unsignalled ones complete silently */
static void coalesced_ack(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u32 i;

	for (i = 0; i < 8; i++) {
		wr.wr_id = i;
		wr.send_flags = i % 2 ? IB_SEND_SIGNALED : 0;
		fake_post(test, &wr, 0, 1);
		fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), NULL);
	}
	peer_ack(test, PSN(5));
	for (i = 1; i < 6; i += 2)
		peer_expect_done(test, i);
	peer_expect_not_done(test);
	peer_ack(test, PSN(7));
	peer_expect_done(test, 7);
	peer_expect_not_done(test);
}

/* Old, forged and repeated answers change nothing */
static void not_believed(struct kunit *test)
{
	static const u8 syndromes[] = {
		RXE_AETH_ACK, RXE_NAK_PSN_SEQ, RXE_NAK_INV_REQ,
		RXE_NAK_REM_ACCESS, RXE_NAK_REM_OP, RXE_AETH_RNR_NAK,
		0x40, 0x80, 0xff,
	};
	static const int psns[] = { 1, 2, 100, 1 << 22, 1 << 23, -1, -2, -1000 };
	u32 i, k;

	peer_take_send(test, 1, 10);
	for (i = 0; i < ARRAY_SIZE(syndromes); i++) {
		for (k = 0; k < ARRAY_SIZE(psns); k++)
			peer_answer(test, PSN(psns[k]), syndromes[i]);
		/* Responses to a READ that wasn't sent */
		peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
			     fake(test)->mem, 10);
		peer_respond(test, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, PSN(0), NULL, 0);
	}
	/*
	 * Six syndromes exist, and four PSNs are after the last one that was sent. Nine times, two
	 * responses answer no request.
	 */
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_PSN),
			6 * 4 + 9 * 2ULL);
	fake_expect_nothing(test);
	peer_expect_not_done(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	peer_ack(test, PSN(0));
	peer_expect_not_done(test);
}

/* A syndrome that doesn't exist acknowledges nothing, not even earlier requests */
static void reserved_syndromes(struct kunit *test)
{
	static const u8 syndromes[] = { 0x40, 0x5f, 0x64, 0x7f, 0x80, 0xe3, 0xff };
	u32 i;

	peer_take_send(test, 1, 10);
	peer_take_send(test, 2, 10);
	for (i = 0; i < ARRAY_SIZE(syndromes); i++)
		peer_answer(test, PSN(1), syndromes[i]);
	fake_expect_nothing(test);
	peer_expect_not_done(test);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 1);
	peer_expect_done(test, 2);
}

/* Each fatal NAK has its completion status [10.10.2.3] */
static void fatal_naks(struct kunit *test)
{
	static const struct { u8 syndrome; enum ib_wc_status status; } naks[] = {
		{ RXE_NAK_INV_REQ, IB_WC_REM_INV_REQ_ERR },
		{ RXE_NAK_REM_ACCESS, IB_WC_REM_ACCESS_ERR },
		{ RXE_NAK_REM_OP, IB_WC_REM_OP_ERR },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(naks); i++) {
		WRITE_ONCE(fake(test)->qp->state, IB_QPS_RTS);
		fake(test)->qp->sq.flight.psn = FAKE_SQ_PSN;
		fake(test)->qp->sq.flight.una = FAKE_SQ_PSN;
		fake(test)->qp->sq.flight.top = FAKE_SQ_PSN;
		peer_take_send(test, 1, 1);
		peer_take_send(test, 2, 1);
		peer_take_send(test, 3, 1);
		peer_answer(test, PSN(1), naks[i].syndrome);
		peer_expect_done(test, 1);
		peer_expect_failed(test, 2, naks[i].status);
		peer_expect_failed(test, 3, IB_WC_WR_FLUSH_ERR);
		peer_expect_not_done(test);
		fake_expect_nothing(test);
		KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
		peer_expect_counted(test, RXE_CNT_SEND_WC_ERR, 2 * (i + 1));
		peer_expect_counted(test, RXE_CNT_SEND_WC_FLUSH, i + 1);
		peer_expect_counted(test, RXE_CNT_SEND_WC_INV_REQ, 1);
		peer_expect_counted(test, RXE_CNT_SEND_WC_ACCESS, i > 0);
	}
}

static void read(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 3 * MTU, GFP_KERNEL);
	struct rxe_pkt pkt;

	KUNIT_ASSERT_NOT_NULL(test, data);
	rnd_fill(data, 3 * MTU, 4);
	fake_read(test, 1, 50, 2 * MTU + 9);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x10000ull);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 2 * MTU + 9);
	/* the next PSN is behind the responses */
	fake_send(test, 2, 0, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), NULL);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(1),
		     data + MTU, MTU);
	peer_expect_not_done(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(2),
		     data + 2 * MTU, 9);
	peer_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[49], 0);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 50, data, 2 * MTU + 9);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[50 + 2 * MTU + 9], 0);
	peer_ack(test, PSN(3));
	peer_expect_done(test, 2);
}

/* A response is lost: only the missing ones are requested again */
static void read_hole(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 4 * MTU, GFP_KERNEL);
	struct rxe_pkt pkt;

	KUNIT_ASSERT_NOT_NULL(test, data);
	rnd_fill(data, 4 * MTU, 5);
	fake(test)->qp->sq.rtt.smooth = NSEC_PER_SEC;	/* no probe, however slow this host is */
	fake_read(test, 1, 0, 4 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(2),
		     data + 2 * MTU, MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x10000ull + MTU);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 2 * MTU);	/* one more packet than is missing */
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(3),
		     data + 3 * MTU, MTU);
	fake_expect_nothing(test);
	peer_expect_not_done(test);
	fake(test)->qp->sq.gap.patience = NSEC_PER_SEC;
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(1), data + MTU,
		     MTU);
	peer_expect_not_done(test);
	/* the same as the held response, which proves that all held ones are the peer's */
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(2),
		     data + 2 * MTU, MTU);
	peer_expect_done(test, 1);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, 4 * MTU);
}

/*
 * The first packet of a READ response never comes, since it is too big for the path. The last one
 * always comes. That the peer sends it again doesn't spare the READ its error
 */
static void read_last_only(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;
	u8 data[9] = {};

	fake(test)->qp->attr.retry_cnt = 0;
	sq->rtt.smooth = NSEC_PER_SEC;	/* no probe, however slow this host is */
	fake_read(test, 1, 0, MTU + sizeof(data));
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(1), data, sizeof(data));
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	spin_lock_bh(&sq->lock);
	sq->gap.patience = 0;
	sq->rec.resent_end = sq->rec.resent_from;	/* long ago */
	spin_unlock_bh(&sq->lock);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(1), data, sizeof(data));
	peer_expect_failed(test, 1, IB_WC_RETRY_EXC_ERR);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

/* While a peer serves READs again, their requester waits for the rest, and counts no retry */
static void read_again(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_sq *sq = &qp->sq;
	u8 data[MTU] = {};

	qp->attr.timeout = 20;		/* 4 s: longer than the test takes */
	fake_read(test, 1, 0, 2 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	spin_lock_bh(&sq->lock);
	sq->rec.since = ktime_sub_ms(ktime_get(), 3000);
	sq->rto.fired = true;
	spin_unlock_bh(&sq->lock);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), sq->rec.since), 2000ll);
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(1), data, MTU);
	peer_expect_done(test, 1);
}

/* An ACK for a PSN behind a READ shows that the response is lost [9.7.5.1.3] */
static void implied_nak(struct kunit *test)
{
	fake_read(test, 1, 0, 10);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_take_send(test, 2, 1);
	peer_ack(test, PSN(1));
	peer_expect_not_done(test);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem + 1000, 10);
	peer_expect_done(test, 1);
	peer_expect_done(test, 2);
	peer_expect_losses(test, 0, 1);
}

/* A READ and a SEND. A NAK for the SEND comes first, then the response to the READ */
static void nak_first(struct kunit *test, u8 syndrome)
{
	struct rxe_qp *qp = fake(test)->qp;

	qp->attr.timeout = 0;		/* no timer sends anything again */
	qp->sq.gap.patience = NSEC_PER_SEC;
	fake_read(test, 1, 0, 10);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_take_send(test, 2, 1);
	peer_answer(test, PSN(1), syndrome);
	peer_expect_not_done(test);
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem + 1000, 10);
	peer_expect_done(test, 1);
}

/* A NAK comes before the response to a READ before it: it takes effect after the response */
static void early_nak(struct kunit *test)
{
	nak_first(test, RXE_NAK_REM_ACCESS);
	peer_expect_failed(test, 2, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

/* Likewise, if the NAK asks for the packet again, at once or later */
static void expect_again(struct kunit *test, u8 syndrome)
{
	struct rxe_pkt pkt;

	nak_first(test, syndrome);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(1));
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
}

static void early_rnr_nak(struct kunit *test)
{
	expect_again(test, RXE_AETH_RNR_NAK | 1);
}

static void early_seq_nak(struct kunit *test)
{
	expect_again(test, RXE_NAK_PSN_SEQ);
}

/* An ACK for more than the NAK, and the NAK is old */
static void early_nak_old(struct kunit *test)
{
	fake(test)->qp->sq.gap.patience = NSEC_PER_SEC;
	fake_read(test, 1, 0, 10);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	peer_take_send(test, 2, 1);
	peer_take_send(test, 3, 1);
	peer_answer(test, PSN(1), RXE_AETH_RNR_NAK | 1);
	peer_ack(test, PSN(1));
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem + 1000, 10);
	peer_expect_done(test, 1);
	peer_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, fake(test)->qp->sq.rnr.state, RXE_RNR_READY);
	peer_ack(test, PSN(2));
	peer_expect_done(test, 3);
}

static void read_wrong_length(struct kunit *test)
{
	fake_read(test, 1, 0, 10);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem + 1000, 12);
	peer_expect_failed(test, 1, IB_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

/* A response with data doesn't answer an ATOMIC WRITE */
static void atomic_write_answer(struct kunit *test)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_ATOMIC_WRITE },
	};

	fake_post(test, &wr.wr, 16, 8);
	fake_expect(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), NULL);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem, 8);
	fake_completion(test, fake(test)->scq, 1, IB_WC_BAD_RESP_ERR, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

/*
 * send_task reads a message's data again, and an ACK for the first copy comes: the message
 * completes only when send_task has read the data
 */
static void acked_while_read(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;

	peer_take_send(test, 1, 3 * MTU);
	sq->reading = (struct rxe_reading){ .busy = true, .last = PSN(2) };
	peer_ack(test, PSN(1));
	KUNIT_EXPECT_EQ(test, sq->flight.una, PSN(2));
	peer_ack(test, PSN(2));
	peer_expect_not_done(test);
	peer_take_send(test, 2, MTU);	/* at the end of this run, nothing is being read */
	peer_expect_done(test, 1);
	peer_ack(test, PSN(3));
	peer_expect_done(test, 2);
}

/* In ERR, work requests complete in order, and only when send_task doesn't read their data */
static void failed_while_read(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = PSN(0),
		.syndrome = RXE_NAK_REM_OP,
	};
	struct ib_wc wc;

	peer_take_send(test, 1, MTU);
	peer_take_send(test, 2, MTU);
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, rxe_task_enter(&qp->send_task));
	fake_arrive(test, &pkt, NULL, 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->state), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&fake(test)->scq->ibcq, 1, &wc), 0);
	rxe_task_leave(&qp->send_task, false);
	local_bh_enable();
	fake_settle(test);
	peer_expect_failed(test, 1, IB_WC_REM_OP_ERR);
	peer_expect_failed(test, 2, IB_WC_WR_FLUSH_ERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(coalesced_ack),
	KUNIT_CASE(not_believed),
	KUNIT_CASE(reserved_syndromes),
	KUNIT_CASE(fatal_naks),
	KUNIT_CASE(read),
	KUNIT_CASE(read_hole),
	KUNIT_CASE(read_last_only),
	KUNIT_CASE(read_again),
	KUNIT_CASE(implied_nak),
	KUNIT_CASE(early_nak),
	KUNIT_CASE(early_rnr_nak),
	KUNIT_CASE(early_seq_nak),
	KUNIT_CASE(early_nak_old),
	KUNIT_CASE(read_wrong_length),
	KUNIT_CASE(atomic_write_answer),
	KUNIT_CASE(acked_while_read),
	KUNIT_CASE(failed_while_read),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-completer",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
