// SPDX-License-Identifier: GPL-2.0
/*
 * wire/build.c: headers equal those of captured packets, byte for byte. For every
 * opcode and any fields, parsing returns what was built. Exactly the header's bytes
 * are written, with reserved bits zero.
 */
#include <linux/string.h>
#include "../util.h"
#include "spec.h"

KUNIT_ARRAY_PARAM(op, spec_ops, spec_name);

static void check_bytes(struct kunit *test, const struct rxe_pkt *pkt,
			const u8 *want, u32 len)
{
	struct edge edge;
	u8 *p;

	edge_init(test, &edge);
	p = edge_buf(&edge, len);
	memset(p, 0xff, len);
	KUNIT_EXPECT_PTR_EQ(test, rxe_pkt_build(pkt, p), (void *)p + len);
	KUNIT_EXPECT_MEMEQ(test, p, want, len);
	edge_free(&edge);
}

/* RDMA WRITE ONLY of 5 bytes, captured [9.4.2] */
static void captured_write(struct kunit *test)
{
	static const u8 want[] = {
		0x0a, 0x70, 0xff, 0xff, 0x00, 0x00, 0x01, 0x0a,
		0x80, 0xa7, 0x88, 0xbc,
		0x00, 0x00, 0x55, 0xd4, 0xc0, 0x72, 0x60, 0x00,
		0x00, 0x00, 0x47, 0xb3, 0x00, 0x00, 0x00, 0x05,
	};
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY, .mig = true, .pad = 3,
		.pkey = 0xffff, .qpn = 0x10a, .ack_req = true, .psn = 0xa788bc,
		.va = 0x55d4c0726000, .rkey = 0x47b3, .dma_len = 5,
	};

	check_bytes(test, &pkt, want, sizeof(want));
}

/* ACKNOWLEDGE, captured [9.7.5] */
static void captured_ack(struct kunit *test)
{
	static const u8 want[] = {
		0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x09,
		0x00, 0xa7, 0x88, 0xc0, 0x00, 0x00, 0x00, 0x05,
	};
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE, .mig = true,
		.pkey = 0xffff, .qpn = 0x109, .psn = 0xa788c0, .msn = 5,
	};

	check_bytes(test, &pkt, want, sizeof(want));
}

/* A DETH, with all its fields [9.3.2] */
static void ud_send_imm(struct kunit *test)
{
	static const u8 want[] = {
		0x65, 0x90, 0x80, 0x01, 0xc0, 0x00, 0x00, 0x01,
		0x00, 0x00, 0x00, 0x07, 0x80, 0x01, 0x00, 0x00,
		0x00, 0x12, 0x34, 0x56, 0xde, 0xad, 0xbe, 0xef,
	};
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE,
		.solicited = true, .pad = 1, .pkey = 0x8001, .fecn = true,
		.becn = true, .qpn = 1, .psn = 7, .qkey = 0x80010000,
		.src_qpn = 0x123456, .imm = cpu_to_be32(0xdeadbeef),
	};

	check_bytes(test, &pkt, want, sizeof(want));
}

/* An AtomicETH, with all its fields [9.4.5] */
static void compare_swap(struct kunit *test)
{
	static const u8 want[] = {
		0x13, 0x00, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff,
		0x80, 0xff, 0xff, 0xff,
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x09, 0x0a, 0x0b, 0x0c,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
	};
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_COMPARE_SWAP, .pkey = 0xffff,
		.qpn = 0xffffff, .ack_req = true, .psn = 0xffffff,
		.va = 0x0102030405060708, .rkey = 0x090a0b0c,
		.swap_add = 0x1112131415161718, .compare = 0x2122232425262728,
	};

	check_bytes(test, &pkt, want, sizeof(want));
}

/* As a ConnectX sends it, see wire/icrc.c [A17.9.3] */
static void cnp(struct kunit *test)
{
	static const u8 want[28] = {
		0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
	};
	struct rxe_pkt pkt = {
		.opcode = RXE_OPCODE_CNP, .pkey = 0xffff, .becn = true, .qpn = 0x118,
	};

	check_bytes(test, &pkt, want, sizeof(want));
}

/* Random values in the fields that @flags give a place on the wire */
static void random_pkt(struct rnd_state *rnd, u8 opcode, struct rxe_pkt *pkt)
{
	u32 flags = rxe_opcode[opcode].flags, bits = prandom_u32_state(rnd);

	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = opcode;
	pkt->flags = flags;
	pkt->hdr_len = rxe_opcode[opcode].hdr_len;
	pkt->psn = prandom_u32_state(rnd) & RXE_PSN_MASK;
	pkt->qpn = prandom_u32_state(rnd) & RXE_QPN_MASK;
	pkt->pkey = prandom_u32_state(rnd);
	pkt->solicited = bits & BIT(0);
	pkt->ack_req = bits & BIT(1);
	pkt->fecn = bits & BIT(2);
	pkt->becn = bits & BIT(3);
	pkt->mig = bits & BIT(4);
	if (flags & RXE_OP_PAYLOAD)
		pkt->payload_len = rnd_below(rnd, 4097);
	pkt->pad = rxe_pad(pkt->payload_len);
	if (flags & (RXE_OP_RETH | RXE_OP_ATOMIC_ETH)) {
		pkt->va = rnd_u64(rnd);
		pkt->rkey = prandom_u32_state(rnd);
	}
	if (flags & RXE_OP_RETH)
		pkt->dma_len = prandom_u32_state(rnd);
	if (flags & RXE_OP_ATOMIC_ETH) {
		pkt->swap_add = rnd_u64(rnd);
		pkt->compare = rnd_u64(rnd);
	}
	if (flags & RXE_OP_AETH) {
		pkt->syndrome = prandom_u32_state(rnd) & RXE_AETH_VALUE_MASK;
		pkt->msn = prandom_u32_state(rnd) & RXE_MSN_MASK;
	}
	if (flags & RXE_OP_ATOMIC_ACK)
		pkt->atomic_orig = rnd_u64(rnd);
	if (flags & RXE_OP_DETH) {
		pkt->qkey = prandom_u32_state(rnd);
		pkt->src_qpn = prandom_u32_state(rnd) & RXE_QPN_MASK;
	}
	if (flags & RXE_OP_IMMDT)
		pkt->imm = (__force __be32)prandom_u32_state(rnd);
	if (flags & RXE_OP_IETH)
		pkt->rkey = prandom_u32_state(rnd);
}

/* Every opcode: what was built is parsed again [9.5.3] */
static void round_trip(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	struct rnd_state rnd = rnd_init(op->opcode);
	struct rxe_pkt in, out;
	struct edge edge;
	u32 i, len;
	u8 *p;

	edge_init(test, &edge);
	p = edge_buf(&edge, op->hdr);
	for (i = 0; i < 2000; i++) {
		random_pkt(&rnd, op->opcode, &in);
		memset(&out, 0, sizeof(out));
		memset(p, i, op->hdr);
		KUNIT_ASSERT_PTR_EQ(test, rxe_pkt_build(&in, p),
				    (void *)p + op->hdr);
		len = rxe_pkt_get_bytes(op->opcode, in.payload_len);
		KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(&out, p, op->hdr, len));
		KUNIT_ASSERT_MEMEQ(test, &in, &out, sizeof(in));
		KUNIT_ASSERT_EQ(test, p[4] & 0x3f, 0);
		KUNIT_ASSERT_EQ(test, p[8] & 0x7f, 0);
	}
	edge_free(&edge);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(captured_write),
	KUNIT_CASE(captured_ack),
	KUNIT_CASE(ud_send_imm),
	KUNIT_CASE(compare_swap),
	KUNIT_CASE(cnp),
	KUNIT_CASE_PARAM(round_trip, op_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "wire-build",
	.test_cases = cases,
};

kunit_test_suite(suite);
