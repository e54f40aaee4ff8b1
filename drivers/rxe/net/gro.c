// SPDX-License-Identifier: GPL-2.0
/*
 * GRO: makes trains where the netdev hands up single packets.
 *
 * Theory. The stack costs the same for a packet and for a train: routing, firewall, lookup of the
 * QP, lock, ACK, wake-up. Consecutive packets of a QP are therefore chained, and pass the stack
 * once. Each packet stays an skb of its own, with its own headers (frag_list), since the stack
 * may have to take the chain apart again. A packet that is shorter than the first ends the chain.
 * A packet of the same flow that doesn't fit also ends it, and begins the next chain: no packet
 * overtakes another. A packet waits for the next packet at most until the netdev's poll ends.
 *
 * Only packets that form a train are chained. These are packets of one QP, all requests or all
 * responses, of one size except the last. Their PSNs go forward and their IPv4 IDs count up.
 * The receiver doesn't rely on GRO for that: see split.c.
 *
 * RoCE v2 is chained only if it seems to be for this host. A chain that is forwarded gains
 * nothing. Both the IP and the MAC address must be this host's, since a bridge forwards by the MAC
 * address alone. Neither tc nor netfilter may look at what the netdev receives, since they may
 * mirror or redirect it. Some chains are forwarded nevertheless: NAT gives packets to this host's
 * address another destination, and a macvlan may belong to a router in another namespace. See
 * rxe_gro_set_segmentation().
 *
 * Context: NAPI's softirq.
 */
#include <net/addrconf.h>
#include <net/gro.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/xfrm.h>
#include <compat/net.h>
#include <compat/unaligned.h>
#include "internal.h"
#include "proto.h"

/* The network header in front of a BTH; no options, no extensions */
static const void *rxe_gro_get_l3(u8 proto, const void *bth)
{
	return bth - rxe_l3(proto)->bytes;
}

/* Is @ip the header @n packets after @first? Forwarding needs equal TOS and TTL. */
static bool rxe_gro_ipv4_joins(const struct iphdr *first, const struct iphdr *ip, u32 n)
{
	return ip->ihl == 5 && first->ihl == 5 &&
	       ip->tos == first->tos && ip->ttl == first->ttl &&
	       ip->frag_off == first->frag_off &&
	       ntohs(ip->id) == (u16)(ntohs(first->id) + n);
}

static bool rxe_gro_ipv6_joins(const struct ipv6hdr *first, const struct ipv6hdr *ip)
{
	return ip->nexthdr == IPPROTO_UDP && first->nexthdr == IPPROTO_UDP &&
	       *(__be32 *)ip == *(__be32 *)first &&
	       ip->hop_limit == first->hop_limit;
}

static bool rxe_gro_bth_joins(const u8 *first, const u8 *bth)
{
	return rxe_is_same_queue(first[0], bth[0]) && !memcmp(first + 5, bth + 5, 3);
}

/*
 * A packet that is sent again (an older PSN) begins a new train. In a train that comes too
 * early, the packet would be held with that train.
 */
static bool rxe_gro_continues_train(struct sk_buff *train, u32 off, const u8 *bth)
{
	const struct sk_buff *last = NAPI_GRO_CB(train)->last;
	u8 buf[RXE_BTH_BYTES];
	const u8 *last_bth;

	last_bth = skb_header_pointer(last, last == train ? off : 0,
				      sizeof(buf), buf);
	return last_bth && rxe_psn_diff(get_unaligned_be24(bth + 9),
					get_unaligned_be24(last_bth + 9)) >= 0;
}

/*
 * Packets that IPsec has decrypted stay single: the stack checks the policy for the first
 * packet of a chain only, and others may be from another security association.
 */
static bool rxe_gro_was_decrypted(const struct sk_buff *train, const struct sk_buff *skb)
{
	return secpath_exists(train) || secpath_exists(skb);
}

/* Do the network headers continue the first packet's? Equal flows imply most fields */
static bool rxe_gro_l3_joins(u8 proto, const void *first, const void *l3, u32 n)
{
	switch (proto) {
	case RXE_ROCE_V2_IPV4:
		return rxe_gro_ipv4_joins(first, l3, n);
	case RXE_ROCE_V2_IPV6:
		return rxe_gro_ipv6_joins(first, l3);
	case RXE_ROCE_V1:
		return true;
	default:
		return false;
	}
}

static bool rxe_gro_joins(u8 proto, struct sk_buff *train,
			  const struct sk_buff *skb, const void *bth)
{
	u32 len = skb_gro_len(skb), off = skb_gro_offset(skb);
	const void *first_l3 = rxe_gro_get_l3(proto, train->data + off);
	u8 buf[RXE_BTH_BYTES];
	const u8 *first_bth = skb_header_pointer(train, off, sizeof(buf), buf);

	return first_bth && rxe_gro_bth_joins(first_bth, bth) &&
	       rxe_gro_continues_train(train, off, bth) &&
	       len <= skb_shinfo(train)->gso_size && train->len + len <= U16_MAX &&
	       train->ip_summed == skb->ip_summed && !rxe_gro_was_decrypted(train, skb) &&
	       rxe_gro_l3_joins(proto, first_l3, rxe_gro_get_l3(proto, bth),
				NAPI_GRO_CB(train)->count);
}

/*
 * How is a chain segmented if the stack forwards it? For RoCE v2, skb_segment_list() would put a
 * tunnel's headers in front of each packet, but only the first packet is sure to have room for
 * them. It is not called for a chain from an untrusted source: the UDP layer copies that into new
 * skbs (since Linux 6.16, and in the stable kernels of the supported distributions). RoCE v1 has a
 * segmentation of its own.
 */
static void rxe_gro_set_segmentation(u8 proto, struct sk_buff *train)
{
	if (rxe_l3(proto)->udp)
		skb_shinfo(train)->gso_type |= SKB_GSO_DODGY;
}

/* The same steps as the stack's own GRO by frag_list */
static bool rxe_gro_chain(u8 proto, struct sk_buff *train, struct sk_buff *skb)
{
	if (!pskb_may_pull(skb, skb_gro_offset(skb)))
		return false;
	/* for packets that never left this host: a sender counts truesize, which changes here */
	skb_orphan(train);
	skb_orphan(skb);
	skb_pull(skb, skb_gro_offset(skb));
	/* skb_segment_list() needs it; since 6.12, GRO keeps the right offset in its own cb */
	skb_set_network_header(skb, -(int)rxe_l3(proto)->bytes);
	if (NAPI_GRO_CB(train)->last == train)
		skb_shinfo(train)->frag_list = skb;
	else
		NAPI_GRO_CB(train)->last->next = skb;
	NAPI_GRO_CB(train)->last = skb;
	NAPI_GRO_CB(train)->count++;
	train->data_len += skb->len;
	train->len += skb->len;
	train->truesize += skb->truesize;
	skb_shinfo(train)->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
	rxe_gro_set_segmentation(proto, train);
	NAPI_GRO_CB(skb)->same_flow = 1;
	return true;
}

/* Must packets stay single, since a capture would show a train? Only with capture_singly on */
static bool rxe_gro_must_stay_single(u8 proto, struct net_device *ndev)
{
	const struct rxe_dev *rxe;

	if (!rxe_listen_above(ndev))
		return false;
	rxe = rxe_net_find(dev_net(ndev), ndev, rxe_roce_of(proto));
	return !rxe || READ_ONCE(rxe->tune.capture_singly);
}

/* Does the netdev's bridge forward a frame by its MAC address @mac, whatever the IP address? */
static bool rxe_gro_bridges(struct net_device *ndev, const u8 *mac)
{
	const struct net_device *br;

	if (netif_is_ovs_port(ndev))
		return true;
	if (!netif_is_bridge_port(ndev) || ether_addr_equal(mac, ndev->dev_addr))
		return false;
	br = netdev_master_upper_dev_get_rcu(ndev);
	return !br || !ether_addr_equal(mac, br->dev_addr);
}

/* May the netdev pass a frame with the MAC address @mac on to another netdev? */
static bool rxe_gro_forwards(struct net_device *ndev, const u8 *mac)
{
	return rxe_has_ingress_hook(ndev) || rxe_gro_bridges(ndev, mac);
}

/**
 * struct rxe_gro_look - a look for netdevs that may pass a frame on
 * @mac: the frame's destination
 * @left: netdevs that may still be looked at
 */
struct rxe_gro_look {
	const u8	*mac;
	u32		left;
};

static int rxe_gro_upper_forwards(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	struct rxe_gro_look *look = priv->data;

	return !look->left-- || rxe_gro_forwards(ndev, look->mac);
}

/*
 * Is the frame for this host, and nobody else? The port of a bridge may be a bond or a VLAN on the
 * netdev. With napi_gro_frags(), skb->pkt_type isn't set yet.
 *
 * tc and nftables may mirror or redirect a received frame, also into a tunnel. If there are more
 * than RXE_LOOK_NETDEVS netdevs above, one of them may do so.
 */
static bool rxe_gro_frame_is_local(const struct sk_buff *skb)
{
	struct rxe_gro_look look = { eth_hdr(skb)->h_dest, RXE_LOOK_NETDEVS };
	struct netdev_nested_priv priv = { .data = &look };

	return !rxe_gro_forwards(skb->dev, look.mac) &&
	       (list_empty(&skb->dev->adj_list.upper) ||
		!netdev_walk_all_upper_dev_rcu(skb->dev, rxe_gro_upper_forwards, &priv));
}

static bool rxe_gro_is_local(u8 proto, const void *l3, const struct sk_buff *skb)
{
	struct net_device *ndev = skb->dev;
	const struct iphdr *ip = l3;
	const struct ipv6hdr *ip6 = l3;

	switch (proto) {
	case RXE_ROCE_V2_IPV4:
		return inet_addr_type_dev_table(dev_net(ndev), ndev, ip->daddr) == RTN_LOCAL &&
		       rxe_gro_frame_is_local(skb);
	case RXE_ROCE_V2_IPV6:
		return ipv6_chk_addr_and_flags(dev_net(ndev), &ip6->daddr, ndev, true, 0,
					       IFA_F_TENTATIVE) &&
		       rxe_gro_frame_is_local(skb);
	case RXE_ROCE_V1:
		return true;
	default:
		return false;
	}
}

/* Checked only for the second packet of a train, since GRO holds a train for a short time */
static bool rxe_gro_may_chain(u8 proto, const struct sk_buff *train, const void *l3,
			      const struct sk_buff *skb)
{
	if (NAPI_GRO_CB(train)->count > 1)
		return true;
	return rxe_gro_is_local(proto, l3, skb) && !rxe_gro_must_stay_single(proto, skb->dev);
}

/* The held train of the packet's flow, by the headers that were compared so far */
static struct sk_buff *rxe_gro_find_held(struct list_head *head)
{
	struct sk_buff *train;

	list_for_each_entry(train, head, list) {
		if (NAPI_GRO_CB(train)->same_flow)
			return train;
	}
	return NULL;
}

/*
 * The sum of a whole packet (CHECKSUM_COMPLETE) isn't that of the train that it begins.
 * Connection tracking would find the train invalid. GRO has verified the UDP checksum, or
 * there is none.
 */
static void rxe_gro_drop_sum(u8 proto, struct sk_buff *skb)
{
	if (!rxe_l3(proto)->udp || skb->ip_summed != CHECKSUM_COMPLETE)
		return;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = 0;
}

/**
 * rxe_gro_add - chain a packet to the train of its flow
 * @proto: enum rxe_proto
 * @head: packets that GRO holds; those of other flows aren't marked same_flow
 * @skb: the packet; the GRO offset is at its BTH
 *
 * Return: the train that is complete by now, or NULL.
 */
struct sk_buff *rxe_gro_add(u8 proto, struct list_head *head, struct sk_buff *skb)
{
	u32 off = skb_gro_offset(skb);
	const void *bth = skb_gro_header(skb, off + RXE_BTH_BYTES, off);
	struct sk_buff *train;

	NAPI_GRO_CB(skb)->is_flist = 1;
	if (!bth || NAPI_GRO_CB(skb)->flush ||
	    rxe_gro_get_l3(proto, bth) != skb_gro_network_header(skb))
		goto flush;
	rxe_gro_drop_sum(proto, skb);
	train = rxe_gro_find_held(head);
	if (!train)
		return NULL;
	if (!rxe_gro_joins(proto, train, skb, bth) ||
	    !rxe_gro_may_chain(proto, train, rxe_gro_get_l3(proto, bth), skb))
		return train;
	if (!rxe_gro_chain(proto, train, skb))
		goto flush;
	return skb->len < skb_shinfo(train)->gso_size ? train : NULL;
flush:
	/* The packet, perhaps a train that the sender made, must not overtake held packets */
	NAPI_GRO_CB(skb)->flush = 1;
	return rxe_gro_find_held(head);
}

/**
 * rxe_gro_receive - GRO of the UDP sockets
 * @sk: the socket that keeps the port
 * @head: packets that GRO holds
 * @skb: the packet; the GRO offset is at its BTH
 *
 * Return: the train that is complete by now, or NULL.
 */
struct sk_buff *rxe_gro_receive(struct sock *sk, struct list_head *head,
				struct sk_buff *skb)
{
	/* Packets are only chained, never encapsulated */
	NAPI_GRO_CB(skb)->encap_mark = 0;
	return rxe_gro_add(sk->sk_family == AF_INET ? RXE_ROCE_V2_IPV4 : RXE_ROCE_V2_IPV6,
			   head, skb);
}
