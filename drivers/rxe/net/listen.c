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
 * The root of a container can add thousands of netdevs, on which the packets of other containers
 * arrive. So a look ends after RXE_LOOK_NETDEVS netdevs.
 *
 * Context: any; the netdev must not go away.
 */
#include "internal.h"

/**
 * struct rxe_look - a look for packet sockets
 * @left: netdevs that may still be looked at
 * @heard: a packet socket was found
 */
struct rxe_look {
	u32	left;
	bool	heard;
};

static bool rxe_has_listener(struct net_device *ndev)
{
	return dev_nit_active(ndev) && (!list_empty(&ndev->ptype_all) ||
					!hlist_empty(&dev_net(ndev)->packet.sklist));
}

/* Return: true if the look ends; so do all rxe_look_*() */
static bool rxe_look_at(struct net_device *ndev, struct rxe_look *look)
{
	if (!look->left)
		return true;
	look->left--;
	look->heard = rxe_has_listener(ndev);
	return look->heard;
}

static int rxe_look_at_upper(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return rxe_look_at(ndev, priv->data);
}

/* Context: RCU read side, as for the other rxe_look_*() */
static bool rxe_look_above(struct net_device *ndev, struct rxe_look *look)
{
	struct netdev_nested_priv priv = { .data = look };

	return rxe_look_at(ndev, look) ||
	       (!list_empty(&ndev->adj_list.upper) &&
		netdev_walk_all_upper_dev_rcu(ndev, rxe_look_at_upper, &priv));
}

/**
 * rxe_listen_above - does a packet socket see what a netdev receives?
 * @ndev: netdev
 *
 * Return: true if there is a listener on it, or on a netdev above.
 */
bool rxe_listen_above(struct net_device *ndev)
{
	struct rxe_look look = { .left = RXE_LOOK_NETDEVS };

	rcu_read_lock();
	rxe_look_above(ndev, &look);
	rcu_read_unlock();
	return look.heard;
}

/* The other end of a veth, or NULL. Context: RCU read side */
static struct net_device *rxe_netdev_get_peer(struct net_device *ndev)
{
	const struct net_device_ops *ops = ndev->netdev_ops;

	return ops->ndo_get_peer_dev ? ops->ndo_get_peer_dev(ndev) : NULL;
}

static int rxe_look_at_port(struct net_device *port, struct netdev_nested_priv *priv)
{
	struct net_device *peer = rxe_netdev_get_peer(port);

	return rxe_look_at(port, priv->data) || (peer && rxe_look_above(peer, priv->data));
}

/* What a bridge passes on is seen at its ports, and in the containers that they lead to */
static bool rxe_look_at_ports(struct net_device *port, struct rxe_look *look)
{
	struct net_device *bridge = netdev_master_upper_dev_get_rcu(port);
	struct netdev_nested_priv priv = { .data = look };

	return bridge && netdev_walk_all_lower_dev_rcu(bridge, rxe_look_at_port, &priv);
}

/*
 * The other end of a veth gets the very skb that this end sends, and so do the netdevs above the
 * other end, and the other ports of a bridge there.
 */
static bool rxe_look_at_peer(struct net_device *ndev, struct rxe_look *look)
{
	struct net_device *peer = rxe_netdev_get_peer(ndev);

	return peer && (rxe_look_above(peer, look) ||
			(netif_is_bridge_port(peer) && rxe_look_at_ports(peer, look)));
}

static int rxe_look_at_lower(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return rxe_look_at(ndev, priv->data) || rxe_look_at_peer(ndev, priv->data);
}

/**
 * rxe_listen_below - does a packet socket see what a netdev sends?
 * @ndev: netdev
 *
 * Return: true if there is a listener on it, on a netdev below, on the other end of a veth or
 * above that, or on a port of a bridge there.
 */
bool rxe_listen_below(struct net_device *ndev)
{
	struct rxe_look look = { .left = RXE_LOOK_NETDEVS };
	struct netdev_nested_priv priv = { .data = &look };

	rcu_read_lock();
	if (!rxe_look_at_lower(ndev, &priv) && !list_empty(&ndev->adj_list.lower))
		netdev_walk_all_lower_dev_rcu(ndev, rxe_look_at_lower, &priv);
	rcu_read_unlock();
	return look.heard;
}
