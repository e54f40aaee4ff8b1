// SPDX-License-Identifier: GPL-2.0
/*
 * Joining multicast groups, so that the netdev and its switch let their packets in. All RoCE
 * versions join the MAC address of the group, RoCE v2 also joins by IGMP or MLD.
 *
 * An MGID doesn't say by which netdev its packets come. All netdevs of the device therefore join
 * it: its own, and VLANs on that without a device of their own. Later netdevs join when they go
 * up; VLANs also join when they lose their own device. A netdev may lose IP and get it back
 * (IPv6, if the MTU becomes too small). Then the group is joined again.
 *
 * The root user of a container can add thousands of VLANs, and each joins all groups. For speed,
 * only the device's netdev and the netdevs above it are visited, and the link of a netdev to a
 * group is found by ifindex. Each step may be followed by a reschedule. All netdevs of a group
 * are in the device's namespace. A netdev that leaves the namespace first leaves the group,
 * before its ifindex can change.
 *
 * Context: process; everything under RTNL alone, may sleep. A netdev's in_dev and in6_dev are
 * compared by pointer: the references keep the memory from being reused.
 */
#include <linux/etherdevice.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <rxe/join.h>
#include <rxe/memory.h>
#include "internal.h"

static LIST_HEAD(rxe_joins);	/* of all devices */

/**
 * struct rxe_join_link - a netdev that has joined a group
 * @ndev: the netdev, reference held
 * @ifindex: of the netdev when it joined: its place in rxe_join.links
 * @tracker: tracks the reference to @ndev
 * @mac: the netdev lets the group's MAC address in
 * @in_dev: IPv4 of the netdev that has joined, reference held; or NULL
 * @in6_dev: the same for IPv6
 */
struct rxe_join_link {
	struct net_device	*ndev;
	int			ifindex;
	netdevice_tracker	tracker;
	bool			mac;
	struct in_device	*in_dev;
	struct inet6_dev	*in6_dev;
};

static bool is_ipv4(const union ib_gid *mgid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)mgid);
}

static __be32 get_ipv4_addr(const union ib_gid *mgid)
{
	return *(const __be32 *)&mgid->raw[12];
}

static void get_mcast_mac(const union ib_gid *mgid, u8 *mac)
{
	if (is_ipv4(mgid))
		ip_eth_mc_map(get_ipv4_addr(mgid), mac);
	else
		ipv6_eth_mc_map((const struct in6_addr *)mgid, mac);
}

/* ip_mc_inc_group() doesn't say whether it had memory for a group that nobody had joined yet */
static bool join_ipv4(struct in_device *in_dev, __be32 group)
{
	const struct ip_mc_list *mc;

	ip_mc_inc_group(in_dev, group);
	for (mc = rtnl_dereference(in_dev->mc_list); mc; mc = rtnl_dereference(mc->next_rcu)) {
		if (mc->multiaddr == group)
			return true;
	}
	return false;
}

static int follow_ipv4(struct rxe_join_link *link, __be32 group)
{
	struct in_device *in_dev = __in_dev_get_rtnl(link->ndev);

	if (in_dev == link->in_dev)
		return 0;
	if (link->in_dev)
		in_dev_put(link->in_dev);	/* its groups are gone with it */
	link->in_dev = NULL;
	if (!in_dev)
		return 0;
	if (!join_ipv4(in_dev, group))
		return -ENOMEM;
	in_dev_hold(in_dev);
	link->in_dev = in_dev;
	return 0;
}

/* Other errors than -ENOMEM say that the netdev is losing IPv6 */
static int follow_ipv6(struct rxe_join_link *link, const struct in6_addr *group)
{
	struct inet6_dev *in6_dev = __in6_dev_get(link->ndev);
	int err;

	if (in6_dev == link->in6_dev)
		return 0;
	if (link->in6_dev)
		in6_dev_put(link->in6_dev);
	link->in6_dev = NULL;
	err = in6_dev ? ipv6_dev_mc_inc(link->ndev, group) : -ENODEV;
	if (err)
		return err == -ENOMEM ? err : 0;
	in6_dev_hold(in6_dev);
	link->in6_dev = in6_dev;
	return 0;
}

/* Join by IP, if the netdev has it and hasn't joined yet. Return: 0 or -ENOMEM */
static int follow_ip(struct rxe_join_link *link, const union ib_gid *mgid)
{
	if (is_ipv4(mgid))
		return follow_ipv4(link, get_ipv4_addr(mgid));
	if (ipv6_mod_enabled())
		return follow_ipv6(link, (const struct in6_addr *)mgid);
	return 0;
}

static void leave_ip(struct rxe_join_link *link, const union ib_gid *mgid)
{
	if (link->in_dev) {
		if (link->in_dev == __in_dev_get_rtnl(link->ndev))
			ip_mc_dec_group(link->in_dev, get_ipv4_addr(mgid));
		in_dev_put(link->in_dev);
	}
	if (link->in6_dev) {
		if (link->in6_dev == __in6_dev_get(link->ndev))
			ipv6_dev_mc_dec(link->ndev, (const struct in6_addr *)mgid);
		in6_dev_put(link->in6_dev);
	}
}

static int join_mac(struct rxe_join_link *link, const union ib_gid *mgid)
{
	u8 mac[ETH_ALEN];
	int err;

	if (link->ndev->addr_len != ETH_ALEN)
		return 0;	/* a tunnel has no MAC filter */
	get_mcast_mac(mgid, mac);
	err = dev_mc_add(link->ndev, mac);
	link->mac = !err;
	return err;
}

static void leave_mac(struct rxe_join_link *link, const union ib_gid *mgid)
{
	u8 mac[ETH_ALEN];

	if (!link->mac)
		return;
	get_mcast_mac(mgid, mac);
	dev_mc_del(link->ndev, mac);
}

static void rxe_unlink(struct rxe_join *join, struct rxe_join_link *link)
{
	leave_ip(link, &join->mgid);
	leave_mac(link, &join->mgid);
	xa_erase(&join->links, link->ifindex);
	netdev_put(link->ndev, &link->tracker);
	kfree(link);
}

static struct rxe_join_link *add_link(struct rxe_join *join, struct net_device *ndev)
{
	struct rxe_join_link *link = kzalloc(sizeof(*link), RXE_GFP_USER);
	int err;

	if (!link)
		return ERR_PTR(-ENOMEM);
	link->ndev = ndev;
	link->ifindex = ndev->ifindex;
	err = xa_insert(&join->links, link->ifindex, link, RXE_GFP_USER);
	if (err) {
		kfree(link);
		return ERR_PTR(err);
	}
	netdev_hold(ndev, &link->tracker, GFP_KERNEL);
	err = join_mac(link, &join->mgid);
	if (err) {
		rxe_unlink(join, link);
		return ERR_PTR(err);
	}
	return link;
}

/* @ndev may be in another namespace, with an ifindex that means another netdev here */
static struct rxe_join_link *find_link(struct rxe_join *join,
				       const struct net_device *ndev)
{
	struct rxe_join_link *link = xa_load(&join->links, ndev->ifindex);

	return link && link->ndev == ndev ? link : NULL;
}

static bool is_netdev_of(const struct rxe_dev *rxe, const struct net_device *ndev)
{
	bool is;

	rcu_read_lock();
	is = rxe_net_find(dev_net(ndev), ndev, RXE_ENABLE_NONE) == rxe;
	rcu_read_unlock();
	return is;
}

/* If @ndev is one of the device's netdevs, join on it, or follow its IP */
static int link_netdev(struct rxe_join *join, struct net_device *ndev)
{
	struct rxe_join_link *link;

	cond_resched();
	if (!is_netdev_of(join->rxe, ndev))
		return 0;
	link = find_link(join, ndev) ?: add_link(join, ndev);
	if (IS_ERR(link))
		return PTR_ERR(link);
	return join->rxe->roce & RXE_ENABLE_V2 ? follow_ip(link, &join->mgid) : 0;
}

static int link_upper(struct net_device *upper, struct netdev_nested_priv *priv)
{
	return link_netdev(priv->data, upper);
}

/* RTNL alone protects the list of upper netdevs, without RCU: link_upper() may sleep */
static int link_netdevs(struct rxe_join *join)
{
	struct netdev_nested_priv priv = { .data = join };
	struct rxe_dev *rxe = join->rxe;

	/* An unregistered netdev doesn't keep its namespace any more */
	if (!READ_ONCE(rxe->netns) || rxe->ndev->reg_state != NETREG_REGISTERED)
		return 0;
	return link_netdev(join, rxe->ndev) ?:
	       netdev_walk_all_upper_dev_rcu(rxe->ndev, link_upper, &priv);
}

static void unlink_netdevs(struct rxe_join *join)
{
	struct rxe_join_link *link;
	unsigned long ifindex;

	xa_for_each(&join->links, ifindex, link) {
		rxe_unlink(join, link);
		cond_resched();
	}
}

static void end_join(struct rxe_join *join)
{
	list_del(&join->list);
	unlink_netdevs(join);
}

/**
 * rxe_join - join a group on all netdevs of a device [A17.4.3]
 * @rxe: device
 * @join: filled in
 * @mgid: address of the group
 *
 * Context: process, without RTNL.
 * Return: 0, or a negative error, after which nothing has joined.
 */
int rxe_join(struct rxe_dev *rxe, struct rxe_join *join, const union ib_gid *mgid)
{
	int err;

	join->rxe = rxe;
	join->mgid = *mgid;
	xa_init_flags(&join->links, XA_FLAGS_ACCOUNT);
	rtnl_lock();
	list_add_tail(&join->list, &rxe_joins);
	err = link_netdevs(join);
	if (err)
		end_join(join);
	rtnl_unlock();
	return err;
}

/**
 * rxe_leave - undo rxe_join()
 * @join: from rxe_join()
 *
 * Context: process, without RTNL.
 */
void rxe_leave(struct rxe_join *join)
{
	rtnl_lock();
	end_join(join);
	rtnl_unlock();
}

/**
 * rxe_join_follow - join groups on a netdev that may have become a device's, or got IP
 * @ndev: any netdev; nothing happens where a group is joined already
 *
 * If memory is short, a group isn't joined on this netdev, and perhaps not on VLANs on it. The
 * next event tries again.
 *
 * Context: process, RTNL held, may sleep.
 */
void rxe_join_follow(struct net_device *ndev)
{
	struct rxe_join *join;

	list_for_each_entry(join, &rxe_joins, list) {
		if (join->rxe->ndev == ndev)	/* the device may receive again, also for VLANs */
			link_netdevs(join);
		else
			link_netdev(join, ndev);
	}
}

/**
 * rxe_join_forget - a netdev goes away, or to another namespace: leave all groups
 * @ndev: any netdev
 *
 * Context: process, RTNL held, may sleep.
 */
void rxe_join_forget(struct net_device *ndev)
{
	struct rxe_join_link *link;
	struct rxe_join *join;

	list_for_each_entry(join, &rxe_joins, list) {
		link = find_link(join, ndev);
		if (link)
			rxe_unlink(join, link);
		cond_resched();
	}
}

/**
 * rxe_join_moved - a device has followed its netdev to another namespace: leave all groups
 * @rxe: the device; its VLANs have stayed in the old namespace
 *
 * The groups are joined again when the netdev goes up in the new one.
 *
 * Context: process, RTNL held, may sleep.
 */
void rxe_join_moved(struct rxe_dev *rxe)
{
	struct rxe_join *join;

	list_for_each_entry(join, &rxe_joins, list) {
		if (join->rxe == rxe)
			unlink_netdevs(join);
	}
}
