/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which netdevs let the packets of a multicast group in (net/join.c).
 */
#ifndef RXE_JOIN_H
#define RXE_JOIN_H

#include <linux/list.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct net_device;
struct rxe_dev;

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

int rxe_join(struct rxe_dev *rxe, struct rxe_join *join, const union ib_gid *mgid);
void rxe_leave(struct rxe_join *join);
void rxe_join_follow(struct net_device *ndev);
void rxe_join_moved(struct rxe_dev *rxe);

#endif /* RXE_JOIN_H */
