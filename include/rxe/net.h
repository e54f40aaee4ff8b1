/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way to and from the netdev: RoCE v1 and v2, routes, netdev events,
 * network namespaces.
 *
 * Trains: what transport/ hands down and gets up is an skb that holds one or
 * more complete packets of one QP, each from BTH to ICRC inclusive, all of one
 * size but for the last, which may be shorter. Several are always RC, and all
 * requests or all responses.
 */
#ifndef RXE_NET_H
#define RXE_NET_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>
#include <rxe/wire.h>

struct rxe_dev;

#define RXE_NO_VLAN	0xffff

enum rxe_proto {
	RXE_ROCE_V1,
	RXE_ROCE_V2_IPV4,
	RXE_ROCE_V2_IPV6,
};

/**
 * struct rxe_path - where to send: what a QP or an AH knows of its peer
 * @sgid_attr: our GID, reference held; its netdev is the egress device
 *	(the netdev itself or a VLAN upper)
 * @sgid: our address, GID form (IPv4 as ::ffff:a.b.c.d)
 * @dgid: the peer's address, GID form
 * @proto: RoCE version and IP family, from the type of @sgid_attr
 * @flow_label: 20 bits, host order
 * @sport: UDP source port, host order
 * @traffic_class: TOS or traffic class
 * @hop_limit: TTL or hop limit; never 0
 * @sl: service level
 * @priority: skb->priority, from @sl
 * @vlan: of our GID's netdev, RXE_NO_VLAN if it is none
 * @dmac: the peer's MAC, used by v1 (v2 asks the route and the neighbour)
 * @dgid_attr: the peer's GID if it is one of the same netdev (and so of the same
 *	VLAN and namespace) as ours, reference held; else NULL
 * @same_dev: there is a @dgid_attr; never touches the wire
 * @hash: of the flow, for queue selection and RPS
 * @alone: trains don't get through; set once, by the owner of the path
 * @ip_id: next IPv4 ID
 * @dst: cached route (v2), RCU; checked before each use
 * @dst_cookie: what dst_check() wants for @dst (IPv6)
 *
 * Immutable after rxe_path_init() except for the last four, which senders on
 * several CPUs may change at a time.
 */
struct rxe_path {
	const struct ib_gid_attr *sgid_attr;
	const struct ib_gid_attr *dgid_attr;
	union ib_gid		sgid;
	union ib_gid		dgid;
	enum rxe_proto		proto;
	u32			flow_label;
	u16			sport;
	u8			traffic_class;
	u8			hop_limit;
	u8			sl;
	u8			priority;
	u16			vlan;
	u8			dmac[ETH_ALEN];
	bool			same_dev;
	u32			hash;
	bool			alone;
	atomic_t		ip_id;
	struct dst_entry __rcu	*dst;
	u32			dst_cookie;
};

int rxe_path_init(struct rxe_dev *rxe, struct rxe_path *path,
		  const struct rdma_ah_attr *attr, u16 sport, bool same_dev);
void rxe_path_unprivileged(const struct rxe_dev *rxe, struct rxe_path *path);
void rxe_path_destroy(struct rxe_path *path);
bool rxe_path_has_ids(const struct rxe_path *path);

/**
 * rxe_path_ndev - the netdev of a path's source GID
 * @path: path
 *
 * Return: to compare, not to follow; NULL when the GID was deleted.
 */
static inline const void *rxe_path_ndev(const struct rxe_path *path)
{
	return rcu_access_pointer(path->sgid_attr->ndev);
}

/**
 * rxe_path_intact - does a same-device path still lead from its netdev to itself?
 * @path: path with @same_dev set
 *
 * The RDMA core takes the netdev out of a GID that it deletes, which it does when
 * an address goes or a netdev moves to another namespace.
 *
 * Return: true if both GIDs are there.
 */
static inline bool rxe_path_intact(const struct rxe_path *path)
{
	const void *ndev = rxe_path_ndev(path);

	return ndev && ndev == rcu_access_pointer(path->dgid_attr->ndev);
}

struct rxe_txq;

/**
 * struct rxe_tx - a sender, and what it has in the queues of the stack and the netdev
 * @ref: one for the sender, one for each skb
 * @q: the queues
 * @sent: skbs that it has sent; written by its task
 * @wait: in the list of those that wait
 * @turn: may send now, though others wait; until rxe_tx_end_turn()
 * @forced: may send once, though the queues are full
 * @owner: argument of rxe_net_ops.sent
 *
 * It outlives its owner, who needn't wait for a queue that is stuck.
 */
struct rxe_tx {
	struct kref		ref;
	struct rxe_txq		*q;
	u32			sent;
	struct list_head	wait;
	bool			turn;
	bool			forced;
	void			*owner;
};

struct rxe_txq *rxe_txq_create(void);
void rxe_txq_put(struct rxe_txq *q);
struct rxe_tx *rxe_tx_create(struct rxe_txq *q, void *owner);
void rxe_tx_destroy(struct rxe_tx *tx);
void rxe_tx_leave(struct rxe_tx *tx);
bool rxe_tx_busy(const struct rxe_tx *tx);
bool rxe_tx_full(struct rxe_tx *tx);
bool rxe_tx_stuck(const struct rxe_tx *tx, u64 ns);
u32 rxe_tx_room(const struct rxe_tx *tx);
bool rxe_tx_shared(const struct rxe_tx *tx);

/**
 * rxe_tx_end_turn - a run of the sender's task is over
 * @tx: the sender
 */
static inline void rxe_tx_end_turn(struct rxe_tx *tx)
{
	if (READ_ONCE(tx->turn))
		rxe_tx_leave(tx);
}

/* skbs of the sender that are in the queues */
static inline u32 rxe_tx_skbs(const struct rxe_tx *tx)
{
	return kref_read(&tx->ref) - 1;
}

/**
 * struct rxe_l3_icrc - what the ICRCs of a path's packets have in common
 * @state: behind the network headers of a packet of @len bytes, BTH to ICRC
 * @len: 0: not computed yet
 * @id: its IPv4 ID
 *
 * Belongs to a train or to a path in one direction. Context: one user at a time.
 */
struct rxe_l3_icrc {
	u32	state;
	u32	len;
	u16	id;
};

/**
 * struct rxe_train - a train being built
 * @skb: the train
 * @tx: whom it counts for; set before it is sent, may be NULL
 * @l3_icrc: what the last train of this path and sender left; likewise
 * @sqpn: the sender, if it is connected; likewise
 * @next: where the next packet goes, if @ready isn't 0
 * @ready: packets of @pkt bytes that there is memory for from @next on
 * @hint: packets that are yet to come, the caller thinks
 * @pkt: bytes of each packet but the last (BTH to ICRC), 0 while empty
 * @npkts: packets so far
 * @bytes: their bytes
 * @max_bytes: what one skb may carry towards this path
 * @max_pkts: how many packets it may become
 * @alone: the path takes no more than one packet a skb
 * @linear: a single packet, so small that it is in the linear part
 */
struct rxe_train {
	struct sk_buff	*skb;
	struct rxe_tx	*tx;
	struct rxe_l3_icrc *l3_icrc;
	u32		sqpn;
	void		*next;
	u32		ready;
	u32		hint;
	u32		pkt;
	u32		npkts;
	u32		bytes;
	u32		max_bytes;
	u32		max_pkts;
	bool		alone;
	bool		linear;
};

/*
 * Build and send: rxe_train_start() for the first packet, rxe_train_push() for
 * others, rxe_train_xmit() or rxe_train_drop(). Bottom halves off all the time;
 * one builder of a train.
 * These two return contiguous memory for a packet of @len bytes, BTH to ICRC
 * inclusive; rxe_train_push() NULL when the train is full (or memory is short):
 * send it and start another. A packet must be as long as the first, or be the
 * last.
 */
void *rxe_train_start(struct rxe_dev *rxe, struct rxe_path *path,
		      struct rxe_train *train, u32 len, u32 npkts);
void *rxe_train_push(struct rxe_train *train, u32 len);

/* Is there room for a packet of @len bytes? */
static inline bool rxe_train_takes(const struct rxe_train *train, u32 len)
{
	if (!train->npkts)
		return len <= train->max_bytes;
	return train->npkts < train->max_pkts && len <= train->pkt &&
	       train->bytes + len <= train->max_bytes;
}

/* It was begun, and takes no more */
static inline bool rxe_train_full(const struct rxe_train *train)
{
	return train->npkts && !rxe_train_takes(train, train->pkt);
}

/* Packets of @len bytes that still fit, or that fit into one like the last */
static inline u32 rxe_train_room(const struct rxe_train *train, u32 len)
{
	if (!train->npkts || len > train->pkt || rxe_train_full(train))
		return train->max_bytes / len;
	return min(train->max_pkts - train->npkts,
		   (train->max_bytes - train->bytes) / train->pkt);
}

int rxe_train_xmit(struct rxe_dev *rxe, struct rxe_path *path,
		   struct rxe_train *train);
void rxe_train_drop(struct rxe_train *train);

/**
 * struct rxe_rx - what net/ knows of a received train; lives in skb->cb
 * @rxe: the device it came in on
 * @pkt: bytes of each packet but the last, BTH to ICRC; skb->len if single
 * @npkts: packets
 * @proto: how it came
 * @response: transport/: which of the QP's queues it is in
 * @trusted: never left this host's memory: its ICRC needn't be verified
 * @same_dev: came by the same-device path: no ICRC was computed; the network
 *	header is there for its addresses, lengths and ID in it mean nothing
 * @ndev: @same_dev: the netdev of both addresses, to compare, not to follow
 * @sqpn: @same_dev: the sender, if it is connected
 * @done: transport/: bytes taken in so far
 * @end: transport/: bytes to take in, packets behind them aren't worth it
 * @psn: transport/: the first packet behind @done, while the train is held
 * @since: transport/: jiffies when it was queued, the lower half
 * @held: transport/: it came too early, all packets up to @end were verified
 * @charged: transport/: it counts against the device's limit
 * @l3_off: skb->head offset of the IPv4/IPv6 header or GRH
 * @vlan: VLAN ID of the netdev that it came in by, or, from this very host, of the
 *	one that has the address; RXE_NO_VLAN if with none
 *
 * skb->data points to the first packet's BTH, skb->len is all packets' bytes.
 * The linear part may end at any byte, and before the first: read with
 * skb_header_pointer() or skb_copy_bits(). If there is a frag_list, each of its
 * skbs is one packet, and the first is what comes before. A received skb is
 * never written to. skb->dev is NULL: the netdev may go while the train waits.
 */
struct rxe_rx {
	struct rxe_dev	*rxe;
	const void	*ndev;
	u32		pkt;
	u32		done;
	u32		end;
	u32		psn;
	u32		sqpn;
	u16		since;
	u16		npkts;
	u16		l3_off;
	u16		vlan;
	u8		proto;
	bool		response:1;
	bool		trusted:1;
	bool		same_dev:1;
	bool		held:1;
	bool		charged:1;
};

static inline struct rxe_rx *rxe_rx(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct rxe_rx) > sizeof(skb->cb));
	return (struct rxe_rx *)skb->cb;
}

static inline void *rxe_rx_l3(struct sk_buff *skb)
{
	return skb->head + rxe_rx(skb)->l3_off;
}

/**
 * rxe_skb_bth - copy a BTH
 * @skb: train
 * @off: where it is, mostly at the beginning of the linear part or of the pages
 * @bth: RXE_BTH_BYTES
 *
 * Return: false if the skb ends before.
 */
static inline bool rxe_skb_bth(const struct sk_buff *skb, u32 off, u8 *bth)
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
void rxe_rx_grh(struct sk_buff *skb, u8 *grh);
u8 rxe_rx_network(struct sk_buff *skb);
bool rxe_rx_is_from(struct sk_buff *skb, const struct rxe_path *path);

static inline bool rxe_gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return ipv6_addr_equal((const struct in6_addr *)a,
			       (const struct in6_addr *)b);
}

u32 rxe_rx_icrc_start(struct rxe_l3_icrc *l3_icrc, struct sk_buff *skb, u32 n,
		      u32 len);

/**
 * struct rxe_net_ops - what net/ calls upwards
 * @rcv: takes a received train (owns the skb); softirq or bottom halves off
 * @sent: a sender that found the queues full may send again; any context, with a
 *	lock held
 * @changed: the netdev went up or down, or has another MTU; RTNL held
 */
struct rxe_net_ops {
	void (*rcv)(struct rxe_dev *rxe, struct sk_buff *skb);
	void (*sent)(void *owner);
	void (*changed)(struct rxe_dev *rxe);
};

int rxe_net_init(const struct rxe_net_ops *ops);
void rxe_net_exit(void);
int rxe_net_add(struct rxe_dev *rxe);
bool rxe_net_moved(struct rxe_dev *rxe);
void rxe_net_del(struct rxe_dev *rxe);
bool rxe_net_has_dev(const struct net_device *ndev);

#endif /* RXE_NET_H */
