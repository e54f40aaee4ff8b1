// SPDX-License-Identifier: GPL-2.0
/*
 * GSO and GRO of RoCE v1, by a packet_offload of its Ethertype.
 *
 * A train is a GSO skb of the type SKB_GSO_FRAGLIST. Software netdevs (veth, bridge,
 * VLAN, bond) hand it on whole. No network card claims that type, so the stack calls
 * rxe_v1_gso_segment() right before the card. The packets of a train that this driver
 * sends are in fragments, those that GRO chains are in a frag_list. The GRH has the
 * length of the whole train.
 *
 * The type needs ip_summed to be CHECKSUM_PARTIAL or CHECKSUM_UNNECESSARY, else the stack
 * segments at once. RoCE v1 has no checksum to complete: ip_summed is CHECKSUM_UNNECESSARY.
 *
 * In a tunnel, GSO must provide room for the tunnel's headers in front of each packet. It must
 * also sum up the packet's bytes for the tunnel's checksum. Packets in a frag_list have no room.
 * In a tunnel, all trains are therefore cut into new skbs.
 *
 * The offload stays as long as the module, since NAPI may hold trains at any time.
 *
 * Context: bottom halves off; opening and closing is serialised by net.c.
 */
#include <net/gro.h>
#include <compat/net.h>
#include <compat/unaligned.h>
#include "internal.h"
#include "proto.h"

static bool rxe_v1_gro_on;

/**
 * rxe_v1_gro_switch - start or stop chaining packets
 * @on: chain them
 */
void rxe_v1_gro_switch(bool on)
{
	WRITE_ONCE(rxe_v1_gro_on, on);
}

static void rxe_v1_set_gso(struct sk_buff *skb, u32 npkts)
{
	skb_shinfo(skb)->gso_type = SKB_GSO_FRAGLIST;
	skb_shinfo(skb)->gso_segs = npkts;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/**
 * rxe_v1_offload - make a train a GSO skb
 * @skb: the train, with its GRH at skb->data
 * @pkt: bytes of each packet but the last, BTH to ICRC
 * @npkts: number of packets
 */
void rxe_v1_offload(struct sk_buff *skb, u32 pkt, u32 npkts)
{
	rxe_v1_set_gso(skb, npkts);
	skb_shinfo(skb)->gso_size = pkt;
	/* Traffic shapers count the offset of this header as the headers of each packet */
	skb_set_transport_header(skb, RXE_GRH_BYTES);
}

/**
 * rxe_v1_gso_ok - did rxe_v1_offload() or GRO make a GSO skb?
 * @skb: received
 *
 * Return: false if it is another protocol's GSO.
 */
bool rxe_v1_gso_ok(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type == SKB_GSO_FRAGLIST;
}

/* Packets in fragments. Without the checksum feature, skb_segment() would compute sums. */
static struct sk_buff *rxe_v1_segment_frags(struct sk_buff *skb, netdev_features_t features)
{
	__skb_pull(skb, RXE_GRH_BYTES);
	skb_reset_transport_header(skb);
	return skb_segment(skb, (features & ~NETIF_F_GSO_PARTIAL) | NETIF_F_HW_CSUM);
}

/* Sum the bytes behind a tunnel's header, for the tunnel's checksum */
static void rxe_v1_set_tnl_csum(struct sk_buff *skb)
{
	SKB_GSO_CB(skb)->csum = skb_checksum(skb, 0, skb->len, 0);
	SKB_GSO_CB(skb)->csum_start = skb_headroom(skb);
}

/* Each packet needs its own length. */
static void rxe_v1_finish_segment(struct sk_buff *skb, bool sum)
{
	u32 len = skb->len - skb_network_offset(skb) - RXE_GRH_BYTES;

	rxe_l3_fix_header(skb_network_header(skb), RXE_ROCE_V1, 0, len);
	skb->ip_summed = CHECKSUM_NONE;
	if (sum)
		rxe_v1_set_tnl_csum(skb);
}

static struct sk_buff *rxe_v1_segment(struct sk_buff *skb, netdev_features_t features)
{
	if (!skb_has_frag_list(skb))
		return rxe_v1_segment_frags(skb, features);
	/* tc may have pulled bytes of the frag_list into the head */
	if (!skb_tnl_header_len(skb) &&
	    skb_pagelen(skb) == RXE_GRH_BYTES + skb_shinfo(skb)->gso_size)
		return skb_segment_list(skb, features, skb_mac_header_len(skb));
	return __skb_linearize(skb) ? ERR_PTR(-ENOMEM) : rxe_v1_segment_frags(skb, features);
}

/* skb->data is at the GRH. */
static struct sk_buff *rxe_v1_gso_segment(struct sk_buff *skb, netdev_features_t features)
{
	bool sum = skb->encap_hdr_csum && skb_tnl_header_len(skb);
	struct sk_buff *segs, *seg, *last = NULL;

	if (!(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST) ||
	    !pskb_may_pull(skb, RXE_GRH_BYTES))
		return ERR_PTR(-EINVAL);
	skb_reset_network_header(skb);
	segs = rxe_v1_segment(skb, features);
	if (IS_ERR(segs))
		return segs;
	for (seg = segs; seg; seg = seg->next) {
		rxe_v1_finish_segment(seg, sum);
		last = seg;
	}
	rxe_tx_cut(skb, last);
	return segs;
}

/* One flow: the same GRH but for the length, and the same QP */
static bool rxe_v1_is_same_flow(const struct sk_buff *held, u32 off, const u8 *grh)
{
	const u32 behind_len = offsetof(struct ib_grh, next_hdr);
	const u8 *was = held->data + off, *bth = grh + RXE_GRH_BYTES;
	u8 buf[RXE_BTH_BYTES];
	const u8 *was_bth = skb_header_pointer(held, off + RXE_GRH_BYTES, sizeof(buf), buf);

	return was_bth && !memcmp(was, grh, offsetof(struct ib_grh, paylen)) &&
	       !memcmp(was + behind_len, grh + behind_len, RXE_GRH_BYTES - behind_len) &&
	       !memcmp(was_bth + 5, bth + 5, 3);
}

/* The GRH, with the BTH behind it, if the packet is all that the frame has */
static const void *rxe_v1_gro_get_grh(struct sk_buff *skb)
{
	u32 off = skb_gro_offset(skb);
	const struct ib_grh *grh;

	grh = skb_gro_header(skb, off + RXE_GRH_BYTES + RXE_BTH_BYTES, off);
	if (!grh || grh->next_hdr != RXE_GRH_NXTHDR ||
	    be16_to_cpu(grh->paylen) + RXE_GRH_BYTES != skb_gro_len(skb))
		return NULL;
	return grh;
}

static struct sk_buff *rxe_v1_gro_receive(struct list_head *head, struct sk_buff *skb)
{
	const void *grh = rxe_v1_gro_get_grh(skb);
	u32 off = skb_gro_offset(skb);
	struct sk_buff *held;

	/* Packets in a tunnel are chained after decapsulation, when they pass GRO again */
	if (!grh || NAPI_GRO_CB(skb)->encap_mark || !READ_ONCE(rxe_v1_gro_on)) {
		NAPI_GRO_CB(skb)->flush = 1;
		return NULL;
	}
	list_for_each_entry(held, head, list) {
		if (NAPI_GRO_CB(held)->same_flow && !rxe_v1_is_same_flow(held, off, grh))
			NAPI_GRO_CB(held)->same_flow = 0;
	}
	skb_gro_pull(skb, RXE_GRH_BYTES);
	skb_set_transport_header(skb, skb_gro_offset(skb));
	return rxe_gro_add(RXE_ROCE_V1, head, skb);
}

static int rxe_v1_gro_complete(struct sk_buff *skb, int nhoff)
{
	rxe_l3_fix_header(skb->data + nhoff, RXE_ROCE_V1, 0, skb->len - nhoff - RXE_GRH_BYTES);
	rxe_v1_set_gso(skb, NAPI_GRO_CB(skb)->count);
	skb->csum_level = 0;
	return 0;
}

static struct packet_offload rxe_v1_packet_offload __read_mostly = {
	.type		= cpu_to_be16(RXE_ROCE_ETHERTYPE),
	.callbacks	= {
		.gso_segment	= rxe_v1_gso_segment,
		.gro_receive	= rxe_v1_gro_receive,
		.gro_complete	= rxe_v1_gro_complete,
	},
};

/**
 * rxe_v1_offload_init - at module load: offer GSO and GRO of the Ethertype
 */
void rxe_v1_offload_init(void)
{
	dev_add_offload(&rxe_v1_packet_offload);
}

/**
 * rxe_v1_offload_exit - undo rxe_v1_offload_init(); waits for users
 */
void rxe_v1_offload_exit(void)
{
	dev_remove_offload(&rxe_v1_packet_offload);
}
