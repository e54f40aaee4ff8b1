// SPDX-License-Identifier: GPL-2.0
/*
 * Only single packets are sent through queueing disciplines that shape. They segment a train
 * when they enqueue it, and free the train. With RoCE v2, the packets then don't count as queued
 * any more (tx.c), and nothing would keep the queue short. With RoCE v1, they count, but the
 * queue may be shorter than one train.
 *
 * The kernel doesn't tell which queueing disciplines segment, hence the list of names. netem isn't
 * in the list, since it segments only the trains that it corrupts.
 *
 * The root of a container can add tens of thousands of queueing disciplines, and a look is repeated
 * for each path. In a container's user namespace, a look therefore ends after RXE_LOOK_QDISCS of
 * them, and then the netdev counts as one that shapes. On a host, a netdev with many queues has a
 * queueing discipline for each (mq, mqprio).
 *
 * Context: bottom halves off; the netdev must not go away.
 */
#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/sch_generic.h>
#include "internal.h"

#ifdef CONFIG_NET_SCHED
static bool rxe_is_shaper(const struct Qdisc *q)
{
	static const char * const names[] = { "tbf", "cake", "taprio", "dualpi2" };

	return match_string(names, ARRAY_SIZE(names), q->ops->id) >= 0;
}

/*
 * The hash table has all queueing disciplines but the root. @left: how many may still be looked
 * at; a netdev counts, too. Return: true if one shapes, or if there are more.
 */
static bool rxe_has_shaper(const struct net_device *ndev, u32 *left)
{
	const struct Qdisc *q = rcu_dereference_bh(ndev->qdisc);
	int i;

	if (!*left || (q && rxe_is_shaper(q)))
		return true;
	--*left;
	hash_for_each_rcu(ndev->qdisc_hash, i, q, hash) {
		if (!*left || rxe_is_shaper(q))
			return true;
		--*left;
	}
	return false;
}
#else
static bool rxe_has_shaper(const struct net_device *ndev, u32 *left)
{
	return false;
}
#endif

static int rxe_lower_has_shaper(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return rxe_has_shaper(ndev, priv->data);
}

/**
 * rxe_shaper_below - does a queueing discipline segment the trains that a netdev sends?
 * @ndev: netdev
 *
 * Return: true if there is one on it, or on a netdev below, or if a container has too many to look
 * at.
 */
bool rxe_shaper_below(struct net_device *ndev)
{
	bool host = dev_net(ndev)->user_ns == &init_user_ns;
	u32 left = host ? U32_MAX : RXE_LOOK_QDISCS;
	struct netdev_nested_priv priv = { .data = &left };
	bool found;

	rcu_read_lock();
	found = rxe_has_shaper(ndev, &left) ||
		netdev_walk_all_lower_dev_rcu(ndev, rxe_lower_has_shaper, &priv);
	rcu_read_unlock();
	return found;
}
