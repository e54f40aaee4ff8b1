/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files of net/ share; <rxe/net.h> is the interface for other folders.
 */
#ifndef RXE_NET_INTERNAL_H
#define RXE_NET_INTERNAL_H

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rxe/constants.h>
#include <rxe/dev.h>
#include <rxe/net.h>
#include <rxe/wire.h>

struct net;
struct rxe_txq;
struct sock;
struct socket;

/*
 * Ethernet has priorities of three bits, so an SL of RoCE is at most 7. In completions of
 * datagrams for user space, the SL field holds the kind of network header. Bit 3 means UDP,
 * and the bits below give the IP version. 0 means a GRH [A17.4.5.1]. Programs that answer copy
 * the SL to their address vector.
 */
#define RXE_MAX_SL	7
#define RXE_WC_SL_IPV6	(BIT(3) | 1)
#define RXE_WC_SL_IPV4	(BIT(3) | 2)

/**
 * struct rxe_unreach - the last ICMP error for a destination
 * @dst: the destination, IPv4 in its mapped form
 * @when: jiffies when it came
 * @type: of ICMP or ICMPv6, by the family of @dst
 * @code: likewise
 * @known: the other members are valid
 * @refused: the destination has refused UDP port 4791 altogether, to a MAD of the GSI
 * @refused_when: jiffies when it last did
 * @refused_mad: that MAD
 */
struct rxe_unreach {
	struct in6_addr	dst;
	unsigned long	when;
	u8		type;
	u8		code;
	bool		known;
	bool		refused;
	unsigned long	refused_when;
	struct rxe_mad_id refused_mad;
};

/**
 * struct rxe_netns - a network namespace, while it has RDMA devices
 * @devs: struct rxe_dev.list; readers in RCU, writers hold rxe_net_lock
 * @socks: own the packets that are sent, by enum rxe_proto; NULL where the protocol is off.
 *	The sockets of RoCE v2 hold UDP port 4791, that of v1 has no port
 * @net: the namespace
 * @users: devices in @devs
 * @v2_users: devices with RoCE v2; the sockets and hooks are open for them
 * @unreach_lock: protects @unreach
 * @unreach: ICMP errors, by a hash of the destination
 */
struct rxe_netns {
	struct list_head	devs;
	struct net		*net;
	struct socket		*socks[RXE_PROTOS];
	u32			users;
	u32			v2_users;
	spinlock_t		unreach_lock;	/* @unreach */
	struct rxe_unreach	unreach[RXE_UNREACH_SLOTS];
};

/* registry.c */
extern unsigned int rxe_net_id;
struct rxe_dev *rxe_net_find(struct net *net, const struct net_device *ndev, u8 roce);
bool rxe_net_is_alone(const struct rxe_dev *rxe);
struct sock *rxe_net_sock(const struct rxe_dev *rxe, u8 proto);
void rxe_net_release_socks(struct rxe_netns *ns, u8 first, u8 last);
struct net_device *rxe_addr_owner(struct net *net, const struct in6_addr *addr);
struct net_device *rxe_addr_owner_at(struct net_device *by,
				     const struct in6_addr *addr);

/* route.c */
struct net_device *rxe_path_port(const struct rxe_path *path);
struct dst_entry *rxe_route(struct rxe_path *path);
bool rxe_route_is_far(const struct rxe_path *path);
void rxe_route_keep(struct rxe_path *path, struct dst_entry *dst, u32 cookie,
		    const struct net_device *ndev);
void rxe_route_drop(struct rxe_path *path);
void rxe_routes_forget(const struct net_device *ndev);
void rxe_routes_init(void);

/* listen.c */
bool rxe_listen_below(struct net_device *ndev);
bool rxe_listen_above(struct net_device *ndev);

/* shaper.c */
bool rxe_shaper_below(struct net_device *ndev);

/* train.c */
void rxe_blocks_free(void);
bool rxe_blocks_made(const struct sk_buff *skb);
void rxe_train_close(struct rxe_train *train);

/* tx.c */
/**
 * struct rxe_tx_time - the shortest of the recent measurements of a time
 * @ns: the time; 0 before the second measurement
 * @last: the last measurement, however long, ns; 0 before the first
 * @at: when @ns was set
 */
struct rxe_tx_time {
	u64	ns;
	u64	last;
	ktime_t	at;
};

void rxe_tx_time_add(struct rxe_tx_time *t, u64 ns, ktime_t now);
void rxe_tx_own(struct rxe_tx *tx, struct sock *sk, struct sk_buff *skb);
void rxe_tx_cut(struct sk_buff *train, struct sk_buff *last);
bool rxe_tx_is_loaded(const struct rxe_tx *tx, bool datagram);
bool rxe_tx_park(struct sk_buff *skb, bool datagram);
void rxe_tx_wait(void);
void rxe_tx_set_ops(const struct rxe_net_ops *ops);

/* rx.c */
u32 rxe_skb_pkt(const struct sk_buff *skb, u32 bytes);
void rxe_l3_icrc_begin(struct rxe_l3_icrc *l3_icrc, u8 proto, const void *l3, u32 len);
void rxe_rx_deliver(struct rxe_dev *rxe, struct sk_buff *skb, u32 hdr_len,
		    u8 proto, u32 pkt);
void rxe_rx_same_dev(struct rxe_dev *rxe, struct sk_buff *skb,
		     const struct rxe_path *path, const struct rxe_train *train);

/* up.c */
void rxe_rx_up(struct sk_buff *skb, const struct net_device *ndev);
void rxe_rx_set_ops(const struct rxe_net_ops *ops);

/* rocev1.c */
void rxe_v1_open(void);
void rxe_v1_close(void);

/* rocev1_offload.c */
void rxe_v1_offload(struct sk_buff *skb, u32 pkt, u32 npkts);
bool rxe_v1_gso_ok(const struct sk_buff *skb);
void rxe_v1_gro_switch(bool on);
void rxe_v1_offload_init(void);
void rxe_v1_offload_exit(void);

/* rocev2.c */
bool rxe_v2_is_gso_ok(const struct sk_buff *skb);
int rxe_v2_open(struct net *net, struct rxe_netns *ns);
void rxe_v2_close(struct net *net, struct rxe_netns *ns);

/* arp.c */
void rxe_arp_open(void);
void rxe_arp_close(void);

/* gro.c */
struct sk_buff *rxe_gro_add(u8 proto, struct list_head *head, struct sk_buff *skb);
struct sk_buff *rxe_gro_receive(struct sock *sk, struct list_head *head,
				struct sk_buff *skb);

/* join.c */
void rxe_join_forget(struct net_device *ndev);

/* unreach.c */
int rxe_unreach_note(struct sock *sk, struct sk_buff *skb);

/* split.c */
bool rxe_is_train(const struct sk_buff *skb, u32 off, u32 pkt, u8 proto);
void rxe_split(struct sk_buff *skb, u32 off, const struct net_device *ndev);

/* guard.c */
int rxe_guard_open(struct net *net);
void rxe_guard_close(struct net *net);

/* events.c */
int rxe_events_init(const struct rxe_net_ops *ops);
void rxe_events_exit(void);

u32 rxe_vlan_tags(const struct net_device *ndev);
u32 rxe_gid_get_vlan(const struct ib_gid_attr *attr);

static inline void *rxe_rx_l3(struct sk_buff *skb)
{
	return skb->head + rxe_rx(skb)->l3_off;
}

/* Is a GID an IPv4 address in its mapped form? GIDs of RoCE v1 may be of either family */
static inline bool rxe_gid_is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

/**
 * rxe_netdev_get_vlan - the VLAN of packets on a netdev
 * @ndev: netdev
 *
 * Return: the tags as rxe_vlan_tags() has them, or RXE_NO_VLAN.
 */
static inline u32 rxe_netdev_get_vlan(const struct net_device *ndev)
{
	return is_vlan_dev(ndev) ? rxe_vlan_tags(ndev) : RXE_NO_VLAN;
}

/**
 * rxe_count_segs - count the packets of an skb that isn't taken apart yet
 * @skb: the skb
 *
 * Return: the number that its GSO says, which may be a guest's; at least 1.
 */
static inline u32 rxe_count_segs(const struct sk_buff *skb)
{
	return max_t(u32, skb_shinfo(skb)->gso_segs, 1);
}

/**
 * rxe_roce_of - the RoCE version of a protocol
 * @proto: enum rxe_proto
 *
 * Return: RXE_ENABLE_V1 or RXE_ENABLE_V2.
 */
static inline u8 rxe_roce_of(u8 proto)
{
	return proto == RXE_ROCE_V1 ? RXE_ENABLE_V1 : RXE_ENABLE_V2;
}

/**
 * rxe_is_same_queue - may two packets for one QP be in one train?
 * @first: opcode of the first
 * @opcode: opcode of the other
 *
 * Return: true if both are of one connected service, and both requests or both responses.
 */
static inline bool rxe_is_same_queue(u8 first, u8 opcode)
{
	u32 was = rxe_opcode[first].flags, is = rxe_opcode[opcode].flags;

	return was && is && !((was ^ is) & RXE_OP_RESPONSE) &&
	       rxe_opcode_type(first) == rxe_opcode_type(opcode) &&
	       !(was & RXE_OP_DETH);
}

struct rxe_txq *rxe_txq_get(struct rxe_txq *q);

#endif /* RXE_NET_INTERNAL_H */
