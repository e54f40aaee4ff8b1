// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to netdevs, in all namespaces: port state, MTU, the end.
 *
 * A netdev that moves to another namespace is gone from the old one
 * (NETDEV_UNREGISTER), and its RDMA device with it. GIDs are the RDMA core's
 * business. The node GUID names the device for its lifetime, and so survives a
 * change of the MAC address.
 *
 * Context: process, RTNL held.
 */
#include "internal.h"

static const struct rxe_net_ops *rxe_net_ops;

static void rxe_event(struct rxe_dev *rxe, unsigned long event)
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

static int rxe_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
	if (ibdev) {
		rxe_event(to_rxe_dev(ibdev), event);
		ib_device_put(ibdev);
	}
	return NOTIFY_DONE;
}

static struct notifier_block rxe_netdev_nb = {
	.notifier_call = rxe_netdev_event,
};

/**
 * rxe_events_init - begin to follow netdevs
 * @ops: whom to tell
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
