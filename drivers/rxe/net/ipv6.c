// SPDX-License-Identifier: GPL-2.0
/*
 * The network headers of RoCE v2 over IPv6: an IP header without extensions, and UDP.
 */
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include "internal.h"
#include "proto.h"

static void ipv6_push(struct sk_buff *skb, struct rxe_path *path, u32 npkts)
{
	struct ipv6hdr *ip6;
	u32 len;

	rxe_v2_push_udp(skb, path);
	len = skb->len;
	ip6 = skb_push(skb, sizeof(*ip6));
	skb_reset_network_header(skb);
	ip6_flow_hdr(ip6, path->tos, htonl(path->flow_label));
	ip6->payload_len = htons(len);
	ip6->nexthdr = IPPROTO_UDP;
	ip6->hop_limit = path->hop_limit;
	memcpy(&ip6->saddr, &path->sgid, sizeof(ip6->saddr));
	memcpy(&ip6->daddr, &path->dgid, sizeof(ip6->daddr));
	skb->protocol = htons(ETH_P_IPV6);
}

static u32 ipv6_icrc_start(const void *l3)
{
	return rxe_icrc_start_ipv6(l3, l3 + sizeof(struct ipv6hdr));
}

/**
 * rxe_ipv6_gids - rxe_l3.gids
 * @l3: IPv6 header, or GRH
 * @sgid: out: source address
 * @dgid: out: destination address
 */
void rxe_ipv6_gids(const void *l3, union ib_gid *sgid, union ib_gid *dgid)
{
	const struct ipv6hdr *ip6 = l3;

	memcpy(sgid, &ip6->saddr, sizeof(*sgid));
	memcpy(dgid, &ip6->daddr, sizeof(*dgid));
}

/**
 * rxe_ipv6_is_from - rxe_l3.is_from
 * @l3: IPv6 header, or GRH
 * @path: path of a connection
 *
 * Return: true if the addresses are those of the path, source and destination swapped.
 */
bool rxe_ipv6_is_from(const void *l3, const struct rxe_path *path)
{
	const struct ipv6hdr *ip6 = l3;

	return ipv6_addr_equal(&ip6->saddr, (struct in6_addr *)&path->dgid) &&
	       ipv6_addr_equal(&ip6->daddr, (struct in6_addr *)&path->sgid);
}

static bool ipv6_matches_first(const void *first, const void *l3, u32 len)
{
	const struct ipv6hdr *was = first, *ip6 = l3;

	return ip6->version == 6 && ip6->nexthdr == IPPROTO_UDP &&
	       ntohs(ip6->payload_len) == len &&
	       ipv6_addr_equal(&ip6->saddr, &was->saddr) &&
	       ipv6_addr_equal(&ip6->daddr, &was->daddr);
}

static void ipv6_fix_header(void *l3, u32 n, u32 len)
{
	struct ipv6hdr *ip6 = l3;

	ip6->payload_len = htons(len);
}

const struct rxe_l3 rxe_l3_ipv6 = {
	.bytes		= sizeof(struct ipv6hdr) + sizeof(struct udphdr),
	.gid_type	= IB_GID_TYPE_ROCE_UDP_ENCAP,
	.network	= RDMA_NETWORK_IPV6,
	.wc_sl		= RXE_WC_SL_IPV6,
	.udp		= true,
	.gso		= NETIF_F_GSO_UDP_L4,
	.push		= ipv6_push,
	.send		= rxe_v2_send,
	.local_out	= ip6_local_out,
	.icrc_start	= ipv6_icrc_start,
	.gids		= rxe_ipv6_gids,
	.is_from	= rxe_ipv6_is_from,
	.matches_first	= ipv6_matches_first,
	.fix_header	= ipv6_fix_header,
};
