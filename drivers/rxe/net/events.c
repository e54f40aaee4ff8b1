// SPDX-License-Identifier: GPL-2.0
/*
 * Netdev events in all namespaces: port state, MTU, unregistering, multicast groups.
 *
 * When a netdev moves to another namespace, the old one sees NETDEV_UNREGISTER, and
 * the RDMA device is removed. The RDMA core follows the addresses for the GIDs. A
 * change of the MAC address doesn't change the node GUID, which names the device
 * for its lifetime.
 *
 * Context: process, RTNL held.
 */
#include "internal.h"

static const struct rxe_net_ops *rxe_net_ops;

static void rxe_handle_event(struct rxe_dev *rxe, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		rxe_net_ops->changed(rxe);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&rxe->ibdev);
		break;
	}
}

/* Also for VLANs, whose addresses the device of the real netdev has */
static void rxe_mcast_event(struct net_device *ndev, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGEMTU:
		rxe_join_follow(ndev);
		break;
	case NETDEV_UNREGISTER:
		rxe_join_forget(ndev);
		break;
	}
}

static int rxe_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct ib_device *ibdev;

	rxe_mcast_event(ndev, event);
	ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
	if (ibdev) {
		rxe_handle_event(to_rxe_dev(ibdev), event);
		ib_device_put(ibdev);
	}
	return NOTIFY_DONE;
}

static struct notifier_block rxe_netdev_nb = {
	.notifier_call = rxe_netdev_event,
};

/**
 * rxe_events_init - begin to follow netdevs
 * @ops: what to call
 *
 * Return: 0 or a negative error.
 */
int rxe_events_init(const struct rxe_net_ops *ops)
{
	rxe_net_ops = ops;
	return register_netdevice_notifier(&rxe_netdev_nb);
}

/**
 * rxe_events_exit - undo rxe_events_init()
 */
void rxe_events_exit(void)
{
	unregister_netdevice_notifier(&rxe_netdev_nb);
}
