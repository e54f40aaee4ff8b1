// SPDX-License-Identifier: GPL-2.0
/*
 * GRO (net/gro.c): which packets are chained.
 */
#include <linux/etherdevice.h>
#include <net/gro.h>
#include <net/net_namespace.h>
#include <compat/unaligned.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../util.h"

#define PKT	64u

/* A RoCE v1 packet of a connection, as GRO hands it to its protocol: data at the GRH */
static struct sk_buff *packet(struct kunit *test, u32 psn)
{
	struct sk_buff *skb = alloc_skb(ETH_HLEN + RXE_GRH_BYTES + PKT, GFP_KERNEL);
	u8 *bth;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, ETH_HLEN + RXE_GRH_BYTES + PKT);
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	skb_reset_network_header(skb);
	bth = skb->data + RXE_GRH_BYTES;
	bth[0] = IB_OPCODE_RC_RDMA_WRITE_MIDDLE;
	put_unaligned_be32(0x100, bth + 4);
	put_unaligned_be32(psn, bth + 8);
	skb->dev = init_net.loopback_dev;
	skb_shinfo(skb)->gso_size = PKT;
	memset(NAPI_GRO_CB(skb), 0, sizeof(struct napi_gro_cb));
	skb_gro_pull(skb, RXE_GRH_BYTES);
	NAPI_GRO_CB(skb)->count = 1;
	NAPI_GRO_CB(skb)->last = skb;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return skb;
}

static bool chained(struct sk_buff *first, struct sk_buff *second)
{
	bool done;
	LIST_HEAD(head);

	list_add(&first->list, &head);
	local_bh_disable();
	rcu_read_lock();
	rxe_gro_add(RXE_ROCE_V1, &head, second);
	rcu_read_unlock();
	local_bh_enable();
	skb_list_del_init(first);
	done = skb_shinfo(first)->frag_list == second;
	if (!done)
		kfree_skb(second);
	kfree_skb(first);
	return done;
}

static void clear_text(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, chained(packet(test, 1), packet(test, 2)));
	KUNIT_EXPECT_FALSE(test, chained(packet(test, 2), packet(test, 1)));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(clear_text),
	{}
};

static struct kunit_suite suite = {
	.name = "net-gro",
	.test_cases = cases,
};

kunit_test_suite(suite);
