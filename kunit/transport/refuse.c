// SPDX-License-Identifier: GPL-2.0
/*
 * Bad requests (transport/responder.c, rcv.c, packet.c). Each kind gets the answer that chapter
 * 9 requires, and changes no memory. A sender other than the peer gets no answer.
 */
#include <linux/string.h>
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define MTU	FAKE_MTU

static void send_too_long(struct kunit *test)
{
	u8 data[32] = {};

	fake_post_recv(test, 1, 0, 16);
	fake_post_recv(test, 2, 0, 16);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), data, 17);
	peer_expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_LOC_LEN_ERR, NULL);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_LEN), 1ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_FLUSH), 1ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_ERR), 2ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_REFUSED_ACCESS), 0ull);
}

static void bad_key(struct kunit *test, u8 opcode, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = PSN(0),
		.ack_req = true,
		.va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey ^ 1,
		.dma_len = 8,
	};
	u8 data[8] = { 1, 2, 3 };

	fake_inject(test, &pkt, data, len);
	peer_expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
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
	peer_rdma(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, PSN(0), 0, 1, &byte, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
}

/* The request that a case sends after an optional FIRST, and the expected refusal */
struct refusal {
	const char *name;
	u8 first;	/* opcode, or 0xff: none */
	u8 opcode;
	u32 len;
	u32 dma_len;
};

#define NONE	0xff

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
	{ "reserved", NONE, 0x15, 8 },
	{ "reserved-empty", NONE, 0x18, 0 },
	{ "reserved-full", NONE, 0x1b, MTU },
	{ "reserved-long", NONE, 0x1e, MTU + 4 },
	{ "reserved-in-send", IB_OPCODE_RC_SEND_FIRST, 0x1f, MTU },
	{ "reserved-in-write", IB_OPCODE_RC_RDMA_WRITE_FIRST, 0x1a, 8 },
	{ "write-too-much", IB_OPCODE_RC_RDMA_WRITE_FIRST, IB_OPCODE_RC_RDMA_WRITE_LAST, 16 },
};

static void refusal_name(const struct refusal *r, char *name)
{
	strscpy(name, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusal, refusals, refusal_name);

/* A NAK, the QP in ERR, and nothing is written [9.7.4.1.2] [9.7.4.1.6] [9.7.5.2.4] [9.9.3] */
static void refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	u8 *data = kunit_kzalloc(test, 2 * MTU, GFP_KERNEL);
	u32 n = 0;

	KUNIT_ASSERT_NOT_NULL(test, data);
	fake_post_recv(test, 1, 0, 4096);
	if (r->first != NONE) {
		/* a WRITE FIRST promises 8 bytes more */
		peer_rdma(test, r->first, PSN(0), 0, MTU + 8, data, MTU);
		peer_expect_ack(test, PSN(0), 0);
		n = 1;
	}
	data[0] = 1;
	peer_rdma(test, r->opcode, PSN(n), 1024, r->dma_len, data, r->len);
	peer_expect_nak(test, PSN(n), RXE_NAK_INV_REQ);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[1024], 0);
}

/* Out of order, a reserved opcode isn't held. As a duplicate, it is ignored. Neither ends the QP */
static void reserved_elsewhere(struct kunit *test)
{
	u8 data[MTU] = { 1 };

	peer_post_bytes(test);
	peer_request(test, 0x15, PSN(1), data, MTU);
	peer_expect_nak(test, PSN(0), RXE_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_EARLY), 1ull);
	peer_byte(test, 0);
	peer_expect_ack(test, PSN(0), 1);
	peer_request(test, 0x15, PSN(0), data, 8);
	fake_expect_nothing(test);
	peer_byte(test, 1);
	peer_expect_ack(test, PSN(1), 2);
	peer_expect_bytes(test, 0, 1);
}

/* From another sender, it is dropped as all packets are [9.6.1.5] */
static void reserved_from_stranger(struct kunit *test)
{
	u8 byte = 1;

	fake(test)->peer.sgid.raw[15] = 77;
	peer_request(test, 0x15, PSN(0), &byte, 1);
	fake(test)->peer.sgid.raw[15] = 2;
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/* The QP's access flags don't allow the operation, though the region's do */
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
		peer_rdma(test, opcodes[i], PSN(0), 0, 8, data, i ? 0 : 8);
		peer_expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
		KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	}
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
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
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	fake(test)->peer.sgid.raw[15] = 2;
	fake(test)->peer.proto = RXE_ROCE_V2_IPV6;
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	fake(test)->peer.proto = RXE_ROCE_V2_IPV4;
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->rcq);
	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &byte, 1);
	peer_expect_ack(test, PSN(0), 1);
}

/* An skb that ends before its payload does: nothing completes with success */
static void short_send(struct kunit *test)
{
	struct rxe_pkt pkt = { .opcode = IB_OPCODE_RC_SEND_ONLY, .psn = PSN(0), .ack_req = true };
	u8 data[200];

	rnd_fill(data, sizeof(data), 1);
	fake_post_recv(test, 11, 0, 256);
	fake_inject_short(test, &pkt, data, sizeof(data), 4);
	peer_expect_nak(test, PSN(0), RXE_NAK_REM_OP);
	fake_completion(test, fake(test)->rcq, 11, IB_WC_LOC_PROT_ERR, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

static void short_write(struct kunit *test)
{
	u8 data[200];
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY,
		.psn = PSN(0),
		.ack_req = true,
		.va = fake_addr(test, 0),
		.rkey = fake(test)->mr->rkey,
		.dma_len = sizeof(data),
	};

	rnd_fill(data, sizeof(data), 1);
	fake_inject_short(test, &pkt, data, sizeof(data), 4);
	peer_expect_nak(test, PSN(0), RXE_NAK_REM_OP);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[sizeof(data) - 1], 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send_too_long),
	KUNIT_CASE(write_bad_key),
	KUNIT_CASE(read_bad_key),
	KUNIT_CASE(atomic_bad_key),
	KUNIT_CASE(foreign_pd),
	KUNIT_CASE_PARAM(refused, refusal_gen_params),
	KUNIT_CASE(reserved_elsewhere),
	KUNIT_CASE(reserved_from_stranger),
	KUNIT_CASE(not_enabled),
	KUNIT_CASE(strangers),
	KUNIT_CASE(short_send),
	KUNIT_CASE(short_write),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-refuse",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
