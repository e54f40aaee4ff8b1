// SPDX-License-Identifier: GPL-2.0
/*
 * Routes of RoCE v2 paths: looked up once and kept in the path. They are checked before
 * each use, since the stack invalidates them by a generation number.
 *
 * Context: bottom halves off. rxe_path.dst is read under RCU, by several senders at a
 * time.
 */
#include <net/dst.h>
#include <net/inet_dscp.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "internal.h"

/**
 * rxe_path_port - the netdev of a peer that is another port of this host
 * @path: path
 *
 * A link-local address isn't looked up, since it doesn't identify a netdev.
 *
 * Context: RCU read side.
 * Return: the netdev of the namespace that has the peer's address, if it has an
 * RDMA device, without a reference; or NULL.
 */
struct net_device *rxe_path_port(const struct rxe_path *path)
{
	const struct in6_addr *addr = (const struct in6_addr *)&path->dgid;
	struct net_device *ndev = rxe_path_ndev(path);
	u8 roce = path->proto == RXE_ROCE_V1 ? RXE_ENABLE_V1 : RXE_ENABLE_V2;
	struct net_device *port;

	if (!ndev || ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		return NULL;
	port = rxe_addr_owner(dev_net(ndev), addr);
	return port && rxe_net_find(dev_net(ndev), port, roce) ? port : NULL;
}

static struct dst_entry *rxe_route4(const struct rxe_path *path, struct net *net,
				    int oif)
{
	struct flowi4 fl4 = {};
	struct rtable *rt;

	flowi4_init_output(&fl4, oif, 0,
			   path->traffic_class & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   *(__be32 *)&path->dgid.raw[12],
			   *(__be32 *)&path->sgid.raw[12],
			   htons(RXE_ROCE_UDP_PORT), htons(path->sport),
			   GLOBAL_ROOT_UID);
	rt = ip_route_output_key(net, &fl4);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *rxe_route6(struct rxe_path *path, struct net *net, int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif	= oif,
		.flowi6_proto	= IPPROTO_UDP,
		.fl6_sport	= htons(path->sport),
		.fl6_dport	= htons(RXE_ROCE_UDP_PORT),
	};
	struct dst_entry *dst;

	memcpy(&fl6.saddr, &path->sgid, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, &path->dgid, sizeof(fl6.daddr));
	fl6.flowlabel = ip6_make_flowinfo(path->traffic_class,
					  htonl(path->flow_label));
	dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (!IS_ERR(dst))
		WRITE_ONCE(path->dst_cookie,
			   rt6_get_cookie(container_of(dst, struct rt6_info,
						       dst)));
	return dst;
}

static struct dst_entry *rxe_route_by(struct rxe_path *path, struct net *net, int oif)
{
	return path->proto == RXE_ROCE_V2_IPV4 ? rxe_route4(path, net, oif) :
						 rxe_route6(path, net, oif);
}

/* May a route be looked up without a netdev? Within a VRF, that looks outside of it. */
static bool rxe_route_unbound(const struct rxe_path *path, const struct net_device *ndev)
{
	const struct in6_addr *addr = (const struct in6_addr *)&path->dgid;

	return !path->mcast && !netif_is_l3_slave(ndev) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

/*
 * Packets leave by the netdev of the source GID. A peer that is another port of this
 * host is the exception: its address is only reached through loopback.
 *
 * A lookup for a netdev takes the first of several equal routes. So the route that any
 * socket would get comes first: if it leads to the netdev, it was chosen by the flow.
 */
static struct dst_entry *rxe_route_lookup(struct rxe_path *path)
{
	struct net_device *ndev = rxe_path_ndev(path);
	struct dst_entry *dst;
	struct net *net;

	if (!ndev || !(ndev->flags & IFF_UP))
		return ERR_PTR(-ENETDOWN);
	net = dev_net(ndev);
	if (rxe_path_port(path))
		return rxe_route_by(path, net, 0);
	if (rxe_route_unbound(path, ndev)) {
		dst = rxe_route_by(path, net, 0);
		if (!IS_ERR(dst) && dst->dev == ndev)
			return dst;
		if (!IS_ERR(dst))
			dst_release(dst);
	}
	return rxe_route_by(path, net, ndev->ifindex);
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
	struct dst_entry *dst;

	dst = rcu_dereference_bh(path->dst);
	if (dst && !dst_check(dst, READ_ONCE(path->dst_cookie)))
		dst = NULL;
	if (!dst) {
		rcu_read_lock();
		dst = rxe_route_lookup(path);
		rcu_read_unlock();
		if (!IS_ERR(dst))
			/* the path has the lookup's reference now */
			dst_release(unrcu_pointer(xchg(&path->dst,
						       RCU_INITIALIZER(dst))));
	}
	return dst;
}

/**
 * rxe_route_forget - give the cached route back
 * @path: path that is no longer sent on
 */
void rxe_route_forget(struct rxe_path *path)
{
	dst_release(unrcu_pointer(xchg(&path->dst, NULL)));
}
