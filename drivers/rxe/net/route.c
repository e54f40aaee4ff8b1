// SPDX-License-Identifier: GPL-2.0
/*
 * Routes of RoCE v2 paths: looked up once and kept in the path. They are checked before
 * each use, since the stack invalidates them by a generation number.
 *
 * A cached route of IPv6, or of IPsec, refers to its namespace and doesn't keep it: no such
 * route may be left when the namespace ends. All paths with a route, of any QP, AH or device, are
 * in lists by the netdev that the route was looked up for. When the netdev leaves its namespace,
 * its routes are dropped. No namespace ends before all its netdevs have left it.
 *
 * Context: bottom halves off. Several senders at a time read rxe_path.dst under RCU. It is
 * written under the lock of the path's lists.
 */
#include <compat/net.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <net/dst.h>
#include <net/inet_dscp.h>
#include <net/ip_fib.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "internal.h"
#include "proto.h"

/**
 * struct rxe_routes - some of the paths with a cached route, by a hash of the path's pointer
 * @lock: protects @by, and of its paths dst, by and by_node; innermost, any context
 * @by: lists of paths, by a hash of the netdev
 *
 * A path has the same lock for its lifetime, even if its netdev changes. There are several
 * locks, so that senders don't wait for one another. No lock is held for long, even if all
 * paths have the same addresses.
 */
struct rxe_routes {
	spinlock_t		lock;	/* @by and the paths there */
	struct hlist_head	by[RXE_ROUTE_LISTS];
};

static struct rxe_routes rxe_routes[RXE_ROUTE_LOCKS];

/**
 * rxe_path_port - the netdev of a peer that is another port of this host
 * @path: path
 *
 * A link-local address isn't looked up, since it doesn't identify a netdev.
 *
 * Context: RCU read side.
 * Return: the netdev of the path's routing domain (namespace, VRF) that has the peer's
 * address, if it has an RDMA device, without a reference; or NULL.
 */
struct net_device *rxe_path_port(const struct rxe_path *path)
{
	const struct in6_addr *addr = (const struct in6_addr *)&path->dgid;
	struct net_device *ndev = rxe_path_get_ndev(path);
	u8 roce = rxe_roce_of(path->proto);
	struct net_device *port;

	/* The namespace of a netdev that is down, and perhaps being removed, may be gone */
	if (!ndev || !(ndev->flags & IFF_UP) || path->mcast ||
	    ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		return NULL;
	port = rxe_addr_owner_at(ndev, addr);
	return port && rxe_net_find(dev_net(ndev), port, roce) ? port : NULL;
}

static void rxe_route_set_flow4(struct flowi4 *fl4, const struct rxe_path *path, int oif)
{
	flowi4_init_output(fl4, oif, 0,
			   path->traffic_class & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   *(__be32 *)&path->dgid.raw[12],
			   *(__be32 *)&path->sgid.raw[12],
			   htons(RXE_ROCE_UDP_PORT), htons(path->sport),
			   GLOBAL_ROOT_UID);
}

static void rxe_route_set_flow6(struct flowi6 *fl6, const struct rxe_path *path, int oif)
{
	*fl6 = (struct flowi6) {
		.flowi6_oif	= oif,
		.flowi6_proto	= IPPROTO_UDP,
		.fl6_sport	= htons(path->sport),
		.fl6_dport	= htons(RXE_ROCE_UDP_PORT),
	};
	memcpy(&fl6->saddr, &path->sgid, sizeof(fl6->saddr));
	memcpy(&fl6->daddr, &path->dgid, sizeof(fl6->daddr));
	fl6->flowlabel = ip6_make_flowinfo(path->traffic_class, htonl(path->flow_label));
}

static struct dst_entry *rxe_route_find4(const struct rxe_path *path, struct net *net,
					 int oif)
{
	struct flowi4 fl4 = {};
	struct rtable *rt;

	rxe_route_set_flow4(&fl4, path, oif);
	rt = ip_route_output_key(net, &fl4);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *rxe_route_find6(const struct rxe_path *path, struct net *net, int oif,
					 u32 *cookie)
{
	struct dst_entry *dst;
	struct flowi6 fl6;

	rxe_route_set_flow6(&fl6, path, oif);
	dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (!IS_ERR(dst))
		*cookie = rt6_get_cookie(container_of(dst, struct rt6_info, dst));
	return dst;
}

static struct dst_entry *rxe_route_find(const struct rxe_path *path, struct net *net, int oif,
					u32 *cookie)
{
	return rxe_gid_is_ipv4(&path->dgid) ? rxe_route_find4(path, net, oif) :
					      rxe_route_find6(path, net, oif, cookie);
}

/* May a route be looked up without a netdev? Not in a VRF: the lookup would leave the VRF */
static bool rxe_route_can_be_unbound(const struct rxe_path *path, const struct net_device *ndev)
{
	const struct in6_addr *addr = (const struct in6_addr *)&path->dgid;

	return !path->mcast && !netif_is_l3_slave(ndev) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

/*
 * Packets leave by the netdev of the source GID. Exception: a peer that is another port of
 * this host is only reached through loopback.
 *
 * A lookup for a netdev takes the first of several equal routes. A lookup without a netdev
 * selects the route by the flow. It is tried first, and its result is used if it leads to the
 * netdev.
 *
 * @cookie is set for IPv6.
 */
static struct dst_entry *rxe_route_lookup(const struct rxe_path *path,
					  struct net_device *ndev, u32 *cookie)
{
	struct dst_entry *dst;
	struct net *net;

	if (!ndev || !(ndev->flags & IFF_UP))
		return ERR_PTR(-ENETDOWN);
	net = dev_net(ndev);
	if (rxe_path_port(path))
		return rxe_route_find(path, net, l3mdev_master_ifindex_rcu(ndev), cookie);
	if (rxe_route_can_be_unbound(path, ndev)) {
		dst = rxe_route_find(path, net, 0, cookie);
		if (!IS_ERR(dst) && dst->dev == ndev)
			return dst;
		if (!IS_ERR(dst))
			dst_release(dst);
	}
	return rxe_route_find(path, net, ndev->ifindex, cookie);
}

static bool rxe_route_has_gateway4(const struct rxe_path *path, struct net *net, int oif)
{
	struct fib_result res = {};
	struct flowi4 fl4 = {};

	rxe_route_set_flow4(&fl4, path, oif);
	return !fib_lookup(net, &fl4, &res, 0) && res.nhc && res.nhc->nhc_gw_family &&
	       res.nhc->nhc_scope == RT_SCOPE_LINK;
}

static bool rxe_route_has_gateway6(const struct rxe_path *path, struct net *net, int oif)
{
	struct fib6_result res = {};
	struct flowi6 fl6;

	if (!ipv6_mod_enabled())
		return false;
	rxe_route_set_flow6(&fl6, path, oif);
	return !rxe_fib6_lookup(net, oif, &fl6, &res,
				RT6_LOOKUP_F_IFACE | RT6_LOOKUP_F_HAS_SADDR) &&
	       res.nh && res.nh->fib_nh_gw_family;
}

static bool rxe_route_has_gateway(const struct rxe_path *path, struct net *net, int oif)
{
	return rxe_gid_is_ipv4(&path->dgid) ? rxe_route_has_gateway4(path, net, oif) :
					      rxe_route_has_gateway6(path, net, oif);
}

/**
 * rxe_route_is_far - is the peer of a RoCE v1 path behind a router?
 * @path: unicast path
 *
 * The RDMA core then gives the router's MAC address to the path. A router drops RoCE v1.
 *
 * The tables are asked, and no route is made: RDMA_CM creates address handles with interrupts
 * disabled, and making a route may enable bottom halves.
 *
 * Context: any.
 * Return: true if it is; false also if there is no route.
 */
bool rxe_route_is_far(const struct rxe_path *path)
{
	const struct in6_addr *addr = (const struct in6_addr *)&path->dgid;
	const struct net_device *ndev;
	bool far = false;

	rcu_read_lock();
	ndev = rxe_path_get_ndev(path);
	if (ndev && (ndev->flags & IFF_UP) && !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL) &&
	    !rxe_path_port(path))
		far = rxe_route_has_gateway(path, dev_net(ndev), ndev->ifindex);
	rcu_read_unlock();
	return far;
}

static struct rxe_routes *rxe_routes_get(const struct rxe_path *path)
{
	return &rxe_routes[hash_ptr(path, ilog2(RXE_ROUTE_LOCKS))];
}

static struct hlist_head *rxe_routes_get_list(struct rxe_routes *routes,
					      const struct net_device *ndev)
{
	return &routes->by[hash_ptr(ndev, ilog2(RXE_ROUTE_LISTS))];
}

/**
 * rxe_route_keep - cache a route
 * @path: path, which other senders may use
 * @dst: the route; the path takes over the caller's reference
 * @cookie: of the lookup, for IPv6. Another sender may have looked up a later route
 * @ndev: the netdev that it was looked up for, in the same run with bottom halves off
 *
 * Context: bottom halves off.
 */
void rxe_route_keep(struct rxe_path *path, struct dst_entry *dst, u32 cookie,
		    const struct net_device *ndev)
{
	struct rxe_routes *routes = rxe_routes_get(path);
	struct dst_entry *old;
	unsigned long flags;

	spin_lock_irqsave(&routes->lock, flags);
	hlist_del_init(&path->by_node);
	path->by = ndev;
	hlist_add_head(&path->by_node, rxe_routes_get_list(routes, ndev));
	WRITE_ONCE(path->dst_cookie, cookie);
	old = rcu_replace_pointer(path->dst, dst, lockdep_is_held(&routes->lock));
	spin_unlock_irqrestore(&routes->lock, flags);
	dst_release(old);
}

static struct dst_entry *rxe_route_renew(struct rxe_path *path)
{
	struct net_device *ndev;
	struct dst_entry *dst;
	u32 cookie = 0;

	rcu_read_lock();
	ndev = rxe_path_get_ndev(path);
	dst = rxe_route_lookup(path, ndev, &cookie);
	if (!IS_ERR(dst))
		rxe_route_keep(path, dst, cookie, ndev);
	rcu_read_unlock();
	return dst;
}

/**
 * rxe_route - the route of a RoCE v2 path
 * @path: path
 *
 * Context: bottom halves off.
 * Return: a route without a reference, good until bottom halves are on again,
 * or an ERR_PTR: no route now, or the netdev is down.
 */
struct dst_entry *rxe_route(struct rxe_path *path)
{
	struct dst_entry *dst = rcu_dereference_bh(path->dst);

	if (dst && dst_check(dst, READ_ONCE(path->dst_cookie)))
		return dst;
	return rxe_route_renew(path);
}

/* Readers may use the route until the end of their RCU read side. Context: lock held */
static void rxe_route_clear(struct rxe_routes *routes, struct rxe_path *path)
{
	hlist_del_init(&path->by_node);
	dst_release(rcu_replace_pointer(path->dst, NULL,
					lockdep_is_held(&routes->lock)));
}

/**
 * rxe_route_drop - drop the cached route of a path
 * @path: path that is no longer sent on; may be all zero
 *
 * When it returns, rxe_routes_forget() doesn't use the path any more. A path that never had
 * a route isn't in a list, and needs no lock.
 *
 * Context: any.
 */
void rxe_route_drop(struct rxe_path *path)
{
	struct rxe_routes *routes = rxe_routes_get(path);
	unsigned long flags;

	if (!path->by)
		return;
	spin_lock_irqsave(&routes->lock, flags);
	rxe_route_clear(routes, path);
	spin_unlock_irqrestore(&routes->lock, flags);
}

/* Drop the routes by @ndev; routes by other netdevs may be in the same list */
static void rxe_routes_clear(struct rxe_routes *routes, const struct net_device *ndev)
{
	struct hlist_node *next;
	struct rxe_path *path;
	unsigned long flags;

	spin_lock_irqsave(&routes->lock, flags);
	hlist_for_each_entry_safe(path, next, rxe_routes_get_list(routes, ndev), by_node) {
		if (path->by == ndev)
			rxe_route_clear(routes, path);
	}
	spin_unlock_irqrestore(&routes->lock, flags);
}

/**
 * rxe_routes_forget - drop all cached routes by a netdev that leaves its namespace
 * @ndev: any netdev, with or without a device
 *
 * The netdev is down, and a grace period has passed since then: all senders that saw it up have
 * cached their route. No other sender gets a route by it until it is up in its new namespace.
 *
 * Called for every netdev of the host that leaves. Usually no path has a route by it.
 *
 * Context: process, RTNL held.
 */
void rxe_routes_forget(const struct net_device *ndev)
{
	int i;

	for (i = 0; i < RXE_ROUTE_LOCKS; i++) {
		rxe_routes_clear(&rxe_routes[i], ndev);
		cond_resched();
	}
}

/**
 * rxe_routes_init - at module load, before any path
 */
void rxe_routes_init(void)
{
	int i;

	for (i = 0; i < RXE_ROUTE_LOCKS; i++)
		spin_lock_init(&rxe_routes[i].lock);
}
