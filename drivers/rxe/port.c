// SPDX-License-Identifier: GPL-2.0
/*
 * The port of a device: reports the state of the netdev, and follows the netdev.
 *
 * Context: process; the netdev may change at any time, unless RTNL is held.
 */
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_mad.h>
#include <rxe/join.h>
#include <rxe/net.h>
#include <rxe/qp.h>
#include "device.h"

/**
 * rxe_ndev_is_ethernet - can a netdev carry RoCE v1, which needs an Ethertype?
 * @ndev: the netdev
 *
 * Return: true for Ethernet, and for loopback, which carries any; false for IP tunnels.
 */
bool rxe_ndev_is_ethernet(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER || (ndev->flags & IFF_LOOPBACK);
}

/**
 * rxe_ndev_is_large - does the smallest IB MTU fit?
 * @ndev: the netdev
 *
 * Return: true if so.
 */
bool rxe_ndev_is_large(const struct net_device *ndev)
{
	return READ_ONCE(ndev->mtu) >= RXE_LEAST_MTU + RXE_MAX_OVERHEAD;
}

/* The largest IB MTU that a netdev can carry; the smallest one if none fits */
static u32 ndev_get_ib_mtu(const struct net_device *ndev)
{
	u32 room = READ_ONCE(ndev->mtu), mtu = 4096;

	while (mtu > RXE_LEAST_MTU && room < mtu + RXE_MAX_OVERHEAD)
		mtu /= 2;
	return mtu;
}

static bool ndev_is_active(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

static bool port_is_active(const struct rxe_dev *rxe)
{
	return rxe_net_receives(rxe) && ndev_is_active(rxe->ndev);
}

/**
 * rxe_port_init - set up the port of a device that isn't registered yet
 * @rxe: device; has its netdev
 */
void rxe_port_init(struct rxe_dev *rxe)
{
	rxe->active_mtu = ndev_get_ib_mtu(rxe->ndev);
	rxe->port_active = ndev_is_active(rxe->ndev);
}

static u8 ndev_get_phys_state(const struct net_device *ndev)
{
	if (ndev_is_active(ndev))
		return IB_PORT_PHYS_STATE_LINK_UP;
	return netif_running(ndev) ? IB_PORT_PHYS_STATE_POLLING :
				     IB_PORT_PHYS_STATE_DISABLED;
}

/* The RDMA core would log each query of an unknown speed, which any user can make */
static bool speed_is_known(struct net_device *ndev)
{
	struct ethtool_link_ksettings link;
	bool known;

	rtnl_lock();
	known = ndev->reg_state == NETREG_REGISTERED &&
		!__ethtool_get_link_ksettings(ndev, &link) &&
		link.base.speed != (u32)SPEED_UNKNOWN;
	rtnl_unlock();
	return known;
}

static void query_speed(struct rxe_dev *rxe, u32 port, struct ib_port_attr *attr)
{
	if (speed_is_known(rxe->ndev) &&
	    !ib_get_eth_speed(&rxe->ibdev, port, &attr->active_speed, &attr->active_width))
		return;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
}

/**
 * rxe_query_port - ib_device_ops.query_port
 * @ibdev: device
 * @port: 1
 * @attr: out: its attributes
 *
 * Return: 0.
 */
int rxe_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct rxe_dev *rxe = to_rxe_dev(ibdev);

	attr->state = port_is_active(rxe) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = ndev_get_phys_state(rxe->ndev);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(rxe->active_mtu));
	attr->gid_tbl_len = rxe->roce ? RXE_GID_TBL_LEN : 0;
	attr->pkey_tbl_len = RXE_PKEY_TBL_LEN;
	attr->ip_gids = rxe->roce != 0;	/* ip_gids is a 1-bit field */
	attr->port_cap_flags = rxe->roce ? IB_PORT_CM_SUP : 0;
	attr->max_msg_sz = RXE_MAX_MSG;
	attr->max_vl_num = 1;
	query_speed(rxe, port, attr);
	return 0;
}

/**
 * rxe_get_port_immutable - ib_device_ops.get_port_immutable
 * @ibdev: device
 * @port: 1
 * @immutable: out: what doesn't change while the device is registered
 *
 * Without RoCE, the port has no protocol, hence neither GIDs nor MADs.
 *
 * Return: 0.
 */
int rxe_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable)
{
	struct rxe_dev *rxe = to_rxe_dev(ibdev);

	if (rxe->roce & RXE_ENABLE_V2)
		immutable->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if ((rxe->roce & RXE_ENABLE_V1) && rxe_ndev_is_ethernet(rxe->ndev))
		immutable->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE;
	immutable->pkey_tbl_len = RXE_PKEY_TBL_LEN;
	if (rxe->roce) {
		immutable->gid_tbl_len = RXE_GID_TBL_LEN;
		immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	}
	return 0;
}

/**
 * rxe_get_link_layer - ib_device_ops.get_link_layer
 * @ibdev: device
 * @port: 1
 *
 * Return: Ethernet, whatever the netdev is.
 */
enum rdma_link_layer rxe_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/**
 * rxe_query_pkey - ib_device_ops.query_pkey
 * @ibdev: device
 * @port: 1
 * @index: in the table of P_Keys
 * @pkey: out: the P_Key
 *
 * Return: 0; -EINVAL for an index beyond the table, which has the default partition alone.
 */
int rxe_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= RXE_PKEY_TBL_LEN)
		return -EINVAL;
	*pkey = RXE_PKEY;
	return 0;
}

static void follow_namespace(struct rxe_dev *rxe)
{
	const struct rxe_netns *before = rxe->netns;
	int err = rxe_net_follow(rxe);

	if (rxe->netns != before) {
		rxe_gid_moved(rxe);
		rxe_join_moved(rxe);
	}
	if (err)
		ibdev_err_ratelimited(&rxe->ibdev,
				      "receives nothing in the namespace that %s is in now, until that goes up anew: %pe\n",
				      netdev_name(rxe->ndev), ERR_PTR(err));
}

static void follow_mtu(struct rxe_dev *rxe)
{
	if (!rxe_ndev_is_large(rxe->ndev))
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "MTU %u of %s is too small for IB MTU %u: larger packets will be dropped\n",
				       rxe->ndev->mtu, netdev_name(rxe->ndev),
				       RXE_LEAST_MTU);
	WRITE_ONCE(rxe->active_mtu, ndev_get_ib_mtu(rxe->ndev));
}

/* Dispatch an event if the port's state has changed and the device is registered */
static void dispatch_port_event(struct rxe_dev *rxe)
{
	bool active = port_is_active(rxe);
	struct ib_event event = {
		.device			= &rxe->ibdev,
		.element.port_num	= 1,
		.event			= active ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR,
	};

	if (!ib_device_try_get(&rxe->ibdev))
		return;
	if (xchg(&rxe->port_active, active) != active) {
		if (active)
			rxe_qps_rerouted(rxe);	/* packets that left meanwhile are lost */
		else
			rxe_count(rxe, LINK_DOWNED);
		ib_dispatch_event(&event);
	}
	ib_device_put(&rxe->ibdev);
}

/**
 * rxe_dev_changed - follow the netdev: namespace, MTU, port state and its events
 * @rxe: device
 *
 * Context: RTNL held, which keeps the netdev's state steady.
 */
void rxe_dev_changed(struct rxe_dev *rxe)
{
	follow_namespace(rxe);
	follow_mtu(rxe);
	dispatch_port_event(rxe);
}
