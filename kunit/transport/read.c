// SPDX-License-Identifier: GPL-2.0
/*
 * READ requests (transport/read.c) as the peer sees them. The responses have the region's bytes,
 * and nothing overtakes them. A duplicate is served again, unless the region is gone.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define MTU	FAKE_MTU

static void expect_response(struct kunit *test, u8 opcode, u32 psn,
			    const u8 *want, u32 len)
{
	u8 data[FAKE_MTU];
	struct rxe_pkt pkt;

	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
	KUNIT_ASSERT_EQ(test, pkt.opcode, opcode);
	KUNIT_ASSERT_EQ(test, pkt.psn, psn);
	KUNIT_ASSERT_EQ(test, pkt.payload_len, len);
	KUNIT_ASSERT_MEMEQ(test, data, want, len);
}

static void read(struct kunit *test)
{
	u8 *mem = fake(test)->mem;
	u8 byte = 1;
	u32 round;

	rnd_fill(mem, 4096, 5);
	for (round = 0; round < 2; round++) {	/* new, then a duplicate */
		peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 33,
			  2 * MTU + 7, NULL, 0);
		expect_response(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST,
				PSN(0), mem + 33, MTU);
		expect_response(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE,
				PSN(1), mem + 33 + MTU, MTU);
		expect_response(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST,
				PSN(2), mem + 33 + 2 * MTU, 7);
		fake_expect_nothing(test);
	}
	/* the peer lost the first two responses */
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(2), 33 + 2 * MTU, 7,
		  NULL, 0);
	expect_response(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(2),
			mem + 33 + 2 * MTU, 7);
	fake_post_recv(test, 1, 8192, 8);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), &byte, 1);
	peer_expect_ack(test, PSN(3), 2);
}

/* A long READ goes out in several runs; nothing overtakes it */
static void long_read(struct kunit *test)
{
	u32 pkts = FAKE_MEM / MTU, i;
	u8 *mem = fake(test)->mem;
	u8 byte = 1;

	rnd_fill(mem, FAKE_MEM, 6);
	fake_post_recv(test, 1, 0, 1);
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, FAKE_MEM, NULL, 0);
	for (i = 0; i < pkts; i++)
		expect_response(test, !i ? IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST :
				i < pkts - 1 ?
				IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE :
				IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST,
				PSN(i), mem + i * MTU, MTU);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(pkts), &byte, 1);
	peer_expect_ack(test, PSN(pkts), 2);
}

/* READ requests for one packet each, in one train */
static void read_train(struct kunit *test, const u32 *psns, u32 num)
{
	struct rxe_pkt pkts[4];
	u32 i;

	for (i = 0; i < num; i++)
		pkts[i] = (struct rxe_pkt) {
			.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
			.psn = PSN(psns[i]),
			.va = fake_addr(test, 0),
			.rkey = fake(test)->mr->rkey,
			.dma_len = MTU,
		};
	fake_inject_train(test, pkts, num, NULL);
}

/* A response that is sent again begins a train [9.7.5.1.4] */
static void read_again(struct kunit *test)
{
	static const u32 psns[] = { 1, 2, 0 };
	u32 i;

	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, MTU, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	read_train(test, psns, ARRAY_SIZE(psns));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&fake(test)->sent), 2u);
	for (i = 0; i < ARRAY_SIZE(psns); i++)
		fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY,
			    PSN(psns[i]), NULL);
	fake_expect_nothing(test);
}

/* A duplicate arrives before the first response was sent: this response is its answer, too */
static void read_again_early(struct kunit *test)
{
	static const u32 psns[] = { 0, 1, 1, 0 };

	read_train(test, psns, ARRAY_SIZE(psns));
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(1), NULL);
	fake_expect_nothing(test);
	/* one that comes later may mean that the response was lost */
	read_train(test, psns, 1);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	fake_expect_nothing(test);
}

/*
 * A WRITE before a READ gets an ACK of its own: some peers don't take the response for one, and it
 * may have to wait
 */
static void acked_before_read(struct kunit *test)
{
	struct rxe_pkt pkts[] = {
		{ .opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY, .psn = PSN(0), .ack_req = true },
		{ .opcode = IB_OPCODE_RC_RDMA_READ_REQUEST, .psn = PSN(1), .dma_len = MTU },
	};
	struct rxe_pkt ack;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pkts); i++) {
		pkts[i].va = fake_addr(test, 0);
		pkts[i].rkey = fake(test)->mr->rkey;
	}
	fake_inject_train(test, pkts, ARRAY_SIZE(pkts), NULL);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, PSN(0), &ack);
	KUNIT_EXPECT_EQ(test, ack.msn, 1u);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(1), NULL);
	fake_expect_nothing(test);
}

/* A QP of the same device hands over a READ request, without packets (transport/local.c) */
static void read_directly(struct kunit *test, u32 psn)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
		.flags = rxe_opcode[IB_OPCODE_RC_RDMA_READ_REQUEST].flags,
		.psn = psn,
		.va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = 8,
	};
	struct rxe_data data = {};

	local_bh_disable();
	KUNIT_ASSERT_TRUE(test, rxe_task_enter(&qp->recv_task));
	qp->service->take_local(qp, &pkt, &data);
	rxe_task_end(&qp->recv_task, qp->rq.read.active);
	local_bh_enable();
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, psn, NULL);
	fake_expect_nothing(test);
}

/* The response was lost if the duplicate comes directly, whatever trains came before */
static void read_again_direct(struct kunit *test)
{
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, 8, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	read_directly(test, PSN(1));
	read_directly(test, PSN(1));
}

/* A duplicate READ isn't refused if the region is gone: the peer may have the response */
static void read_again_gone(struct kunit *test)
{
	struct rxe_pkt read = {
		.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
		.psn = PSN(0),
		.va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = FAKE_MEM,
	};
	struct rxe_rq *rq = &fake(test)->qp->rq;
	u32 budget = RXE_TASK_BUDGET;

	rxe_expect_advance(&rq->expect, FAKE_MEM / MTU);
	rq->read.sent_then = rq->expect.psn;
	rxe_task_pause(&fake(test)->qp->recv_task);
	local_bh_disable();
	rxe_read_again(fake(test)->qp, &read);
	KUNIT_EXPECT_TRUE(test, rq->read.active);
	rxe_key_drop(&rq->read.key);	/* a run ends, and the region goes */
	rq->read.rkey ^= 1;
	KUNIT_EXPECT_FALSE(test, rxe_read_continue(fake(test)->qp, &budget));
	local_bh_enable();
	rxe_task_resume(&fake(test)->qp->recv_task);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/* A duplicate is answered, and so is a newer request */
static void read_again_ack(struct kunit *test)
{
	struct rxe_pkt pkts[2] = {
		{
			.opcode = IB_OPCODE_RC_SEND_ONLY,
			.psn = PSN(1),
			.ack_req = true,
			.payload_len = 16,
		}, {
			.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
			.psn = PSN(0),
			.va = fake_addr(test, 0),
			.rkey = fake(test)->mr->rkey,
			.dma_len = 8,
		},
	};
	u8 data[16] = {};

	fake_post_recv(test, 1, 1024, 16);
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, 8, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	fake_inject_train(test, pkts, 2, data);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	peer_expect_ack(test, PSN(1), 2);
}

/* A duplicate that reaches beyond the expected PSN */
static void read_forged_duplicate(struct kunit *test)
{
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, MTU, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, 2 * MTU, NULL, 0);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/* In ERR, a READ response ends at once [10.3.1], and nothing waits to continue it */
static void read_in_err(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	local_bh_disable();
	qp->rq.read = (struct rxe_read_resp) {
		.active = true, .blocked = true, .va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey, .resid = 4 * FAKE_MTU, .psn = PSN(0),
	};
	rxe_qp_to_err(qp);
	local_bh_enable();
	rxe_task_kick(&qp->recv_task);
	fake_expect_nothing(test);
	KUNIT_EXPECT_FALSE(test, qp->rq.read.active);
	KUNIT_EXPECT_FALSE(test, qp->rq.read.blocked);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(read),
	KUNIT_CASE(long_read),
	KUNIT_CASE(read_again),
	KUNIT_CASE(read_again_early),
	KUNIT_CASE(acked_before_read),
	KUNIT_CASE(read_again_direct),
	KUNIT_CASE(read_again_gone),
	KUNIT_CASE(read_again_ack),
	KUNIT_CASE(read_forged_duplicate),
	KUNIT_CASE(read_in_err),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-read",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
