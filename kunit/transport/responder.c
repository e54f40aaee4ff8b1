// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (transport/responder.c, rcv.c) as its peer sees it, with PSNs that wrap around:
 * SEND and RDMA WRITE. Data is written to its place and nowhere else. Duplicates are answered
 * but not executed. No sequence of packets has any other effect.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define MTU	FAKE_MTU

static void send_only(struct kunit *test)
{
	u8 data[200];
	struct ib_wc wc;

	rnd_fill(data, sizeof(data), 1);
	fake_post_recv(test, 11, 0, 256);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), data, 199);
	peer_expect_ack(test, PSN(0), 1);
	fake_completion(test, fake(test)->rcq, 11, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 199u);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)IB_WC_RECV);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, 199);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[199], 0);
	fake_expect_nothing(test);
}

static void send_imm(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE,
		.psn = PSN(0),
		.imm = cpu_to_be32(0x12345678),
	};
	struct ib_wc wc;

	fake_post_recv(test, 11, 0, 256);
	fake_inject(test, &pkt, NULL, 0);
	fake_completion(test, fake(test)->rcq, 11, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0u);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.ex.imm_data, cpu_to_be32(0x12345678));
}

/* Ten packets into one buffer, with PSNs that wrap around */
static void send_many(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 10 * FAKE_MTU, GFP_KERNEL);
	struct ib_wc wc;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	rnd_fill(data, 10 * FAKE_MTU, 2);
	fake_post_recv(test, 12, 100, 10 * FAKE_MTU);
	for (i = 0; i < 10; i++) {
		struct rxe_pkt pkt = {
			.opcode = !i ? IB_OPCODE_RC_SEND_FIRST : i < 9 ?
				  IB_OPCODE_RC_SEND_MIDDLE : IB_OPCODE_RC_SEND_LAST,
			.psn = PSN(i),
			.ack_req = i == 9,
		};

		fake_inject(test, &pkt, data + i * FAKE_MTU,
			    i < 9 ? FAKE_MTU : 33);
		if (i < 9) {
			fake_expect_nothing(test);
			fake_no_completion(test, fake(test)->rcq);
		}
	}
	peer_expect_ack(test, PSN(9), 1);
	fake_completion(test, fake(test)->rcq, 12, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 9 * FAKE_MTU + 33);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 100, data, 9 * FAKE_MTU + 33);
}

/* A duplicate is answered, and not executed again [9.7.5.1.4] */
static void duplicate_send(struct kunit *test)
{
	u8 byte = 0x42;
	u32 i;

	for (i = 0; i < 4; i++)
		fake_post_recv(test, i, i, 1);
	for (i = 0; i < 3; i++) {
		byte = 0x40 + i;
		peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), &byte, 1);
		peer_expect_ack(test, PSN(i), i + 1);
		fake_completion(test, fake(test)->rcq, i, IB_WC_SUCCESS, NULL);
	}
	byte = 0x55;
	for (i = 0; i < 3; i++) {
		peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), &byte, 1);
		peer_expect_ack(test, PSN(2), 3);
		fake_no_completion(test, fake(test)->rcq);
	}
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0x40);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[3], 0);
}

/* After an RNR NAK, packets are dropped until the peer sends the request again [9.7.5.2.8] */
static void not_ready(struct kunit *test)
{
	u8 byte = 7;

	fake(test)->qp->attr.min_rnr_timer = 12;
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	peer_expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 12);
	/* a packet that was in flight behind it */
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), &byte, 1);
	fake_expect_nothing(test);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	peer_expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 12);
	fake_post_recv(test, 8, 0, 1);
	fake_post_recv(test, 9, 0, 1);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	peer_expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), &byte, 1);
	peer_expect_ack(test, PSN(1), 2);
	fake_completion(test, fake(test)->rcq, 8, IB_WC_SUCCESS, NULL);
	fake_completion(test, fake(test)->rcq, 9, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

static void write(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 3 * FAKE_MTU, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	rnd_fill(data, 3 * FAKE_MTU, 3);
	peer_rdma(test, IB_OPCODE_RC_RDMA_WRITE_FIRST, PSN(0), 77, 2 * FAKE_MTU + 5,
		  data, FAKE_MTU);
	peer_request(test, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, PSN(1), data + FAKE_MTU,
		     FAKE_MTU);
	peer_request(test, IB_OPCODE_RC_RDMA_WRITE_LAST, PSN(2), data + 2 * FAKE_MTU,
		     5);
	peer_expect_ack(test, PSN(0), 0);
	peer_expect_ack(test, PSN(1), 0);
	peer_expect_ack(test, PSN(2), 1);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[76], 0);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 77, data, 2 * FAKE_MTU + 5);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[77 + 2 * FAKE_MTU + 5], 0);
	fake_no_completion(test, fake(test)->rcq);
}

static void write_imm(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
		.va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = 10,
		.psn = PSN(0),
		.ack_req = true,
		.imm = cpu_to_be32(99),
	};
	u8 data[10];
	struct ib_wc wc;

	rnd_fill(data, sizeof(data), 4);
	fake_inject(test, &pkt, data, 10);
	peer_expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	fake_post_recv(test, 5, 512, 0);
	fake_inject(test, &pkt, data, 10);
	peer_expect_ack(test, PSN(0), 1);
	fake_completion(test, fake(test)->rcq, 5, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 10u);
	KUNIT_EXPECT_EQ(test, wc.ex.imm_data, cpu_to_be32(99));
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, 10);
}

/* Zero bytes need no key [C9-88] */
static void zero_bytes(struct kunit *test)
{
	struct rxe_pkt wr = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY,
		.psn = PSN(0),
		.ack_req = true,
		.va = 0xdead0000,
		.rkey = 0xbad,
	};
	struct rxe_pkt rd = wr;

	fake_inject(test, &wr, NULL, 0);
	peer_expect_ack(test, PSN(0), 1);
	rd.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST;
	rd.psn = PSN(1);
	fake_inject(test, &rd, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(1), &rd);
	KUNIT_EXPECT_EQ(test, rd.payload_len, 0u);
	KUNIT_EXPECT_EQ(test, rd.msn, 2u);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/* One random request, more often than not near the expected PSN */
static void random_packet(struct kunit *test, struct rnd_state *rnd, u8 *data)
{
	static const u8 opcodes[] = {
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
		0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13,
		0x14, 0x16, 0x17, 0x64,
	};
	struct rxe_pkt pkt = {
		.opcode = opcodes[rnd_below(rnd, ARRAY_SIZE(opcodes))],
		.ack_req = rnd_below(rnd, 2),
		.va = fake_addr(test, rnd_below(rnd, FAKE_MEM / 2) & ~7u),
		.rkey = fake(test)->mr->rkey + !rnd_below(rnd, 30),
		.syndrome = prandom_u32_state(rnd),
	};
	u32 len = 0;

	pkt.psn = rxe_psn_add(fake(test)->qp->rq.expect.psn,
			      rnd_below(rnd, 4) ? 0 : rnd_below(rnd, 20) - 10);
	if (pkt.opcode >= 0x0d && pkt.opcode <= 0x12)
		pkt.psn = rxe_psn_add(fake(test)->qp->sq.flight.una,
				      rnd_below(rnd, 8) - 2);
	if (rxe_opcode[pkt.opcode].flags & RXE_OP_PAYLOAD)
		len = rnd_below(rnd, 3) ? MTU : rnd_below(rnd, 2 * MTU);
	pkt.dma_len = rnd_below(rnd, 2) ? len :
		rnd_below(rnd, FAKE_MEM / 2);
	fake_inject(test, &pkt, data, len);
}

/* Any packets in any order; the QP is reset when it has failed */
static void fuzz(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(12);
	struct fake *f = fake(test);
	u32 i, errors = 0, completions = 0;
	struct rxe_pkt pkt;
	struct ib_wc wc;
	u8 *data = kunit_kzalloc(test, 2 * MTU, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0; i < 5000; i++) {
		if (fake_state(test) == IB_QPS_ERR) {
			errors++;
			f->qp->rq.expect.op_flags = 0;
			WRITE_ONCE(f->qp->state, IB_QPS_RTS);
		}
		if (rxe_ring_count_pending(f->qp->rq.recv.q.ring) < 4)
			fake_post_recv(test, i, 0, FAKE_MEM / 2);
		if (!rnd_below(&rnd, 10) &&
		    rxe_ring_count_pending(f->qp->sq.q.ring) + f->qp->sq.q.head -
		    f->qp->sq.q.tail < 4)
			fake_send(test, i, 0, rnd_below(&rnd, 4 * MTU));
		random_packet(test, &rnd, data);
		while (fake_take(test, &pkt, NULL))
			KUNIT_ASSERT_TRUE(test, pkt.flags & RXE_OP_VALID);
		while (rxe_poll_cq(&f->rcq->ibcq, 1, &wc) == 1)
			completions++;
		while (rxe_poll_cq(&f->scq->ibcq, 1, &wc) == 1)
			completions++;
	}
	/* the packets must have caused both errors and completions */
	KUNIT_EXPECT_GT(test, errors, 100u);
	KUNIT_EXPECT_GT(test, completions, 100u);
	KUNIT_EXPECT_FALSE(test, f->rcq->overflow);
	KUNIT_EXPECT_FALSE(test, f->scq->overflow);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send_only),
	KUNIT_CASE(send_imm),
	KUNIT_CASE(send_many),
	KUNIT_CASE(duplicate_send),
	KUNIT_CASE(not_ready),
	KUNIT_CASE(write),
	KUNIT_CASE(write_imm),
	KUNIT_CASE(zero_bytes),
	KUNIT_CASE(fuzz),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-responder",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
