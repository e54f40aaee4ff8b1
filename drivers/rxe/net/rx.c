// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving trains: the common part of RoCE v1, v2 and the same-device path. Also provides the
 * network headers for the ICRC and the GRH.
 *
 * Context: softirq or bottom halves off. A received skb is read only.
 */
#include <linux/if_packet.h>
#include <linux/jhash.h>
#include <linux/netfilter.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <compat/net.h>
#include "internal.h"
#include "proto.h"

/* Does the length in the train's headers fit a packet of @len bytes? */
static bool l3_fits(const struct rxe_l3 *row, const void *l3, u32 len)
{
	const struct udphdr *udp = l3 + row->bytes - sizeof(*udp);

	if (row->udp)
		return ntohs(udp->len) == sizeof(*udp) + len;
	return ntohs(((const struct ib_grh *)l3)->paylen) == len;
}

/* State behind the first packet's headers: the train's, with the packet's length */
static u32 get_first_icrc_state(u8 proto, const void *l3, u32 len)
{
	const struct rxe_l3 *row = rxe_l3(proto);
	u8 own[sizeof(struct ipv6hdr) + sizeof(struct udphdr)] __aligned(4);

	if (l3_fits(row, l3, len))
		return row->icrc_start(l3);
	memcpy(own, l3, row->bytes);
	rxe_l3_fix_header(own, proto, 0, len);
	return row->icrc_start(own);
}

/**
 * rxe_l3_icrc_begin - compute the ICRC state behind the network headers of a train's first packet
 * @l3_icrc: of the train or the path
 * @proto: enum rxe_proto
 * @l3: the train's IP header (UDP behind it) or GRH
 * @len: the packet's bytes, BTH to ICRC
 */
void rxe_l3_icrc_begin(struct rxe_l3_icrc *l3_icrc, u8 proto, const void *l3, u32 len)
{
	l3_icrc->state = get_first_icrc_state(proto, l3, len);
	l3_icrc->len = len;
	l3_icrc->id = ntohs(((const struct iphdr *)l3)->id);
}

/**
 * rxe_rx_icrc_start - ICRC state behind a received packet's network headers
 * @l3_icrc: of the train, @l3_icrc->len 0 at first
 * @skb: received train
 * @n: which packet of it
 * @len: the packet's bytes, BTH to ICRC
 *
 * Return: state for rxe_icrc_bth().
 */
u32 rxe_rx_icrc_start(struct rxe_l3_icrc *l3_icrc, struct sk_buff *skb, u32 n,
		      u32 len)
{
	return rxe_l3_icrc_start(l3_icrc, rxe_rx(skb)->proto, rxe_rx_l3(skb), n,
				 len);
}

/**
 * rxe_rx_is_from - did a train come from the peer of a path?
 * @skb: received train
 * @path: path of a connection
 *
 * Return: true if it has the path's protocol, VLAN, and addresses (swapped).
 */
bool rxe_rx_is_from(struct sk_buff *skb, const struct rxe_path *path)
{
	const struct rxe_rx *rx = rxe_rx(skb);

	return rx->proto == path->proto && rx->vlan == path->vlan &&
	       rxe_l3(path->proto)->is_from(rxe_rx_l3(skb), path);
}

/**
 * rxe_rx_sport - UDP source port of a received train
 * @skb: received train
 *
 * Return: big endian; 0 if there is none.
 */
__be16 rxe_rx_sport(struct sk_buff *skb)
{
	const struct rxe_rx *rx = rxe_rx(skb);
	const struct rxe_l3 *l3 = rxe_l3(rx->proto);
	const struct udphdr *udp;

	if (rx->same_dev || !l3->udp)
		return 0;
	udp = rxe_rx_l3(skb) + l3->bytes - sizeof(*udp);
	return udp->source;
}

/**
 * rxe_rx_flow - tell the senders of datagrams apart
 * @skb: received datagram
 * @sqpn: number of the sending QP
 *
 * Return: a hash of the sender's address and @sqpn.
 */
u32 rxe_rx_flow(struct sk_buff *skb, u32 sqpn)
{
	union ib_gid sgid, dgid;

	rxe_l3(rxe_rx(skb)->proto)->gids(rxe_rx_l3(skb), &sgid, &dgid);
	return jhash(&sgid, sizeof(sgid), sqpn);
}

/**
 * rxe_rx_grh - the GRH of a received datagram [A17.4.5.1]
 * @skb: received datagram
 * @grh: set; RXE_GRH_BYTES
 */
void rxe_rx_grh(struct sk_buff *skb, u8 *grh)
{
	const struct rxe_l3 *l3 = rxe_l3(rxe_rx(skb)->proto);

	memset(grh, 0, l3->grh_off);
	memcpy(grh + l3->grh_off, rxe_rx_l3(skb), RXE_GRH_BYTES - l3->grh_off);
}

/**
 * rxe_rx_network - what kind of network header a train has
 * @skb: received train
 *
 * Return: enum rdma_network_type.
 */
u8 rxe_rx_network(struct sk_buff *skb)
{
	return rxe_l3(rxe_rx(skb)->proto)->network;
}

/**
 * rxe_rx_wc_sl - the SL of a datagram's completion for user space [A17.4.5.1]
 * @skb: received datagram
 *
 * Return: its priority, if it has one: the sender's SL on the same device, or what the
 * VLAN's ingress map says. Else the kind of its network header.
 */
u8 rxe_rx_wc_sl(struct sk_buff *skb)
{
	return skb->priority & 0xf ?: rxe_l3(rxe_rx(skb)->proto)->wc_sl;
}

/**
 * rxe_skb_pkt - the size of packets that came as one
 * @skb: received skb
 * @bytes: of all its packets, BTH to ICRC
 *
 * Return: bytes of each packet but the last; 0 if a packet would be too short for BTH
 * and ICRC.
 */
u32 rxe_skb_pkt(const struct sk_buff *skb, u32 bytes)
{
	const u32 least = RXE_BTH_BYTES + RXE_ICRC_BYTES;
	u32 pkt = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : bytes;
	u32 last;

	if (pkt < least || pkt > bytes)
		return 0;
	last = bytes % pkt;
	return last && last < least ? 0 : pkt;
}

/*
 * Do the packets still have the form in which they were sent? With UDP, the checksum isn't
 * complete yet. RoCE v1 has no checksum: a train is still whole, and wasn't made by GRO.
 */
static bool rxe_rx_is_unsent(const struct sk_buff *skb, u8 proto)
{
	if (rxe_l3(proto)->udp)
		return skb->ip_summed == CHECKSUM_PARTIAL;
	return skb_is_gso(skb) && !skb_has_frag_list(skb);
}

/*
 * Can the ICRC go unverified? Yes, as with TCP's checksum, if the train never left this host's
 * memory. Such a train is in the driver's own pages (rxe_blocks_made()), and has the form in
 * which it was sent. The form alone proves nothing: a router's GRO and a guest's network card
 * set CHECKSUM_PARTIAL on any packet.
 */
static bool rxe_rx_trusts(const struct rxe_dev *rxe, const struct sk_buff *skb,
			  u8 proto)
{
	return rxe_rx_is_unsent(skb, proto) && READ_ONCE(rxe->tune.trust_local) &&
	       rxe_blocks_made(skb);
}

/*
 * A link-layer broadcast is refused. A link-layer multicast must be for a multicast group;
 * rxe_demux() looks for its members.
 */
static bool rxe_rx_check_dest(const struct sk_buff *skb, u8 proto)
{
	union ib_gid sgid, dgid;

	if (skb->pkt_type == PACKET_BROADCAST)
		return false;
	if (skb->pkt_type != PACKET_MULTICAST)
		return true;
	rxe_l3(proto)->gids(skb_network_header(skb), &sgid, &dgid);
	return rxe_gid_is_mcast(&dgid);
}

/*
 * As in the socket layer, skbs from the emergency memory reserves are dropped. The reserves
 * are for users that free memory.
 */
static bool rxe_rx_is_usable(struct rxe_dev *rxe, const struct sk_buff *skb, u8 proto)
{
	if (!rxe_rx_check_dest(skb, proto)) {
		rxe_drop(rxe, RXE_DROP_ADDR, rxe_count_segs(skb));
		return false;
	}
	if (skb_pfmemalloc(skb) || !rxe_skb_frags_readable(skb)) {
		rxe_drop(rxe, RXE_DROP_MEMORY, rxe_count_segs(skb));
		return false;
	}
	return true;
}

/*
 * A train may be queued for long. A queued train must not hold references to objects of the
 * stack, nor point to objects that may be freed.
 */
static void rxe_rx_detach(struct sk_buff *skb)
{
	skb_dst_drop(skb);
	skb_orphan(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	skb->dev = NULL;
}

/**
 * rxe_rx_deliver - hand checked packets to the transport
 * @rxe: device that the packets are for
 * @skb: the packets, its network header set, its netdev where they came in;
 *	consumed
 * @hdr_len: bytes from skb->data to the first BTH, all in the linear part
 * @proto: enum rxe_proto
 * @pkt: bytes of each packet but the last
 */
void rxe_rx_deliver(struct rxe_dev *rxe, struct sk_buff *skb, u32 hdr_len,
		    u8 proto, u32 pkt)
{
	const struct net_device *ndev = skb->dev;

	if (!rxe_rx_is_usable(rxe, skb, proto)) {
		kfree_skb(skb);
		return;
	}
	*rxe_rx(skb) = (struct rxe_rx) {
		.rxe		= rxe,
		.pkt		= pkt,
		.vlan		= rxe_netdev_get_vlan(skb->dev),
		.proto		= proto,
		.trusted	= rxe_rx_trusts(rxe, skb, proto),
		.ce		= rxe_l3_is_ce(skb_network_header(skb), proto),
	};
	rxe_rx_detach(skb);
	if (hdr_len + pkt < skb->len &&
	    !rxe_is_train(skb, hdr_len, pkt, proto)) {
		rxe_split(skb, hdr_len, ndev);
		consume_skb(skb);
		return;
	}
	__skb_pull(skb, hdr_len);
	rxe_rx_up(skb, ndev);
}

/**
 * rxe_rx_same_dev - hand a train back to the transport of the device that sent it
 * @rxe: the device
 * @skb: the train; skb->dev is the netdev of both addresses, or of the source if the
 *	destination is a group
 * @path: the path that it was sent on
 * @train: its description as it was sent
 */
void rxe_rx_same_dev(struct rxe_dev *rxe, struct sk_buff *skb,
		     const struct rxe_path *path, const struct rxe_train *train)
{
	*rxe_rx(skb) = (struct rxe_rx) {
		.rxe		= rxe,
		.ndev		= skb->dev,
		.pkt		= train->pkt,
		.sqpn		= train->sqpn,
		.vlan		= rxe_netdev_get_vlan(skb->dev),
		.proto		= path->proto,
		.trusted	= true,
		.same_dev	= true,
		.mcast		= path->mcast,
	};
	if (path->mcast)
		rxe_rx(skb)->grp = train->grp;
	rxe_rx_detach(skb);
	__skb_pull(skb, rxe_l3(path->proto)->bytes);
	rxe_rx_up(skb, NULL);
}
