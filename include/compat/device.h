/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device allocation and naming.
 */
#ifndef RXE_COMPAT_DEVICE_H
#define RXE_COMPAT_DEVICE_H

#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rxe/dev.h>
#include <compat/have.h>

/**
 * rxe_alloc_dev - allocate a device that lives in @net
 * @net: network namespace of the netdev
 *
 * With `rdma system set netns exclusive` the RDMA core shows the device in
 * @net alone, otherwise in every namespace. Before 6.16, the core puts each new
 * device into the initial namespace, and only user space can move it. So the namespace
 * is set here, before anything has used it.
 *
 * Return: the device, all zero but for the core's part, or NULL.
 */
static inline struct rxe_dev *rxe_alloc_dev(struct net *net)
{
#ifdef HAVE_IB_ALLOC_DEVICE_WITH_NET
	return ib_alloc_device_with_net(rxe_dev, ibdev, net);
#else
	struct rxe_dev *rxe = ib_alloc_device(rxe_dev, ibdev);

	if (rxe && !rdma_dev_access_netns(&rxe->ibdev, net))
		write_pnet(&rxe->ibdev.coredev.rdma_net, net);
	return rxe;
#endif
}

/* Keep udev from renaming the device. */
static inline void rxe_mark_name_assigned_by_user(struct ib_device *ibdev)
{
#ifdef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
	ib_mark_name_assigned_by_user(ibdev);
#endif
}

/*
 * Take a netdev's GIDs from a device, which would refuse them now. On kernels without a
 * function for that, pretend that the netdev's MAC address has changed: the core takes the
 * GIDs from all devices, and offers them again. Not for an unregistered netdev, whose
 * namespace may be gone; the core has taken its GIDs already. Context: RTNL held.
 */
static inline void rxe_del_netdev_gids(struct ib_device *ibdev,
				       struct net_device *ndev)
{
#ifdef HAVE_ROCE_DEL_ALL_NETDEV_GIDS
	roce_del_all_netdev_gids(ibdev, 1, ndev);
#else
	if (ndev->reg_state == NETREG_REGISTERED)
		call_netdevice_notifiers(NETDEV_CHANGEADDR, ndev);
#endif
}

#endif /* RXE_COMPAT_DEVICE_H */
