// SPDX-License-Identifier: GPL-2.0
/*
 * Captures should show packets as the wire has them, so no trains are made during a capture.
 * Any packet socket for all protocols counts as a capture, whatever its filter.
 *
 * A netdev that is reached through several bridges, or a router, isn't checked. Before 6.15, the
 * host has one list of the sockets that aren't bound to a netdev, whatever their namespace. If the
 * netdev's namespace has no packet socket at all, these sockets belong to other namespaces. They
 * don't see the netdev's packets.
 *
 * Context: any; the netdev must not go away.
 */
#include "internal.h"

static bool rxe_has_listener(struct net_device *ndev)
{
	return dev_nit_active(ndev) && (!list_empty(&ndev->ptype_all) ||
					!hlist_empty(&dev_net(ndev)->packet.sklist));
}

static int rxe_rx_has_listener(struct net_device *ndev,
			       struct netdev_nested_priv *priv)
{
	return rxe_has_listener(ndev);
}

static bool rxe_uppers_have_listener(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};
	bool heard;

	rcu_read_lock();
	heard = netdev_walk_all_upper_dev_rcu(ndev, rxe_rx_has_listener, &priv);
	rcu_read_unlock();
	return heard;
}

/**
 * rxe_listen_above - does a packet socket see what a netdev receives?
 * @ndev: netdev
 *
 * Return: true if there is a listener on it, or on a netdev above.
 */
bool rxe_listen_above(struct net_device *ndev)
{
	return rxe_has_listener(ndev) ||
	       (!list_empty(&ndev->adj_list.upper) && rxe_uppers_have_listener(ndev));
}

/* The other end of a veth, or NULL. Context: RCU read side */
static struct net_device *rxe_netdev_get_peer(struct net_device *ndev)
{
	const struct net_device_ops *ops = ndev->netdev_ops;

	return ops->ndo_get_peer_dev ? ops->ndo_get_peer_dev(ndev) : NULL;
}

static int rxe_port_has_listener(struct net_device *port, struct netdev_nested_priv *priv)
{
	struct net_device *peer = rxe_netdev_get_peer(port);

	return rxe_has_listener(port) || (peer && rxe_listen_above(peer));
}

/* Does a packet socket see what a bridge passes on, also in the containers that it leads to? */
static bool rxe_ports_have_listener(struct net_device *port)
{
	struct net_device *bridge = netdev_master_upper_dev_get_rcu(port);
	struct netdev_nested_priv priv = {};

	return bridge && netdev_walk_all_lower_dev_rcu(bridge, rxe_port_has_listener, &priv);
}

/*
 * The other end of a veth gets the very skb that this end sends, and so do the netdevs above the
 * other end, and the other ports of a bridge there.
 */
static bool rxe_peer_has_listener(struct net_device *ndev)
{
	struct net_device *peer;
	bool heard;

	rcu_read_lock();
	peer = rxe_netdev_get_peer(ndev);
	heard = peer && (rxe_listen_above(peer) ||
			 (netif_is_bridge_port(peer) && rxe_ports_have_listener(peer)));
	rcu_read_unlock();
	return heard;
}

static int rxe_tx_has_listener(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return rxe_has_listener(ndev) || rxe_peer_has_listener(ndev);
}

static bool rxe_lowers_have_listener(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};
	bool heard;

	rcu_read_lock();
	heard = netdev_walk_all_lower_dev_rcu(ndev, rxe_tx_has_listener, &priv);
	rcu_read_unlock();
	return heard;
}

/**
 * rxe_listen_below - does a packet socket see what a netdev sends?
 * @ndev: netdev
 *
 * This is cheap: few netdevs have another netdev below, and only a veth has a peer.
 *
 * Return: true if there is a listener on it, on a netdev below, on the other end of a veth or
 * above that, or on a port of a bridge there.
 */
bool rxe_listen_below(struct net_device *ndev)
{
	return rxe_has_listener(ndev) || rxe_peer_has_listener(ndev) ||
	       (!list_empty(&ndev->adj_list.lower) && rxe_lowers_have_listener(ndev));
}
