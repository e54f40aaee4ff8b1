// SPDX-License-Identifier: GPL-2.0
/*
 * Devices by network namespace, and what a namespace needs while it has any:
 * UDP port 4791, the receive hooks, the Ethertype of RoCE v1.
 *
 * Adding and removing sleeps and is serialised by rxe_net_lock. Lookups are in
 * RCU, from softirq. rxe_net_lock is taken without RTNL and nests nothing of
 * ours.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "internal.h"

static unsigned int rxe_net_id;
static DEFINE_MUTEX(rxe_net_lock);
static u32 rxe_net_users;	/* devices in all namespaces */

static struct rxe_dev *rxe_net_match(struct rxe_netns *ns,
				     const struct net_device *ndev)
{
	struct rxe_dev *rxe;

	list_for_each_entry_rcu(rxe, &ns->devs, list) {
		if (rxe->ndev == ndev)
			return rxe;
	}
	return NULL;
}

/**
 * rxe_net_find - the RDMA device of a netdev
 * @net: namespace
 * @ndev: the netdev itself, or a VLAN upper of it that has none
 *
 * Context: RCU read side; the device is good until its end.
 * Return: the device or NULL.
 */
struct rxe_dev *rxe_net_find(struct net *net, const struct net_device *ndev)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	struct rxe_dev *rxe = rxe_net_match(ns, ndev);

	if (!rxe && is_vlan_dev(ndev))
		rxe = rxe_net_match(ns, vlan_dev_real_dev(ndev));
	return rxe;
}

/**
 * rxe_net_has_dev - has a netdev an RDMA device of its own?
 * @ndev: the netdev
 *
 * Context: RCU read side.
 * Return: true if it has.
 */
bool rxe_net_has_dev(const struct net_device *ndev)
{
	return rxe_net_match(net_generic(dev_net(ndev), rxe_net_id), ndev);
}

/**
 * rxe_net_alone - is a device the only one of its namespace?
 * @net: its namespace
 *
 * Context: any.
 * Return: true if it was, a moment ago.
 */
bool rxe_net_alone(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);

	return READ_ONCE(ns->users) == 1;
}

/**
 * rxe_net_sock - the UDP socket of a device's namespace
 * @rxe: device
 * @ipv6: that for IPv6
 *
 * Context: RCU read side, which releasing the socket waits for.
 * Return: the socket, or NULL if the device has left its namespace, or IPv6 is off.
 */
struct sock *rxe_net_sock(const struct rxe_dev *rxe, bool ipv6)
{
	const struct rxe_netns *ns = READ_ONCE(rxe->netns);
	const struct socket *sock;

	if (!ns)
		return NULL;
	sock = ipv6 ? ns->sock6 : ns->sock4;
	return sock ? sock->sk : NULL;
}

/**
 * rxe_addr_owner - the netdev that has an address
 * @net: namespace
 * @addr: IPv6 address, or IPv4 in its mapped form
 *
 * Context: RCU read side.
 * Return: the netdev without a reference, or NULL.
 */
struct net_device *rxe_addr_owner(struct net *net, const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return __ip_dev_find(net, addr->s6_addr32[3], false);
	return ipv6_dev_find(net, addr, NULL);
}

static bool rxe_netdev_has(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!ipv6_addr_v4mapped(addr))
		return ipv6_chk_addr(dev_net(ndev), addr, ndev, 1);
	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_local == addr->s6_addr32[3])
			return true;
	}
	return false;
}

/**
 * rxe_addr_owner_at - the netdev that has an address, seen from another one
 * @by: netdev where a packet for that address came in
 * @addr: IPv6 address, or IPv4 in its mapped form
 *
 * Several may have it, in particular in several routing domains (VRFs): @by itself
 * comes first, and it's in the domain of @by.
 *
 * Context: RCU read side.
 * Return: the netdev without a reference, or NULL.
 */
struct net_device *rxe_addr_owner_at(struct net_device *by,
				     const struct in6_addr *addr)
{
	struct net *net = dev_net(by);
	struct net_device *ndev;
	int l3mdev;

	if (rxe_netdev_has(by, addr))
		return by;
	l3mdev = l3mdev_master_ifindex_rcu(by);
	ndev = rxe_addr_owner(net, addr);
	if (!ndev || l3mdev_master_ifindex_rcu(ndev) == l3mdev)
		return ndev;
	for_each_netdev_rcu(net, ndev) {
		if (l3mdev_master_ifindex_rcu(ndev) == l3mdev &&
		    rxe_netdev_has(ndev, addr))
			return ndev;
	}
	return NULL;
}

static int rxe_netns_get(struct net *net, struct rxe_netns *ns)
{
	int err;

	if (!ns->users) {
		err = rxe_v2_open(net, ns);
		if (err)
			return err;
		err = rxe_guard_open(net);
		if (err) {
			rxe_v2_close(net, ns);
			return err;
		}
	}
	WRITE_ONCE(ns->users, ns->users + 1);
	if (!rxe_net_users++) {
		rxe_v1_open();
		rxe_arp_open();
	}
	return 0;
}

static void rxe_netns_put(struct net *net, struct rxe_netns *ns)
{
	if (!--rxe_net_users) {
		rxe_arp_close();
		rxe_v1_close();
	}
	WRITE_ONCE(ns->users, ns->users - 1);
	if (!ns->users) {
		rxe_guard_close(net);
		rxe_v2_close(net, ns);
	}
}

/**
 * rxe_net_add - start receiving for a device
 * @rxe: device, its netdev set
 *
 * Context: process, without RTNL.
 * Return: 0, or -EADDRINUSE if someone else has UDP port 4791 in the netdev's
 * namespace, or another error of opening sockets and hooks. After an error
 * nothing is left behind.
 */
int rxe_net_add(struct rxe_dev *rxe)
{
	struct net *net = dev_net(rxe->ndev);
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	int err = -ENODEV;

	mutex_lock(&rxe_net_lock);
	if (check_net(net))
		err = rxe_netns_get(net, ns);
	if (!err) {
		ns->net = net;
		WRITE_ONCE(rxe->netns, ns);
		list_add_tail_rcu(&rxe->list, &ns->devs);
	}
	mutex_unlock(&rxe_net_lock);
	return err;
}

/**
 * rxe_net_moved - has the netdev left the namespace that it was added in?
 * @rxe: device
 *
 * Context: process, RTNL held.
 * Return: true if it has, or if the namespace is gone.
 */
bool rxe_net_moved(struct rxe_dev *rxe)
{
	struct rxe_netns *ns = READ_ONCE(rxe->netns);

	return !ns || !net_eq(ns->net, dev_net(rxe->ndev));
}

/* Context: rxe_net_lock held; the caller waits for readers. */
static void rxe_net_unlink(struct rxe_dev *rxe)
{
	struct rxe_netns *ns = rxe->netns;

	list_del_rcu(&rxe->list);
	WRITE_ONCE(rxe->netns, NULL);
	rxe_netns_put(ns->net, ns);
}

/**
 * rxe_net_del - stop receiving for a device
 * @rxe: device; may not have been added, or have lost its namespace meanwhile
 *
 * When it returns, no receive path uses @rxe any more.
 *
 * Context: process, without RTNL.
 */
void rxe_net_del(struct rxe_dev *rxe)
{
	mutex_lock(&rxe_net_lock);
	if (rxe->netns)
		rxe_net_unlink(rxe);
	mutex_unlock(&rxe_net_lock);
	synchronize_net();
}

static int __net_init rxe_netns_init(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);

	INIT_LIST_HEAD(&ns->devs);
	return 0;
}

/*
 * Devices whose netdev left for another namespace may still be on their way
 * out when this one dies: they must not find it later.
 */
static void __net_exit rxe_netns_exit(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	struct rxe_dev *rxe, *next;

	mutex_lock(&rxe_net_lock);
	if (!list_empty(&ns->devs)) {
		list_for_each_entry_safe(rxe, next, &ns->devs, list)
			rxe_net_unlink(rxe);
		synchronize_net();
	}
	mutex_unlock(&rxe_net_lock);
}

static struct pernet_operations rxe_netns_ops = {
	.init	= rxe_netns_init,
	.exit	= rxe_netns_exit,
	.id	= &rxe_net_id,
	.size	= sizeof(struct rxe_netns),
};

/**
 * rxe_net_init - at module load
 * @ops: what net/ calls upwards
 *
 * Return: 0 or a negative error.
 */
int rxe_net_init(const struct rxe_net_ops *ops)
{
	int err;

	rxe_rx_set_ops(ops);
	rxe_tx_set_ops(ops);
	err = register_pernet_subsys(&rxe_netns_ops);
	if (err)
		return err;
	err = rxe_events_init(ops);
	if (err)
		unregister_pernet_subsys(&rxe_netns_ops);
	return err;
}

/**
 * rxe_net_exit - at module unload, when no device is left
 */
void rxe_net_exit(void)
{
	rxe_events_exit();
	unregister_pernet_subsys(&rxe_netns_ops);
	rxe_tx_wait();
	rxe_blocks_free();
}
