// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (transport/responder.c, read.c, rcv.c) as its peer sees it, with PSNs that
 * wrap around. Data is written to its place and nowhere else. Each kind of bad request gets
 * the answer that chapter 9 requires. Duplicates are answered but not executed. No sequence
 * of packets has any other effect.
 */
#include <linux/string.h>
#include "../fake.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)

static struct fake *fake(struct kunit *test)
{
	return test->priv;
}

static u64 addr(struct kunit *test, u32 off)
{
	return (uintptr_t)fake(test)->mem + off;
}

static u8 state(struct kunit *test)
{
	return READ_ONCE(fake(test)->qp->state);
}

/* A pattern that differs everywhere */
static void fill(u8 *p, u32 len, u32 seed)
{
	struct rnd_state rnd = rnd_init(seed);

	prandom_bytes_state(&rnd, p, len);
}

static void packet(struct kunit *test, u8 opcode, u32 psn, const void *data,
		   u32 len)
{
	struct rxe_pkt pkt = { .opcode = opcode, .psn = psn, .ack_req = true };

	fake_inject(test, &pkt, data, len);
}

/* A packet with a RETH */
static void reth(struct kunit *test, u8 opcode, u32 psn, u32 off, u32 dma_len,
		 const void *data, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.ack_req = true,
		.va = addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.dma_len = dma_len,
	};

	fake_inject(test, &pkt, data, len);
}

static void expect_ack(struct kunit *test, u32 psn, u32 msn)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.syndrome & RXE_AETH_TYPE_MASK, RXE_AETH_ACK);
	KUNIT_ASSERT_EQ(test, pkt.msn, msn);
}

static void expect_nak(struct kunit *test, u32 psn, u8 syndrome)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.syndrome, syndrome);
}

static void send_only(struct kunit *test)
{
	u8 data[200];
	struct ib_wc wc;

	fill(data, sizeof(data), 1);
	fake_post_recv(test, 11, 0, 256);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), data, 199);
	expect_ack(test, PSN(0), 1);
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
	fill(data, 10 * FAKE_MTU, 2);
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
	expect_ack(test, PSN(9), 1);
	fake_completion(test, fake(test)->rcq, 12, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 9 * FAKE_MTU + 33);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 100, data, 9 * FAKE_MTU + 33);
}

/* @last messages are done, in order, with the bytes 0x40, 0x41 ... */
static void expect_received(struct kunit *test, u32 first, u32 last)
{
	for (; first <= last; first++) {
		fake_completion(test, fake(test)->rcq, first, IB_WC_SUCCESS,
				NULL);
		KUNIT_EXPECT_EQ(test, fake(test)->mem[first], 0x40 + first);
	}
	fake_no_completion(test, fake(test)->rcq);
}

static void post_numbered(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 12; i++)
		fake_post_recv(test, i, i, 1);
}

static void numbered(struct kunit *test, u32 n)
{
	u8 byte = 0x40 + n;

	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(n), &byte, 1);
}

/* One NAK for a gap, however many packets follow it [C9-112]; they are held [9.7.4.1.1] */
static void gap(struct kunit *test)
{
	u32 i;

	post_numbered(test);
	for (i = 1; i < 9; i++)
		numbered(test, i);
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->rcq);
	numbered(test, 0);
	expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);	/* the held packets may be forged */
	numbered(test, 1);
	expect_ack(test, PSN(8), 9);
	expect_received(test, 0, 8);
}

/* Two gaps: when the first is filled, the second is requested */
static void two_gaps(struct kunit *test)
{
	u64 *patience = &fake(test)->qp->rq.gap.patience;

	post_numbered(test);
	numbered(test, 1);
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	numbered(test, 4);
	numbered(test, 3);	/* they needn't come in order */
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	numbered(test, 0);
	expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	*patience = 0;		/* each request raises it to reorder_ns */
	numbered(test, 1);
	expect_nak(test, PSN(2), RXE_NAK_PSN_SEQ);
	expect_received(test, 0, 1);
	*patience = 0;
	numbered(test, 2);
	expect_nak(test, PSN(3), RXE_NAK_PSN_SEQ);
	numbered(test, 3);
	expect_ack(test, PSN(4), 5);
	expect_received(test, 2, 4);
}

/* A retransmission is lost, too: an early packet that goes back shows it */
static void lost_again(struct kunit *test)
{
	u32 i;

	post_numbered(test);
	for (i = 1; i < 4; i++)
		numbered(test, i);
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	for (i = 1; i < 4; i++)
		numbered(test, i);
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	fake_expect_nothing(test);
	numbered(test, 0);
	expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	numbered(test, 1);
	expect_ack(test, PSN(3), 4);
	expect_received(test, 0, 3);
}

/* A requested packet comes twice: it was only late, and the patience grows */
static void only_late(struct kunit *test)
{
	struct rxe_gap *gap = &fake(test)->qp->rq.gap;
	struct rxe_pkt pkt;

	post_numbered(test);
	numbered(test, 1);
	expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	gap->patience = NSEC_PER_SEC / 20;
	numbered(test, 0);
	expect_ack(test, PSN(0), 1);
	numbered(test, 2);
	expect_ack(test, PSN(2), 3);
	gap->patience = 0;
	numbered(test, 0);
	expect_ack(test, PSN(2), 3);
	KUNIT_EXPECT_GE(test, gap->patience, rxe_knob(reorder_ns));
	gap->patience = NSEC_PER_SEC / 20;
	numbered(test, 4);
	fake_expect_nothing(test);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(3));
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
	expect_received(test, 0, 2);
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
		packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), &byte, 1);
		expect_ack(test, PSN(i), i + 1);
		fake_completion(test, fake(test)->rcq, i, IB_WC_SUCCESS, NULL);
	}
	byte = 0x55;
	for (i = 0; i < 3; i++) {
		packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), &byte, 1);
		expect_ack(test, PSN(2), 3);
		fake_no_completion(test, fake(test)->rcq);
	}
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0x40);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[3], 0);
}

/* Packets behind it are dropped until the peer sends it again [9.7.5.2.8] */
static void not_ready(struct kunit *test)
{
	u8 byte = 7;

	fake(test)->qp->attr.min_rnr_timer = 12;
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 12);
	/* a packet that was in flight behind it */
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), &byte, 1);
	fake_expect_nothing(test);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 12);
	fake_post_recv(test, 8, 0, 1);
	fake_post_recv(test, 9, 0, 1);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	expect_nak(test, PSN(1), RXE_NAK_PSN_SEQ);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), &byte, 1);
	expect_ack(test, PSN(1), 2);
	fake_completion(test, fake(test)->rcq, 8, IB_WC_SUCCESS, NULL);
	fake_completion(test, fake(test)->rcq, 9, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_RTS);
}

static void send_too_long(struct kunit *test)
{
	u8 data[32] = {};

	fake_post_recv(test, 1, 0, 16);
	fake_post_recv(test, 2, 0, 16);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), data, 17);
	expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_LOC_LEN_ERR, NULL);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_LEN), 1ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_FLUSH), 1ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_ERR), 2ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_REFUSED_ACCESS), 0ull);
}

static void write(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 3 * FAKE_MTU, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	fill(data, 3 * FAKE_MTU, 3);
	reth(test, IB_OPCODE_RC_RDMA_WRITE_FIRST, PSN(0), 77, 2 * FAKE_MTU + 5,
	     data, FAKE_MTU);
	packet(test, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, PSN(1), data + FAKE_MTU,
	       FAKE_MTU);
	packet(test, IB_OPCODE_RC_RDMA_WRITE_LAST, PSN(2), data + 2 * FAKE_MTU,
	       5);
	expect_ack(test, PSN(0), 0);
	expect_ack(test, PSN(1), 0);
	expect_ack(test, PSN(2), 1);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[76], 0);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 77, data, 2 * FAKE_MTU + 5);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[77 + 2 * FAKE_MTU + 5], 0);
	fake_no_completion(test, fake(test)->rcq);
}

static void write_imm(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
		.va = addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = 10,
		.psn = PSN(0),
		.ack_req = true,
		.imm = cpu_to_be32(99),
	};
	u8 data[10];
	struct ib_wc wc;

	fill(data, sizeof(data), 4);
	fake_inject(test, &pkt, data, 10);
	expect_nak(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	fake_post_recv(test, 5, 512, 0);
	fake_inject(test, &pkt, data, 10);
	expect_ack(test, PSN(0), 1);
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
	expect_ack(test, PSN(0), 1);
	rd.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST;
	rd.psn = PSN(1);
	fake_inject(test, &rd, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(1), &rd);
	KUNIT_EXPECT_EQ(test, rd.payload_len, 0u);
	KUNIT_EXPECT_EQ(test, rd.msn, 2u);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_RTS);
}

static void bad_key(struct kunit *test, u8 opcode, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = PSN(0),
		.ack_req = true,
		.va = addr(test, 0),
		.rkey = fake(test)->mr->rkey ^ 1,
		.dma_len = 8,
	};
	u8 data[8] = { 1, 2, 3 };

	fake_inject(test, &pkt, data, len);
	expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_QP_ACCESS_ERR,
					 &fake(test)->events));
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_REFUSED_ACCESS), 1ull);
}

static void write_bad_key(struct kunit *test)
{
	bad_key(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, 8);
}

static void read_bad_key(struct kunit *test)
{
	bad_key(test, IB_OPCODE_RC_RDMA_READ_REQUEST, 0);
}

static void atomic_bad_key(struct kunit *test)
{
	bad_key(test, IB_OPCODE_RC_FETCH_ADD, 0);
}

/* A valid key of another protection domain */
static void foreign_pd(struct kunit *test)
{
	struct ib_pd other = fake(test)->pd;
	u8 byte = 1;

	to_rxe_mr(fake(test)->mr)->key.pd = &other;
	reth(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, PSN(0), 0, 1, &byte, 1);
	expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
}

/* What each case sends after an optional FIRST, and must be refused for */
struct refusal {
	const char *name;
	u8 first;	/* opcode, or 0xff: none */
	u8 opcode;
	u32 len;
	u32 dma_len;
};

#define NONE	0xff
#define MTU	FAKE_MTU

static const struct refusal refusals[] = {
	{ "middle-without-first", NONE, IB_OPCODE_RC_SEND_MIDDLE, MTU },
	{ "last-without-first", NONE, IB_OPCODE_RC_SEND_LAST, 8 },
	{ "write-middle-without-first", NONE, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, MTU },
	{ "write-last-without-first", NONE, IB_OPCODE_RC_RDMA_WRITE_LAST, 8 },
	{ "short-first", NONE, IB_OPCODE_RC_SEND_FIRST, MTU - 4 },
	{ "long-only", NONE, IB_OPCODE_RC_SEND_ONLY, MTU + 4 },
	{ "short-middle", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_SEND_MIDDLE, 4 },
	{ "long-middle", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_SEND_MIDDLE, MTU + 4 },
	{ "empty-last", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_SEND_LAST, 0 },
	{ "first-in-message", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_SEND_FIRST, MTU },
	{ "only-in-message", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_SEND_ONLY, 4 },
	{ "write-in-send", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_RDMA_WRITE_LAST, 4 },
	{ "send-in-write", IB_OPCODE_RC_RDMA_WRITE_FIRST, IB_OPCODE_RC_SEND_LAST, 4 },
	{ "read-in-send", IB_OPCODE_RC_SEND_FIRST, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 8 },
	{ "atomic-in-write", IB_OPCODE_RC_RDMA_WRITE_FIRST, IB_OPCODE_RC_FETCH_ADD, 0 },
	{ "write-shorter", NONE, IB_OPCODE_RC_RDMA_WRITE_ONLY, 8, 12 },
	{ "write-longer", NONE, IB_OPCODE_RC_RDMA_WRITE_ONLY, 12, 8 },
	{ "write-ends-early", IB_OPCODE_RC_RDMA_WRITE_FIRST, IB_OPCODE_RC_RDMA_WRITE_LAST, 4 },
	{ "write-too-much", IB_OPCODE_RC_RDMA_WRITE_FIRST, IB_OPCODE_RC_RDMA_WRITE_LAST, 16 },
};

static void refusal_name(const struct refusal *r, char *name)
{
	strscpy(name, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusal, refusals, refusal_name);

/* A NAK, the QP in ERR, and nothing is written [9.7.4.1.2] [9.7.4.1.6] [9.9.3] */
static void refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	u8 *data = kunit_kzalloc(test, 2 * MTU, GFP_KERNEL);
	u32 n = 0;

	KUNIT_ASSERT_NOT_NULL(test, data);
	fake_post_recv(test, 1, 0, 4096);
	if (r->first != NONE) {
		/* a WRITE FIRST promises 8 bytes more */
		reth(test, r->first, PSN(0), 0, MTU + 8, data, MTU);
		expect_ack(test, PSN(0), 0);
		n = 1;
	}
	data[0] = 1;
	reth(test, r->opcode, PSN(n), 1024, r->dma_len, data, r->len);
	expect_nak(test, PSN(n), RXE_NAK_INV_REQ);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[1024], 0);
}

/* The QP's own access flags, not the region's */
static void not_enabled(struct kunit *test)
{
	static const u8 opcodes[] = {
		IB_OPCODE_RC_RDMA_WRITE_ONLY, IB_OPCODE_RC_RDMA_READ_REQUEST,
		IB_OPCODE_RC_FETCH_ADD, IB_OPCODE_RC_COMPARE_SWAP,
	};
	u8 data[8] = { 1 };
	u32 i;

	fake(test)->qp->attr.qp_access_flags = 0;
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		WRITE_ONCE(fake(test)->qp->state, IB_QPS_RTS);
		reth(test, opcodes[i], PSN(0), 0, 8, data, i ? 0 : 8);
		expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
		KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	}
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
}

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

	fill(mem, 4096, 5);
	for (round = 0; round < 2; round++) {	/* new, then a duplicate */
		reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 33,
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
	reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(2), 33 + 2 * MTU, 7,
	     NULL, 0);
	expect_response(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(2),
			mem + 33 + 2 * MTU, 7);
	fake_post_recv(test, 1, 8192, 8);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), &byte, 1);
	expect_ack(test, PSN(3), 2);
}

/* A long READ goes out in several runs; nothing overtakes it */
static void long_read(struct kunit *test)
{
	u32 pkts = FAKE_MEM / MTU, i;
	u8 *mem = fake(test)->mem;
	u8 byte = 1;

	fill(mem, FAKE_MEM, 6);
	fake_post_recv(test, 1, 0, 1);
	reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, FAKE_MEM, NULL, 0);
	for (i = 0; i < pkts; i++)
		expect_response(test, !i ? IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST :
				i < pkts - 1 ?
				IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE :
				IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST,
				PSN(i), mem + i * MTU, MTU);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(pkts), &byte, 1);
	expect_ack(test, PSN(pkts), 2);
}

/* A response that is sent again begins a train [9.7.5.1.4] */
static void read_again(struct kunit *test)
{
	static const u32 psns[] = { 0, 1, 0 };
	struct rxe_pkt pkts[ARRAY_SIZE(psns)];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(psns); i++)
		pkts[i] = (struct rxe_pkt) {
			.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
			.psn = PSN(psns[i]),
			.va = addr(test, 0),
			.rkey = fake(test)->mr->rkey,
			.dma_len = MTU,
		};
	fake_inject_train(test, pkts, ARRAY_SIZE(psns), NULL);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&fake(test)->sent), 2u);
	for (i = 0; i < ARRAY_SIZE(psns); i++)
		fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY,
			    PSN(psns[i]), NULL);
	fake_expect_nothing(test);
}

/* A duplicate READ isn't refused if the region is gone: the peer may have the response */
static void read_again_gone(struct kunit *test)
{
	struct rxe_pkt read = {
		.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
		.psn = PSN(0),
		.va = addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = FAKE_MEM,
	};
	struct rxe_rq *rq = &fake(test)->qp->rq;
	u32 budget = RXE_TASK_BUDGET;

	rxe_expect_advance(&rq->expect, FAKE_MEM / MTU);
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
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_RTS);
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
			.va = addr(test, 0),
			.rkey = fake(test)->mr->rkey,
			.dma_len = 8,
		},
	};
	u8 data[16] = {};

	fake_post_recv(test, 1, 1024, 16);
	reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, 8, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	fake_inject_train(test, pkts, 2, data);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	expect_ack(test, PSN(1), 2);
}

/* A duplicate that reaches beyond the expected PSN */
static void read_forged_duplicate(struct kunit *test)
{
	reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, MTU, NULL, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL);
	reth(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), 0, 2 * MTU, NULL, 0);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_RTS);
}

static void atomic(struct kunit *test, u8 opcode, u32 psn, u32 off, u64 compare,
		   u64 swap_add)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.va = addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.compare = compare,
		.swap_add = swap_add,
		.ack_req = true,
	};

	fake_inject(test, &pkt, NULL, 0);
}

static void expect_orig(struct kunit *test, u32 psn, u64 orig)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.atomic_orig, orig);
}

static void atomics(struct kunit *test)
{
	u64 *mem = (u64 *)(fake(test)->mem + 64);

	*mem = 100;
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 64, 0, 5);
	expect_orig(test, PSN(0), 100);
	KUNIT_EXPECT_EQ(test, *mem, 105ull);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(1), 64, 105, 7);
	expect_orig(test, PSN(1), 105);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(2), 64, 105, 8);
	expect_orig(test, PSN(2), 7);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
	/* duplicates: the saved replies are sent, and nothing is executed */
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 64, 0, 5);
	expect_orig(test, PSN(0), 100);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(1), 64, 105, 7);
	expect_orig(test, PSN(1), 105);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
}

/* As many replies are saved as the peer may have outstanding [9.4.5] */
static void atomic_memory(struct kunit *test)
{
	u64 *mem = (u64 *)fake(test)->mem;
	u32 i;

	for (i = 0; i < 10; i++) {
		atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(i), 0, 0, 1);
		expect_orig(test, PSN(i), i);
	}
	for (i = 6; i < 10; i++) {
		atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(i), 0, 0, 1);
		expect_orig(test, PSN(i), i);
	}
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, *mem, 10ull);
}

/* The PSNs wrap around: a reply that was saved 2^24 packets ago isn't sent */
static void atomic_wrapped(struct kunit *test)
{
	struct rxe_rq *rq = &fake(test)->qp->rq;
	u32 i;

	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	expect_orig(test, PSN(0), 0);
	for (i = 0; i < 4; i++)
		rxe_expect_advance(&rq->expect, BIT(22));
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, *(u64 *)fake(test)->mem, 1ull);
}

static void atomic_unaligned(struct kunit *test)
{
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 4, 0, 1);
	expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
}

/* Annex A19: the answer is a READ response without data */
static void place(struct kunit *test, u8 opcode, u32 psn, u32 off, u32 len,
		  u32 feth, u64 value)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.va = addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.dma_len = len,
		.feth = feth,
		.ack_req = true,
	};

	fake_inject(test, &pkt, &value,
		    opcode == IB_OPCODE_RC_ATOMIC_WRITE ? sizeof(value) : 0);
}

static void expect_placed(struct kunit *test, u32 psn)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, psn, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 0u);
	KUNIT_EXPECT_EQ(test, pkt.syndrome & RXE_AETH_TYPE_MASK, RXE_AETH_ACK);
}

/* A duplicate is answered, and doesn't overwrite newer data [A19.4.2] */
static void atomic_write(struct kunit *test)
{
	u64 *mem = (u64 *)(fake(test)->mem + 64);

	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 64, 8, 0, 0x1234567890abcdef);
	expect_placed(test, PSN(0));
	KUNIT_EXPECT_EQ(test, *mem, 0x1234567890abcdefull);
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(1), 64, 8, 0, 7);
	expect_placed(test, PSN(1));
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 64, 8, 0, 0x1234567890abcdef);
	expect_placed(test, PSN(0));
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
}

static void atomic_write_unaligned(struct kunit *test)
{
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 4, 8, 0, 1);
	expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
}

static void atomic_write_length(struct kunit *test)
{
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 8, 16, 0, 1);
	expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
}

static void atomic_write_access(struct kunit *test)
{
	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_REMOTE_WRITE;
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 8, 8, 0, 1);
	expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, *(u64 *)(fake(test)->mem + 8), 0ull);
}

#define FETH(type, level)	((type) | (level) << RXE_FETH_LEVEL_SHIFT)

static void allow_flush(struct kunit *test, int qp, int key)
{
	fake(test)->qp->attr.qp_access_flags |= qp;
	to_rxe_mr(fake(test)->mr)->key.access |= key;
}

/* A range or all; of a range, zero bytes need no key [A19.4.1] [C9-88] */
static void flush(struct kunit *test)
{
	allow_flush(test, IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL);
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 4096, FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(0));
	place(test, IB_OPCODE_RC_FLUSH, PSN(1), 0, U32_MAX, FETH(1, IB_FLUSH_MR), 0);
	expect_placed(test, PSN(1));
	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_FLUSH_GLOBAL;
	place(test, IB_OPCODE_RC_FLUSH, PSN(2), 0, 0, FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(2));
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 4096, FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(0));
}

/* A persistent FLUSH is executed in steps, and answered after the last one [A19.4.1] */
static void flush_persistent(struct kunit *test)
{
	struct rxe_key *key = &to_rxe_mr(fake(test)->mr)->key;
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_FLUSH,
		.flags = RXE_OP_FLUSH,
		.psn = PSN(0),
		.rkey = fake(test)->mr->rkey,
		.feth = FETH(IB_FLUSH_PERSISTENT, IB_FLUSH_MR),
	};
	u32 step;

	allow_flush(test, IB_ACCESS_FLUSH_PERSISTENT, IB_ACCESS_FLUSH_PERSISTENT);
	key->length = 2ull * RXE_PERSIST_STEP + 1;
	qp->rq.persist.seq = qp->rq.expect.seq - 1;
	local_bh_disable();
	for (step = 0; step < 3; step++) {
		KUNIT_EXPECT_EQ(test, rxe_single_execute(qp, &pkt, NULL),
				(u8)RXE_UNFINISHED);
		KUNIT_EXPECT_EQ(test, qp->rq.persist.done, step * (u64)RXE_PERSIST_STEP);
	}
	KUNIT_EXPECT_EQ(test, rxe_single_execute(qp, &pkt, NULL), (u8)0);
	KUNIT_EXPECT_EQ(test, qp->rq.persist.done, key->length);
	rxe_out_flush(qp, &qp->rq.reply.out);
	local_bh_enable();
	expect_placed(test, PSN(0));
	place(test, IB_OPCODE_RC_FLUSH, PSN(1), 0, 0, pkt.feth, 0);
	expect_placed(test, PSN(1));
}

/* Without the QP's access flag: an invalid request; without the key's: an access error */
static const struct bad_flush {
	const char *name;
	int qp;
	int key;
	u32 feth;
	u8 nak;
} bad_flushes[] = {
	{ "qp", 0, IB_ACCESS_FLUSH_GLOBAL, FETH(1, 0), RXE_NAK_INV_REQ },
	{ "no-type", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL, FETH(0, 0), RXE_NAK_INV_REQ },
	{ "type", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL, FETH(5, 0), RXE_NAK_INV_REQ },
	{ "level", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL, FETH(1, 2), RXE_NAK_INV_REQ },
	{ "key", IB_ACCESS_FLUSH_GLOBAL, 0, FETH(1, 0), RXE_NAK_REM_ACCESS },
	{ "key-all", IB_ACCESS_FLUSH_GLOBAL, 0, FETH(1, 1), RXE_NAK_REM_ACCESS },
	{ "persistent", IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT,
	  IB_ACCESS_FLUSH_GLOBAL, FETH(2, 1), RXE_NAK_REM_ACCESS },
};

static void bad_flush_name(const struct bad_flush *bad, char *name)
{
	strscpy(name, bad->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad_flush, bad_flushes, bad_flush_name);

/* [A19.4.3] */
static void flush_refused(struct kunit *test)
{
	const struct bad_flush *bad = test->param_value;

	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_FLUSH_GLOBAL;
	fake(test)->qp->attr.qp_access_flags &= ~IB_ACCESS_FLUSH_GLOBAL;
	allow_flush(test, bad->qp, bad->key);
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 64, bad->feth, 0);
	expect_nak(test, PSN(0), bad->nak);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
}

/* Packets of another sender or transport, responses without a request [9.6.1.5] */
static void strangers(struct kunit *test)
{
	struct rxe_pkt ack = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = FAKE_SQ_PSN,
		.syndrome = RXE_AETH_CREDITS_NONE,
	};
	struct rxe_pkt ud = {
		.opcode = IB_OPCODE_UD_SEND_ONLY,
		.psn = PSN(0),
		.src_qpn = FAKE_PEER,
	};
	u8 byte = 1;

	fake_post_recv(test, 1, 0, 64);
	fake_inject(test, &ack, NULL, 0);
	fake_inject(test, &ud, &byte, 1);
	fake(test)->peer.sgid.raw[15] = 77;
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	fake(test)->peer.sgid.raw[15] = 2;
	fake(test)->peer.proto = RXE_ROCE_V2_IPV6;
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	fake(test)->peer.proto = RXE_ROCE_V2_IPV4;
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->rcq);
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	expect_ack(test, PSN(0), 1);
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
		.va = addr(test, rnd_below(rnd, FAKE_MEM / 2) & ~7u),
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
		if (state(test) == IB_QPS_ERR) {
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

/* In ERR, a READ response ends where it is [10.3.1], and nothing waits to continue it */
static void read_in_err(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	local_bh_disable();
	qp->rq.read = (struct rxe_read_resp) {
		.active = true, .blocked = true, .va = addr(test, 0),
		.rkey = fake(test)->mr->rkey, .resid = 4 * FAKE_MTU, .psn = PSN(0),
	};
	rxe_qp_to_err(qp);
	local_bh_enable();
	rxe_task_kick(&qp->recv_task);
	fake_expect_nothing(test);
	KUNIT_EXPECT_FALSE(test, qp->rq.read.active);
	KUNIT_EXPECT_FALSE(test, qp->rq.read.blocked);
}

/* An skb that ends before its payload does: nothing completes with success */
static void short_send(struct kunit *test)
{
	struct rxe_pkt pkt = { .opcode = IB_OPCODE_RC_SEND_ONLY, .psn = PSN(0), .ack_req = true };
	u8 data[200];

	fill(data, sizeof(data), 1);
	fake_post_recv(test, 11, 0, 256);
	fake_inject_short(test, &pkt, data, sizeof(data), 4);
	expect_nak(test, PSN(0), RXE_NAK_REM_OP);
	fake_completion(test, fake(test)->rcq, 11, IB_WC_LOC_PROT_ERR, NULL);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
}

static void short_write(struct kunit *test)
{
	u8 data[200];
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY,
		.psn = PSN(0),
		.ack_req = true,
		.va = addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = sizeof(data),
	};

	fill(data, sizeof(data), 1);
	fake_inject_short(test, &pkt, data, sizeof(data), 4);
	expect_nak(test, PSN(0), RXE_NAK_REM_OP);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[sizeof(data) - 1], 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send_only),
	KUNIT_CASE(send_imm),
	KUNIT_CASE(send_many),
	KUNIT_CASE(gap),
	KUNIT_CASE(two_gaps),
	KUNIT_CASE(lost_again),
	KUNIT_CASE(only_late),
	KUNIT_CASE(duplicate_send),
	KUNIT_CASE(not_ready),
	KUNIT_CASE(send_too_long),
	KUNIT_CASE(write),
	KUNIT_CASE(write_imm),
	KUNIT_CASE(zero_bytes),
	KUNIT_CASE(write_bad_key),
	KUNIT_CASE(read_bad_key),
	KUNIT_CASE(atomic_bad_key),
	KUNIT_CASE(foreign_pd),
	KUNIT_CASE_PARAM(refused, refusal_gen_params),
	KUNIT_CASE(not_enabled),
	KUNIT_CASE(read),
	KUNIT_CASE(long_read),
	KUNIT_CASE(read_again),
	KUNIT_CASE(read_again_gone),
	KUNIT_CASE(read_again_ack),
	KUNIT_CASE(read_forged_duplicate),
	KUNIT_CASE(atomics),
	KUNIT_CASE(atomic_memory),
	KUNIT_CASE(atomic_wrapped),
	KUNIT_CASE(atomic_unaligned),
	KUNIT_CASE(atomic_write),
	KUNIT_CASE(atomic_write_unaligned),
	KUNIT_CASE(atomic_write_length),
	KUNIT_CASE(atomic_write_access),
	KUNIT_CASE(flush),
	KUNIT_CASE(flush_persistent),
	KUNIT_CASE_PARAM(flush_refused, bad_flush_gen_params),
	KUNIT_CASE(strangers),
	KUNIT_CASE(short_send),
	KUNIT_CASE(short_write),
	KUNIT_CASE(fuzz),
	KUNIT_CASE(read_in_err),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-responder",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
