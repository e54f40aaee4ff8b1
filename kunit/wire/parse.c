// SPDX-License-Identifier: GPL-2.0
/*
 * wire/parse.c: a packet that is too short, too long for its opcode, padded wrongly or of
 * another version is refused. An accepted packet has fields within their widths, and lengths
 * that add up. Nothing beyond the available bytes is read: each packet ends at an unmapped page.
 */
#include <linux/string.h>
#include "../util.h"
#include "spec.h"

KUNIT_ARRAY_PARAM(op, spec_ops, spec_name);

static int edge_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct edge), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	edge_init(test, test->priv);
	return 0;
}

static void edge_test_exit(struct kunit *test)
{
	edge_free(test->priv);
}

/* Return: a packet of @len bytes at the edge. It is well-formed, except that @len may be wrong */
static u8 *packet(struct kunit *test, u8 opcode, u32 pad, u32 len)
{
	u8 *p = edge_buf(test->priv, len);

	memset(p, 0x1a, len);
	if (len > 0)
		p[0] = opcode;
	if (len > 1)
		p[1] = pad << 4;
	return p;
}

static bool has_payload(const struct spec_op *op)
{
	return op->kind & RXE_OP_PAYLOAD;
}

static void well_formed(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	struct rxe_pkt pkt;
	u32 payload, len;
	u8 *p;

	for (payload = 0; payload <= (has_payload(op) ? 300 : 0); payload++) {
		len = op->hdr + payload + rxe_pad(payload) + RXE_ICRC_BYTES;
		p = packet(test, op->opcode, rxe_pad(payload), len);
		KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(&pkt, p, len, len));
		KUNIT_EXPECT_EQ(test, pkt.payload_len, payload);
		KUNIT_EXPECT_EQ(test, (u32)pkt.pad, rxe_pad(payload));
		KUNIT_EXPECT_EQ(test, (u32)pkt.hdr_len, (u32)op->hdr);
		KUNIT_EXPECT_EQ(test, pkt.flags, rxe_opcode[op->opcode].flags);
	}
}

/* Only the headers need to be contiguous; the length is that of the whole packet */
static void headers_only(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	u32 payload = has_payload(op) ? 4096 : 0;
	u32 len = op->hdr + payload + RXE_ICRC_BYTES, avail;
	struct rxe_pkt pkt;
	u8 *p;

	for (avail = 0; avail < op->hdr; avail++) {
		p = packet(test, op->opcode, 0, avail);
		KUNIT_EXPECT_FALSE(test, rxe_pkt_parse(&pkt, p, avail, len));
	}
	p = packet(test, op->opcode, 0, op->hdr);
	KUNIT_EXPECT_TRUE(test, rxe_pkt_parse(&pkt, p, op->hdr, len));
	KUNIT_EXPECT_EQ(test, pkt.payload_len, payload);
}

static void truncated(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	struct rxe_pkt pkt;
	u32 len, pad;
	u8 *p;

	for (pad = 0; pad < 4; pad++)
		for (len = 0; len < op->hdr + pad + RXE_ICRC_BYTES; len++) {
			p = packet(test, op->opcode, pad, len);
			if (rxe_pkt_parse(&pkt, p, len, len))
				KUNIT_FAIL(test, "length %u pad %u", len, pad);
		}
}

/* IBA packets are multiples of four bytes */
static void odd_length(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	struct rxe_pkt pkt;
	u32 len;
	u8 *p;

	for (len = op->hdr + RXE_ICRC_BYTES; len < 200; len++) {
		p = packet(test, op->opcode, 0, len);
		if (len % 4 && rxe_pkt_parse(&pkt, p, len, len))
			KUNIT_FAIL(test, "length %u", len);
	}
}

static void too_long(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	struct rxe_pkt pkt;
	u32 len, pad;
	u8 *p;

	if (has_payload(op))
		kunit_skip(test, "it carries payload of any length");
	for (pad = 0; pad < 4; pad++)
		for (len = op->hdr + RXE_ICRC_BYTES; len < 200; len += 4) {
			p = packet(test, op->opcode, pad, len);
			if (rxe_pkt_parse(&pkt, p, len, len) !=
			    (!pad && len == op->hdr + RXE_ICRC_BYTES))
				KUNIT_FAIL(test, "length %u pad %u", len, pad);
		}
}

static void version(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	u32 len = op->hdr + RXE_ICRC_BYTES, tver;
	struct rxe_pkt pkt;
	u8 *p = packet(test, op->opcode, 0, len);

	for (tver = 0; tver < 16; tver++) {
		p[1] = tver;
		KUNIT_EXPECT_EQ(test, rxe_pkt_parse(&pkt, p, len, len), !tver);
	}
}

/* No bit that the receiver must ignore changes a field [9.2] */
static void reserved_bits(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	u32 len = op->hdr + RXE_ICRC_BYTES;
	u8 *p = packet(test, op->opcode, 0, len);
	struct rxe_pkt *a, *b;

	a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, a && b);
	p[4] = 0;
	p[8] = 0;
	KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(a, p, len, len));
	p[4] = 0x3f;
	p[8] = 0x7f;
	if (op->ext[0] == 'D')
		p[RXE_BTH_BYTES + 4] ^= 0xff;
	KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(b, p, len, len));
	KUNIT_EXPECT_MEMEQ(test, a, b, sizeof(*a));
}

/*
 * Valid are an ACK and an RNR NAK with any value, and four NAKs. A packet with data has an ACK
 * [9.7.5.1.1]
 */
static void syndromes(struct kunit *test)
{
	const struct spec_op *op = test->param_value;
	u32 len = op->hdr + RXE_ICRC_BYTES, syndrome;
	u8 *p = packet(test, op->opcode, 0, len);
	struct rxe_pkt pkt;
	bool good;

	if (op->ext[0] != 'A')
		kunit_skip(test, "it has none");
	for (syndrome = 0; syndrome < 256; syndrome++) {
		p[RXE_BTH_BYTES] = syndrome;
		good = syndrome < 0x20;
		if (op->opcode == 0x11)
			good = syndrome < 0x40 ||
			       (syndrome >= 0x60 && syndrome < 0x64);
		KUNIT_EXPECT_EQ(test, rxe_pkt_parse(&pkt, p, len, len), good);
	}
}

static void unknown_opcodes(struct kunit *test)
{
	struct rxe_pkt pkt;
	u32 opcode, len;
	u8 *p;

	for (opcode = 0; opcode < 256; opcode++) {
		if (spec_find(opcode))
			continue;
		for (len = 0; len < 100; len += 4) {
			p = packet(test, opcode, 0, len);
			if (rxe_pkt_parse(&pkt, p, len, len))
				break;
		}
		if (len < 100)
			KUNIT_FAIL(test, "opcode %#x", opcode);
	}
}

/* Each field of the BTH, at its limits [9.2] */
static void bth_fields(struct kunit *test)
{
	static const u8 bytes[16] = {
		0x04, 0xd0, 0x12, 0x34, 0x80, 0xab, 0xcd, 0xef,
		0x80, 0xfe, 0xdc, 0xba,
	};
	u8 *p = edge_buf(test->priv, 20);
	struct rxe_pkt pkt;

	memset(p, 0, 20);
	memcpy(p, bytes, sizeof(bytes));
	KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(&pkt, p, 20, 20));
	KUNIT_EXPECT_TRUE(test, pkt.solicited);
	KUNIT_EXPECT_TRUE(test, pkt.mig);
	KUNIT_EXPECT_TRUE(test, pkt.fecn);
	KUNIT_EXPECT_FALSE(test, pkt.becn);
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	KUNIT_EXPECT_EQ(test, pkt.pkey, (u16)0x1234);
	KUNIT_EXPECT_EQ(test, pkt.qpn, 0xabcdefu);
	KUNIT_EXPECT_EQ(test, pkt.psn, 0xfedcbau);
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 3u);
	p[4] = 0x40;
	KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(&pkt, p, 20, 20));
	KUNIT_EXPECT_FALSE(test, pkt.fecn);
	KUNIT_EXPECT_TRUE(test, pkt.becn);
}

static void check_accepted(struct kunit *test, const struct rxe_pkt *pkt,
			   u32 avail, u32 len)
{
	const struct rxe_opcode *op = &rxe_opcode[pkt->opcode];

	KUNIT_EXPECT_EQ(test, pkt->flags, op->flags);
	KUNIT_EXPECT_TRUE(test, op->flags & RXE_OP_VALID);
	KUNIT_EXPECT_EQ(test, pkt->hdr_len, op->hdr_len);
	KUNIT_EXPECT_LE(test, (u32)pkt->hdr_len, avail);
	KUNIT_EXPECT_EQ(test, pkt->hdr_len + (u64)pkt->payload_len + pkt->pad +
			RXE_ICRC_BYTES, (u64)len);
	KUNIT_EXPECT_LE(test, (u32)pkt->pad, 3u);
	KUNIT_EXPECT_EQ(test, pkt->psn & ~RXE_PSN_MASK, 0u);
	KUNIT_EXPECT_EQ(test, pkt->qpn & ~RXE_QPN_MASK, 0u);
	if (op->flags & RXE_OP_AETH)
		KUNIT_EXPECT_EQ(test, pkt->msn & ~RXE_MSN_MASK, 0u);
	if (op->flags & RXE_OP_DETH)
		KUNIT_EXPECT_EQ(test, pkt->src_qpn & ~RXE_QPN_MASK, 0u);
}

/* Random bytes, random lengths; half of them with an opcode that exists */
static void fuzz(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(4);
	u32 i, avail, len, accepted = 0;
	struct rxe_pkt pkt;
	u8 *p;

	for (i = 0; i < 300000; i++) {
		avail = rnd_below(&rnd, 64);
		p = edge_buf(test->priv, avail);
		prandom_bytes_state(&rnd, p, avail);
		if (avail > 1 && i % 2) {
			p[0] = spec_ops[rnd_below(&rnd, ARRAY_SIZE(spec_ops))].opcode;
			p[1] &= 0xf0;
		}
		len = i % 5 ? avail + rnd_below(&rnd, 64) : prandom_u32_state(&rnd);
		if (i % 3)
			len &= ~3u;
		memset(&pkt, 0xa5, sizeof(pkt));
		if (rxe_pkt_parse(&pkt, p, avail, len)) {
			accepted++;
			check_accepted(test, &pkt, avail, len);
		}
	}
	/* a parser that refuses everything proves nothing */
	KUNIT_EXPECT_GT(test, accepted, 10000u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(well_formed, op_gen_params),
	KUNIT_CASE_PARAM(headers_only, op_gen_params),
	KUNIT_CASE_PARAM(truncated, op_gen_params),
	KUNIT_CASE_PARAM(odd_length, op_gen_params),
	KUNIT_CASE_PARAM(too_long, op_gen_params),
	KUNIT_CASE_PARAM(version, op_gen_params),
	KUNIT_CASE_PARAM(reserved_bits, op_gen_params),
	KUNIT_CASE_PARAM(syndromes, op_gen_params),
	KUNIT_CASE(unknown_opcodes),
	KUNIT_CASE(bth_fields),
	KUNIT_CASE(fuzz),
	{}
};

static struct kunit_suite suite = {
	.name = "wire-parse",
	.init = edge_test_init,
	.exit = edge_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
