// SPDX-License-Identifier: GPL-2.0
/*
 * Building trains. The skb has a small linear head for the network headers, and
 * the packets as fragments. Head and packets are in blocks of contiguous pages;
 * a packet never straddles two blocks.
 *
 * Blocks are recycled. Each CPU has a ring of them. When a block's only reference
 * is the ring's, all its readers are done, and it is written again. That saves the
 * page allocator, which may also zero pages (init_on_alloc).
 *
 * Context: bottom halves off, which alone protects the rings.
 */
#include <linux/if_vlan.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include "internal.h"
#include "proto.h"

/* Least room for all headers below the BTH */
#define RXE_HEADROOM							\
	ALIGN(LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr), 8)

/**
 * struct rxe_blocks - a CPU's blocks
 * @ring: compound pages, each with the ring's reference; NULL until first used
 * @num: places of @ring that have been used: a block is added when none seems to be idle
 * @cur: the block that is being filled
 * @size: its bytes, 0 if there is none
 * @used: bytes of it that trains were given
 */
struct rxe_blocks {
	struct page	*ring[RXE_BLOCKS];
	u32		num;
	u32		cur;
	u32		size;
	u32		used;
};

static DEFINE_PER_CPU(struct rxe_blocks, rxe_blocks);

/*
 * The address of this mark is in page_private() of each block's first page. Only the
 * driver writes to pages with the mark, and no other user stores this address there.
 */
static const u8 rxe_block_mark;

/* No barrier: the stores that follow depend on page_ref_count() */
static bool rxe_block_is_idle(struct page *page)
{
	return page && page_ref_count(page) == 1;
}

/* The ring index of an idle block, of an unused place, or of a block to be replaced */
static u32 rxe_block_find_place(struct rxe_blocks *b)
{
	u32 i = b->cur, probes = min_t(u32, b->num, RXE_BLOCK_PROBES);

	while (probes--) {
		i = (i + 1) % b->num;
		if (!b->ring[i] || rxe_block_is_idle(b->ring[i]))
			return i;
	}
	return b->num < RXE_BLOCKS ? b->num++ : i;
}

/* Other references may remain, but the next user of the page must not get the mark. */
static void rxe_block_put(struct page *page)
{
	if (!page)
		return;
	set_page_private(page, 0);
	put_page(page);
}

static bool rxe_page_is_marked(struct page *head)
{
	return !PageSlab(head) &&
	       READ_ONCE(page_private(head)) == (unsigned long)&rxe_block_mark;
}

/* Are all frags in the driver's blocks? Most are in @last, the block of the linear part */
static bool rxe_frags_are_ours(const struct sk_buff *skb, struct page *last)
{
	struct page *page;
	int i;

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		page = compound_head(skb_frag_page(&skb_shinfo(skb)->frags[i]));
		if (page != last && !rxe_page_is_marked(page))
			return false;
		last = page;
	}
	return true;
}

/**
 * rxe_blocks_made - is all of an skb in memory that only this driver writes to?
 * @skb: any; its frags are pages
 *
 * An skb keeps the driver's pages on its way within this host. Packets from the wire, a guest
 * or a process are in other pages. NAT, tc and BPF copy a shared linear part before they
 * change it. A change in place counts as sent by this host.
 *
 * Return: true if it is.
 */
bool rxe_blocks_made(const struct sk_buff *skb)
{
	struct page *page = virt_to_head_page(skb->head);
	const struct sk_buff *frame;

	if (!skb->head_frag || !rxe_page_is_marked(page))
		return false;
	if (!skb_is_nonlinear(skb))
		return true;
	if (!rxe_frags_are_ours(skb, page))
		return false;
	skb_walk_frags(skb, frame) {
		if (skb_has_frag_list(frame) || !rxe_blocks_made(frame))
			return false;
	}
	return true;
}

/*
 * A full-sized block in place of @old. If memory is short: @old, if that is idle and
 * can hold @len bytes, or else a new block just large enough for them.
 */
static struct page *rxe_block_renew(struct page *old, u32 len)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN | __GFP_NOMEMALLOC;
	struct page *page = alloc_pages(gfp & ~__GFP_HIGH, RXE_BLOCK_ORDER);

	if (!page && rxe_block_is_idle(old) && page_size(old) >= len)
		return old;
	if (!page)
		page = alloc_pages(gfp, get_order(len));
	if (!page)
		return NULL;
	rxe_block_put(old);
	set_page_private(page, (unsigned long)&rxe_block_mark);
	return page;
}

/*
 * Make @b->cur an empty block, with room for @len bytes. A small block, made when
 * memory was short, is replaced as soon as possible.
 */
static bool rxe_block_take_next(struct rxe_blocks *b, u32 len)
{
	u32 i = rxe_block_find_place(b);
	struct page *page = b->ring[i];

	if (!rxe_block_is_idle(page) || compound_order(page) < RXE_BLOCK_ORDER)
		page = rxe_block_renew(page, len);
	if (!page)
		return false;
	b->ring[i] = page;
	b->cur = i;
	b->size = page_size(page);
	b->used = 0;
	return true;
}

/* A block with room for @len more bytes, or NULL. */
static struct page *rxe_block_get(struct rxe_blocks *b, u32 len)
{
	if (b->used + len > b->size && !rxe_block_take_next(b, len))
		return NULL;
	return b->ring[b->cur];
}

/**
 * rxe_blocks_free - give all recycled blocks back, at module unload
 */
void rxe_blocks_free(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct rxe_blocks *b = per_cpu_ptr(&rxe_blocks, cpu);

		for (i = 0; i < RXE_BLOCKS; i++) {
			rxe_block_put(b->ring[i]);
			b->ring[i] = NULL;
		}
	}
}

/* Append @len bytes of @page at @off to @skb; false if it has no frag left. */
static bool rxe_frag_add(struct sk_buff *skb, struct page *page, u32 off,
			 u32 len)
{
	int n = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, n, page, off)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[n - 1], len);
		skb_len_add(skb, len);
		return true;
	}
	if (n >= MAX_SKB_FRAGS)
		return false;
	get_page(page);
	skb_add_rx_frag(skb, n, page, off, len, len);
	return true;
}

/* An skb whose head is in a block, too: @bytes of headroom and linear part */
static struct sk_buff *rxe_head_alloc(u32 bytes)
{
	struct rxe_blocks *b = this_cpu_ptr(&rxe_blocks);
	u32 size = SKB_DATA_ALIGN(bytes) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb;
	struct page *page;

	if (rxe_block_is_idle(b->ring[b->cur]))
		b->used = 0;
	b->used = SKB_DATA_ALIGN(b->used);
	page = rxe_block_get(b, size);
	if (!page)
		return NULL;
	skb = napi_build_skb(page_address(page) + b->used, size);
	if (!skb)
		return NULL;
	get_page(page);
	b->used += size;
	return skb;
}

/* Does the netdev, and the real netdev of a VLAN, take trains of a protocol whole? */
static bool rxe_takes_trains(const struct net_device *ndev, u8 proto)
{
	netdev_features_t gso = rxe_l3(proto)->gso;

	if (is_vlan_dev(ndev) && !(vlan_dev_real_dev(ndev)->features & gso))
		return false;
	return ndev->features & gso;
}

/* Limit an skb on a route. The netdev's limits aren't meant for single packets */
static void rxe_train_set_limit(struct rxe_train *train, u8 proto,
				const struct net_device *ndev, u32 len)
{
	u32 max = min_t(u32, READ_ONCE(ndev->gso_max_size), RXE_TRAIN_BYTES);
	u32 hdrs = LL_MAX_HEADER + rxe_l3(proto)->bytes;

	if (!rxe_takes_trains(ndev, proto) || max < hdrs + len)
		return;
	train->max_bytes = max - hdrs;
	train->max_pkts = max_t(u32, READ_ONCE(ndev->gso_max_segs), 1);
}

/*
 * Look for captures of sent packets, and for queueing disciplines that segment trains. This costs
 * as much as a route lookup, so the results are kept for one tick.
 */
static void rxe_train_look_below(struct rxe_dev *rxe, struct rxe_path *path,
				 struct net_device *ndev)
{
	u32 now = jiffies;

	if (READ_ONCE(path->look_tick) == now)
		return;
	WRITE_ONCE(path->listened, READ_ONCE(rxe->tune.capture_singly) && rxe_listen_below(ndev));
	WRITE_ONCE(path->shaped, READ_ONCE(rxe->tune.trains) && rxe_shaper_below(ndev));
	WRITE_ONCE(path->look_tick, now);
}

/* The netdev that packets leave by, or NULL. With UDP, *@dst is set to the route. */
static struct net_device *rxe_train_find_netdev(struct rxe_path *path, struct dst_entry **dst)
{
	struct net_device *ndev;

	if (!rxe_l3(path->proto)->udp) {
		ndev = rxe_path_get_ndev(path);
		/* The namespace of a netdev that is down may be gone */
		return ndev && (ndev->flags & IFF_UP) ? ndev : NULL;
	}
	*dst = rxe_route(path);
	if (!IS_ERR(*dst))
		return (*dst)->dev;
	*dst = NULL;
	return NULL;
}

/*
 * Some netdevs want more room than most (hv_netvsc, mana, tunnels). If there is less, the IP layer
 * copies the skb, and frees the original before the copy is sent. The copy isn't counted (tx.c).
 */
static u32 rxe_train_get_headroom(u8 proto, const struct net_device *ndev)
{
	u32 want = LL_RESERVED_SPACE(ndev) + rxe_l3(proto)->bytes;

	return clamp_t(u32, ALIGN(want, 8), RXE_HEADROOM, RXE_MAX_HEADROOM);
}

/*
 * The netdev sets the headroom of a train, and its limits if the first packet has @len bytes. If
 * there is no netdev, rxe_train_xmit() returns the error.
 *
 * Return: the route, or NULL.
 */
static struct dst_entry *rxe_train_find_route(struct rxe_dev *rxe,
					      struct rxe_path *path,
					      struct rxe_train *train, u32 len)
{
	struct dst_entry *dst = NULL;
	struct net_device *ndev;

	if (path->same_dev) {
		train->max_pkts = U16_MAX;
		return NULL;
	}
	ndev = rxe_train_find_netdev(path, &dst);
	if (!ndev)
		return NULL;
	rxe_train_look_below(rxe, path, ndev);
	train->headroom = rxe_train_get_headroom(path->proto, ndev);
	train->singly = READ_ONCE(path->listened);
	if (READ_ONCE(rxe->tune.trains) && !READ_ONCE(path->alone) &&
	    !READ_ONCE(path->shaped) && !train->singly)
		rxe_train_set_limit(train, path->proto, ndev, len);
	return dst;
}

static bool rxe_train_begin(struct rxe_dev *rxe, struct rxe_path *path,
			    struct rxe_train *train, u32 len, u32 npkts)
{
	struct dst_entry *dst;

	*train = (struct rxe_train) {
		.hint		= npkts,
		.max_bytes	= RXE_TRAIN_BYTES - RXE_HEADROOM,
		.max_pkts	= 1,
		.headroom	= RXE_HEADROOM,
	};
	dst = rxe_train_find_route(rxe, path, train, len);
	train->alone = train->max_pkts == 1;
	if (npkts == 1)
		train->max_pkts = 1;
	train->linear = train->max_pkts == 1 && len <= RXE_LINEAR_BYTES;

	train->skb = rxe_head_alloc(train->headroom + (train->linear ? len : 0));
	if (!train->skb)
		return false;
	skb_reserve(train->skb, train->headroom);
	if (dst)
		skb_dst_set_noref(train->skb, dst);
	return true;
}

/*
 * Reserve memory for one more packet and for as many as may follow in the same block. A search
 * per packet is expensive. The unused rest is taken back by rxe_train_close().
 */
static bool rxe_train_reserve(struct rxe_train *train)
{
	struct rxe_blocks *b = this_cpu_ptr(&rxe_blocks);
	struct page *page = rxe_block_get(b, train->pkt);
	u32 npkts = min(train->max_pkts, train->hint);
	u32 bytes;

	if (!page)
		return false;
	npkts = npkts > train->npkts ? npkts - train->npkts : 1;
	bytes = min(b->size - b->used, train->max_bytes - train->bytes);
	npkts = max(min(npkts, bytes / train->pkt), 1u);
	if (!rxe_frag_add(train->skb, page, b->used, npkts * train->pkt))
		return false;
	train->next = page_address(page) + b->used;
	train->ready = npkts;
	b->used += npkts * train->pkt;
	return true;
}

/**
 * rxe_train_close - take back reserved memory that wasn't used
 * @train: complete
 */
void rxe_train_close(struct rxe_train *train)
{
	struct rxe_blocks *b = this_cpu_ptr(&rxe_blocks);
	struct skb_shared_info *shinfo = skb_shinfo(train->skb);
	u32 rest = train->skb->len - train->bytes;
	struct page *page = b->ring[b->cur];
	skb_frag_t *frag;

	if (!rest)
		return;
	frag = &shinfo->frags[shinfo->nr_frags - 1];
	skb_frag_size_sub(frag, rest);
	skb_len_add(train->skb, -rest);
	if (skb_frag_page(frag) == page &&
	    train->next + rest == page_address(page) + b->used)
		b->used -= rest;
}

/**
 * rxe_train_push_other - memory for the next packet, of any length
 * @train: from rxe_train_start()
 * @len: bytes, BTH to ICRC, a multiple of 4
 *
 * Return: as rxe_train_push().
 */
void *rxe_train_push_other(struct rxe_train *train, u32 len)
{
	void *data;

	if (!rxe_train_takes(train, len))
		return NULL;
	if (!train->npkts)
		train->pkt = len;
	if (train->linear) {
		data = skb_put(train->skb, len);
	} else {
		if (!train->ready && !rxe_train_reserve(train))
			return NULL;
		data = train->next;
		train->next += len;
		train->ready--;
	}
	train->npkts++;
	train->bytes += len;
	if (len < train->pkt) {	/* GSO's rule: only the last may be shorter */
		train->max_pkts = train->npkts;
		train->ready = 0;
	}
	return data;
}

/**
 * rxe_train_drop - forget a train
 * @train: from rxe_train_start()
 */
void rxe_train_drop(struct rxe_train *train)
{
	kfree_skb(train->skb);
	train->skb = NULL;
}

/**
 * rxe_train_start - begin a train
 * @rxe: device
 * @path: where it will go
 * @train: filled in
 * @len: bytes of the first packet, BTH to ICRC, a multiple of 4
 * @npkts: how many packets are to follow, the first included; a hint
 *
 * Context: bottom halves off, until the train is sent or dropped.
 * Return: memory for the first packet, as rxe_train_push(). NULL if memory is short:
 * there is no train then, and the packet is counted as dropped.
 */
void *rxe_train_start(struct rxe_dev *rxe, struct rxe_path *path,
		      struct rxe_train *train, u32 len, u32 npkts)
{
	void *data = NULL;

	if (rxe_train_begin(rxe, path, train, len, npkts)) {
		data = rxe_train_push_other(train, len);
		if (!data)
			rxe_train_drop(train);
	}
	if (!data)
		rxe_drop(rxe, RXE_DROP_TX_MEM, 1);
	return data;
}
