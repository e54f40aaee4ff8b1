// SPDX-License-Identifier: GPL-2.0
/*
 * Received trains, which this driver need not have built: GRO of a router, a guest or this
 * host, or a process with UDP_SEGMENT, also builds trains.
 *
 * Other builders group packets by address and port, which two queue pairs may share. Each
 * packet is therefore checked before the transport gets a train: RC or UC, one QP, all
 * requests or all responses, headers that continue the first packet's. If any check fails,
 * the train is taken apart: each packet is copied into an skb of its own.
 *
 * Packets that are chained by frag_list still have their own network headers before their
 * data. For other packets, the headers are those that segmentation would make. GRO of a
 * router may also chain skbs of many packets each, when an skb has no fragment left.
 *
 * Context: softirq or bottom halves off. A received skb is read only.
 */
#include <linux/etherdevice.h>
#include <compat/unaligned.h>
#include "internal.h"
#include "proto.h"

/*
 * The @n-th packet of a train: @len bytes at @off of @skb, behind the network
 * headers @l3. The headers are the packet's if @own is set, else the train's.
 */
struct piece {
	const struct sk_buff	*skb;
	const void		*l3;
	u32			off;
	u32			len;
	u32			n;
	bool			own;
};

/* The network headers that a packet of a frag_list has of its own */
static const void *rxe_frame_get_l3(const struct sk_buff *frame, u8 proto)
{
	u32 len = rxe_l3(proto)->bytes;

	return skb_headroom(frame) >= len ? frame->data - len : NULL;
}

static bool rxe_is_same_udp(const struct udphdr *was, const struct udphdr *udp, u32 len)
{
	return udp->source == was->source && udp->dest == was->dest &&
	       ntohs(udp->len) == len;
}

/* The firewall and the IPsec policy have only checked the first packet. */
static bool rxe_is_same_flow(const void *first, const void *l3, u8 proto, u32 bytes)
{
	const struct rxe_l3 *row = rxe_l3(proto);
	u32 udp = row->bytes - sizeof(struct udphdr);

	if (!row->udp)
		return row->matches_first(first, l3, bytes);
	bytes += sizeof(struct udphdr);
	return rxe_is_same_udp(first + udp, l3 + udp, bytes) &&
	       row->matches_first(first, l3, bytes);
}

/*
 * Do the other fields that the ICRC covers continue the first packet's? See
 * rxe_l3_icrc_start(). The traffic class must be equal, too, since a train has one ECN mark.
 */
static bool rxe_l3_continues(const void *first, const void *l3, u8 proto, u32 n)
{
	const struct iphdr *was = first, *ip = l3;

	if (!rxe_l3(proto)->ids)
		return ipv6_get_dsfield(first) == ipv6_get_dsfield(l3);
	return ip->tos == was->tos && ip->frag_off == was->frag_off &&
	       ntohs(ip->id) == (u16)(ntohs(was->id) + n);
}

/* Is the packet for the same queue of the same QP as the first? */
static bool rxe_bth_continues(const u8 *first, const u8 *bth)
{
	u32 qpns = get_unaligned_be32(first + 4) ^ get_unaligned_be32(bth + 4);

	return !(qpns & RXE_QPN_MASK) &&
	       (bth[0] == first[0] || rxe_is_same_queue(first[0], bth[0]));
}

/* Chained by frag_list: the first packet is in the skb, each other packet in a frame */
static bool rxe_frames_are_train(const struct sk_buff *skb, u32 off, u32 pkt,
				 u8 proto, const u8 *first)
{
	const void *first_l3 = skb_network_header(skb), *l3;
	const struct sk_buff *frame;
	u8 buf[RXE_BTH_BYTES];
	const u8 *bth;
	u32 n = 1;

	if (skb_pagelen(skb) != off + pkt)
		return false;
	skb_walk_frags(skb, frame) {
		l3 = rxe_frame_get_l3(frame, proto);
		bth = skb_header_pointer(frame, 0, sizeof(buf), buf);
		if (frame->len > pkt || (frame->next && frame->len < pkt) ||
		    skb_has_frag_list(frame) || !bth || !l3 ||
		    !rxe_bth_continues(first, bth) ||
		    !rxe_is_same_flow(first_l3, l3, proto, frame->len) ||
		    !rxe_l3_continues(first_l3, l3, proto, n++))
			return false;
	}
	return true;
}

/* All packets in one skb, whose fragments may end anywhere */
static bool rxe_bytes_are_train(const struct sk_buff *skb, u32 off, u32 pkt,
				const u8 *first)
{
	const void *piece = skb->data;
	u32 begin = 0, end = skb_headlen(skb);
	u8 buf[RXE_BTH_BYTES];
	const u8 *bth;
	int i = 0;

	while ((off += pkt) < skb->len) {
		for (; off >= end; i++) {
			const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

			piece = skb_frag_address(frag);
			begin = end;
			end += skb_frag_size(frag);
		}
		if (off + sizeof(buf) <= end)
			bth = piece + (off - begin);
		else
			bth = skb_header_pointer(skb, off, sizeof(buf), buf);
		if (!bth || !rxe_bth_continues(first, bth))
			return false;
	}
	return true;
}

/**
 * rxe_is_train - do the packets of an skb form a train?
 * @skb: the packets; its network header is set
 * @off: bytes from skb->data to the first BTH
 * @pkt: bytes of each packet but the last, BTH to ICRC
 * @proto: enum rxe_proto
 *
 * A process may still change memory that it sent by reference, so the transport
 * checks each packet again.
 *
 * Return: false if rxe_split() is to take them apart.
 */
bool rxe_is_train(const struct sk_buff *skb, u32 off, u32 pkt, u8 proto)
{
	u8 first[RXE_BTH_BYTES];

	if (!rxe_skb_copy_bth(skb, off, first) || !rxe_is_same_queue(first[0], first[0]))
		return false;
	if (!skb_has_frag_list(skb))
		return rxe_bytes_are_train(skb, off, pkt, first);
	return (skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST) &&
	       rxe_frames_are_train(skb, off, pkt, proto, first);
}

/* A copy of the packet in its own skb, data at the BTH, with the train's link header */
static struct sk_buff *rxe_copy_piece(const struct sk_buff *train,
				      const struct piece *piece, u8 proto)
{
	u32 l3_len = rxe_l3(proto)->bytes;
	struct sk_buff *skb;

	skb = alloc_skb(ETH_HLEN + l3_len + piece->len,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, ETH_HLEN);
	if (skb_mac_header_was_set(train) &&
	    skb_mac_header_len(train) >= ETH_HLEN) {
		skb_set_mac_header(skb, -ETH_HLEN);
		memcpy(skb_mac_header(skb), skb_mac_header(train), ETH_HLEN);
	}
	skb_reset_network_header(skb);
	skb_put_data(skb, piece->l3, l3_len);
	if (!piece->own)
		rxe_l3_fix_header(skb->data, proto, piece->n, piece->len);
	__skb_pull(skb, l3_len);
	if (skb_copy_bits(piece->skb, piece->off, skb_put(skb, piece->len),
			  piece->len)) {
		kfree_skb(skb);
		return NULL;
	}
	skb->priority = train->priority;
	return skb;
}

static void rxe_split_off(struct sk_buff *train, const struct piece *piece,
			  const struct net_device *ndev)
{
	const struct rxe_rx *rx = rxe_rx(train);
	struct sk_buff *skb;

	if (piece->len < RXE_BTH_BYTES + RXE_ICRC_BYTES || !piece->l3 ||
	    (piece->own && !rxe_is_same_flow(skb_network_header(train), piece->l3,
					     rx->proto, piece->len))) {
		rxe_drop(rx->rxe, RXE_DROP_MALFORMED, 1);
		return;
	}
	skb = rxe_copy_piece(train, piece, rx->proto);
	if (!skb) {
		rxe_drop(rx->rxe, RXE_DROP_MEMORY, 1);
		return;
	}
	*rxe_rx(skb) = *rx;
	rxe_rx(skb)->ce = rxe_l3_is_ce(piece->l3, rx->proto);
	rxe_rx_up(skb, ndev);
}

static void rxe_split_frames(struct sk_buff *skb, u32 off,
			     const struct net_device *ndev)
{
	struct piece piece = {
		.skb = skb,
		.l3 = skb_network_header(skb),
		.off = off,
		.len = rxe_rx(skb)->pkt,
	};
	const struct sk_buff *frame;

	rxe_split_off(skb, &piece, ndev);
	skb_walk_frags(skb, frame) {
		piece = (struct piece) {
			.skb = frame,
			.l3 = rxe_frame_get_l3(frame, rxe_rx(skb)->proto),
			.len = frame->len,
			.own = true,
		};
		rxe_split_off(skb, &piece, ndev);
	}
}

static void rxe_split_bytes(struct sk_buff *skb, u32 off,
			    const struct net_device *ndev)
{
	u32 pkt = rxe_rx(skb)->pkt;
	struct piece piece = {
		.skb = skb,
		.l3 = skb_network_header(skb),
	};

	for (; off < skb->len; off += pkt) {
		piece.off = off;
		piece.len = min(pkt, skb->len - off);
		rxe_split_off(skb, &piece, ndev);
		piece.n++;
	}
}

/* Is each part of the skb one packet? Else parts are only bytes, whatever their headers say */
static bool rxe_frames_are_packets(const struct sk_buff *skb, u32 off, u32 pkt)
{
	const struct sk_buff *frame;

	if (skb_pagelen(skb) != off + pkt)
		return false;
	skb_walk_frags(skb, frame) {
		if (frame->len > pkt)
			return false;
	}
	return true;
}

/**
 * rxe_split - hand up packets that are no train, one by one
 * @skb: the packets, see rxe_is_train(), with their struct rxe_rx; not consumed
 * @off: bytes from skb->data to the first BTH, at most skb_pagelen()
 * @ndev: as for rxe_rx_up()
 */
void rxe_split(struct sk_buff *skb, u32 off, const struct net_device *ndev)
{
	if (skb_has_frag_list(skb) && rxe_frames_are_packets(skb, off, rxe_rx(skb)->pkt))
		rxe_split_frames(skb, off, ndev);
	else
		rxe_split_bytes(skb, off, ndev);
}
