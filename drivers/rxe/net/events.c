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

#define RXE_LEAST_MTU	256

static void rxe_event_mtu(struct rxe_dev *rxe)
{
	int mtu = rxe_dev_mtu(rxe->ndev);

	if (mtu < RXE_LEAST_MTU) {
		dev_warn(&rxe->ibdev.dev,
			 "MTU %u of %s is too small for IB MTU %u: larger packets will be dropped\n",
			 rxe->ndev->mtu, netdev_name(rxe->ndev), RXE_LEAST_MTU);
		mtu = RXE_LEAST_MTU;
	}
	WRITE_ONCE(rxe->active_mtu, mtu);
	rxe_dev_port_event(rxe);
}

static void rxe_event(struct rxe_dev *rxe, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		rxe_dev_port_event(rxe);
		break;
	case NETDEV_CHANGEMTU:
		rxe_event_mtu(rxe);
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
 *
 * Return: 0 or a negative error.
 */
int rxe_events_init(void)
{
	return register_netdevice_notifier(&rxe_netdev_nb);
}

/**
 * rxe_events_exit - undo rxe_events_init()
 */
void rxe_events_exit(void)
{
	unregister_netdevice_notifier(&rxe_netdev_nb);
}
