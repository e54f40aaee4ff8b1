// SPDX-License-Identifier: GPL-2.0
/*
 * Captures should show packets as the wire has them, so no trains are made while one runs.
 * Any packet socket for all protocols counts, whatever its filter.
 *
 * A netdev that is reached through a bridge or a router isn't looked at.
 *
 * Context: any; the netdev must not go away.
 */
#include "internal.h"

static int rxe_listen_received(struct net_device *ndev,
			       struct netdev_nested_priv *priv)
{
	return dev_nit_active(ndev);
}

/**
 * rxe_listen_above - does anybody see what is received by a netdev?
 * @ndev: netdev
 *
 * Return: true if there is a listener on it, or on a netdev above.
 */
bool rxe_listen_above(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};
	bool heard;

	if (dev_nit_active(ndev))
		return true;
	if (list_empty(&ndev->adj_list.upper))
		return false;	/* mostly; the walk costs more */
	rcu_read_lock();
	heard = netdev_walk_all_upper_dev_rcu(ndev, rxe_listen_received, &priv);
	rcu_read_unlock();
	return heard;
}

/* The other end of a veth, and what is above it, get the very skb that this end sends */
static bool rxe_listen_peer(struct net_device *ndev)
{
	const struct net_device_ops *ops = ndev->netdev_ops;
	struct net_device *peer;

	peer = ops->ndo_get_peer_dev ? ops->ndo_get_peer_dev(ndev) : NULL;
	return peer && rxe_listen_above(peer);
}

static int rxe_listen_sent(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return dev_nit_active(ndev) || rxe_listen_peer(ndev);
}

/**
 * rxe_listen_below - does anybody see what is sent by a netdev?
 * @ndev: netdev
 *
 * Return: true if there is a listener on it, on a netdev below, or on the other end of
 * a veth and above that.
 */
bool rxe_listen_below(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};
	bool heard;

	rcu_read_lock();
	heard = rxe_listen_sent(ndev, &priv) ||
		(!list_empty(&ndev->adj_list.lower) &&
		 netdev_walk_all_lower_dev_rcu(ndev, rxe_listen_sent, &priv));
	rcu_read_unlock();
	return heard;
}
