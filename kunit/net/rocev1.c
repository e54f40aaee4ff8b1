// SPDX-License-Identifier: GPL-2.0
/*
 * Trains of RoCE v1 (net/rocev1_offload.c): the stack's GSO splits them into packets, each with
 * its own length in the GRH. The packets may be in one skb or in a frag_list. Other protocols'
 * GSO is refused. Also: packets form a train only if their GRHs match (net/split.c).
 */
#include <linux/etherdevice.h>
#include <net/gso.h>
#include <compat/unaligned.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../fake.h"

#define PKT	64u
#define LAST	(PKT / 2)
#define MOST	8u
#define L3	(ETH_HLEN + RXE_GRH_BYTES)

static u32 len_of(u32 n)
{
	return n < MOST - 1 ? PKT : LAST;
}

static void put_packet(struct sk_buff *skb, u32 n)
{
	u8 *bth = skb_put(skb, len_of(n));

	memset(bth, n, len_of(n));
	bth[0] = n ? IB_OPCODE_RC_RDMA_WRITE_MIDDLE : IB_OPCODE_RC_RDMA_WRITE_FIRST;
	put_unaligned_be32(0x100, bth + 4);
}

static void push_grh(struct sk_buff *skb, u32 bytes)
{
	struct ib_grh *grh = skb_push(skb, sizeof(*grh));

	*grh = (struct ib_grh) {
		.version_tclass_flow = cpu_to_be32(6 << 28),
		.paylen = cpu_to_be16(bytes), .next_hdr = RXE_GRH_NXTHDR,
		.sgid.raw = { 1 }, .dgid.raw = { 2 },
	};
	skb_reset_network_header(skb);
}

/* Return: packet @n with its GRH; data at the GRH */
static struct sk_buff *one(struct kunit *test, u32 n)
{
	struct sk_buff *skb = alloc_skb(L3 + MOST * PKT, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, L3);
	put_packet(skb, n);
	push_grh(skb, len_of(n));
	return skb;
}

/* Add a link header, and set the length of all in the GRH, as when the train leaves */
static struct sk_buff *finish(struct sk_buff *skb)
{
	rxe_l3_fix_header(skb->data, RXE_ROCE_V1, 0, skb->len - RXE_GRH_BYTES);
	rxe_v1_offload(skb, PKT, MOST);
	skb->protocol = htons(RXE_ROCE_ETHERTYPE);
	memset(skb_push(skb, ETH_HLEN), 0xee, ETH_HLEN);
	skb_reset_mac_header(skb);
	eth_hdr(skb)->h_proto = skb->protocol;
	return skb;
}

static struct sk_buff *train(struct kunit *test)
{
	struct sk_buff *skb = one(test, 0);
	u32 n;

	for (n = 1; n < MOST; n++)
		put_packet(skb, n);
	return finish(skb);
}

/* Return: packets as GRO chains them; data at the BTH */
static struct sk_buff *chain(struct kunit *test)
{
	struct sk_buff *skb = one(test, 0), *frame;
	struct sk_buff **next = &skb_shinfo(skb)->frag_list;
	u32 n;

	for (n = 1; n < MOST; n++) {
		frame = one(test, n);
		__skb_pull(frame, RXE_GRH_BYTES);
		skb_reset_transport_header(frame);
		*next = frame;
		next = &frame->next;
		skb->len += frame->len;
		skb->data_len += frame->len;
		skb->truesize += frame->truesize;
	}
	return finish(skb);
}

static void expect_packet(struct kunit *test, struct sk_buff *skb, u32 n)
{
	const struct ib_grh *grh = (const void *)skb->data + ETH_HLEN;
	u8 buf[PKT];

	KUNIT_ASSERT_EQ(test, skb->len, L3 + len_of(n));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(grh->paylen), len_of(n));
	KUNIT_EXPECT_EQ(test, grh->sgid.raw[0], 1);
	KUNIT_EXPECT_EQ(test, skb->data[0], 0xee);
	KUNIT_EXPECT_EQ(test, eth_hdr(skb)->h_proto, htons(RXE_ROCE_ETHERTYPE));
	KUNIT_EXPECT_EQ(test, skb_network_offset(skb), ETH_HLEN);
	KUNIT_EXPECT_FALSE(test, skb_is_gso(skb));
	KUNIT_EXPECT_TRUE(test, skb->ip_summed == CHECKSUM_NONE);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, L3, buf, len_of(n)), 0);
	KUNIT_EXPECT_EQ(test, buf[len_of(n) - 1], (u8)n);
}

static void expect_packets(struct kunit *test, struct sk_buff *segs)
{
	struct sk_buff *seg;
	u32 n = 0;

	for (seg = segs; seg; seg = seg->next)
		expect_packet(test, seg, n++);
	KUNIT_EXPECT_EQ(test, n, MOST);
	kfree_skb_list(segs);
}

/* skb_segment_list() gives the train's own skb back as the first packet. */
static void segments(struct kunit *test, struct sk_buff *skb)
{
	struct sk_buff *segs = skb_gso_segment(skb, NETIF_F_SG);

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(segs));
	expect_packets(test, segs);
	kfree_skb(skb);
}

static void segment_bytes(struct kunit *test)
{
	segments(test, train(test));
}

static void segment_frames(struct kunit *test)
{
	segments(test, chain(test));
}

#define TUNNEL	70u	/* VXLAN over IPv6, as outer link header to VXLAN header */

/*
 * Segments a train as a tunnel does, with the tunnel's headers in front of the link header. Each
 * packet must have room for these headers, and the sum for the tunnel's checksum.
 */
static void in_tunnel(struct kunit *test, struct sk_buff *skb)
{
	struct sk_buff *segs, *seg;

	KUNIT_ASSERT_EQ(test, pskb_expand_head(skb, 2 * TUNNEL, 0, GFP_KERNEL), 0);
	skb_reset_mac_len(skb);
	SKB_GSO_CB(skb)->mac_offset = skb_headroom(skb) - TUNNEL;
	skb->encap_hdr_csum = 1;
	segs = skb_mac_gso_segment(skb, NETIF_F_SG);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(segs));
	for (seg = segs; seg; seg = seg->next) {
		KUNIT_EXPECT_GE(test, skb_headroom(seg), TUNNEL);
		KUNIT_EXPECT_EQ(test, SKB_GSO_CB(seg)->csum_start, skb_headroom(seg));
		KUNIT_EXPECT_EQ(test, csum_fold(SKB_GSO_CB(seg)->csum),
				csum_fold(skb_checksum(seg, 0, seg->len, 0)));
	}
	expect_packets(test, segs);
	kfree_skb(skb);
}

static void tunnel_bytes(struct kunit *test)
{
	in_tunnel(test, train(test));
}

static void tunnel_frames(struct kunit *test)
{
	in_tunnel(test, chain(test));
}

static void segment_refused(struct kunit *test)
{
	struct sk_buff *skb = train(test);

	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV6;
	KUNIT_EXPECT_FALSE(test, rxe_v1_gso_ok(skb));
	KUNIT_EXPECT_TRUE(test, IS_ERR(skb_gso_segment(skb, NETIF_F_SG)));
	skb_shinfo(skb)->gso_type = SKB_GSO_FRAGLIST | SKB_GSO_DODGY;
	KUNIT_EXPECT_FALSE(test, rxe_v1_gso_ok(skb));
	kfree_skb(skb);
}

static bool is_train(struct sk_buff *skb)
{
	bool is;

	__skb_pull(skb, L3);
	is = rxe_is_train(skb, 0, PKT, RXE_ROCE_V1);
	kfree_skb(skb);
	return is;
}

static void together(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_train(train(test)));
	KUNIT_EXPECT_TRUE(test, is_train(chain(test)));
}

/* One byte of the GRH of a chain's second packet differs, such as its next header [8.3.7] */
static void not_together(struct kunit *test)
{
	static const u32 offs[] = { 0, 1, 4, 5, 6, 8, 23, 24, 39 };
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		skb = chain(test);
		skb_shinfo(skb)->frag_list->data[(int)offs[i] - (int)RXE_GRH_BYTES] ^= 0x10;
		KUNIT_EXPECT_FALSE_MSG(test, is_train(skb), "byte %u", offs[i]);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(segment_bytes),
	KUNIT_CASE(segment_frames),
	KUNIT_CASE(tunnel_bytes),
	KUNIT_CASE(tunnel_frames),
	KUNIT_CASE(segment_refused),
	KUNIT_CASE(together),
	KUNIT_CASE(not_together),
	{}
};

static struct kunit_suite suite = {
	.name = "net-rocev1",
	.test_cases = cases,
};

kunit_test_suite(suite);
