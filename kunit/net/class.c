// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic classes of paths and of received packets (net/class.c). In packets of RoCE v2, only
 * congestion control sets the two ECN bits, whatever class a program asks for.
 */
#include <net/inet_ecn.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../util.h"

static struct rxe_dev *make_dev(struct kunit *test, u8 ecn_priorities)
{
	struct rxe_dev *rxe = kunit_kzalloc(test, sizeof(*rxe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rxe);
	rxe->tune.ecn_priorities = ecn_priorities;
	return rxe;
}

/* Return: the TOS of a path whose program asks for @tclass */
static u8 tos_of(const struct rxe_dev *rxe, struct rxe_path path, u8 tclass)
{
	const struct ib_global_route grh = { .traffic_class = tclass };

	path.max_priority = U8_MAX;
	rxe_path_class(rxe, &path, &grh);
	return path.tos;
}

/* 106 and 107 have the ECN bits of ECT(0) and of a mark, 105 those of ECT(1) */
static void ecn_bits(struct kunit *test)
{
	const struct rxe_path off = { .proto = RXE_ROCE_V2_IPV4 };
	const struct rxe_path on = { .proto = RXE_ROCE_V2_IPV6, .ecn = true };
	const struct rxe_path group = { .proto = RXE_ROCE_V2_IPV4, .ecn = true, .mcast = true };
	const struct rxe_dev *all = make_dev(test, U8_MAX);
	const struct rxe_dev *others = make_dev(test, (u8)~BIT(104 >> 5));
	u8 tclass;

	for (tclass = 104; tclass < 108; tclass++) {
		KUNIT_EXPECT_EQ(test, tos_of(all, off, tclass), 104);
		KUNIT_EXPECT_EQ(test, tos_of(all, on, tclass), 104 | INET_ECN_ECT_0);
		KUNIT_EXPECT_EQ(test, tos_of(others, on, tclass), 104);
		KUNIT_EXPECT_EQ(test, tos_of(all, group, tclass), 104);
	}
}

/* The same holds for the administrator's class */
static void administrator(struct kunit *test)
{
	const struct rxe_path off = { .proto = RXE_ROCE_V2_IPV4 };
	const struct rxe_path on = { .proto = RXE_ROCE_V2_IPV4, .ecn = true };
	struct rxe_dev *rxe = make_dev(test, U8_MAX);
	char text[] = "107";

	KUNIT_ASSERT_EQ(test, rxe_tclass_set(rxe, text), 0);
	KUNIT_EXPECT_EQ(test, tos_of(rxe, off, 0), 104);
	KUNIT_EXPECT_EQ(test, tos_of(rxe, on, 0), 104 | INET_ECN_ECT_0);
	rxe_tclass_free(rxe);
}

/* For ECN, the priority of packets counts, not the one that the process asked for */
static void unprivileged(struct kunit *test)
{
	const struct ib_global_route grh = { .traffic_class = 0xe0 };
	struct rxe_path path = {
		.proto = RXE_ROCE_V2_IPV4, .ecn = true, .max_priority = U8_MAX,
	};
	struct rxe_dev *rxe = make_dev(test, BIT(7));
	struct rxe_txq *highest;

	path.egress = kunit_kzalloc(test, sizeof(*path.egress), GFP_KERNEL);
	rxe->ndev = path.egress;
	rxe->txq = rxe_txq_find(rxe->ndev, 0);
	KUNIT_ASSERT_NOT_NULL(test, rxe->txq);
	rxe_path_class(rxe, &path, &grh);
	KUNIT_EXPECT_EQ(test, path.priority, 7);
	KUNIT_EXPECT_EQ(test, path.tos, 0xe0 | INET_ECN_ECT_0);
	rxe_path_unprivileged(rxe, &path, &grh);	/* a device without namespace: no rights */
	KUNIT_EXPECT_EQ(test, path.priority, 6);
	KUNIT_EXPECT_EQ(test, path.tos, 0xe0);
	highest = rxe_txq_find(rxe->ndev, 6);
	KUNIT_EXPECT_PTR_EQ(test, path.txq, highest);
	rxe_txq_put(highest);
	rxe_txq_put(path.txq);
	rxe_txq_put(rxe->txq);
}

static struct sk_buff *make_skb(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(128, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 64);
	return skb;
}

/* RoCE v1 has no ECN: the GRH has the class as asked for */
static void v1(struct kunit *test)
{
	const struct ib_global_route grh = { .traffic_class = 107 };
	struct rxe_path path = { .proto = RXE_ROCE_V1, .ecn = true, .max_priority = U8_MAX };
	struct sk_buff *skb = make_skb(test);
	const struct ib_grh *sent;

	rxe_path_class(make_dev(test, U8_MAX), &path, &grh);
	rxe_l3(RXE_ROCE_V1)->push(skb, &path, 1);
	sent = (const struct ib_grh *)skb_network_header(skb);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sent->version_tclass_flow) >> 20 & 0xff, 107u);
	kfree_skb(skb);
}

/* Return: the priority of a packet with this class, if the VLAN's ingress map gave @priority */
static u8 received(struct kunit *test, u8 proto, u8 tclass, u32 priority)
{
	struct sk_buff *skb = make_skb(test);
	u8 result;

	skb_reset_network_header(skb);
	skb_put_zero(skb, sizeof(struct ipv6hdr));
	if (proto == RXE_ROCE_V2_IPV4)
		ip_hdr(skb)->tos = tclass;
	else
		ip6_flow_hdr(ipv6_hdr(skb), tclass, 0);
	*rxe_rx(skb) = (struct rxe_rx){
		.proto = proto, .l3_off = skb_network_header(skb) - skb->head,
	};
	skb->priority = priority;
	result = rxe_rx_priority(skb);
	kfree_skb(skb);
	return result;
}

static void rx_priority(struct kunit *test)
{
	u8 proto;

	for (proto = 0; proto < RXE_PROTOS; proto++) {
		KUNIT_EXPECT_EQ(test, received(test, proto, 0x03, 0), 0);
		KUNIT_EXPECT_EQ(test, received(test, proto, 0x6b, 0), 3);
		KUNIT_EXPECT_EQ(test, received(test, proto, 0xff, 0), 7);
		KUNIT_EXPECT_EQ(test, received(test, proto, 0x6b, 5), 5);
		KUNIT_EXPECT_EQ(test, received(test, proto, 0x6b, 15), RXE_MAX_SL);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(ecn_bits),
	KUNIT_CASE(administrator),
	KUNIT_CASE(unprivileged),
	KUNIT_CASE(v1),
	KUNIT_CASE(rx_priority),
	{}
};

static struct kunit_suite suite = {
	.name = "net-class",
	.test_cases = cases,
};

kunit_test_suite(suite);
