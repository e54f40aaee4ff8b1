// SPDX-License-Identifier: GPL-2.0
/*
 * The last step of receiving: packets of one QP go up to the transport.
 *
 * Context: softirq or bottom halves off.
 */
#include <rdma/ib_cache.h>
#include "internal.h"
#include "proto.h"

static const struct rxe_net_ops *rxe_net_ops;

/**
 * rxe_rx_set_ops - set the function that takes received trains
 * @ops: functions of the transport that net/ calls
 */
void rxe_rx_set_ops(const struct rxe_net_ops *ops)
{
	rxe_net_ops = ops;
}

/**
 * rxe_rx_dgid - the destination of a received datagram
 * @skb: received datagram
 * @dgid: set
 */
void rxe_rx_dgid(struct sk_buff *skb, union ib_gid *dgid)
{
	union ib_gid sgid;

	rxe_l3(rxe_rx(skb)->proto)->gids(rxe_rx_l3(skb), &sgid, dgid);
}

static bool rxe_dev_has_gid(struct rxe_dev *rxe, const union ib_gid *gid, enum ib_gid_type type,
			    const struct net_device *ndev)
{
	const struct ib_gid_attr *attr = rdma_find_gid_by_port(&rxe->ibdev, gid, type, 1,
							       (struct net_device *)ndev);

	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

static bool rxe_dev_has_gid_in_vlan(const struct rxe_rx *rx, const union ib_gid *gid,
				    enum ib_gid_type type)
{
	const struct ib_gid_attr *attr = rdma_find_gid_by_port(&rx->rxe->ibdev, gid, type, 1, NULL);
	bool found;

	if (IS_ERR(attr))
		return false;
	found = rxe_gid_get_vlan(attr) == rx->vlan;
	rdma_put_gid_attr(attr);
	return found;
}

/*
 * Is the destination a GID of @ndev? With RoCE v2, it may be a GID of another netdev of the
 * device in the same VLAN. A multicast group is always accepted: rxe_demux() looks for members.
 */
static noinline bool rxe_rx_has_gid(struct sk_buff *skb,
				    const struct net_device *ndev)
{
	struct rxe_rx *rx = rxe_rx(skb);
	const struct rxe_l3 *l3 = rxe_l3(rx->proto);
	union ib_gid dgid;

	rxe_rx_dgid(skb, &dgid);
	rx->mcast = rxe_gid_is_mcast(&dgid);
	if (rx->mcast)
		return true;
	/* A device receives before it is registered, when the core has no table of its GIDs */
	if (!smp_load_acquire(&rx->rxe->registered))
		return false;
	return rxe_dev_has_gid(rx->rxe, &dgid, l3->gid_type, ndev) ||
	       (l3->udp && rxe_dev_has_gid_in_vlan(rx, &dgid, l3->gid_type));
}

/*
 * A datagram must be for an address of the device. A connected QP checks addresses itself. Others
 * may still write to the skb's pages: another kind of packet may become a datagram later. The
 * transport therefore checks rxe_rx.addressed.
 */
static bool rxe_rx_is_ours(struct sk_buff *skb, const struct net_device *ndev)
{
	u8 bth[RXE_BTH_BYTES];

	if (!rxe_skb_copy_bth(skb, 0, bth) ||
	    !(rxe_opcode[bth[0]].flags & (RXE_OP_DETH | RXE_OP_CNP)))
		return true;
	rxe_rx(skb)->addressed = rxe_rx_has_gid(skb, ndev);
	return rxe_rx(skb)->addressed;
}

/**
 * rxe_rx_up - hand packets that belong together to the transport
 * @skb: data at the first BTH, its network header set; consumed. Packet counts and
 *	offsets of its struct rxe_rx are set here, the rest by the caller.
 * @ndev: netdev that they came in by; NULL on the same device
 */
void rxe_rx_up(struct sk_buff *skb, const struct net_device *ndev)
{
	struct rxe_rx *rx = rxe_rx(skb);
	struct rxe_dev *rxe = rx->rxe;

	rx->pkt = min(rx->pkt, skb->len);
	rx->npkts = DIV_ROUND_UP(skb->len, rx->pkt);
	rx->l3_off = skb_network_header(skb) - skb->head;
	rxe_count_add(rxe, RCVD_PKTS, rx->npkts);
	rxe_count_add(rxe, RCVD_BYTES, skb->len);
	if (rx->same_dev || rxe_rx_is_ours(skb, ndev)) {
		if (unlikely(rx->mcast))
			rxe_count(rxe, RCVD_MCAST);
		rxe_net_ops->rcv(rxe, skb);
	} else {
		rxe_drop(rxe, RXE_DROP_ADDR, rx->npkts);
		kfree_skb(skb);
	}
}
