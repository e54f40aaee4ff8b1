// SPDX-License-Identifier: GPL-2.0
/*
 * Adding devices to a network namespace and removing them. While a namespace has
 * devices with RoCE v2, it has UDP port 4791 and the hooks open. While any namespace has
 * devices with RoCE v1, its Ethertype is received; while any has devices, ARP is.
 *
 * Context: process. Serialised by rxe_net_lock, which is taken without RTNL. No other
 * lock of the driver is taken under it.
 */
#include <linux/rculist.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "internal.h"

static DEFINE_MUTEX(rxe_net_lock);
static u32 rxe_net_users;	/* devices in all namespaces */
static u32 rxe_v1_users;	/* those with RoCE v1 */

static int rxe_netns_open_v2(struct net *net, struct rxe_netns *ns)
{
	int err;

	err = rxe_v2_open(net, ns);
	if (err)
		return err;
	err = rxe_guard_open(net);
	if (err)
		rxe_v2_close(net, ns);
	return err;
}

static int rxe_netns_get(struct net *net, struct rxe_netns *ns, u8 roce)
{
	int err;

	if (roce & RXE_ENABLE_V2) {
		err = ns->v2_users ? 0 : rxe_netns_open_v2(net, ns);
		if (err)
			return err;
		ns->v2_users++;
	}
	WRITE_ONCE(ns->users, ns->users + 1);
	if ((roce & RXE_ENABLE_V1) && !rxe_v1_users++)
		rxe_v1_open();
	if (!rxe_net_users++)
		rxe_arp_open();
	return 0;
}

static void rxe_netns_put(struct net *net, struct rxe_netns *ns, u8 roce)
{
	if (!--rxe_net_users)
		rxe_arp_close();
	if ((roce & RXE_ENABLE_V1) && !--rxe_v1_users)
		rxe_v1_close();
	WRITE_ONCE(ns->users, ns->users - 1);
	if ((roce & RXE_ENABLE_V2) && !--ns->v2_users) {
		rxe_guard_close(net);
		rxe_v2_close(net, ns);
	}
}

/**
 * rxe_net_add - start receiving for a device
 * @rxe: device, its netdev set
 *
 * Context: process, without RTNL.
 * Return: 0; -EADDRINUSE if another socket has UDP port 4791 in the netdev's
 * namespace; or another error of opening sockets and hooks. After an error
 * nothing stays open.
 */
int rxe_net_add(struct rxe_dev *rxe)
{
	struct net *net = dev_net(rxe->ndev);
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	int err = -ENODEV;

	mutex_lock(&rxe_net_lock);
	if (check_net(net))
		err = rxe_netns_get(net, ns, rxe->roce);
	if (!err) {
		ns->net = net;
		WRITE_ONCE(rxe->netns, ns);
		list_add_tail_rcu(&rxe->list, &ns->devs);
	}
	mutex_unlock(&rxe_net_lock);
	return err;
}

/**
 * rxe_net_moved - has the netdev left the namespace that it was added in?
 * @rxe: device
 *
 * Context: process, RTNL held.
 * Return: true if it has, or if the namespace is gone.
 */
bool rxe_net_moved(struct rxe_dev *rxe)
{
	struct rxe_netns *ns = READ_ONCE(rxe->netns);

	return !ns || !net_eq(ns->net, dev_net(rxe->ndev));
}

/* Context: rxe_net_lock held; the caller waits for readers. */
static void rxe_net_unlink(struct rxe_dev *rxe)
{
	struct rxe_netns *ns = rxe->netns;

	list_del_rcu(&rxe->list);
	WRITE_ONCE(rxe->netns, NULL);
	rxe_netns_put(ns->net, ns, rxe->roce);
}

/**
 * rxe_net_del - stop receiving for a device
 * @rxe: device; harmless if it was never added, or has lost its namespace
 *
 * When it returns, no receive path uses @rxe any more.
 *
 * Context: process, without RTNL.
 */
void rxe_net_del(struct rxe_dev *rxe)
{
	mutex_lock(&rxe_net_lock);
	if (rxe->netns)
		rxe_net_unlink(rxe);
	mutex_unlock(&rxe_net_lock);
	synchronize_net();
}

static int __net_init rxe_netns_init(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);

	INIT_LIST_HEAD(&ns->devs);
	spin_lock_init(&ns->unreach_lock);
	return 0;
}

/*
 * A device whose netdev moved to another namespace may still wait for its removal when
 * this one ends. It must not use the freed namespace.
 */
static void __net_exit rxe_netns_exit(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	struct rxe_dev *rxe, *next;

	mutex_lock(&rxe_net_lock);
	if (!list_empty(&ns->devs)) {
		list_for_each_entry_safe(rxe, next, &ns->devs, list)
			rxe_net_unlink(rxe);
		synchronize_net();
	}
	mutex_unlock(&rxe_net_lock);
}

static struct pernet_operations rxe_netns_ops = {
	.init	= rxe_netns_init,
	.exit	= rxe_netns_exit,
	.id	= &rxe_net_id,
	.size	= sizeof(struct rxe_netns),
};

/**
 * rxe_net_init - at module load
 * @ops: callbacks into the layers above net/
 *
 * Return: 0 or a negative error.
 */
int rxe_net_init(const struct rxe_net_ops *ops)
{
	int err;

	rxe_rx_set_ops(ops);
	rxe_tx_set_ops(ops);
	err = register_pernet_subsys(&rxe_netns_ops);
	if (err)
		return err;
	err = rxe_events_init(ops);
	if (err)
		unregister_pernet_subsys(&rxe_netns_ops);
	return err;
}

/**
 * rxe_net_exit - at module unload, when no device is left
 */
void rxe_net_exit(void)
{
	rxe_events_exit();
	unregister_pernet_subsys(&rxe_netns_ops);
	rxe_tx_wait();
	rxe_blocks_free();
}
