// SPDX-License-Identifier: GPL-2.0
/*
 * The code of wire/. An input is two bytes of options, network headers, and a packet from its BTH
 * on. The packet ends at the end of its memory, so that ASAN finds each access after it.
 *
 * - A packet is accepted if and only if its opcode is in the specification (kunit/wire/spec.h),
 *   all headers are available, and the lengths add up.
 * - An accepted packet that is built again has the same bytes, except for reserved ones.
 * - The ICRC is that of a bitwise CRC over a copy in which ones have replaced each field that a
 *   router may change.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <rxe/wire.h>
#include "fuzz.h"

#define KUNIT_PARAM_DESC_SIZE 128
#include "../../kunit/wire/spec.h"

#define PKT_MAX	1024
#define NET_MAX	(sizeof(struct ipv6hdr) + sizeof(struct udphdr))

static u32 compute_crc(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	int bit;

	for (; len; len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The driver uses this one. It has a table, so that it isn't the same code as the check */
u32 crc32_le(u32 crc, const void *data, size_t len)
{
	static u32 table[256];
	const u8 *p = data;
	u32 i;

	for (i = 0; !table[255] && i < 256; i++) {
		u8 byte = i;

		table[i] = compute_crc(0, &byte, 1);
	}
	for (; len; len--)
		crc = crc >> 8 ^ table[(u8)crc ^ *p++];
	return crc;
}

/* Nothing here is shared with a process */
void copy_shared(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

/* A response with data has the syndrome of an ACK, others that of an ACK, RNR NAK or known NAK */
static bool is_syndrome_valid(const u8 *p)
{
	switch (p[0]) {
	case 0x0d: case 0x0f: case 0x10: case 0x12:
		return p[12] < 0x20;
	case 0x11:
		return p[12] < 0x40 || (p[12] >= 0x60 && p[12] <= 0x63);
	default:
		return true;
	}
}

static bool is_well_formed(const u8 *p, u32 avail, u32 len)
{
	const struct spec_op *op;
	u32 pad, payload;

	if (len < 16 || len % 4 || avail < 12)
		return false;
	op = spec_find(p[0]);
	pad = p[1] >> 4 & 3;
	if (!op || p[1] & 0xf || avail < op->hdr || len < op->hdr + pad + 4)
		return false;
	payload = len - op->hdr - pad - 4;
	if (!(op->kind & RXE_OP_PAYLOAD) && payload + pad)
		return false;
	return is_syndrome_valid(p);
}

static void check_fields(const struct rxe_pkt *pkt, const u8 *p, u32 len)
{
	const struct spec_op *op = spec_find(p[0]);
	struct rxe_pkt again = *pkt;

	CHECK(pkt->opcode == p[0] && pkt->hdr_len == op->hdr);
	CHECK((pkt->flags & op->kind) == op->kind);
	CHECK(pkt->hdr_len + pkt->payload_len + pkt->pad + 4 == len);
	CHECK(pkt->psn <= 0xffffff && pkt->qpn <= 0xffffff && pkt->pad <= 3);
	CHECK(!(pkt->flags & RXE_OP_AETH) || pkt->msn <= 0xffffff);
	CHECK(!(pkt->flags & RXE_OP_DETH) || pkt->src_qpn <= 0xffffff);
	CHECK(!pkt->more);
	rxe_pkt_parse_psn(&again, p);
	CHECK(again.psn == pkt->psn && again.ack_req == pkt->ack_req);
}

static void check_built(const struct rxe_pkt *pkt, const u8 *p)
{
	u8 *hdr = alloc_exact(NULL, pkt->hdr_len), *want = alloc_exact(p, pkt->hdr_len);

	CHECK(rxe_pkt_build(pkt, hdr) == hdr + pkt->hdr_len);
	want[4] &= 0xc0;		/* reserved, section 9.2 */
	want[8] &= 0x80;
	if (pkt->flags & RXE_OP_DETH)
		want[16] = 0;
	if (pkt->flags & RXE_OP_CNP)
		memset(want + 12, 0, 16);
	CHECK(!memcmp(hdr, want, pkt->hdr_len));
	free(hdr);
	free(want);
}

static void fuzz_parse(const u8 *data, u32 avail, u32 len)
{
	u8 *p = alloc_exact(data, avail);
	struct rxe_pkt pkt;
	bool accepted;

	memset(&pkt, 0xa5, sizeof(pkt));
	accepted = rxe_pkt_parse(&pkt, p, avail, len);
	CHECK(accepted == is_well_formed(p, avail, len));
	if (accepted) {
		check_fields(&pkt, p, len);
		check_built(&pkt, p);
	}
	free_exact(p, avail);
}

/* The packet as it came; then with just enough bytes, or with too few, in memory or in all */
static void fuzz_edges(const u8 *data, u32 avail, u32 len)
{
	const struct spec_op *op = len ? spec_find(data[0]) : NULL;
	u32 end;

	fuzz_parse(data, avail, len);
	if (!op || len < op->hdr)
		return;
	fuzz_parse(data, op->hdr - 1, len);
	fuzz_parse(data, op->hdr, len);
	for (end = op->hdr & ~3; end <= op->hdr + 8 && end <= len; end += 4)
		fuzz_parse(data, end, end);
}

enum { V1, IPV4, IPV6 };

/* Writes what the ICRC covers before the BTH: eight bytes of ones, and masked headers */
static u32 mask_head(int version, const u8 *net, u8 *out)
{
	u32 ip = version == IPV4 ? 20 : 40;
	u32 udp = version == V1 ? 0 : 8;

	memset(out, 0xff, 8);
	memcpy(out + 8, net, ip + udp);
	if (version == IPV4) {
		out[8 + 1] = 0xff;			/* TOS */
		out[8 + 8] = 0xff;			/* TTL */
		memset(out + 8 + 10, 0xff, 2);		/* checksum */
	} else {
		out[8] |= 0x0f;				/* class and flow */
		memset(out + 8 + 1, 0xff, 3);
		out[8 + 7] = 0xff;			/* hop limit */
	}
	if (udp)
		memset(out + 8 + ip + 6, 0xff, 2);	/* checksum */
	return 8 + ip + udp;
}

static u32 start_icrc(int version, const u8 *net)
{
	switch (version) {
	case V1:
		return rxe_icrc_start_v1(net);
	case IPV4:
		return rxe_icrc_start_ipv4(net, net + 20);
	default:
		return rxe_icrc_start_ipv6(net, net + 40);
	}
}

static void check_ip_id(const u8 *net, u32 state)
{
	u16 from = net[4] << 8 | net[5], to = net[20] << 8 | net[6];
	u8 other[28];

	memcpy(other, net, sizeof(other));
	put_unaligned_be16(to, other + 4);
	CHECK(rxe_icrc_ip_id(state, from, to) == start_icrc(IPV4, other));
}

static void fuzz_icrc(int version, const u8 *net, const u8 *pkt, u32 len, u32 cut)
{
	u8 all[8 + NET_MAX + PKT_MAX], sent[PKT_MAX + 4], tail[4], *aligned = alloc_exact(net, NET_MAX);
	u32 head = mask_head(version, net, all), state, want;

	memcpy(all + head, pkt, len);
	all[head + 4] = 0xff;
	want = ~compute_crc(~0u, all, head + len);
	state = start_icrc(version, aligned);
	if (version == IPV4)
		check_ip_id(aligned, state);
	free(aligned);
	memcpy(sent, pkt, len);
	rxe_icrc_put(state, sent, len);
	CHECK(!memcmp(sent, pkt, len) && get_unaligned_le32(sent + len) == want);

	/* A receiver computes it, in two pieces */
	memcpy(tail, sent + len, sizeof(tail));
	cut = cut < len ? cut : len;
	state = rxe_icrc_bth(state, pkt[4]);
	state = rxe_icrc_update(state, pkt, cut);
	state = rxe_icrc_update(state, pkt + cut, len - cut);
	CHECK(rxe_icrc_good(rxe_icrc_update(state, tail, 4)));
	tail[cut & 3] ^= 1 << (want & 7);
	CHECK(!rxe_icrc_good(rxe_icrc_update(state, tail, 4)));
}

static void check_psns(const u8 *net)
{
	u32 a = get_unaligned_be24(net), b = get_unaligned_be24(net + 3);
	s32 diff = rxe_psn_diff(a, b);

	CHECK(diff >= -(1 << 23) && diff < 1 << 23);
	CHECK(rxe_psn_add(b, diff) == a);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 how = take_u8(&in), cut = take_u8(&in), avail, len;
	u8 net[NET_MAX];

	take_bytes(&in, net, sizeof(net));
	len = in.left < PKT_MAX ? in.left : PKT_MAX;
	avail = how & 4 && cut < len ? cut : len;
	fuzz_edges(in.at, avail, len);
	if (len >= RXE_BTH_BYTES)
		fuzz_icrc(how % 3, net, in.at, len, cut);
	check_psns(net);
	return 0;
}
