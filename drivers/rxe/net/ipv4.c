// SPDX-License-Identifier: GPL-2.0
/*
 * The network headers of RoCE v2 over IPv4: an IP header without options, and UDP.
 */
#include <net/ip.h>
#include "internal.h"
#include "proto.h"

static void ipv4_push(struct sk_buff *skb, struct rxe_path *path, u32 npkts)
{
	u32 id = atomic_fetch_add(npkts, &path->ip_id);
	struct iphdr *ip;

	rxe_v2_push_udp(skb, path);
	ip = skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	*ip = (struct iphdr) {
		.version	= 4,
		.ihl		= sizeof(*ip) / 4,
		.tos		= path->tos,
		.tot_len	= htons(skb->len),
		.id		= htons(id),
		.frag_off	= htons(IP_DF),
		.ttl		= path->hop_limit,
		.protocol	= IPPROTO_UDP,
		.saddr		= *(__be32 *)&path->sgid.raw[12],
		.daddr		= *(__be32 *)&path->dgid.raw[12],
	};
	skb->protocol = htons(ETH_P_IP);
}

static u32 ipv4_icrc_start(const void *l3)
{
	return rxe_icrc_start_ipv4(l3, l3 + sizeof(struct iphdr));
}

static void ipv4_gids(const void *l3, union ib_gid *sgid, union ib_gid *dgid)
{
	const struct iphdr *ip = l3;

	ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)sgid);
	ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)dgid);
}

static bool ipv4_is_from(const void *l3, const struct rxe_path *path)
{
	const struct iphdr *ip = l3;

	return ip->saddr == *(const __be32 *)&path->dgid.raw[12] &&
	       ip->daddr == *(const __be32 *)&path->sgid.raw[12];
}

static bool ipv4_matches_first(const void *first, const void *l3, u32 len)
{
	const struct iphdr *was = first, *ip = l3;

	return ip->version == 4 && ip->ihl == 5 &&
	       ip->protocol == IPPROTO_UDP &&
	       ntohs(ip->tot_len) == sizeof(*ip) + len &&
	       ip->saddr == was->saddr && ip->daddr == was->daddr;
}

static void ipv4_fix_header(void *l3, u32 n, u32 len)
{
	struct iphdr *ip = l3;

	ip->tot_len = htons(sizeof(*ip) + len);
	ip->id = htons(ntohs(ip->id) + n);
}

const struct rxe_l3 rxe_l3_ipv4 = {
	.bytes		= sizeof(struct iphdr) + sizeof(struct udphdr),
	.gid_type	= IB_GID_TYPE_ROCE_UDP_ENCAP,
	.network	= RDMA_NETWORK_IPV4,
	.wc_sl		= RXE_WC_SL_IPV4,
	.grh_off	= RXE_GRH_BYTES - sizeof(struct iphdr),
	.udp		= true,
	.gso		= NETIF_F_GSO_UDP_L4,
	.ids		= true,
	.push		= ipv4_push,
	.send		= rxe_v2_send,
	.local_out	= ip_local_out,
	.icrc_start	= ipv4_icrc_start,
	.gids		= ipv4_gids,
	.is_from	= ipv4_is_from,
	.matches_first	= ipv4_matches_first,
	.fix_header	= ipv4_fix_header,
};
