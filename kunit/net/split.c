// SPDX-License-Identifier: GPL-2.0
/*
 * Trains of other senders (net/split.c): if the packets aren't for one queue of one QP, or
 * their headers don't continue the first packet's, the train is split. Each packet then has
 * its own headers. Also: which memory the driver accepts as its own, and which skbs it
 * refuses.
 */
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include "../../drivers/rxe/net/internal.h"
#include "../../drivers/rxe/net/proto.h"
#include "../fake.h"

#define HDR	(sizeof(struct iphdr) + sizeof(struct udphdr))
#define PKT	64u
#define MOST	8u
#define ID	0xfffeu		/* close to the wrap-around */

static struct sk_buff_head taken;

static void take(struct rxe_dev *rxe, struct sk_buff *skb)
{
	skb_queue_tail(&taken, skb);
}

static const struct rxe_net_ops take_ops = { .rcv = take };

static int split_init(struct kunit *test)
{
	int err = fake_init(test);

	skb_queue_head_init(&taken);
	rxe_rx_set_ops(&take_ops);
	return err;
}

static void split_exit(struct kunit *test)
{
	skb_queue_purge(&taken);
	fake_exit(test);
}

static void fill_bth(u8 *bth, u8 opcode, u32 qpn, u32 n, u32 len)
{
	memset(bth, n, len);
	bth[0] = opcode;
	put_unaligned_be32(qpn, bth + 4);
	put_unaligned_be32(n, bth + 8);
}

/* Push network headers for @bytes, BTH to ICRC */
static void push_l3(struct sk_buff *skb, u32 id, u32 bytes)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));
	struct iphdr *ip;

	*udp = (struct udphdr) {
		.source = htons(0xc000), .dest = htons(RXE_ROCE_UDP_PORT),
		.len = htons(sizeof(*udp) + bytes),
	};
	ip = skb_push(skb, sizeof(*ip));
	*ip = (struct iphdr) {
		.version = 4, .ihl = 5, .id = htons(id), .protocol = IPPROTO_UDP,
		.tot_len = htons(HDR + bytes), .saddr = htonl(0x0a000001),
		.daddr = htonl(0x0a000002),
	};
	skb_reset_network_header(skb);
	__skb_pull(skb, HDR);
}

static struct sk_buff *one(struct kunit *test, u8 opcode, u32 qpn, u32 n,
			   u32 len)
{
	struct sk_buff *skb = alloc_skb(HDR + MOST * PKT, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, HDR);
	fill_bth(skb_put(skb, len), opcode, qpn, n, len);
	push_l3(skb, (u16)(ID + n), len);
	return skb;
}

static u8 op_of(u32 n)
{
	return n ? IB_OPCODE_RC_RDMA_WRITE_MIDDLE : IB_OPCODE_RC_RDMA_WRITE_FIRST;
}

/* A train in one skb; packet @odd has @opcode and @qpn */
static struct sk_buff *train(struct kunit *test, u32 odd, u8 opcode, u32 qpn)
{
	struct sk_buff *skb = one(test, op_of(0), 0x100, 0, PKT);
	u32 n;

	for (n = 1; n < MOST; n++)
		fill_bth(skb_put(skb, n < MOST - 1 ? PKT : PKT / 2),
			 n == odd ? opcode : op_of(n), n == odd ? qpn : 0x100,
			 n, n < MOST - 1 ? PKT : PKT / 2);
	push_l3(skb, ID, skb->len);
	skb->dev = ((struct fake *)test->priv)->ndev;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb_shinfo(skb)->gso_size = PKT;
	return skb;
}

/* Return: the same, with each packet in its own skb */
static struct sk_buff *chain(struct kunit *test)
{
	struct sk_buff *skb = one(test, op_of(0), 0x100, 0, PKT), *frame;
	struct sk_buff **next = &skb_shinfo(skb)->frag_list;
	u32 n;

	for (n = 1; n < MOST; n++) {
		frame = one(test, op_of(n), 0x100, n,
			    n < MOST - 1 ? PKT : PKT / 2);
		*next = frame;
		next = &frame->next;
		skb->len += frame->len;
		skb->data_len += frame->len;
	}
	push_l3(skb, ID, skb->len);
	skb->dev = ((struct fake *)test->priv)->ndev;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	skb_shinfo(skb)->gso_size = PKT;
	return skb;
}

static struct sk_buff *frame(struct sk_buff *skb, u32 n)
{
	skb = skb_shinfo(skb)->frag_list;
	while (--n)
		skb = skb->next;
	return skb;
}

static bool is_train(struct sk_buff *skb)
{
	bool is = rxe_is_train(skb, 0, PKT, RXE_ROCE_V2_IPV4);

	kfree_skb(skb);
	return is;
}

static void together(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_train(train(test, 0, 0, 0)));
	KUNIT_EXPECT_TRUE(test, is_train(chain(test)));
	/* reserved bits of the BTH, FECN and BECN may differ */
	KUNIT_EXPECT_TRUE(test, is_train(train(test, 3, 0x07, 0xff000100)));
}

static void not_together(struct kunit *test)
{
	u32 n;

	for (n = 1; n < MOST; n++) {
		KUNIT_EXPECT_FALSE(test, is_train(train(test, n, 0x07, 0x101)));
		KUNIT_EXPECT_FALSE(test, is_train(train(test, n, 0x11, 0x100)));
		KUNIT_EXPECT_FALSE(test, is_train(train(test, n, 0x64, 0x100)));
		KUNIT_EXPECT_FALSE(test, is_train(train(test, n, 0x3f, 0x100)));
	}
}

/* The boundaries of packets and of pieces of the skb are independent */
static void pieces(struct kunit *test)
{
	struct sk_buff *skb;
	struct page *page;
	u32 cut, odd;

	for (cut = 1; cut < 2 * PKT; cut++) {
		for (odd = 0; odd < MOST; odd++) {
			skb = train(test, odd, 0x07, 0x101);
			page = alloc_page(GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, page);
			memcpy(page_address(page) + 1, skb->data + cut, skb->len - cut);
			skb_fill_page_desc(skb, 0, page, 1, PKT + 3);
			get_page(page);
			skb_fill_page_desc(skb, 1, page, PKT + 4,
					   skb->len - cut - PKT - 3);
			skb->data_len = skb->len - cut;
			skb_set_tail_pointer(skb, cut);
			KUNIT_ASSERT_EQ(test, is_train(skb), !odd);
		}
	}
}

static struct iphdr *l3_of(struct sk_buff *frame)
{
	return (void *)frame->data - HDR;
}

static void chain_headers(struct kunit *test)
{
	struct sk_buff *skb;
	u32 n;

	for (n = 1; n < MOST; n++) {
		skb = chain(test);
		l3_of(frame(skb, n))->id ^= 1;
		KUNIT_EXPECT_FALSE(test, is_train(skb));
		skb = chain(test);
		l3_of(frame(skb, n))->saddr ^= 1;
		KUNIT_EXPECT_FALSE(test, is_train(skb));
		skb = chain(test);
		l3_of(frame(skb, n))->ihl = 6;
		KUNIT_EXPECT_FALSE(test, is_train(skb));
		skb = chain(test);
		frame(skb, n)->data[7] ^= 1;
		KUNIT_EXPECT_FALSE(test, is_train(skb));
		skb = chain(test);
		frame(skb, n)->head += 8;	/* no room for headers */
		KUNIT_EXPECT_FALSE(test, rxe_is_train(skb, 0, PKT, RXE_ROCE_V2_IPV4));
		frame(skb, n)->head -= 8;
		kfree_skb(skb);
	}
}

static u64 counted(struct kunit *test, enum rxe_counter counter)
{
	struct fake *f = test->priv;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(f->rxe->stats, cpu)->cnt[counter];
	return sum;
}

static void deliver(struct kunit *test, struct sk_buff *skb)
{
	struct fake *f = test->priv;

	__skb_push(skb, HDR);
	local_bh_disable();
	rxe_rx_deliver(f->rxe, skb, HDR, RXE_ROCE_V2_IPV4, PKT);
	local_bh_enable();
}

/* The @n-th packet came by itself, with its own headers */
static void expect_packet(struct kunit *test, u32 n)
{
	struct sk_buff *skb = skb_dequeue(&taken);
	const struct iphdr *ip;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	ip = rxe_rx_l3(skb);
	KUNIT_EXPECT_EQ(test, skb->len, n < MOST - 1 ? PKT : PKT / 2);
	KUNIT_EXPECT_EQ(test, rxe_rx(skb)->pkt, skb->len);
	KUNIT_EXPECT_EQ(test, rxe_rx(skb)->npkts, 1);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(skb->data + 8), n);
	KUNIT_EXPECT_EQ(test, skb->data[skb->len - 1], (u8)n);
	KUNIT_EXPECT_EQ(test, ntohs(ip->id), (u16)(ID + n));
	KUNIT_EXPECT_EQ(test, ntohs(ip->tot_len), HDR + skb->len);
	KUNIT_EXPECT_EQ(test, ntohs(((struct udphdr *)(ip + 1))->len), 8 + skb->len);
	KUNIT_EXPECT_FALSE(test, rxe_rx(skb)->trusted);
	kfree_skb(skb);
}

static void expect_train(struct kunit *test)
{
	struct sk_buff *skb = skb_dequeue(&taken);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, rxe_rx(skb)->npkts, MOST);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&taken));
	kfree_skb(skb);
}

static void delivered(struct kunit *test)
{
	struct sk_buff *skb;
	u32 n;

	deliver(test, train(test, 0, 0, 0));
	expect_train(test);
	deliver(test, chain(test));
	expect_train(test);
	deliver(test, train(test, 3, 0x07, 0x101));
	for (n = 0; n < MOST; n++)
		expect_packet(test, n);
	skb = chain(test);
	frame(skb, 5)->data[7] = 1;
	deliver(test, skb);
	for (n = 0; n < MOST; n++)
		expect_packet(test, n);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_DROP_MALFORMED), 0ull);
	/* a frame of another flow, which no firewall has seen */
	skb = chain(test);
	l3_of(frame(skb, 5))->daddr ^= 1;
	deliver(test, skb);
	for (n = 0; n < MOST; n++)
		if (n != 5)
			expect_packet(test, n);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&taken));
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_DROP_MALFORMED), 1ull);
}

/*
 * Return: a train of a router's GRO. The first skb has @first packets, and those in the frag_list
 * have @each packets. Only the first packet of an skb has headers.
 */
static struct sk_buff *grown(struct kunit *test, u32 first, u32 each)
{
	struct sk_buff *skb = chain(test), *part = skb, *frame, *next;
	u32 n = 1;

	frame = skb_shinfo(skb)->frag_list;
	skb_shinfo(skb)->frag_list = NULL;
	for (; frame; frame = next, n++) {
		next = frame->next;
		frame->next = NULL;
		if (n < first || (n - first) % each) {
			memcpy(skb_tail_pointer(part), frame->data, frame->len);
			part->tail += frame->len;
			if (part == skb)
				skb->data_len -= frame->len;
			else
				part->len += frame->len;
			kfree_skb(frame);
			continue;
		}
		if (part == skb)
			skb_shinfo(skb)->frag_list = frame;
		else
			part->next = frame;
		part = frame;
	}
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	return skb;
}

static void parts(struct kunit *test)
{
	u32 first, each, n;

	for (first = 1; first < MOST; first++) {
		for (each = 1; each < MOST; each++) {
			deliver(test, grown(test, first, each));
			for (n = 0; n < MOST; n++)
				expect_packet(test, n);
			KUNIT_EXPECT_TRUE(test, skb_queue_empty(&taken));
		}
	}
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_DROP_MALFORMED), 0ull);
}

/* A frame of a single packet keeps its ID, which need not count up */
static void own_ids(struct kunit *test)
{
	struct sk_buff *skb = grown(test, 1, 1);
	u32 n;

	l3_of(frame(skb, 3))->id = htons(7);
	deliver(test, skb);
	for (n = 0; n < MOST; n++) {
		skb = skb_dequeue(&taken);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_EXPECT_EQ(test, ntohs(((struct iphdr *)rxe_rx_l3(skb))->id),
				n == 3 ? 7 : (u16)(ID + n));
		kfree_skb(skb);
	}
}

/* One ECN mark: the packet comes by itself with its mark, and its neighbours have none */
static void expect_marked(struct kunit *test, u32 marked)
{
	struct sk_buff *skb = chain(test);
	u32 n;

	(marked ? l3_of(frame(skb, marked)) : ip_hdr(skb))->tos = INET_ECN_CE;
	deliver(test, skb);
	for (n = 0; n < MOST; n++) {
		skb = skb_dequeue(&taken);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_EXPECT_EQ(test, rxe_rx(skb)->npkts, 1);
		KUNIT_EXPECT_TRUE_MSG(test, rxe_rx(skb)->ce == (n == marked), "%u of %u", n,
				      marked);
		kfree_skb(skb);
	}
}

static void marks(struct kunit *test)
{
	struct sk_buff *skb = train(test, 0, 0, 0);
	u32 n;

	for (n = 0; n < MOST; n++)
		expect_marked(test, n);
	/* the headers of a train in one skb are the first packet's */
	ip_hdr(skb)->tos = INET_ECN_CE;
	deliver(test, skb);
	KUNIT_ASSERT_FALSE(test, skb_queue_empty(&taken));
	KUNIT_EXPECT_TRUE(test, rxe_rx(skb_peek(&taken))->ce);
	expect_train(test);
}

/* Refused: emergency memory, and link-layer multicast that isn't for a group */
static void unusable(struct kunit *test)
{
	struct sk_buff *skb = train(test, 0, 0, 0);

	skb->pfmemalloc = true;
	deliver(test, skb);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_DROP_MEMORY), 1ull);
	skb = train(test, 0, 0, 0);
	skb->pkt_type = PACKET_MULTICAST;
	deliver(test, skb);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_DROP_ADDR), 1ull);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&taken));
}

static void own_memory(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rxe_train own;
	struct sk_buff *skb = train(test, 0, 0, 0);
	u32 i;

	KUNIT_EXPECT_FALSE(test, rxe_blocks_made(skb));
	local_bh_disable();
	KUNIT_EXPECT_NOT_NULL(test, rxe_train_start(f->rxe, &f->peer, &own,
						    2048, MOST));
	for (i = 1; i < MOST; i++)
		rxe_train_push(&own, 2048);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, rxe_blocks_made(own.skb));
	skb_shinfo(own.skb)->frag_list = skb;
	KUNIT_EXPECT_FALSE(test, rxe_blocks_made(own.skb));
	skb_shinfo(own.skb)->frag_list = NULL;
	kfree_skb(skb);
	/* code that changes a header copies it first */
	KUNIT_ASSERT_EQ(test, pskb_expand_head(own.skb, 64, 0, GFP_KERNEL), 0);
	KUNIT_EXPECT_FALSE(test, rxe_blocks_made(own.skb));
	kfree_skb(own.skb);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(together),
	KUNIT_CASE(not_together),
	KUNIT_CASE(pieces),
	KUNIT_CASE(chain_headers),
	KUNIT_CASE(delivered),
	KUNIT_CASE(parts),
	KUNIT_CASE(own_ids),
	KUNIT_CASE(marks),
	KUNIT_CASE(unusable),
	KUNIT_CASE(own_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "net-split",
	.init = split_init,
	.exit = split_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
