// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: what a sender needs, made from an address vector of the RDMA core.
 *
 * rxe_path_init() and rxe_path_destroy() don't sleep. The owner (QP or AH) must
 * make sure that nothing is sent on a path that is being destroyed.
 */
#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/jhash.h>
#include <linux/pkt_sched.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "internal.h"
#include "proto.h"

static int rxe_path_set_proto(struct rxe_path *path,
			      const struct ib_gid_attr *attr)
{
	switch (rdma_gid_attr_network_type(attr)) {
	case RDMA_NETWORK_ROCE_V1:
		path->proto = RXE_ROCE_V1;
		return 0;
	case RDMA_NETWORK_IPV4:
		path->proto = RXE_ROCE_V2_IPV4;
		return rxe_gid_is_ipv4(&path->dgid) ? 0 : -EINVAL;
	case RDMA_NETWORK_IPV6:
		if (!ipv6_mod_enabled())
			return -EAFNOSUPPORT;
		path->proto = RXE_ROCE_V2_IPV6;
		return rxe_gid_is_ipv4(&path->dgid) ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

/*
 * The destination as a GID of this very device. It must be on the source's netdev: the table also
 * has addresses of VLANs, which are reached by wire only.
 */
static const struct ib_gid_attr *rxe_path_find_own(struct rxe_dev *rxe,
						   const struct rxe_path *path)
{
	const struct ib_gid_attr *own = NULL;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(path->sgid_attr->ndev);
	if (ndev)
		own = rdma_find_gid_by_port(&rxe->ibdev, &path->dgid,
					    path->sgid_attr->gid_type, 1, ndev);
	rcu_read_unlock();
	return IS_ERR(own) ? NULL : own;
}

/*
 * RoCE v1 to another port of this host uses the wire, and to its own device, the netdev's way in.
 * The RDMA core can't find the MAC address, because the route to a local address is loopback.
 */
static void rxe_path_set_dmac(struct rxe_path *path)
{
	struct net_device *port;

	rcu_read_lock();
	port = path->dgid_attr ? rxe_path_get_ndev(path) : rxe_path_port(path);
	if (port)
		ether_addr_copy(path->dmac, port->dev_addr);
	rcu_read_unlock();
}

/* Return: 0, or -EHOSTUNREACH for a peer that v1 can't reach */
static int rxe_path_prepare_v1(struct rxe_dev *rxe, struct rxe_path *path)
{
	if (!path->mcast && !path->dgid_attr && rxe_route_is_far(path)) {
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "%pI6c is behind a router, where RoCE v1 doesn't go: use a GID of RoCE v2\n",
				       &path->dgid);
		return -EHOSTUNREACH;
	}
	rxe_path_set_dmac(path);
	return 0;
}

/**
 * rxe_gid_get_vlan - the VLAN tags of a GID's netdev
 * @attr: the GID, with a reference
 *
 * Context: any.
 * Return: as rxe_netdev_get_vlan(); RXE_NO_VLAN if the netdev is gone.
 */
u32 rxe_gid_get_vlan(const struct ib_gid_attr *attr)
{
	const struct net_device *ndev;
	u32 vlan = RXE_NO_VLAN;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev)
		vlan = rxe_netdev_get_vlan(ndev);
	rcu_read_unlock();
	return vlan;
}

static u32 rxe_path_get_hash(const struct rxe_path *path)
{
	u32 hash = jhash(&path->sgid, sizeof(path->sgid), path->sport);

	return jhash(&path->dgid, sizeof(path->dgid), hash);
}

/**
 * rxe_path_choose_txq - choose the queues by egress device and priority
 * @rxe: device
 * @path: its members egress and priority are set; its senders follow (rxe_tx_follow())
 *
 * The queues of the device's own netdev for priority 0 need no lookup. They are also used if
 * memory is short.
 *
 * Context: any; nothing is sent on the path meanwhile.
 */
void rxe_path_choose_txq(const struct rxe_dev *rxe, struct rxe_path *path)
{
	struct rxe_txq *old = path->txq, *q = NULL;

	if (path->egress && (path->egress != rxe->ndev || path->priority))
		q = rxe_txq_find(path->egress, path->priority);
	path->txq = q ?: rxe_txq_get(rxe->txq);
	rxe_txq_put(old);
}

/**
 * rxe_path_init - make a path from an address vector
 * @rxe: device
 * @path: filled in
 * @attr: address vector; must have a GRH, whose sgid_attr the core has set
 * @sport: UDP source port to use unless the flow label gives one
 * @same_dev: packets to a peer on the same device may bypass the stack
 * @ecn: packets may leave ECN-capable
 *
 * Context: any.
 * Return: 0, -EINVAL if the vector is invalid, -EAFNOSUPPORT if it needs IPv6 and
 * the kernel has it disabled, -EHOSTUNREACH for RoCE v1 to a peer behind a router.
 */
int rxe_path_init(struct rxe_dev *rxe, struct rxe_path *path,
		  const struct rdma_ah_attr *attr, u16 sport, bool same_dev, bool ecn)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid_attr = grh->sgid_attr;
	int err;

	memset(path, 0, sizeof(*path));
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid_attr ||
	    sgid_attr->device != &rxe->ibdev ||
	    attr->type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EINVAL;

	path->sgid = sgid_attr->gid;
	path->dgid = grh->dgid;
	err = rxe_path_set_proto(path, sgid_attr);
	if (err)
		return err;

	path->flow_label = grh->flow_label & 0xfffff;
	path->sport = path->flow_label ?
		rdma_flow_label_to_udp_sport(path->flow_label) : sport;
	path->mcast = rxe_gid_is_mcast(&path->dgid);
	path->sl = rdma_ah_get_sl(attr);
	if (path->sl > RXE_MAX_SL)
		path->sl = 0;
	path->max_priority = U8_MAX;
	path->ecn = ecn;
	rxe_path_class(rxe, path, grh);
	path->vlan = rxe_gid_get_vlan(sgid_attr);
	ether_addr_copy(path->dmac, attr->roce.dmac);
	path->hash = rxe_path_get_hash(path);
	atomic_set(&path->ip_id, get_random_u32());

	rdma_hold_gid_attr(sgid_attr);
	path->sgid_attr = sgid_attr;
	path->egress = rcu_access_pointer(sgid_attr->ndev);
	rxe_path_choose_txq(rxe, path);
	if (same_dev || !rxe_l3(path->proto)->udp)
		path->dgid_attr = rxe_path_find_own(rxe, path);
	path->same_dev = same_dev && path->dgid_attr;
	if (path->same_dev || rxe_l3(path->proto)->udp)
		return 0;
	err = rxe_path_prepare_v1(rxe, path);
	if (err)
		rxe_path_destroy(path);
	return err;
}

/* A search for the netdev with given VLAN tags */
struct tagged {
	u32			vlan;
	struct net_device	*ndev;
};

static int rxe_is_tagged(struct net_device *upper, struct netdev_nested_priv *priv)
{
	struct tagged *tagged = priv->data;

	tagged->ndev = rxe_netdev_get_vlan(upper) == tagged->vlan ? upper : NULL;
	return !!tagged->ndev;
}

/* The netdev of a train's device that has the train's VLAN tags, or NULL. Context: RCU */
static struct net_device *rxe_rx_ndev(struct sk_buff *skb)
{
	struct tagged tagged = { .vlan = rxe_rx(skb)->vlan };
	struct netdev_nested_priv priv = { .data = &tagged };
	struct net_device *ndev = rxe_rx(skb)->rxe->ndev;

	if (!rxe_is_tagged(ndev, &priv))
		netdev_walk_all_upper_dev_rcu(ndev, rxe_is_tagged, &priv);
	return tagged.ndev;
}

/*
 * The GID that a datagram was sent to. A VLAN netdev has the link-local address of the netdev
 * below it: only the VLAN tags differ. The datagram may also have come in by another netdev of
 * the device than that with the address, for example in a VRF.
 *
 * Return: the GID with a reference, or an ERR_PTR
 */
static const struct ib_gid_attr *rxe_rx_find_gid(struct sk_buff *skb, const union ib_gid *dgid)
{
	u8 type = rxe_l3(rxe_rx(skb)->proto)->gid_type;
	struct rxe_dev *rxe = rxe_rx(skb)->rxe;
	const struct ib_gid_attr *own = NULL;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rxe_rx_ndev(skb);
	if (ndev)
		own = rdma_find_gid_by_port(&rxe->ibdev, dgid, type, 1, ndev);
	rcu_read_unlock();
	if (!IS_ERR_OR_NULL(own))
		return own;
	return rdma_find_gid_by_port(&rxe->ibdev, dgid, type, 1, NULL);
}

/**
 * rxe_path_back - make a path to the sender of a received datagram
 * @path: filled in; the caller destroys it
 * @skb: the datagram, RoCE v2
 *
 * Context: bottom halves off.
 * Return: 0, or an error if it isn't for an address of the device.
 */
int rxe_path_back(struct rxe_path *path, struct sk_buff *skb)
{
	const struct rxe_l3 *l3 = rxe_l3(rxe_rx(skb)->proto);
	struct rdma_ah_attr attr = {
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.ah_flags = IB_AH_GRH,
	};
	struct rxe_dev *rxe = rxe_rx(skb)->rxe;
	const struct ib_gid_attr *own;
	union ib_gid dgid;
	int err;

	l3->gids(rxe_rx_l3(skb), &attr.grh.dgid, &dgid);
	own = rxe_rx_find_gid(skb, &dgid);
	if (IS_ERR(own))
		return PTR_ERR(own);
	attr.grh.sgid_attr = own;
	attr.grh.traffic_class = rxe_l3_get_tclass(rxe_rx_l3(skb), rxe_rx(skb)->proto);
	/* Only CNPs are sent on it: they aren't ECN-capable */
	err = rxe_path_init(rxe, path, &attr, ntohs(rxe_rx_sport(skb)), false, false);
	rdma_put_gid_attr(own);
	return err;
}

/**
 * rxe_path_has_ids - do packets have IDs that count up?
 * @path: path
 *
 * Return: true for IPv4, where the netdev that segments a train makes the IDs.
 */
bool rxe_path_has_ids(const struct rxe_path *path)
{
	return rxe_l3(path->proto)->ids;
}

/*
 * The device may leave its namespace at any time; RCU keeps the namespace. An unregistered
 * netdev doesn't keep its own. Nobody has rights to a device without a namespace.
 */
static bool rxe_has_net_rights(const struct rxe_dev *rxe)
{
	const struct rxe_netns *ns;
	bool has;

	rcu_read_lock();
	ns = READ_ONCE(rxe->netns);
	has = ns && (ns_capable(ns->net->user_ns, CAP_NET_RAW) ||
		     ns_capable(ns->net->user_ns, CAP_NET_ADMIN));
	rcu_read_unlock();
	return has;
}

/**
 * rxe_path_unprivileged - limit the priority to what the process could set on a socket
 * @rxe: device
 * @path: of a process, not of a kernel consumer
 * @grh: what the process asks for
 *
 * The limit is that of SO_PRIORITY. A higher SL is no error, since some harmless programs ask
 * for one. The path keeps the SL, and its packets get the highest priority that needs no
 * privilege. The limit is set even if the administrator's traffic class decides now: that may be
 * removed later.
 *
 * Context: process.
 */
void rxe_path_unprivileged(const struct rxe_dev *rxe, struct rxe_path *path,
			   const struct ib_global_route *grh)
{
	u8 most = max3(path->priority, path->sl, (u8)(grh->traffic_class >> 5));

	if (most > TC_PRIO_INTERACTIVE && !rxe_has_net_rights(rxe)) {
		path->max_priority = TC_PRIO_INTERACTIVE;
		rxe_path_class(rxe, path, grh);
		rxe_path_choose_txq(rxe, path);
	}
}

/**
 * rxe_path_destroy - undo rxe_path_init()
 * @path: path that is no longer sent on; may be all zero
 *
 * Context: any.
 */
void rxe_path_destroy(struct rxe_path *path)
{
	rxe_route_drop(path);
	if (path->dgid_attr)
		rdma_put_gid_attr(path->dgid_attr);
	if (path->sgid_attr)
		rdma_put_gid_attr(path->sgid_attr);
	rxe_txq_put(path->txq);
	path->txq = NULL;
	path->dgid_attr = NULL;
	path->sgid_attr = NULL;
}

static void release_ah_ref(struct kref *kref)
{
	struct rxe_ah_ref *r = container_of(kref, struct rxe_ah_ref, ref);

	rxe_path_destroy(&r->path);
	kfree_rcu(r, rcu);
}

/**
 * rxe_ah_put - drop a reference to an AH's path
 * @r: from rxe_ah_get() or rxe_ah_hold()
 *
 * Context: any.
 */
void rxe_ah_put(struct rxe_ah_ref *r)
{
	kref_put(&r->ref, release_ah_ref);
}
