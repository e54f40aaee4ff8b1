// SPDX-License-Identifier: GPL-2.0
/*
 * The headers of RoCE v2 in front of a train (net/rocev2.c, ipv4.c, ipv6.c), those that a
 * receiver of datagrams gets (net/rx.c), and which GSO a receiver takes in as a whole.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../util.h"

#define BYTES	40u
#define ROOM	(sizeof(struct ipv6hdr) + sizeof(struct udphdr))

static struct sk_buff *train(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(ROOM + BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, ROOM);
	memset(skb_put(skb, BYTES), 0xa5, BYTES);
	return skb;
}

/* The UDP header: RoCE's port, and no checksum [A17.3.1.2] */
static void udp_header(struct kunit *test)
{
	const struct rxe_l3 *rows[] = { &rxe_l3_ipv4, &rxe_l3_ipv6 };
	struct rxe_path path = { .sport = 0xc123, .hop_limit = 64 };
	const struct udphdr *udp;
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		skb = train(test);
		rows[i]->push(skb, &path, 1);
		udp = udp_hdr(skb);
		KUNIT_EXPECT_PTR_EQ(test, (void *)(udp + 1), (void *)skb->data + rows[i]->bytes);
		KUNIT_EXPECT_EQ(test, ntohs(udp->source), 0xc123);
		KUNIT_EXPECT_EQ(test, ntohs(udp->dest), 4791);
		KUNIT_EXPECT_EQ(test, ntohs(udp->len), sizeof(*udp) + BYTES);
		KUNIT_EXPECT_EQ(test, (__force u16)udp->check, 0);
		KUNIT_EXPECT_TRUE(test, skb->ip_summed != CHECKSUM_PARTIAL);
		kfree_skb(skb);
	}
}

/*
 * The receiver gets a GRH, or an IPv4 header in its last 20 bytes. The SL tells which, unless the
 * packet has a priority [A17.4.5.1]
 */
static void of_datagram(struct kunit *test)
{
	static const u8 sl[RXE_PROTOS] = {
		[RXE_ROCE_V1] = 0, [RXE_ROCE_V2_IPV4] = 10, [RXE_ROCE_V2_IPV6] = 9,
	};
	struct sk_buff *skb = train(test);
	u8 grh[RXE_GRH_BYTES];
	u32 proto, zeros;

	for (proto = 0; proto < RXE_PROTOS; proto++) {
		zeros = proto == RXE_ROCE_V2_IPV4 ? 20 : 0;
		*rxe_rx(skb) = (struct rxe_rx) {
			.proto = proto, .l3_off = skb->data - skb->head,
		};
		memset(grh, 0xff, sizeof(grh));
		rxe_rx_grh(skb, grh);
		KUNIT_EXPECT_NULL(test, memchr_inv(grh, 0, zeros));
		KUNIT_EXPECT_MEMEQ(test, grh + zeros, skb->data, sizeof(grh) - zeros);
		skb->priority = 0;
		KUNIT_EXPECT_EQ(test, rxe_rx_wc_sl(skb), sl[proto]);
		skb->priority = 3;
		KUNIT_EXPECT_EQ(test, rxe_rx_wc_sl(skb), 3);
	}
	kfree_skb(skb);
}

/*
 * Segments of another protocol, or behind a tunnel's headers, aren't packets of RoCE: their common
 * headers are in front of the first one only
 */
static void gso_types(struct kunit *test)
{
	static const struct {
		u32	type;
		bool	ok;
	} rows[] = {
		{ SKB_GSO_UDP_L4, true },
		{ SKB_GSO_UDP_L4 | SKB_GSO_DODGY, true },
		{ SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST | SKB_GSO_DODGY, true },
		{ 0, false },
		{ SKB_GSO_DODGY, false },
		{ SKB_GSO_FRAGLIST, false },
		{ SKB_GSO_TCPV4, false },
		{ SKB_GSO_TCPV4 | SKB_GSO_UDP_TUNNEL, false },
		{ SKB_GSO_TCPV6 | SKB_GSO_UDP_TUNNEL_CSUM, false },
		{ SKB_GSO_UDP_L4 | SKB_GSO_UDP_TUNNEL, false },
		{ SKB_GSO_UDP_L4 | SKB_GSO_UDP_TUNNEL_CSUM, false },
		{ SKB_GSO_UDP_L4 | SKB_GSO_IPXIP4, false },
		{ SKB_GSO_UDP_L4 | SKB_GSO_ESP, false },
		{ SKB_GSO_UDP_L4 | SKB_GSO_PARTIAL, false },
	};
	struct sk_buff *skb = train(test);
	u32 i;

	KUNIT_EXPECT_TRUE(test, rxe_v2_is_gso_ok(skb));
	skb_shinfo(skb)->gso_size = BYTES / 2;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		skb_shinfo(skb)->gso_type = rows[i].type;
		KUNIT_EXPECT_EQ_MSG(test, rxe_v2_is_gso_ok(skb), rows[i].ok, "%#x", rows[i].type);
	}
	kfree_skb(skb);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(udp_header),
	KUNIT_CASE(of_datagram),
	KUNIT_CASE(gso_types),
	{}
};

static struct kunit_suite suite = {
	.name		= "net-rocev2",
	.test_cases	= cases,
};

kunit_test_suite(suite);
