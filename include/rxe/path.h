/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path: where a QP or an AH sends.
 */
#ifndef RXE_PATH_H
#define RXE_PATH_H

#include <linux/if_ether.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

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

static inline bool rxe_gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return ipv6_addr_equal((const struct in6_addr *)a,
			       (const struct in6_addr *)b);
}

#endif /* RXE_PATH_H */
