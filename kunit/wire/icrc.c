// SPDX-License-Identifier: GPL-2.0
/*
 * wire/icrc.c: the computed ICRC equals that of packets of other implementations, captured on
 * the wire. It doesn't depend on fields that routers change, and depends on every other bit.
 * Computing it in pieces gives the same result.
 */
#include <linux/string.h>
#include <linux/udp.h>
#include <rxe/wire.h>
#include "../util.h"

enum l3 { V1, V2_IPV4, V2_IPV6 };

/* A packet from its network header to its ICRC */
struct vector {
	const char *name;
	enum l3 l3;
	u32 len;
	u8 bytes[112];
};

/* clang-format off */
static const struct vector vectors[] = {
	{
		/* captured: RDMA WRITE ONLY of 5 bytes */
		.name = "v1-write", .l3 = V1, .len = 80, .bytes = {
		0x60, 0x20, 0x00, 0x00, 0x00, 0x28, 0x1b, 0x40,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x02,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x02,
		0x0a, 0x70, 0xff, 0xff, 0x00, 0x00, 0x01, 0x0a,
		0x80, 0xa7, 0x88, 0xbc,
		0x00, 0x00, 0x55, 0xd4, 0xc0, 0x72, 0x60, 0x00,
		0x00, 0x00, 0x47, 0xb3, 0x00, 0x00, 0x00, 0x05,
		0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
		0xe3, 0xd8, 0x56, 0xbb },
	}, {
		/* captured: the acknowledge of the same connection */
		.name = "v1-ack", .l3 = V1, .len = 60, .bytes = {
		0x60, 0x20, 0x00, 0x00, 0x00, 0x14, 0x1b, 0x40,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x02,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x02,
		0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x09,
		0x00, 0xa7, 0x88, 0xc0, 0x00, 0x00, 0x00, 0x05,
		0x25, 0xf0, 0xc0, 0x38 },
	}, {
		/* captured: a CNP from a ConnectX-4 Lx */
		.name = "v2-ipv4-cnp", .l3 = V2_IPV4, .len = 60, .bytes = {
		0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00,
		0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
		0x0a, 0x00, 0x12, 0x01,
		0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
		0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a },
	}, {
		/* captured: UC SEND ONLY with TOS, ID, DF, UDP checksum, pad */
		.name = "v2-ipv4-uc-send", .l3 = V2_IPV4, .len = 64, .bytes = {
		0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00,
		0x40, 0x11, 0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07,
		0xc0, 0xa8, 0x00, 0x07,
		0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2,
		0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3,
		0x00, 0xcf, 0x17, 0x10,
		0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9,
		0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88,
		0x5e, 0x50, 0x00, 0x00, 0x78, 0xf3, 0x53, 0xf3 },
	}, {
		/* computed with zlib's crc32(): RC SEND ONLY, 26 bytes */
		.name = "v2-ipv6-send", .l3 = V2_IPV6, .len = 92, .bytes = {
		0x6b, 0x95, 0x43, 0x21, 0x00, 0x34, 0x11, 0x3f,
		0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
		0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
		0xc1, 0x23, 0x12, 0xb7, 0x00, 0x34, 0xbe, 0xef,
		0x04, 0xe0, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11,
		0x80, 0x00, 0x00, 0x0a,
		0x52, 0x6f, 0x43, 0x45, 0x20, 0x6f, 0x76, 0x65,
		0x72, 0x20, 0x49, 0x50, 0x76, 0x36, 0x3a, 0x20,
		0x32, 0x36, 0x20, 0x62, 0x79, 0x74, 0x65, 0x73,
		0x2e, 0x2e, 0x00, 0x00, 0x29, 0x10, 0x6f, 0xd2 },
	},
};

/* clang-format on */

static void vector_name(const struct vector *vector, char *name)
{
	strscpy(name, vector->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(vector, vectors, vector_name);

static u32 l3_bytes(enum l3 l3)
{
	return l3 == V2_IPV4 ? 20 : 40;
}

static u32 bth_offset(enum l3 l3)
{
	return l3_bytes(l3) + (l3 == V1 ? 0 : sizeof(struct udphdr));
}

static u32 icrc_start(enum l3 l3, const u8 *p)
{
	const u8 *udp = p + l3_bytes(l3);

	switch (l3) {
	case V1:
		return rxe_icrc_start_v1(p);
	case V2_IPV4:
		return rxe_icrc_start_ipv4(p, udp);
	default:
		return rxe_icrc_start_ipv6(p, udp);
	}
}

/* Return: the ICRC of @len bytes from the BTH on, by the way of a receiver */
static __le32 continue_icrc(u32 state, const u8 *bth, u32 len)
{
	return cpu_to_le32(~rxe_icrc_update(rxe_icrc_bth(state, bth[4]), bth, len));
}

/* Return: the ICRC of a packet of @len bytes, which include the ICRC field */
static __le32 icrc(enum l3 l3, const u8 *p, u32 len)
{
	u32 off = bth_offset(l3);

	return continue_icrc(icrc_start(l3, p), p + off, len - off - RXE_ICRC_BYTES);
}

/* Packets of each kind, captured or computed elsewhere [7.8.1] [A16.4.2] [A17.3.3] */
static void golden(struct kunit *test)
{
	const struct vector *v = test->param_value;
	__le32 crc = icrc(v->l3, v->bytes, v->len);

	KUNIT_EXPECT_MEMEQ(test, &crc, v->bytes + v->len - RXE_ICRC_BYTES,
			   RXE_ICRC_BYTES);
}

/* Is the bit @i of a packet one that routers may change? */
static bool is_variant(enum l3 l3, u32 i)
{
	u32 byte = i / 8;

	if (byte == bth_offset(l3) + 4)		/* FECN, BECN, reserved */
		return true;
	if (l3 != V1 && (byte == l3_bytes(l3) + 6 || byte == l3_bytes(l3) + 7))
		return true;			/* UDP checksum */
	if (l3 == V2_IPV4)			/* TOS, TTL, checksum */
		return byte == 1 || byte == 8 || byte == 10 || byte == 11;
	/* traffic class and flow label, hop limit */
	return (byte == 0 && i % 8 < 4) || (byte >= 1 && byte <= 3) ||
	       byte == 7;
}

static void every_bit(struct kunit *test)
{
	const struct vector *v = test->param_value;
	__le32 want = icrc(v->l3, v->bytes, v->len);
	u8 *p = kunit_kmalloc(test, v->len, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p, v->bytes, v->len);
	for (i = 0; i < (v->len - RXE_ICRC_BYTES) * 8; i++) {
		p[i / 8] ^= BIT(i % 8);
		if (is_variant(v->l3, i) != (icrc(v->l3, p, v->len) == want))
			KUNIT_FAIL(test, "byte %u bit %u", i / 8, i % 8);
		p[i / 8] ^= BIT(i % 8);
	}
}

static void input_unchanged(struct kunit *test)
{
	const struct vector *v = test->param_value;
	u8 *p = kunit_kmalloc(test, v->len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p, v->bytes, v->len);
	icrc(v->l3, p, v->len);
	KUNIT_EXPECT_MEMEQ(test, p, v->bytes, v->len);
}

/* Headers of exactly their size, at every alignment: nothing beyond is read */
static void exact_headers(struct kunit *test)
{
	const struct vector *v = test->param_value;
	u32 off = bth_offset(v->l3);
	u32 want = icrc_start(v->l3, v->bytes);
	struct edge edge;
	u32 shift;
	u8 *p;

	edge_init(test, &edge);
	for (shift = 0; shift < 8; shift++) {
		p = edge_buf(&edge, off + shift);
		memcpy(p, v->bytes, off);
		KUNIT_EXPECT_EQ(test, icrc_start(v->l3, p), want);
	}
	edge_free(&edge);
}

/* The packets of a train differ in their ID. The ICRC of each is that of a single packet */
static void every_id(struct kunit *test)
{
	const struct vector *v = &vectors[2];
	u32 n, id, from = v->bytes[4] << 8 | v->bytes[5];
	u32 state = icrc_start(v->l3, v->bytes);
	u8 p[64];

	KUNIT_ASSERT_EQ(test, v->l3, V2_IPV4);
	memcpy(p, v->bytes, v->len);
	for (n = 0; n < 0x10000; n++) {
		id = from + n;
		p[4] = id >> 8;
		p[5] = id;
		if (rxe_icrc_ip_id(state, from, id) != icrc_start(v->l3, p))
			KUNIT_FAIL(test, "ID %u", id);
	}
}

static void pieces(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(1);
	u32 whole, crc, done, len, n;
	u8 *p = kunit_kmalloc(test, 4096, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	prandom_bytes_state(&rnd, p, 4096);
	for (n = 0; n < 500; n++) {
		whole = rxe_icrc_update(n, p, 4096);
		for (crc = n, done = 0; done < 4096; done += len) {
			len = rnd_below(&rnd, 4096 - done + 1);
			crc = rxe_icrc_update(crc, p + done, len);
		}
		KUNIT_EXPECT_EQ(test, crc, whole);
	}
}

/* The definition: polynomial 0x04c11db7, least significant bit first */
static u32 crc_by_bit(u32 crc, const u8 *p, size_t len)
{
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Every length and alignment that an accelerated CRC may treat differently */
static void by_definition(struct kunit *test)
{
	u8 *p = kunit_kmalloc(test, 4096, GFP_KERNEL);
	u32 len, off;

	KUNIT_ASSERT_NOT_NULL(test, p);
	rnd_fill(p, 4096, 2);
	for (off = 0; off < 17; off++)
		for (len = 0; len < 600; len++)
			if (rxe_icrc_update(off, p + off, len) !=
			    crc_by_bit(off, p + off, len))
				KUNIT_FAIL(test, "offset %u length %u", off, len);
	KUNIT_EXPECT_EQ(test, rxe_icrc_update(~0u, p, 4096),
			crc_by_bit(~0u, p, 4096));
}

/* Put behind a packet of any length and alignment, the ICRC is right, and nothing else changes */
static void put_behind(struct kunit *test)
{
	u8 *p = kunit_kmalloc(test, 4096, GFP_KERNEL), *q = kunit_kmalloc(test, 4096, GFP_KERNEL);
	u32 len, off;
	__le32 icrc;

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, q);
	for (off = 0; off < 17; off++) {
		for (len = 12; len < 600; len++) {
			rnd_fill(p, off + len + 8, len);
			memcpy(q, p, off + len + 8);
			icrc = continue_icrc(off, p + off, len);
			memcpy(p + off + len, &icrc, sizeof(icrc));
			rxe_icrc_put(off, q + off, len);
			if (memcmp(p, q, off + len + 8))
				KUNIT_FAIL(test, "offset %u length %u", off, len);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(golden, vector_gen_params),
	KUNIT_CASE_PARAM(every_bit, vector_gen_params),
	KUNIT_CASE_PARAM(input_unchanged, vector_gen_params),
	KUNIT_CASE_PARAM(exact_headers, vector_gen_params),
	KUNIT_CASE(every_id),
	KUNIT_CASE(pieces),
	KUNIT_CASE(by_definition),
	KUNIT_CASE(put_behind),
	{}
};

static struct kunit_suite suite = {
	.name = "wire-icrc",
	.test_cases = cases,
};

kunit_test_suite(suite);
