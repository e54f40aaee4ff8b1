/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protocols: everything that depends on the network header. Each row of the table
 * has its own file: rocev1.c, ipv4.c, ipv6.c.
 */
#ifndef RXE_NET_PROTO_H
#define RXE_NET_PROTO_H

#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <rxe/net.h>
#include <rxe/wire.h>
#include "internal.h"

struct net;
struct sock;

#define RXE_ROCE_UDP_PORT	4791	/* destination port of RoCE v2 */
#define RXE_ROCE_ETHERTYPE	0x8915	/* RoCE v1 */
#define RXE_GRH_NXTHDR		0x1b	/* IBA transport [8.3.7] */

/**
 * struct rxe_l3 - a row of the table of protocols
 * @bytes: headers between the link layer and the BTH
 * @gid_type: enum ib_gid_type
 * @network: enum rdma_network_type
 * @wc_sl: SL that tells user space the kind of header, 0 for a GRH
 * @grh_off: offset of the network header in a datagram's GRH [A17.4.5.1]
 * @udp: there is a UDP header, and paths have a route; else packets stay on the link
 * @ids: packets have IDs that count up, and the ICRC covers them
 * @gso: the netdev feature for whole trains
 * @push: puts the headers in front of a train of @npkts packets
 * @send: sends a train with its headers, and consumes it. Return: 0, 1 if it was
 *	dropped, or a negative error if the path doesn't work now
 * @local_out: hands a packet to the stack, if @udp
 * @icrc_start: ICRC state behind a packet's headers
 * @gids: the addresses, IPv4 as ::ffff:a.b.c.d
 * @is_from: are the addresses those of a path, source and destination swapped?
 * @matches_first: is the header valid for the @len bytes behind it, and are the addresses
 *	those of the train's first packet?
 * @fix_header: turns the header of a train's first packet into that of the n-th, with @len
 *	bytes behind it
 *
 * Headers are in contiguous memory. Context: bottom halves off.
 */
struct rxe_l3 {
	u8	bytes;
	u8	gid_type;
	u8	network;
	u8	wc_sl;
	u8	grh_off;
	bool	udp;
	bool	ids;
	netdev_features_t gso;
	void	(*push)(struct sk_buff *skb, struct rxe_path *path, u32 npkts);
	int	(*send)(struct sk_buff *skb, struct rxe_path *path,
			const struct rxe_train *train);
	int	(*local_out)(struct net *net, struct sock *sk,
			     struct sk_buff *skb);
	u32	(*icrc_start)(const void *l3);
	void	(*gids)(const void *l3, union ib_gid *sgid, union ib_gid *dgid);
	bool	(*is_from)(const void *l3, const struct rxe_path *path);
	bool	(*matches_first)(const void *first, const void *l3, u32 len);
	void	(*fix_header)(void *l3, u32 n, u32 len);
};

extern const struct rxe_l3 rxe_l3_v1, rxe_l3_ipv4, rxe_l3_ipv6;
extern const struct rxe_l3 *rxe_l3s[RXE_PROTOS];

/**
 * rxe_l3 - a row of the table
 * @proto: enum rxe_proto
 *
 * Return: the row.
 */
static inline const struct rxe_l3 *rxe_l3(u8 proto)
{
	return rxe_l3s[proto];
}

/**
 * rxe_l3_fix_header - turn the headers of a train's first packet into those of the n-th
 * @l3: the headers, up to the BTH
 * @proto: enum rxe_proto
 * @n: which packet
 * @len: its bytes, BTH to ICRC
 *
 * The result is what segmentation would make.
 */
static inline void rxe_l3_fix_header(void *l3, u8 proto, u32 n, u32 len)
{
	const struct rxe_l3 *row = rxe_l3(proto);
	struct udphdr *udp = l3 + row->bytes - sizeof(*udp);

	if (row->udp) {
		len += sizeof(*udp);
		udp->len = htons(len);
	}
	row->fix_header(l3, n, len);
}

/**
 * rxe_l3_icrc_start - ICRC state behind the network headers of a train's packet
 * @l3_icrc: of the train or the path, @l3_icrc->len 0 at first
 * @proto: enum rxe_proto
 * @l3: the train's IP header (UDP behind it) or GRH
 * @n: which packet
 * @len: its bytes, BTH to ICRC
 *
 * The packet's header is the train's, but with the packet's length, and with the
 * @n-th ID after the train's. Inline, since it is called for each packet.
 *
 * Return: state for rxe_icrc_bth().
 */
static inline u32 rxe_l3_icrc_start(struct rxe_l3_icrc *l3_icrc, u8 proto, const void *l3,
				    u32 n, u32 len)
{
	u16 id = ntohs(((const struct iphdr *)l3)->id) + n;

	if (unlikely(l3_icrc->len != len))
		rxe_l3_icrc_begin(l3_icrc, proto, l3, len);
	if (rxe_l3(proto)->ids && l3_icrc->id != id) {
		l3_icrc->state = rxe_icrc_ip_id(l3_icrc->state, l3_icrc->id, id);
		l3_icrc->id = id;
	}
	return l3_icrc->state;
}

/**
 * rxe_l3_is_ce - did a switch mark a packet "congestion experienced"? [RFC 3168]
 * @l3: its network header
 * @proto: enum rxe_proto
 *
 * Return: true if it did; never for RoCE v1.
 */
static inline bool rxe_l3_is_ce(const void *l3, u8 proto)
{
	if (proto == RXE_ROCE_V2_IPV4)
		return INET_ECN_is_ce(ipv4_get_dsfield(l3));
	return proto == RXE_ROCE_V2_IPV6 && INET_ECN_is_ce(ipv6_get_dsfield(l3));
}

/* The traffic class of a packet, without the ECN field */
static inline u8 rxe_l3_get_tclass(const void *l3, u8 proto)
{
	u8 dsfield = proto == RXE_ROCE_V2_IPV4 ? ipv4_get_dsfield(l3) : ipv6_get_dsfield(l3);

	return dsfield & ~INET_ECN_MASK;
}

/* ipv6.c; also for a GRH, whose addresses are at the same place */
void rxe_ipv6_gids(const void *l3, union ib_gid *sgid, union ib_gid *dgid);
bool rxe_ipv6_is_from(const void *l3, const struct rxe_path *path);

/* rocev2.c */
void rxe_v2_push_udp(struct sk_buff *skb, const struct rxe_path *path);
int rxe_v2_send(struct sk_buff *skb, struct rxe_path *path,
		const struct rxe_train *train);

#endif /* RXE_NET_PROTO_H */
