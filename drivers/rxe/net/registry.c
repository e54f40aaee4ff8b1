// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups of devices and netdevs by netdev, namespace, address and GID; VLAN tags of netdevs.
 *
 * Context: RCU read side, from softirq, unless noted; net.c changes the lists.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <rdma/ib_cache.h>
#include <compat/net.h>
#include "internal.h"

unsigned int rxe_net_id;

/* @roce: one of these versions must be enabled; RXE_ENABLE_NONE: any or none */
static struct rxe_dev *rxe_net_match(struct rxe_netns *ns,
				     const struct net_device *ndev, u8 roce)
{
	struct rxe_dev *rxe;

	list_for_each_entry_rcu(rxe, &ns->devs, list) {
		if (rxe->ndev == ndev && (!roce || (rxe->roce & roce)))
			return rxe;
	}
	return NULL;
}

/**
 * rxe_net_find - the RDMA device of a netdev
 * @net: namespace
 * @ndev: its netdev, or a VLAN on that (QinQ: a VLAN on a VLAN), without a device in between
 * @roce: RoCE versions, of which the device has at least one enabled;
 *	RXE_ENABLE_NONE: any or none
 *
 * Context: RCU read side, until whose end the device stays valid.
 * Return: the device or NULL.
 */
struct rxe_dev *rxe_net_find(struct net *net, const struct net_device *ndev, u8 roce)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);

	while (is_vlan_dev(ndev) && !rxe_net_match(ns, ndev, RXE_ENABLE_NONE))
		ndev = rxe_vlan_get_below(ndev);
	return rxe_net_match(ns, ndev, roce);
}

/**
 * rxe_net_has_dev - does a netdev have an RDMA device of its own?
 * @ndev: the netdev
 *
 * Context: RCU read side.
 * Return: true if it has.
 */
bool rxe_net_has_dev(const struct net_device *ndev)
{
	return rxe_net_match(net_generic(dev_net(ndev), rxe_net_id), ndev,
			     RXE_ENABLE_NONE);
}

/**
 * rxe_net_is_alone - is a device the only one of its namespace?
 * @rxe: the device
 *
 * Context: RCU read side.
 * Return: true if it is; may be out of date at once.
 */
bool rxe_net_is_alone(const struct rxe_dev *rxe)
{
	const struct rxe_netns *ns = READ_ONCE(rxe->netns);

	return ns && READ_ONCE(ns->users) == 1;
}

/**
 * rxe_net_sock - the socket of a device's namespace that owns packets
 * @rxe: device
 * @proto: of the packets: enum rxe_proto
 *
 * Context: RCU read side; the socket is released only after its readers.
 * Return: the socket, or NULL if the device has left its namespace, or the protocol is off.
 */
struct sock *rxe_net_sock(const struct rxe_dev *rxe, u8 proto)
{
	const struct rxe_netns *ns = READ_ONCE(rxe->netns);
	const struct socket *sock = ns ? READ_ONCE(ns->socks[proto]) : NULL;

	return sock ? sock->sk : NULL;
}

/**
 * rxe_net_release_socks - release the sockets that own packets of some protocols
 * @ns: the namespace
 * @first: the first of these protocols, enum rxe_proto
 * @last: the last
 *
 * Senders find a socket under RCU and take a reference to its memory (rxe_tx_own()). This
 * waits for them before it drops the socket's own reference.
 *
 * Context: process.
 */
void rxe_net_release_socks(struct rxe_netns *ns, u8 first, u8 last)
{
	struct socket *socks[RXE_PROTOS];
	u8 i;

	memcpy(socks, ns->socks, sizeof(socks));
	for (i = first; i <= last; i++)
		WRITE_ONCE(ns->socks[i], NULL);
	synchronize_net();
	for (i = first; i <= last; i++)
		if (socks[i])
			rxe_udp_tunnel_sock_release(socks[i]);
}

/**
 * rxe_addr_owner - the netdev that has an address; in a VRF, it may not be found
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
	/* With ipv6.disable=1, a namespace has no table of addresses */
	return ipv6_mod_enabled() ? ipv6_dev_find(net, addr, NULL) : NULL;
}

static bool rxe_netdev_has(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!ipv6_addr_v4mapped(addr))
		return ipv6_mod_enabled() && ipv6_chk_addr(dev_net(ndev), addr, ndev, 1);
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
 * Several netdevs may have the address, for example in several routing domains (VRFs): @by
 * comes first, then a netdev in the domain of @by.
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
	if (ndev ? l3mdev_master_ifindex_rcu(ndev) == l3mdev : !l3mdev)
		return ndev;
	for_each_netdev_rcu(net, ndev) {
		if (l3mdev_master_ifindex_rcu(ndev) == l3mdev &&
		    rxe_netdev_has(ndev, addr))
			return ndev;
	}
	return NULL;
}

/* VLAN ID and protocol of one tag */
static u32 rxe_vlan_get_tag(const struct net_device *ndev)
{
	return vlan_dev_vlan_id(ndev) | (vlan_dev_vlan_proto(ndev) == htons(ETH_P_8021AD)) << 12;
}

/**
 * rxe_vlan_tags - the tags of packets on a VLAN netdev
 * @ndev: VLAN netdev, perhaps on another one (QinQ)
 *
 * Return: 13 bits for the netdev's own tag, then the tag below. If there are more than two tags,
 * the lower ones are hashed.
 */
u32 rxe_vlan_tags(const struct net_device *ndev)
{
	const struct net_device *below = rxe_vlan_get_below(ndev);
	u32 outer = 0;

	for (; is_vlan_dev(below); below = rxe_vlan_get_below(below))
		outer = outer * 31 + rxe_vlan_get_tag(below);
	return rxe_vlan_get_tag(ndev) | outer << 13;
}

/**
 * rxe_path_ndev_anew - the netdev of a GID that was deleted, if it was added again
 * @path: path
 * @held: the GID, of which the path holds the deleted entry
 *
 * The RDMA core deletes GIDs and adds them again when a bond changes its active slave, or when
 * the MAC address of the netdev changes. The deleted entry has no netdev any more. Connections
 * continue with the new entry, on the same netdev.
 *
 * Context: bottom halves off or RCU read side.
 * Return: the netdev without a reference; NULL if the address isn't there any more.
 */
struct net_device *rxe_path_ndev_anew(const struct rxe_path *path,
				      const struct ib_gid_attr *held)
{
	const struct ib_gid_attr *now;
	struct net_device *ndev;

	now = rdma_find_gid_by_port(held->device, &held->gid, held->gid_type, 1,
				    path->egress);
	if (IS_ERR(now))
		return NULL;
	ndev = rcu_dereference_check(now->ndev, rcu_read_lock_bh_held());
	rdma_put_gid_attr(now);
	/* the memory of the old netdev may have been reused for another one */
	return ndev && rxe_netdev_get_vlan(ndev) == path->vlan ? ndev : NULL;
}
