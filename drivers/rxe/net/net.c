// SPDX-License-Identifier: GPL-2.0
/*
 * Adding devices to a network namespace, moving and removing them. While a namespace has
 * devices with RoCE v2, it has UDP port 4791 and the hooks open. The Ethertype of RoCE v1 is
 * received while any namespace has devices with v1. ARP is received while any device exists.
 *
 * Context: process. Serialised by rxe_net_lock, which may be taken under RTNL. Neither RTNL
 * nor another lock of the driver is taken under rxe_net_lock.
 */
#include <linux/net.h>
#include <linux/rculist.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "internal.h"
#include "proto.h"

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

static int rxe_netns_open(struct net *net, struct rxe_netns *ns)
{
	return sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
				&ns->socks[RXE_ROCE_V1]);
}

static int rxe_netns_get(struct net *net, struct rxe_netns *ns, u8 roce)
{
	int err = ns->users ? 0 : rxe_netns_open(net, ns);

	if (err)
		return err;
	if ((roce & RXE_ENABLE_V2) && !ns->v2_users)
		err = rxe_netns_open_v2(net, ns);
	if (err) {
		if (!ns->users)
			rxe_net_release_socks(ns, RXE_ROCE_V1, RXE_ROCE_V1);
		return err;
	}
	if (roce & RXE_ENABLE_V2)
		ns->v2_users++;
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
	if (!ns->users)
		rxe_net_release_socks(ns, RXE_ROCE_V1, RXE_ROCE_V1);
}

/* Context: rxe_net_lock held; @net doesn't end meanwhile. */
static int rxe_net_link(struct rxe_dev *rxe, struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);
	int err;

	if (!check_net(net))
		return -ENODEV;
	err = rxe_netns_get(net, ns, rxe->roce);
	if (err)
		return err;
	ns->net = net;
	smp_store_release(&rxe->netns, ns);	/* after its sockets: rxe_net_sock() */
	list_add_tail_rcu(&rxe->list, &ns->devs);
	return 0;
}

/* Context: rxe_net_lock held, until the caller has waited for readers. */
static void rxe_net_unlink(struct rxe_dev *rxe)
{
	struct rxe_netns *ns = rxe->netns;

	list_del_rcu(&rxe->list);
	WRITE_ONCE(rxe->netns, NULL);
	rxe_netns_put(ns->net, ns, rxe->roce);
}

/**
 * rxe_net_add - start receiving for a device
 * @rxe: device, its netdev set
 * @net: the netdev's namespace; the caller holds a reference
 *
 * If the netdev has moved meanwhile, rxe_net_follow() must be called.
 *
 * Context: process, without RTNL.
 * Return: 0; -EADDRINUSE if another socket has UDP port 4791 in the netdev's
 * namespace; or another error of opening sockets and hooks. After an error
 * nothing stays open.
 */
int rxe_net_add(struct rxe_dev *rxe, struct net *net)
{
	int err;

	mutex_lock(&rxe_net_lock);
	err = rxe_net_link(rxe, net);
	mutex_unlock(&rxe_net_lock);
	return err;
}

static int rxe_net_move(struct rxe_dev *rxe)
{
	struct net *net = dev_net(rxe->ndev);

	if (rxe->netns) {
		if (net_eq(rxe->netns->net, net))
			return 0;
		rxe_net_unlink(rxe);
		synchronize_net();	/* readers of the old list */
	}
	return rxe_net_link(rxe, net);
}

/**
 * rxe_net_follow - receive in the namespace that the netdev is in now
 * @rxe: device
 *
 * The device leaves the old namespace, also if it can't receive in the new one. Then the
 * next call tries again.
 *
 * Context: process, RTNL held, the netdev still registered in its namespace.
 * Return: 0, also if the netdev hasn't moved; or an error of rxe_net_add().
 */
int rxe_net_follow(struct rxe_dev *rxe)
{
	int err;

	mutex_lock(&rxe_net_lock);
	err = rxe_net_move(rxe);
	mutex_unlock(&rxe_net_lock);
	return err;
}

/**
 * rxe_net_receives - is a device open in a namespace?
 * @rxe: device
 *
 * Context: any.
 * Return: true if it is; may be out of date at once.
 */
bool rxe_net_receives(const struct rxe_dev *rxe)
{
	return READ_ONCE(rxe->netns);
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
	synchronize_net();	/* readers of the namespace, too, which may be ending */
	mutex_unlock(&rxe_net_lock);
}

static int __net_init rxe_netns_init(struct net *net)
{
	struct rxe_netns *ns = net_generic(net, rxe_net_id);

	INIT_LIST_HEAD(&ns->devs);
	spin_lock_init(&ns->unreach_lock);
	return 0;
}

/*
 * A device whose netdev is gone may still wait for its removal when the namespace ends. It
 * must not use the freed namespace.
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
 * rxe_net_init - set up net/, at module load
 * @ops: callbacks into the layers above net/
 *
 * Return: 0 or a negative error.
 */
int __init rxe_net_init(const struct rxe_net_ops *ops)
{
	int err;

	rxe_l3s[RXE_ROCE_V1] = &rxe_l3_v1;
	rxe_l3s[RXE_ROCE_V2_IPV4] = &rxe_l3_ipv4;
	rxe_l3s[RXE_ROCE_V2_IPV6] = &rxe_l3_ipv6;
	rxe_rx_set_ops(ops);
	rxe_tx_set_ops(ops);
	rxe_routes_init();
	err = register_pernet_subsys(&rxe_netns_ops);
	if (err)
		return err;
	err = rxe_events_init(ops);
	if (err)
		unregister_pernet_subsys(&rxe_netns_ops);
	else
		rxe_v1_offload_init();
	return err;
}

/**
 * rxe_net_exit - undo rxe_net_init(), at module unload, when no device is left
 */
void rxe_net_exit(void)
{
	rxe_v1_offload_exit();
	rxe_events_exit();
	unregister_pernet_subsys(&rxe_netns_ops);
	rxe_tx_wait();
	rxe_blocks_free();
}
