/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path: the destination of a QP or an AH, and the route to it.
 */
#ifndef RXE_PATH_H
#define RXE_PATH_H

#include <linux/if_ether.h>
#include <linux/kref.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

struct rxe_dev;
struct rxe_mad_id;
struct rxe_txq;
struct sk_buff;

#define RXE_NO_VLAN	U32_MAX	/* in place of VLAN tags */

enum rxe_proto {
	RXE_ROCE_V1,
	RXE_ROCE_V2_IPV4,
	RXE_ROCE_V2_IPV6,
	RXE_PROTOS,		/* their number */
};

/**
 * struct rxe_path - addresses and route from a QP or an AH to its peer
 * @sgid_attr: our GID, reference held; its netdev is the egress device
 *	(the device's netdev or a VLAN upper)
 * @egress: the egress device as of rxe_path_init(), only to compare, not to dereference
 * @txq: the queues below the egress device for @priority, reference held (net/txq.c)
 * @sgid: our address, GID form (IPv4 as ::ffff:a.b.c.d)
 * @dgid: the peer's address, GID form
 * @proto: RoCE version and IP family, from the type of @sgid_attr
 * @flow_label: 20 bits, host order
 * @sport: UDP source port, host order
 * @traffic_class: TOS or traffic class, as asked for; sent by RoCE v1
 * @tos: @traffic_class with the ECN field as sent, RoCE v2
 * @hop_limit: TTL or hop limit; never 0
 * @sl: service level, up to RXE_MAX_SL
 * @priority: skb->priority, see rxe_path_class()
 * @max_priority: limit of @priority, see rxe_path_unprivileged()
 * @vlan: VLAN tags of our GID's netdev (rxe_netdev_get_vlan()), RXE_NO_VLAN if it has none
 * @hash: flow hash, for queue selection and RPS
 * @dmac: the peer's MAC, used by v1 (v2 uses the route and the neighbour)
 * @dgid_attr: the peer's GID if it is on the same netdev (and so in the same VLAN
 *	and namespace) as ours, reference held; else NULL. RoCE v2 sets it only with @same_dev
 * @same_dev: @dgid_attr is set, and packets bypass the network stack
 * @mcast: @dgid is a multicast group
 * @ecn: packets may leave ECN-capable: congestion control of its owner reacts to marks
 * @alone: trains don't get through, send single packets; set once, by the path's owner
 * @listened: packets that leave are captured, as of @look_tick
 * @shaped: queueing disciplines would segment trains (net/shaper.c), as of @look_tick
 * @ip_id: next IPv4 ID
 * @dst: cached route (v2), RCU; checked before each use
 * @dst_cookie: argument of dst_check() for @dst (IPv6)
 * @look_tick: jiffies of the last look at what is below the netdev
 * @by: the netdev that @dst was looked up for, only to compare; NULL before the first route
 * @by_node: in the list of @by, while @dst is set (net/route.c)
 *
 * Immutable after rxe_path_init(), with two exceptions. Senders on several CPUs may change
 * the last nine members concurrently. rxe_path_class() and rxe_path_choose_txq() change the
 * members that they set while nothing is sent.
 */
struct rxe_path {
	const struct ib_gid_attr *sgid_attr;
	const struct ib_gid_attr *dgid_attr;
	struct net_device	*egress;
	struct rxe_txq		*txq;
	union ib_gid		sgid;
	union ib_gid		dgid;
	enum rxe_proto		proto;
	u32			flow_label;
	u16			sport;
	u8			traffic_class;
	u8			tos;
	u8			hop_limit;
	u8			sl;
	u8			priority;
	u8			max_priority;
	u32			vlan;
	u32			hash;
	u8			dmac[ETH_ALEN];
	bool			same_dev;
	bool			mcast;
	bool			ecn;
	bool			alone;
	bool			listened;
	bool			shaped;
	atomic_t		ip_id;
	struct dst_entry __rcu	*dst;
	u32			dst_cookie;
	u32			look_tick;
	const struct net_device	*by;
	struct hlist_node	by_node;
};

/**
 * struct rxe_ah_ref - the part of an address handle that a UD send uses
 * @ref: one for the AH, one for each send that uses it
 * @rcu: frees it after the last lookup
 * @ibpd: protection domain of the AH
 * @path: path to the destination
 *
 * Outlives the ib_ah, whose memory the RDMA core frees right after destroy_ah.
 */
struct rxe_ah_ref {
	struct kref		ref;
	struct rcu_head		rcu;
	struct ib_pd		*ibpd;
	struct rxe_path		path;
};

void rxe_ah_put(struct rxe_ah_ref *r);
int rxe_path_init(struct rxe_dev *rxe, struct rxe_path *path,
		  const struct rdma_ah_attr *attr, u16 sport, bool same_dev, bool ecn);
int rxe_path_back(struct rxe_path *path, struct sk_buff *skb);
void rxe_path_class(const struct rxe_dev *rxe, struct rxe_path *path,
		    const struct ib_global_route *grh);
bool rxe_ecn_is_on(const struct rxe_dev *rxe, u8 priority);
u8 rxe_rx_priority(struct sk_buff *skb);
void rxe_path_unprivileged(const struct rxe_dev *rxe, struct rxe_path *path,
			   const struct ib_global_route *grh);
void rxe_path_choose_txq(const struct rxe_dev *rxe, struct rxe_path *path);
void rxe_path_destroy(struct rxe_path *path);
void rxe_unreach_why(struct rxe_dev *rxe, struct rxe_path *path, char *why, size_t size);
bool rxe_unreach_refused(const struct rxe_dev *rxe, const struct rxe_path *path,
			 struct rxe_mad_id *mad, char *why, size_t size);
bool rxe_path_has_ids(const struct rxe_path *path);
bool rxe_path_is_resolved(struct rxe_path *path);

struct net_device *rxe_path_ndev_anew(const struct rxe_path *path,
				      const struct ib_gid_attr *held);

/**
 * rxe_gid_get_ndev - the netdev of one of a path's GIDs
 * @path: path
 * @attr: the GID
 *
 * Context: bottom halves off or RCU read side.
 * Return: the netdev without a reference; NULL if the address isn't there any more.
 */
static inline struct net_device *rxe_gid_get_ndev(const struct rxe_path *path,
						  const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	ndev = rcu_dereference_check(attr->ndev, rcu_read_lock_bh_held());
	return likely(ndev) ? ndev : rxe_path_ndev_anew(path, attr);
}

static inline struct net_device *rxe_path_get_ndev(const struct rxe_path *path)
{
	return rxe_gid_get_ndev(path, path->sgid_attr);
}

/**
 * rxe_path_is_intact - does a same-device path still lead from its netdev to itself?
 * @path: path with @same_dev set
 *
 * The RDMA core deletes a GID when its address is removed, or the netdev moves to another
 * namespace.
 *
 * Return: true if both addresses still exist.
 */
static inline bool rxe_path_is_intact(const struct rxe_path *path)
{
	const struct net_device *ndev = rxe_path_get_ndev(path);

	return ndev && ndev == rxe_gid_get_ndev(path, path->dgid_attr);
}

static inline bool rxe_gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return ipv6_addr_equal((const struct in6_addr *)a,
			       (const struct in6_addr *)b);
}

/**
 * rxe_gid_is_mcast - is a GID the address of a group?
 * @gid: GID
 *
 * Return: true for ff00::/8 and for IPv4's 224.0.0.0/4 in its mapped form.
 */
static inline bool rxe_gid_is_mcast(const union ib_gid *gid)
{
	return rdma_is_multicast_addr((struct in6_addr *)gid);
}

#endif /* RXE_PATH_H */
