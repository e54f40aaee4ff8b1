// SPDX-License-Identifier: GPL-2.0
/*
 * What RoCE v1, v2 and the same-device path have in common when a train comes
 * in, and the network headers as the ICRC and the GRH see them.
 *
 * Context: softirq or bottom halves off. A received skb is read only.
 */
#include <linux/if_vlan.h>
#include <linux/netfilter.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include "internal.h"

static const struct rxe_net_ops *rxe_net_ops;

/**
 * rxe_rx_set_ops - whom received trains are for
 * @ops: what net/ calls upwards
 */
void rxe_rx_set_ops(const struct rxe_net_ops *ops)
{
	rxe_net_ops = ops;
}

static u32 rxe_icrc_ipv4(const void *l3, u32 len)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
	} h;

	memcpy(&h, l3, sizeof(h));
	h.ip.tot_len = htons(sizeof(h) + len);
	h.udp.len = htons(sizeof(h.udp) + len);
	return rxe_icrc_start_ipv4(&h.ip, &h.udp);
}

static u32 rxe_icrc_ipv6(const void *l3, u32 len)
{
	struct {
		struct ipv6hdr ip;
		struct udphdr udp;
	} h;

	memcpy(&h, l3, sizeof(h));
	h.udp.len = htons(sizeof(h.udp) + len);
	h.ip.payload_len = h.udp.len;
	return rxe_icrc_start_ipv6(&h.ip, &h.udp);
}

static u32 rxe_icrc_first(u8 proto, const void *l3, u32 len)
{
	switch (proto) {
	case RXE_ROCE_V1:
		return rxe_icrc_start_v1(l3);
	case RXE_ROCE_V2_IPV4:
		return rxe_icrc_ipv4(l3, len);
	default:
		return rxe_icrc_ipv6(l3, len);
	}
}

/**
 * rxe_l3_icrc_start - ICRC state behind the network headers of a train's packet
 * @l3_icrc: of the train or the path, @l3_icrc->len 0 at first
 * @proto: enum rxe_proto
 * @l3: the train's IP header (UDP behind it) or GRH
 * @n: which packet
 * @len: its bytes, BTH to ICRC
 *
 * The train's header is taken as the packet's own, which has the packet's
 * length, and in IPv4 the @n-th ID after the train's.
 *
 * Return: state for rxe_icrc_bth().
 */
u32 rxe_l3_icrc_start(struct rxe_l3_icrc *l3_icrc, u8 proto, const void *l3,
		      u32 n, u32 len)
{
	u16 first = ntohs(((const struct iphdr *)l3)->id);
	u16 id = first + n;

	if (l3_icrc->len != len) {
		l3_icrc->state = rxe_icrc_first(proto, l3, len);
		l3_icrc->len = len;
		l3_icrc->id = first;
	}
	if (proto == RXE_ROCE_V2_IPV4 && l3_icrc->id != id) {
		l3_icrc->state = rxe_icrc_ip_id(l3_icrc->state, l3_icrc->id, id);
		l3_icrc->id = id;
	}
	return l3_icrc->state;
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

static void rxe_gid_from_ipv4(union ib_gid *gid, __be32 addr)
{
	ipv6_addr_set_v4mapped(addr, (struct in6_addr *)gid);
}

/**
 * rxe_rx_gids - addresses of a received train
 * @skb: received train
 * @sgid: set to where it came from; IPv4 as ::ffff:a.b.c.d
 * @dgid: set to where it was sent
 */
void rxe_rx_gids(struct sk_buff *skb, union ib_gid *sgid, union ib_gid *dgid)
{
	const void *l3 = rxe_rx_l3(skb);

	if (rxe_rx(skb)->proto == RXE_ROCE_V2_IPV4) {
		const struct iphdr *ip = l3;

		rxe_gid_from_ipv4(sgid, ip->saddr);
		rxe_gid_from_ipv4(dgid, ip->daddr);
	} else {
		/* a GRH has its addresses where IPv6 has them */
		const struct ipv6hdr *ip6 = l3;

		memcpy(sgid, &ip6->saddr, sizeof(*sgid));
		memcpy(dgid, &ip6->daddr, sizeof(*dgid));
	}
}

static u16 rxe_rx_vlan(const struct sk_buff *skb)
{
	return is_vlan_dev(skb->dev) ? vlan_dev_vlan_id(skb->dev) : RXE_NO_VLAN;
}

/*
 * A train whose checksum is yet to be made never left this host's memory: like
 * TCP's checksum, its ICRC needn't be verified.
 */
static bool rxe_rx_trusts(const struct rxe_dev *rxe, const struct sk_buff *skb)
{
	return skb->ip_summed == CHECKSUM_PARTIAL &&
	       READ_ONCE(rxe->tune.trust_local);
}

/*
 * A train may be queued for long: it shall pin nothing of the stack meanwhile,
 * nor point to what may go.
 */
static void rxe_rx_detach(struct sk_buff *skb)
{
	skb_dst_drop(skb);
	skb_orphan(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	skb->dev = NULL;
}

/* The stack lets go of it; skb->data is at the network header */
static void rxe_rx_init(struct rxe_dev *rxe, struct sk_buff *skb, u32 hdr_len,
			u8 proto, u32 pkt)
{
	u16 vlan = rxe_rx_vlan(skb);

	rxe_rx_detach(skb);
	skb_pull(skb, hdr_len);
	*rxe_rx(skb) = (struct rxe_rx) {
		.rxe		= rxe,
		.pkt		= pkt,
		.npkts		= DIV_ROUND_UP(skb->len, pkt),
		.l3_off		= skb_network_header(skb) - skb->head,
		.vlan		= vlan,
		.proto		= proto,
	};
}

static void rxe_rx_up(struct rxe_dev *rxe, struct sk_buff *skb)
{
	rxe_count_add(rxe, RCVD_PKTS, rxe_rx(skb)->npkts);
	rxe_count_add(rxe, RCVD_BYTES, skb->len);
	rxe_net_ops->rcv(rxe, skb);
}

/**
 * rxe_rx_deliver - hand a checked train to the transport
 * @rxe: whose it is
 * @skb: the train, its network header set
 * @hdr_len: bytes from skb->data to the first BTH, all in the linear part
 * @proto: enum rxe_proto
 * @pkt: bytes of each packet but the last
 */
void rxe_rx_deliver(struct rxe_dev *rxe, struct sk_buff *skb, u32 hdr_len,
		    u8 proto, u32 pkt)
{
	bool trusted = rxe_rx_trusts(rxe, skb);

	rxe_rx_init(rxe, skb, hdr_len, proto, pkt);
	rxe_rx(skb)->trusted = trusted;
	rxe_rx_up(rxe, skb);
}

/**
 * rxe_rx_same_dev - hand a train back to the transport of the device that sent it
 * @rxe: the device
 * @skb: the train; skb->dev is the netdev of both addresses
 * @proto: enum rxe_proto
 * @train: what it was
 */
void rxe_rx_same_dev(struct rxe_dev *rxe, struct sk_buff *skb, u8 proto,
		     const struct rxe_train *train)
{
	const void *ndev = skb->dev;
	struct rxe_rx *rx = rxe_rx(skb);

	rxe_rx_init(rxe, skb, rxe_l3_bytes(proto), proto, train->pkt);
	rx->trusted = true;
	rx->same_dev = true;
	rx->ndev = ndev;
	rx->sqpn = train->sqpn;
	rxe_rx_up(rxe, skb);
}
