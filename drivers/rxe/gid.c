// SPDX-License-Identifier: GPL-2.0
/*
 * GIDs of a device. The RDMA core finds them and keeps the table; this file decides
 * which device has the addresses of a VLAN.
 *
 * A device has the addresses of the netdevs whose packets it receives (rxe_net_find()): its
 * netdev, a VRF above, and VLANs in the same namespace, also VLANs on VLANs (QinQ). Exception:
 * if a VLAN netdev has a device of its own, only that device has its addresses, and those of
 * VLANs on it: RDMA_CM takes the first device that has an address. The core also offers
 * the addresses of other netdevs above, like a bridge or a macvlan. They are refused: packets
 * for them come in by the upper netdev.
 *
 * Context: process, may sleep.
 */
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <compat/device.h>
#include <compat/net.h>
#include <rxe/join.h>
#include <rxe/net.h>
#include "device.h"

/*
 * The port's netdev is the VLAN netdev. Exception: while the RDMA core looks for addresses, it
 * is the real netdev, by which alone the core finds the addresses of a VLAN. The core looks
 * while the device is being registered, and later from work items.
 */
static struct net_device *rxe_vlan_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct net_device *ndev = to_rxe_dev(ibdev)->ndev;

	if ((current->flags & PF_WQ_WORKER) || !refcount_read(&ibdev->refcount))
		ndev = vlan_dev_real_dev(ndev);
	dev_hold(ndev);
	return ndev;
}

static const struct ib_device_ops rxe_vlan_ops = {
	.get_netdev	= rxe_vlan_get_netdev,
};

/* A VLAN of the device's netdev, or a VLAN on that (QinQ) */
static bool is_vlan_of(const struct rxe_dev *rxe, const struct net_device *ndev)
{
	while (is_vlan_dev(ndev)) {
		ndev = rxe_vlan_get_below(ndev);
		if (ndev == rxe->ndev)
			return true;
	}
	return false;
}

/* Does @vlan, or a VLAN between it and the device's netdev, have a device of its own? */
static bool has_nearer_dev(const struct rxe_dev *rxe, const struct net_device *vlan)
{
	for (; vlan != rxe->ndev; vlan = rxe_vlan_get_below(vlan)) {
		if (net_eq(dev_net(vlan), dev_net(rxe->ndev)) && rxe_net_has_dev(vlan))
			return true;
	}
	return false;
}

/* A VLAN of the device's netdev, of which no other device is nearer. Context: RCU read side */
static bool is_our_vlan(const struct rxe_dev *rxe, const struct net_device *ndev)
{
	return is_vlan_of(rxe, ndev) && net_eq(dev_net(ndev), dev_net(rxe->ndev)) &&
	       !has_nearer_dev(rxe, ndev);
}

/*
 * A VRF's own addresses are reached by its slaves: without a VLAN tag, since the VRF has none.
 * The namespace of a netdev that is being removed may be gone. The namespace of a netdev that
 * is registered in this RCU read side stays until the end.
 */
static bool owns_gids_of(const struct rxe_dev *rxe, struct net_device *ndev)
{
	if (ndev == rxe->ndev)
		return true;
	if (READ_ONCE(ndev->reg_state) != NETREG_REGISTERED)
		return false;
	if (netif_is_l3_master(ndev))
		return !is_vlan_dev(rxe->ndev) &&
		       netdev_master_upper_dev_get_rcu(rxe->ndev) == ndev;
	return is_our_vlan(rxe, ndev);
}

/**
 * rxe_add_gid - ib_device_ops.add_gid
 * @attr: a GID that the core has found
 * @context: not used
 *
 * Return: 0, or -EPERM if the GID belongs to another device, which the core logs.
 */
int rxe_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct net_device *ndev;
	bool own;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	own = ndev && owns_gids_of(to_rxe_dev(attr->device), ndev);
	rcu_read_unlock();
	return own ? 0 : -EPERM;
}

/**
 * rxe_del_gid - ib_device_ops.del_gid, which goes with add_gid
 * @attr: the GID
 * @context: not used
 *
 * Return: 0.
 */
int rxe_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

/**
 * rxe_gid_init - set up the GIDs of a device, before it is registered
 * @rxe: the device, with its netdev
 */
void rxe_gid_init(struct rxe_dev *rxe)
{
	if (is_vlan_dev(rxe->ndev))
		ib_set_device_ops(&rxe->ibdev, &rxe_vlan_ops);
}

/*
 * The device from which a VLAN's device took its addresses, with a reference, or NULL. Devices in
 * other namespaces have none of these addresses.
 */
static struct ib_device *get_device_below(const struct rxe_dev *rxe)
{
	const struct net_device *ndev = rxe->ndev;
	struct ib_device *below = NULL;

	while (!below && is_vlan_dev(ndev)) {
		ndev = rxe_vlan_get_below(ndev);
		if (net_eq(dev_net(ndev), dev_net(rxe->ndev)))
			below = ib_device_get_by_netdev((struct net_device *)ndev, RDMA_DRIVER_RXE);
	}
	return below;
}

/* A device that takes addresses, and the device that gives them */
struct claim {
	struct rxe_dev		*to;
	struct ib_device	*from;
};

static int claim_upper(struct net_device *upper, struct netdev_nested_priv *priv)
{
	struct claim *claim = priv->data;
	bool ours;

	rcu_read_lock();
	ours = is_our_vlan(claim->to, upper);
	rcu_read_unlock();
	if (ours)
		rxe_del_netdev_gids(claim->from, upper);
	return 0;
}

/* RTNL alone protects the list of upper netdevs, without RCU: claim_upper() may sleep */
static void claim_gids(struct rxe_dev *rxe)
{
	struct claim claim = { .to = rxe, .from = get_device_below(rxe) };
	struct netdev_nested_priv priv = { .data = &claim };

	ASSERT_RTNL();
	if (!claim.from)
		return;
	rxe_del_netdev_gids(claim.from, rxe->ndev);
	netdev_walk_all_upper_dev_rcu(rxe->ndev, claim_upper, &priv);
	ib_device_put(claim.from);
}

/**
 * rxe_gid_claim - take the addresses of a VLAN, and of VLANs on it, from the device below
 * @rxe: the VLAN netdev's device, which lookups for received packets find
 *
 * Connections of the device below with these addresses end.
 *
 * Context: process, without RTNL.
 */
void rxe_gid_claim(struct rxe_dev *rxe)
{
	rtnl_lock();
	claim_gids(rxe);
	rtnl_unlock();
}

static int rejoin_groups(struct net_device *vlan, struct netdev_nested_priv *unused)
{
	if (vlan->reg_state == NETREG_REGISTERED && netif_running(vlan))
		rxe_join_follow(vlan);
	return 0;
}

/**
 * rxe_gid_release - give a VLAN's addresses back: undo rxe_gid_claim()
 * @rxe: the VLAN netdev's device, which lookups for received packets no longer find
 *
 * The device below has the packets again, and joins its groups there.
 *
 * Context: process, without RTNL.
 */
void rxe_gid_release(struct rxe_dev *rxe)
{
	struct ib_device *below = get_device_below(rxe);
	struct netdev_nested_priv unused = {};

	if (!below)
		return;
	rdma_roce_rescan_device(below);
	rtnl_lock();
	rejoin_groups(rxe->ndev, &unused);
	netdev_walk_all_upper_dev_rcu(rxe->ndev, rejoin_groups, &unused);
	rtnl_unlock();
	ib_device_put(below);
}

static int del_stray_gids(struct net_device *upper, struct netdev_nested_priv *priv)
{
	struct rxe_dev *rxe = priv->data;
	bool own;

	if (!is_vlan_of(rxe, upper) || net_eq(dev_net(upper), dev_net(rxe->ndev)))
		return 0;
	rcu_read_lock();
	own = rxe_net_has_dev(upper);
	rcu_read_unlock();
	if (!own)
		rxe_del_netdev_gids(&rxe->ibdev, upper);
	return 0;
}

/**
 * rxe_gid_moved - give up VLANs, which don't move to another namespace with their netdev
 * @rxe: the device, which has followed its netdev
 *
 * If it is a VLAN's, it takes the addresses that are its own in the new namespace.
 *
 * Context: process, RTNL held, may sleep.
 */
void rxe_gid_moved(struct rxe_dev *rxe)
{
	struct netdev_nested_priv priv = { .data = rxe };

	/* RTNL alone protects the list of upper netdevs, without RCU: del_stray_gids() may sleep */
	netdev_walk_all_upper_dev_rcu(rxe->ndev, del_stray_gids, &priv);
	claim_gids(rxe);
}
