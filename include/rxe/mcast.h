/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups of a device: which QPs are members (verbs/mcast.c).
 */
#ifndef RXE_MCAST_H
#define RXE_MCAST_H

#include <rdma/ib_verbs.h>
#include <rxe/dev.h>
#include <rxe/join.h>

/**
 * struct rxe_mcast_grp - a group with members on the device
 * @node: link in rxe_mcast.grps (rxe/dev.h)
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
 * @attached: number of attachments, each of which the RDMA core detaches
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

#endif /* RXE_MCAST_H */
