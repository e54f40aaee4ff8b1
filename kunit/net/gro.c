// SPDX-License-Identifier: GPL-2.0
/*
 * GRO (net/gro.c, rocev1_offload.c): which packets are chained. What the stack checks or reads
 * once per chain must be the same for all its packets: IPsec, the traffic class, the TTL.
 */
#include <linux/etherdevice.h>
#include <net/dsfield.h>
#include <net/gro.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/xfrm.h>
#include <compat/unaligned.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../util.h"

#define PKT	64u
#define ID	0xfffeu		/* the first packet's; they wrap around */
#define ROOM	(ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + PKT)

static int gro_init(struct kunit *test)
{
	rxe_v1_gro_switch(true);
	return 0;
}

static void gro_exit(struct kunit *test)
{
	rxe_v1_gro_switch(false);
}

static void push_udp(struct sk_buff *skb)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	*udp = (struct udphdr) {
		.source = htons(0xc000), .dest = htons(RXE_ROCE_UDP_PORT),
		.len = htons(sizeof(*udp) + PKT),
	};
}

/* The destination is an address of the loopback netdev, which is always this host's */
static void push_ipv4(struct sk_buff *skb, u16 id)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	*ip = (struct iphdr) {
		.version = 4, .ihl = 5, .tos = INET_ECN_ECT_0, .id = htons(id), .ttl = 64,
		.tot_len = htons(skb->len), .protocol = IPPROTO_UDP, .frag_off = htons(IP_DF),
		.saddr = htonl(0x0a000001), .daddr = htonl(INADDR_LOOPBACK),
	};
}

/* Also the GRH of RoCE v1 */
static void push_ipv6(struct sk_buff *skb, u8 next)
{
	u32 len = skb->len;
	struct ipv6hdr *ip6 = skb_push(skb, sizeof(*ip6));

	*ip6 = (struct ipv6hdr) {
		.version = 6, .nexthdr = next, .payload_len = htons(len), .hop_limit = 64,
		.saddr.s6_addr[0] = 0xfd, .daddr = IN6ADDR_LOOPBACK_INIT,
	};
	ipv6_change_dsfield(ip6, 0, INET_ECN_ECT_0);
}

static void push_l3(struct sk_buff *skb, u8 proto, u32 n)
{
	if (proto == RXE_ROCE_V1) {
		push_ipv6(skb, RXE_GRH_NXTHDR);
		return;
	}
	push_udp(skb);
	if (proto == RXE_ROCE_V2_IPV4)
		push_ipv4(skb, ID + n);
	else
		push_ipv6(skb, IPPROTO_UDP);
}

/*
 * Return: packet @n of a connection, as GRO passes it to its protocol: data at the IP header or GRH
 */
static struct sk_buff *packet(struct kunit *test, u8 proto, u32 n)
{
	struct sk_buff *skb = alloc_skb(ROOM, GFP_KERNEL);
	u8 *bth;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, ROOM - PKT);
	bth = skb_put_zero(skb, PKT);
	bth[0] = IB_OPCODE_RC_RDMA_WRITE_MIDDLE;
	put_unaligned_be32(0x100, bth + 4);
	put_unaligned_be32(n, bth + 8);
	push_l3(skb, proto, n);
	skb_reset_network_header(skb);
	memset(skb_push(skb, ETH_HLEN), 0, ETH_HLEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	skb->dev = init_net.loopback_dev;
	skb_shinfo(skb)->gso_size = PKT;
	memset(NAPI_GRO_CB(skb), 0, sizeof(struct napi_gro_cb));
	NAPI_GRO_CB(skb)->count = 1;
	NAPI_GRO_CB(skb)->last = skb;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return skb;
}

/* The UDP layer has compared addresses and ports of RoCE v2 */
static void receive(u8 proto, struct list_head *held, struct sk_buff *skb)
{
	struct packet_offload *v1;

	if (proto == RXE_ROCE_V1) {
		v1 = gro_find_receive_by_type(htons(RXE_ROCE_ETHERTYPE));
		v1->callbacks.gro_receive(held, skb);
		return;
	}
	skb_gro_pull(skb, rxe_l3(proto)->bytes);
	rxe_gro_add(proto, held, skb);
}

/* Is @second chained to @first? If not, it is freed */
static bool chain(u8 proto, struct sk_buff *first, struct sk_buff *second)
{
	bool done;
	LIST_HEAD(held);

	list_add(&first->list, &held);
	local_bh_disable();
	rcu_read_lock();
	receive(proto, &held, second);
	rcu_read_unlock();
	local_bh_enable();
	skb_list_del_init(first);
	done = skb_shinfo(first)->frag_list == second;
	if (!done)
		kfree_skb(second);
	return done;
}

/* The same; both are consumed */
static bool chained(u8 proto, struct sk_buff *first, struct sk_buff *second)
{
	bool done = chain(proto, first, second);

	kfree_skb(first);
	return done;
}

/* PSNs and IDs go forward */
static void in_order(struct kunit *test)
{
	u8 proto;

	for (proto = 0; proto < RXE_PROTOS; proto++) {
		KUNIT_EXPECT_TRUE_MSG(test, chained(proto, packet(test, proto, 1),
						    packet(test, proto, 2)), "%u", proto);
		KUNIT_EXPECT_FALSE_MSG(test, chained(proto, packet(test, proto, 2),
						     packet(test, proto, 1)), "%u", proto);
	}
}

/* skb_segment_list() must never get a chain of RoCE v2 */
static void segmentation(struct kunit *test)
{
	struct sk_buff *skb;
	u8 proto;

	for (proto = 0; proto < RXE_PROTOS; proto++) {
		skb = packet(test, proto, 1);
		KUNIT_EXPECT_TRUE_MSG(test, chain(proto, skb, packet(test, proto, 2)), "%u", proto);
		KUNIT_EXPECT_EQ_MSG(test, !!(skb_shinfo(skb)->gso_type & SKB_GSO_DODGY),
				    proto != RXE_ROCE_V1, "%u", proto);
		kfree_skb(skb);
	}
}

/* Return: a packet whose netdev has reported the sum of all its bytes */
static struct sk_buff *summed(struct kunit *test, u8 proto, u32 n)
{
	struct sk_buff *skb = packet(test, proto, n);

	skb->ip_summed = CHECKSUM_COMPLETE;
	return skb;
}

/* What sums up the first packet isn't the sum of the train */
static void sum_of_train(struct kunit *test)
{
	struct sk_buff *skb;
	u8 proto;

	for (proto = RXE_ROCE_V2_IPV4; proto < RXE_PROTOS; proto++) {
		LIST_HEAD(held);

		skb = summed(test, proto, 1);
		receive(proto, &held, skb);
		KUNIT_EXPECT_TRUE_MSG(test, chain(proto, skb, summed(test, proto, 2)), "%u", proto);
		KUNIT_EXPECT_TRUE_MSG(test, skb->ip_summed == CHECKSUM_UNNECESSARY, "%u", proto);
		kfree_skb(skb);
	}
}

/* Return: a packet that IPsec, or a netdev with IPsec offload, has decrypted */
static struct sk_buff *decrypted(struct kunit *test, u8 proto, u32 n)
{
	struct sk_buff *skb = packet(test, proto, n);

	KUNIT_ASSERT_NOT_NULL(test, secpath_set(skb));
	return skb;
}

/* The policy is checked for the first packet of a chain only */
static void through_ipsec(struct kunit *test)
{
	u8 proto;

	if (!IS_ENABLED(CONFIG_XFRM))
		kunit_skip(test, "the kernel has no IPsec");
	for (proto = 0; proto < RXE_PROTOS; proto++) {
		KUNIT_EXPECT_FALSE_MSG(test, chained(proto, decrypted(test, proto, 1),
						     packet(test, proto, 2)),
				       "%u: clear text behind IPsec", proto);
		KUNIT_EXPECT_FALSE_MSG(test, chained(proto, packet(test, proto, 1),
						     decrypted(test, proto, 2)),
				       "%u: IPsec behind clear text", proto);
		KUNIT_EXPECT_FALSE_MSG(test, chained(proto, decrypted(test, proto, 1),
						     decrypted(test, proto, 2)),
				       "%u: perhaps of two security associations", proto);
	}
}

static void set_class(struct sk_buff *skb, u8 proto, u8 class)
{
	if (proto == RXE_ROCE_V2_IPV4)
		ip_hdr(skb)->tos = class;
	else
		ipv6_change_dsfield(ipv6_hdr(skb), 0, class);
}

static bool classes_chain(struct kunit *test, u8 proto, u8 first_class, u8 second_class)
{
	struct sk_buff *first = packet(test, proto, 1), *second = packet(test, proto, 2);

	set_class(first, proto, first_class);
	set_class(second, proto, second_class);
	return chained(proto, first, second);
}

/*
 * A train has one ECN mark, that of the first packet. The mark of another packet must neither get
 * lost nor count for its neighbours [RFC 3168]. The same holds for the DSCP.
 */
static void traffic_class(struct kunit *test)
{
	static const u8 classes[] = {
		INET_ECN_NOT_ECT, INET_ECN_ECT_1, INET_ECN_ECT_0, INET_ECN_CE,
		26 << 2 | INET_ECN_ECT_0, 26 << 2 | INET_ECN_CE, 0x80,
	};
	u32 first, second;
	u8 proto;

	for (proto = 0; proto < RXE_PROTOS; proto++)
		for (first = 0; first < ARRAY_SIZE(classes); first++)
			for (second = 0; second < ARRAY_SIZE(classes); second++)
				KUNIT_EXPECT_EQ_MSG(test, classes_chain(test, proto, classes[first],
									classes[second]),
						    first == second, "protocol %u: %#x, %#x", proto,
						    classes[first], classes[second]);
}

/* A bit in @byte of the second packet's IP header or GRH differs */
static bool differ_at(struct kunit *test, u8 proto, u32 byte)
{
	struct sk_buff *second = packet(test, proto, 2);

	skb_network_header(second)[byte] ^= 0x10;
	return chained(proto, packet(test, proto, 1), second);
}

static void other_fields(struct kunit *test)
{
	static const struct {
		const char *what;
		u8 proto;
		u32 byte;
	} rows[] = {
		{ "IPv4: fragment offset",	RXE_ROCE_V2_IPV4, 6 },
		{ "IPv4: ID",			RXE_ROCE_V2_IPV4, 5 },
		{ "IPv4: TTL",			RXE_ROCE_V2_IPV4, 8 },
		{ "IPv6: flow label",		RXE_ROCE_V2_IPV6, 3 },
		{ "IPv6: hop limit",		RXE_ROCE_V2_IPV6, 7 },
		{ "GRH: flow label",		RXE_ROCE_V1, 3 },
		{ "GRH: hop limit",		RXE_ROCE_V1, 7 },
		{ "GRH: source",		RXE_ROCE_V1, 8 },
		{ "GRH: destination",		RXE_ROCE_V1, 39 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_FALSE_MSG(test, differ_at(test, rows[i].proto, rows[i].byte), "%s",
				       rows[i].what);
}

static bool chained_on(struct kunit *test, struct net_device *ndev, u8 proto)
{
	struct sk_buff *first = packet(test, proto, 1), *second = packet(test, proto, 2);

	first->dev = ndev;
	second->dev = ndev;
	return chained(proto, first, second);
}

/* The hooks aren't called, since @ndev receives no packet */
static void set_hooks(struct net_device *ndev, void *netfilter, void *tc)
{
#ifdef CONFIG_NETFILTER_INGRESS
	rcu_assign_pointer(ndev->nf_hooks_ingress, netfilter);
#endif
#ifdef CONFIG_NET_XGRESS
	rcu_assign_pointer(ndev->tcx_ingress, tc);
#endif
}

/*
 * Packets that netfilter or tc may mirror into a tunnel aren't chained. Those of RoCE v1 are: its
 * own segmentation makes room for the headers of tunnels.
 */
static void ingress_hooks(struct kunit *test)
{
	struct net_device *ndev = alloc_etherdev(0);
	u8 proto;

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	for (proto = 0; proto < RXE_PROTOS; proto++) {
		KUNIT_EXPECT_TRUE_MSG(test, chained_on(test, ndev, proto), "%u", proto);
		set_hooks(ndev, ndev, NULL);
		KUNIT_EXPECT_EQ_MSG(test, chained_on(test, ndev, proto), proto == RXE_ROCE_V1,
				    "%u: netfilter", proto);
		set_hooks(ndev, NULL, ndev);
		KUNIT_EXPECT_EQ_MSG(test, chained_on(test, ndev, proto), proto == RXE_ROCE_V1,
				    "%u: tc", proto);
		set_hooks(ndev, NULL, NULL);
	}
	free_netdev(ndev);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(in_order),
	KUNIT_CASE(segmentation),
	KUNIT_CASE(sum_of_train),
	KUNIT_CASE(through_ipsec),
	KUNIT_CASE(traffic_class),
	KUNIT_CASE(other_fields),
	KUNIT_CASE(ingress_hooks),
	{}
};

static struct kunit_suite suite = {
	.name = "net-gro",
	.init = gro_init,
	.exit = gro_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
