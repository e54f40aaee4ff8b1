// SPDX-License-Identifier: GPL-2.0
/*
 * Netdev events in all namespaces: port state, MTU, moving, unregistering, the slaves of bonds,
 * a new place on the network, multicast groups.
 *
 * When a netdev moves to another namespace, the old namespace sees NETDEV_UNREGISTER, and the
 * new one NETDEV_REGISTER. The device follows its netdev. The RDMA core follows the addresses
 * for the GIDs. A change of the MAC address doesn't change the node GUID, which names the
 * device for its lifetime.
 *
 * Context: process, RTNL held.
 */
#include <rxe/join.h>
#include "internal.h"

static const struct rxe_net_ops *rxe_net_ops;

static void rxe_handle_event(struct rxe_dev *rxe, unsigned long event)
{
	switch (event) {
	case NETDEV_REGISTER:	/* in another namespace */
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		rxe_net_ops->changed(rxe);
		break;
	case NETDEV_CHANGELOWERSTATE:	/* of a lower netdev */
	case NETDEV_BONDING_FAILOVER:
	case NETDEV_NOTIFY_PEERS:	/* after a live migration, too */
		rxe_net_ops->rerouted(rxe);
		break;
	case NETDEV_UNREGISTER:
		if (rxe->ndev->reg_state != NETREG_REGISTERED)
			ib_unregister_device_queued(&rxe->ibdev);
		break;
	}
}

/* Tell the device of a netdev, if it has one */
static void tell_device(struct net_device *ndev, unsigned long event)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);

	if (ibdev) {
		rxe_handle_event(to_rxe_dev(ibdev), event);
		ib_device_put(ibdev);
	}
}

static int tell_upper(struct net_device *upper, struct netdev_nested_priv *unused)
{
	tell_device(upper, NETDEV_CHANGELOWERSTATE);
	return 0;
}

/* Tell the netdevs above @lower: a bond or team has begun or stopped to send by it */
static void tell_uppers(struct net_device *lower)
{
	struct netdev_nested_priv unused = {};

	rcu_read_lock();
	netdev_walk_all_upper_dev_rcu(lower, tell_upper, &unused);
	rcu_read_unlock();
}

static int rxe_dev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);

	if (event == NETDEV_UNREGISTER)
		rxe_routes_forget(ndev);
	if (event == NETDEV_CHANGELOWERSTATE)
		tell_uppers(ndev);
	else
		tell_device(ndev, event);
	return NOTIFY_DONE;
}

/* Called before the RDMA core, which then asks for the owner of a VLAN's addresses (gid.c) */
static struct notifier_block rxe_dev_nb = {
	.notifier_call	= rxe_dev_event,
	.priority	= 1,
};

/* VLAN netdevs count, too: the real netdev's device has their addresses */
static int rxe_mcast_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:	/* the device may receive again: rxe_net_follow() */
	case NETDEV_CHANGEMTU:
		rxe_join_follow(ndev);
		break;
	case NETDEV_UNREGISTER:
		rxe_join_forget(ndev);
		break;
	}
	return NOTIFY_DONE;
}

/* Called after IP, since groups are joined by IP */
static struct notifier_block rxe_mcast_nb = {
	.notifier_call	= rxe_mcast_event,
};

/**
 * rxe_events_init - begin to follow netdevs
 * @ops: callbacks into the layers above net/
 *
 * Return: 0 or a negative error.
 */
int rxe_events_init(const struct rxe_net_ops *ops)
{
	int err;

	rxe_net_ops = ops;
	err = register_netdevice_notifier(&rxe_dev_nb);
	if (err)
		return err;
	err = register_netdevice_notifier(&rxe_mcast_nb);
	if (err)
		unregister_netdevice_notifier(&rxe_dev_nb);
	return err;
}

/**
 * rxe_events_exit - undo rxe_events_init()
 */
void rxe_events_exit(void)
{
	unregister_netdevice_notifier(&rxe_mcast_nb);
	unregister_netdevice_notifier(&rxe_dev_nb);
}
