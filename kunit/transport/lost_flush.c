// SPDX-License-Identifier: GPL-2.0
/*
 * FLUSH (annex A19) on a path that loses packets, as the peer of each side sees it: global and
 * persistent, of a range and of a region. A FLUSH completes only when its own answer has come,
 * not by silence or by the ACK of a later request. A duplicate is answered, but not executed
 * again.
 */
#include "../peer.h"
#include "../util.h"

#define SQ_PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define RQ_PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)

/* 4.096 us * 2^10: 4 ms */
#define SHORT_TIMEOUT	10

static const struct kind {
	const char *name;
	u32 feth;
} kinds[] = {
	{ "global-range", PEER_FETH(IB_FLUSH_GLOBAL, IB_FLUSH_RANGE) },
	{ "global-region", PEER_FETH(IB_FLUSH_GLOBAL, IB_FLUSH_MR) },
	{ "persistent-range", PEER_FETH(IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE) },
	{ "persistent-region", PEER_FETH(IB_FLUSH_PERSISTENT, IB_FLUSH_MR) },
};

static void kind_name(const struct kind *kind, char *name)
{
	strscpy(name, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_name);

static u32 feth(struct kunit *test)
{
	return ((const struct kind *)test->param_value)->feth;
}

static bool persistent(struct kunit *test)
{
	return feth(test) & IB_FLUSH_PERSISTENT;
}

/* --- the requester --- */

/* Post a FLUSH as a process does: the kernel's API has none */
static void post_flush(struct kunit *test, u64 wr_id)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_swqe *wqe = rxe_ring_get_post_place(qp->sq.q.ring);

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr_id;
	wqe->opcode = IB_WR_FLUSH;
	wqe->flags = IB_SEND_SIGNALED;
	wqe->raddr = 0x1000;
	wqe->rkey = 0x99;
	wqe->flush_len = 4096;
	wqe->feth = feth(test);
	rxe_ring_post(qp->sq.q.ring);
	rxe_sq_kick(qp);
	fake_settle(test);
}

/* The first request and one that is sent again are the same */
static void expect_request(struct kunit *test, const struct rxe_pkt *pkt)
{
	KUNIT_EXPECT_EQ(test, pkt->opcode, IB_OPCODE_RC_FLUSH);
	KUNIT_EXPECT_EQ(test, pkt->psn, SQ_PSN(0));
	KUNIT_EXPECT_EQ(test, pkt->va, 0x1000ull);
	KUNIT_EXPECT_EQ(test, pkt->rkey, 0x99u);
	KUNIT_EXPECT_EQ(test, pkt->dma_len, 4096u);
	KUNIT_EXPECT_EQ(test, pkt->feth, feth(test));
}

static void take_request(struct kunit *test)
{
	struct rxe_pkt pkt = {};

	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	expect_request(test, &pkt);
}

static void answer_flush(struct kunit *test)
{
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, SQ_PSN(0), NULL, 0);
}

static void expect_flushed(struct kunit *test, u64 wr_id)
{
	struct ib_wc wc;

	fake_completion(test, fake(test)->scq, wr_id, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)IB_WC_FLUSH);
}

/* The request is sent again until an answer comes. A second answer changes nothing. */
static void request_lost(struct kunit *test)
{
	struct rxe_pkt pkt;
	u32 i;

	fake(test)->qp->attr.timeout = SHORT_TIMEOUT;
	fake(test)->qp->attr.retry_cnt = 7;
	post_flush(test, 1);
	take_request(test);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		expect_request(test, &pkt);
		peer_expect_not_done(test);
	}
	answer_flush(test);
	expect_flushed(test, 1);
	answer_flush(test);
	peer_expect_not_done(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/*
 * An ACK of a later request shows that the FLUSH arrived, but not that it was executed: the
 * response was lost, and the FLUSH is sent again. Later work requests complete after it
 * [9.7.5.1.3].
 */
static void response_lost(struct kunit *test)
{
	post_flush(test, 1);
	take_request(test);
	fake_send(test, 2, 0, 8);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(1), NULL);
	peer_ack(test, SQ_PSN(1));
	peer_expect_not_done(test);
	take_request(test);
	answer_flush(test);
	expect_flushed(test, 1);
	peer_expect_done(test, 2);
	fake_expect_nothing(test);
}

/* --- the responder --- */

static struct rxe_key *key(struct kunit *test)
{
	return &to_rxe_mr(fake(test)->mr)->key;
}

#define FLUSH_ACCESS	(IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/*
 * The region is all of memory. For a FLUSH of the region, which would take years, it is made short.
 */
static void set_region(struct kunit *test, bool flushed)
{
	key(test)->length = flushed && feth(test) >> RXE_FETH_LEVEL_SHIFT == IB_FLUSH_MR ?
			    3ull * RXE_PERSIST_STEP : U64_MAX;
}

static void arrive_flush(struct kunit *test, u32 psn)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_FLUSH, .psn = psn, .feth = feth(test), .ack_req = true,
		.va = fake_addr(test, 0), .rkey = fake(test)->mr->rkey, .dma_len = 4096,
	};

	set_region(test, true);
	fake_arrive(test, &pkt, NULL, 0);
}

static void arrive_write(struct kunit *test, u32 psn, u8 value)
{
	set_region(test, false);
	peer_rdma(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, psn, 0, 1, &value, 1);
}

static void expect_answer(struct kunit *test, u32 psn)
{
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, psn, NULL);
	fake_expect_nothing(test);
}

static void expect_ack(struct kunit *test, u32 psn)
{
	struct rxe_pkt pkt = {};

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_AETH_ACK | RXE_AETH_CREDITS_NONE);
}

/* Return: the number of the last persistent FLUSH that was executed */
static u64 executed(struct kunit *test)
{
	return fake(test)->qp->slow->persist.seq;
}

/* Requests behind a lost FLUSH aren't executed before it: no later WRITE overtakes a FLUSH */
static void request_missed(struct kunit *test)
{
	u8 *mem = fake(test)->mem;
	u64 seq;

	peer_allow_flush(test, FLUSH_ACCESS, FLUSH_ACCESS);
	arrive_write(test, RQ_PSN(0), 1);
	expect_ack(test, RQ_PSN(0));
	arrive_write(test, RQ_PSN(2), 2);
	peer_expect_nak(test, RQ_PSN(1), RXE_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, *mem, 1);
	seq = fake(test)->qp->rq.expect.seq;
	arrive_flush(test, RQ_PSN(1));
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, RQ_PSN(1), NULL);
	peer_expect_nak(test, RQ_PSN(2), RXE_NAK_PSN_SEQ);	/* it wasn't kept */
	KUNIT_EXPECT_EQ(test, *mem, 1);
	KUNIT_EXPECT_TRUE(test, !persistent(test) || executed(test) == seq);
	arrive_write(test, RQ_PSN(2), 2);
	expect_ack(test, RQ_PSN(2));
	KUNIT_EXPECT_EQ(test, *mem, 2);
}

/* A duplicate is answered, and not executed, also after a newer request [A19.4.1] */
static void response_missed(struct kunit *test)
{
	u64 seq;

	peer_allow_flush(test, FLUSH_ACCESS, FLUSH_ACCESS);
	arrive_flush(test, RQ_PSN(0));
	expect_answer(test, RQ_PSN(0));
	seq = executed(test);
	arrive_flush(test, RQ_PSN(0));
	expect_answer(test, RQ_PSN(0));
	arrive_write(test, RQ_PSN(1), 1);
	expect_ack(test, RQ_PSN(1));
	/* A duplicate isn't checked again either: the rights may be gone by then */
	key(test)->access &= ~FLUSH_ACCESS;
	arrive_flush(test, RQ_PSN(0));
	expect_answer(test, RQ_PSN(0));
	KUNIT_EXPECT_EQ(test, executed(test), seq);
}

/*
 * The requester sends a FLUSH again while its steps are being executed. Both requests are answered
 * after the last step, and not before.
 */
static void asked_again(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt;

	peer_allow_flush(test, FLUSH_ACCESS, FLUSH_ACCESS);
	rxe_task_pause(&qp->recv_task);
	arrive_flush(test, RQ_PSN(0));
	arrive_flush(test, RQ_PSN(0));
	rxe_task_resume(&qp->recv_task);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	if (feth(test) == PEER_FETH(IB_FLUSH_PERSISTENT, IB_FLUSH_MR))
		KUNIT_EXPECT_EQ(test, qp->slow->persist.done, key(test)->length);
	KUNIT_EXPECT_EQ(test, pkt.opcode, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY);
	KUNIT_EXPECT_EQ(test, pkt.psn, RQ_PSN(0));
	expect_answer(test, RQ_PSN(0));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(request_lost, kind_gen_params),
	KUNIT_CASE_PARAM(response_lost, kind_gen_params),
	KUNIT_CASE_PARAM(request_missed, kind_gen_params),
	KUNIT_CASE_PARAM(response_missed, kind_gen_params),
	KUNIT_CASE_PARAM(asked_again, kind_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-lost-flush",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
