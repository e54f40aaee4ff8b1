/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups of a device: which QPs are members (verbs/mcast.c), and which netdevs
 * let the group's packets in (net/join.c).
 */
#ifndef RXE_MCAST_H
#define RXE_MCAST_H

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rxe/constants.h>

struct rxe_dev;

/**
 * struct rxe_mcast - the groups of a device
 * @lock: one attach or detach at a time; RTNL is taken under it, never the reverse
 * @grps: MGID -> struct rxe_mcast_grp; readers in RCU, writers under @lock
 * @seed: random, so that an attacker can't choose MGIDs that share a bucket
 * @num_grps: groups
 * @num_attached: attachments, of all QPs to all groups
 */
struct rxe_mcast {
	struct mutex		lock;	/* writers of all below */
	DECLARE_HASHTABLE(grps, RXE_MCAST_HASH_BITS);
	u32			seed;
	u32			num_grps;
	u32			num_attached;
};

/**
 * struct rxe_join - a group that netdevs of a device have joined
 * @list: link in net/'s list of all joins
 * @rxe: the device
 * @mgid: the group
 * @links: ifindex -> struct rxe_join_link, of the netdevs that have joined
 *
 * All under RTNL.
 */
struct rxe_join {
	struct list_head	list;
	struct rxe_dev		*rxe;
	union ib_gid		mgid;
	struct xarray		links;
};

/**
 * struct rxe_mcast_grp - a group with members on the device
 * @node: link in rxe_mcast.grps
 * @rcu: frees it after the last lookup
 * @mgid: its address
 * @members: struct rxe_mcast_member; readers in RCU
 * @num_members: QPs in @members
 * @join: netdevs that have joined the group
 */
struct rxe_mcast_grp {
	struct hlist_node	node;
	struct rcu_head		rcu;
	union ib_gid		mgid;
	struct list_head	members;
	u32			num_members;
	struct rxe_join		join;
};

/**
 * struct rxe_mcast_member - a QP that is attached to a group
 * @list: link in rxe_mcast_grp.members
 * @rcu: frees it after the last lookup
 * @qpn: the QP's number; it isn't used again before the QP is detached
 * @attached: how often it was attached. The RDMA core wants a detach for each
 */
struct rxe_mcast_member {
	struct list_head	list;
	struct rcu_head		rcu;
	u32			qpn;
	u32			attached;
};

/* verbs/mcast.c */
void rxe_mcast_init(struct rxe_mcast *mcast);
struct rxe_mcast_grp *rxe_mcast_find(struct rxe_dev *rxe, const union ib_gid *mgid);
int rxe_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid);
int rxe_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid);

/* net/join.c */
int rxe_join(struct rxe_dev *rxe, struct rxe_join *join, const union ib_gid *mgid);
void rxe_leave(struct rxe_join *join);
void rxe_join_follow(struct net_device *ndev);
void rxe_join_forget(struct net_device *ndev);
void rxe_join_moved(struct rxe_dev *rxe);

#endif /* RXE_MCAST_H */
