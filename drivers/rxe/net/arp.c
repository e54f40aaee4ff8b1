// SPDX-License-Identifier: GPL-2.0
/*
 * ARP between two ports of a host.
 *
 * The RDMA core asks for the peer's MAC address before it connects, for RoCE v2 as well. It
 * asks on the netdev of the source GID. If another netdev of the namespace has the peer's
 * address, the request comes in by that netdev. The stack doesn't answer: a request from one of
 * the host's own addresses is a martian. If both netdevs have an RDMA device, the request is
 * genuine, and this file answers it. IPv6 needs no help.
 *
 * Context: softirq; opening and closing is serialised by net.c.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <net/arp.h>
#include "internal.h"

/* The part of an ARP packet behind struct arphdr, for IPv4 on Ethernet */
struct rxe_arp {
	u8	sha[ETH_ALEN];
	__be32	sip;
	u8	tha[ETH_ALEN];
	__be32	tip;
} __packed;

static const struct rxe_arp *rxe_arp_get_request(struct sk_buff *skb)
{
	const struct arphdr *hdr;

	if (!pskb_may_pull(skb, sizeof(*hdr) + sizeof(struct rxe_arp)))
		return NULL;
	hdr = (const struct arphdr *)skb->data;
	if (hdr->ar_op != htons(ARPOP_REQUEST) ||
	    hdr->ar_hrd != htons(ARPHRD_ETHER) ||
	    hdr->ar_pro != htons(ETH_P_IP) || hdr->ar_hln != ETH_ALEN ||
	    hdr->ar_pln != sizeof(__be32))
		return NULL;
	return (const struct rxe_arp *)(hdr + 1);
}

/* Does the stack answer requests from a local address (accept_local)? */
static bool rxe_arp_accepts(const struct net_device *ndev)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);

	return in_dev && IN_DEV_ACCEPT_LOCAL(in_dev);
}

/* Does another port ask for an address of @ndev, with its own IP and MAC address? */
static bool rxe_arp_is_from_port(const struct rxe_arp *arp,
				 const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct net_device *port = __ip_dev_find(net, arp->sip, false);

	return port && port != ndev && __ip_dev_find(net, arp->tip, false) == ndev &&
	       ether_addr_equal_unaligned(arp->sha, port->dev_addr) &&
	       rxe_net_find(net, port, RXE_ENABLE_ALL) &&
	       rxe_net_find(net, ndev, RXE_ENABLE_ALL);
}

static int rxe_arp_rcv(struct sk_buff *skb, struct net_device *ndev,
		       struct packet_type *pt, struct net_device *orig_dev)
{
	const struct rxe_arp *arp;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	arp = rxe_arp_get_request(skb);
	if (arp && skb->pkt_type != PACKET_OTHERHOST &&
	    !rxe_arp_accepts(ndev) && rxe_arp_is_from_port(arp, ndev))
		arp_send(ARPOP_REPLY, ETH_P_ARP, arp->sip, ndev, arp->tip,
			 arp->sha, ndev->dev_addr, arp->sha);
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type rxe_arp_type __read_mostly = {
	.type	= cpu_to_be16(ETH_P_ARP),
	.func	= rxe_arp_rcv,
};

/**
 * rxe_arp_open - listen to ARP requests, in all namespaces
 */
void rxe_arp_open(void)
{
	dev_add_pack(&rxe_arp_type);
}

/**
 * rxe_arp_close - undo rxe_arp_open(); waits for receivers
 */
void rxe_arp_close(void)
{
	dev_remove_pack(&rxe_arp_type);
}
