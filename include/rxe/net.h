/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of net/: receiving RoCE v1 and v2, netdev events, network namespaces.
 * Sending is in rxe/train.h, destinations are in rxe/path.h.
 */
#ifndef RXE_NET_H
#define RXE_NET_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <rdma/ib_verbs.h>
#include <rxe/path.h>
#include <rxe/train.h>
#include <rxe/wire.h>

struct rxe_dev;
struct rxe_mcast_grp;

/**
 * struct rxe_rx - description of a received train; in skb->cb
 * @rxe: the device it came in on
 * @pkt: bytes of each packet but the last, BTH to ICRC; skb->len if single
 * @npkts: number of packets
 * @proto: RoCE version and IP family (enum rxe_proto)
 * @response: transport/: which of the QP's queues it is in
 * @trusted: never left this host's memory: its ICRC needn't be verified
 * @same_dev: came by the same-device path: no ICRC was computed. Only the addresses
 *	in the network header are valid, lengths and ID aren't
 * @ndev: @same_dev: the netdev of both addresses; only compare it, don't dereference
 * @grp: @same_dev and @mcast: the group, see rxe_train.grp
 * @sqpn: @same_dev: QP number of a connected sender
 * @done: transport/: bytes taken in so far
 * @end: transport/: where to stop taking in; later packets are ignored
 * @psn: transport/: PSN of the packet at @done, while the train is held; before that,
 *	rxe_read_resp.sent when the train came
 * @since: transport/: jiffies when it was queued, low 16 bits
 * @held: transport/: the train came too early; all packets up to @end were verified
 * @account: queue/: limit of the device against which it counts (enum rxe_account)
 * @mcast: the destination is a multicast group
 * @addressed: datagram or CNP: the destination is an address of the device, or a group
 * @ce: a switch marked the packets "congestion experienced" (ECN); transport/ clears it
 *	after the first packet, so that a train is answered once
 * @noticed: transport/: the packet at @done waits, and was given to rxe_notice() already
 * @l3_off: skb->head offset of the IPv4/IPv6 header or GRH
 * @vlan: VLAN tags of the receiving netdev, or, if this host sent the train, of the netdev
 *	that has the address; RXE_NO_VLAN if there are none. The VLAN ID of the netdev itself
 *	is in the low 12 bits
 *
 * skb->data points to the first packet's BTH, skb->len is the bytes of all packets. The linear
 * part may be empty or end at any byte: read with skb_header_pointer() or skb_copy_bits(). If
 * there is a frag_list, each of its skbs is one packet, and the train's own skb holds the
 * first. A received skb is never written to. skb->dev doesn't name the netdev, which may go
 * away while the train waits. It is NULL; while the train is held, skb->rbnode takes its place.
 */
struct rxe_rx {
	struct rxe_dev	*rxe;
	union {
		const void	*ndev;
		struct rxe_mcast_grp *grp;
	};
	u32		pkt;
	u32		done;
	u32		end;
	u32		psn;
	u32		sqpn;
	u32		vlan;
	u16		since;
	u16		npkts;
	u16		l3_off;
	u8		proto:4;
	u8		account:4;
	bool		response:1;
	bool		trusted:1;
	bool		same_dev:1;
	bool		held:1;
	bool		mcast:1;
	bool		ce:1;
	bool		noticed:1;
	bool		addressed:1;
};

static inline struct rxe_rx *rxe_rx(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct rxe_rx) > sizeof(skb->cb));
	return (struct rxe_rx *)skb->cb;
}

/* Packets of a train that aren't taken in yet */
static inline u32 rxe_rx_count_left(struct sk_buff *skb)
{
	const struct rxe_rx *rx = rxe_rx(skb);

	return DIV_ROUND_UP(rx->end - rx->done, rx->pkt);
}

/**
 * rxe_skb_copy_bth - copy a BTH
 * @skb: train
 * @off: its offset, usually at the start of the linear part or of the pages
 * @bth: out: RXE_BTH_BYTES
 *
 * Return: false if the skb is too short.
 */
static inline bool rxe_skb_copy_bth(const struct sk_buff *skb, u32 off, u8 *bth)
{
	const skb_frag_t *frag = &skb_shinfo(skb)->frags[0];
	u32 head = skb_headlen(skb);

	if (off + RXE_BTH_BYTES <= head)
		memcpy(bth, skb->data + off, RXE_BTH_BYTES);
	else if (off == head && skb_shinfo(skb)->nr_frags &&
		 skb_frag_size(frag) >= RXE_BTH_BYTES)
		memcpy(bth, skb_frag_address(frag), RXE_BTH_BYTES);
	else
		return !skb_copy_bits(skb, off, bth, RXE_BTH_BYTES);
	return true;
}

__be16 rxe_rx_sport(struct sk_buff *skb);
u32 rxe_rx_flow(struct sk_buff *skb, u32 sqpn);
void rxe_rx_grh(struct sk_buff *skb, u8 *grh);
u8 rxe_rx_network(struct sk_buff *skb);
u8 rxe_rx_wc_sl(struct sk_buff *skb);
void rxe_rx_dgid(struct sk_buff *skb, union ib_gid *dgid);
bool rxe_rx_is_from(struct sk_buff *skb, const struct rxe_path *path);

u32 rxe_rx_icrc_start(struct rxe_l3_icrc *l3_icrc, struct sk_buff *skb, u32 n,
		      u32 len);

/**
 * struct rxe_net_ops - callbacks from net/ to the layers above
 * @rcv: takes a received train and owns the skb; softirq or bottom halves off
 * @sent: a sender that found the queues full may send again; any context, with a
 *	lock held
 * @changed: the netdev went up or down or to another namespace, or its MTU changed; RTNL
 *	held
 * @rerouted: a bond or team at or below the netdev now sends by another slave, or the netdev
 *	is at another place on the network; RTNL held, and perhaps the RCU read lock
 */
struct rxe_net_ops {
	void (*rcv)(struct rxe_dev *rxe, struct sk_buff *skb);
	void (*sent)(void *owner);
	void (*changed)(struct rxe_dev *rxe);
	void (*rerouted)(struct rxe_dev *rxe);
};

int rxe_net_init(const struct rxe_net_ops *ops);
void rxe_net_exit(void);
int rxe_net_add(struct rxe_dev *rxe, struct net *net);
int rxe_net_follow(struct rxe_dev *rxe);
bool rxe_net_receives(const struct rxe_dev *rxe);
void rxe_net_del(struct rxe_dev *rxe);
bool rxe_net_has_dev(const struct net_device *ndev);

/* net/class.c */
int rxe_tclass_set(struct rxe_dev *rxe, char *text);
int rxe_tclass_show(struct rxe_dev *rxe, char *buf);
void rxe_tclass_move(struct rxe_dev *to, struct rxe_dev *from);
void rxe_tclass_free(struct rxe_dev *rxe);

#endif /* RXE_NET_H */
