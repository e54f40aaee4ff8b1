// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE v1 (annex A16): Ethertype 0x8915, a GRH, and the packet. Never routed.
 *
 * Trains leave and come as one GSO skb of the type that rocev1_offload.c describes.
 *
 * Context: bottom halves off; opening and closing is serialised by net.c.
 */
#include <linux/etherdevice.h>
#include <net/ipv6.h>
#include <net/sch_generic.h>
#include "internal.h"
#include "proto.h"

static void rxe_v1_push(struct sk_buff *skb, struct rxe_path *path, u32 npkts)
{
	u32 len = skb->len;
	struct ib_grh *grh = skb_push(skb, sizeof(*grh));

	skb_reset_network_header(skb);
	grh->version_tclass_flow = cpu_to_be32(6 << 28 |
					       path->traffic_class << 20 |
					       path->flow_label);
	grh->paylen = cpu_to_be16(len);
	grh->next_hdr = RXE_GRH_NXTHDR;
	grh->hop_limit = path->hop_limit;
	grh->sgid = path->sgid;
	grh->dgid = path->dgid;
}

static int rxe_v1_push_link(struct sk_buff *skb, const struct rxe_path *path,
			    const struct rxe_train *train, struct net_device *ndev)
{
	if (RXE_GRH_BYTES + train->pkt > READ_ONCE(ndev->mtu))
		return -EMSGSIZE;
	if (train->npkts > 1)
		rxe_v1_offload(skb, train->pkt, train->npkts);
	skb->dev = ndev;
	skb->protocol = htons(RXE_ROCE_ETHERTYPE);
	return dev_hard_header(skb, ndev, RXE_ROCE_ETHERTYPE, path->dmac, NULL,
			       skb->len);
}

static int rxe_v1_send(struct sk_buff *skb, struct rxe_path *path,
		       const struct rxe_train *train)
{
	struct net_device *ndev;
	int err = -ENETDOWN;

	ndev = rxe_path_get_ndev(path);
	if (!ndev || !(ndev->flags & IFF_UP)) {
		kfree_skb(skb);
	} else if (rxe_v1_push_link(skb, path, train, ndev) < 0) {
		kfree_skb(skb);
		err = 1;
	} else {
		err = path->dgid_attr ? dev_forward_skb(ndev, skb) : dev_queue_xmit(skb);
		err = !!net_xmit_eval(err);
	}
	return err;
}

static bool rxe_v1_is_grh(const struct ib_grh *grh)
{
	return be32_to_cpu(grh->version_tclass_flow) >> 28 == 6 &&
	       grh->next_hdr == RXE_GRH_NXTHDR;
}

static bool rxe_v1_matches_first(const void *first, const void *l3, u32 len)
{
	const struct ib_grh *was = first, *grh = l3;

	return rxe_v1_is_grh(grh) && be16_to_cpu(grh->paylen) == len &&
	       !memcmp(&grh->sgid, &was->sgid, 2 * sizeof(grh->sgid));
}

static void rxe_v1_fix_header(void *l3, u32 n, u32 len)
{
	struct ib_grh *grh = l3;

	grh->paylen = cpu_to_be16(len);
}

const struct rxe_l3 rxe_l3_v1 = {
	.bytes		= RXE_GRH_BYTES,
	.gid_type	= IB_GID_TYPE_ROCE,
	.network	= RDMA_NETWORK_ROCE_V1,
	.gso		= NETIF_F_GSO_FRAGLIST,
	.push		= rxe_v1_push,
	.send		= rxe_v1_send,
	.icrc_start	= rxe_icrc_start_v1,
	.gids		= rxe_ipv6_gids,
	.is_from	= rxe_ipv6_is_from,
	.matches_first	= rxe_v1_matches_first,
	.fix_header	= rxe_v1_fix_header,
};

/* The link may pad a single packet; a train must have the length in its header. */
static bool rxe_v1_trim(struct sk_buff *skb, u32 bytes)
{
	if (skb_is_gso(skb))
		return skb->len == bytes && rxe_v1_gso_ok(skb);
	return !pskb_trim(skb, bytes);
}

/* Check the GRH, and that the skb has all its bytes and no more. */
static bool rxe_v1_check_grh(struct sk_buff *skb)
{
	const struct ib_grh *grh;
	u32 paylen;

	if (!pskb_may_pull(skb, sizeof(*grh)))
		return false;
	grh = (const struct ib_grh *)skb->data;
	paylen = be16_to_cpu(grh->paylen);
	if (!rxe_v1_is_grh(grh) || paylen > skb->len - sizeof(*grh))
		return false;
	return rxe_v1_trim(skb, sizeof(*grh) + paylen);
}

static int rxe_v1_rcv(struct sk_buff *skb, struct net_device *ndev,
		      struct packet_type *pt, struct net_device *orig_dev)
{
	struct rxe_dev *rxe = rxe_net_find(dev_net(ndev), ndev, RXE_ENABLE_V1);
	u32 pkt = 0, npkts = rxe_count_segs(skb);

	if (!rxe || skb->pkt_type == PACKET_OTHERHOST)
		goto drop;
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb || (!skb_is_gso(skb) && skb_has_frag_list(skb) && skb_linearize(skb))) {
		rxe_drop(rxe, RXE_DROP_MEMORY, npkts);
		goto drop;
	}
	if (rxe_v1_check_grh(skb))
		pkt = rxe_skb_pkt(skb, skb->len - RXE_GRH_BYTES);
	if (!pkt) {
		rxe_drop(rxe, RXE_DROP_MALFORMED, npkts);
		goto drop;
	}
	skb_reset_network_header(skb);
	rxe_rx_deliver(rxe, skb, RXE_GRH_BYTES, RXE_ROCE_V1, pkt);
	return NET_RX_SUCCESS;
drop:
	kfree_skb(skb);
	return NET_RX_DROP;
}

static struct packet_type rxe_v1_type __read_mostly = {
	.type	= cpu_to_be16(RXE_ROCE_ETHERTYPE),
	.func	= rxe_v1_rcv,
};

/**
 * rxe_v1_open - receive the Ethertype, in all namespaces
 */
void rxe_v1_open(void)
{
	dev_add_pack(&rxe_v1_type);
	rxe_v1_gro_switch(true);
}

/**
 * rxe_v1_close - undo rxe_v1_open(); waits for receivers
 */
void rxe_v1_close(void)
{
	rxe_v1_gro_switch(false);
	dev_remove_pack(&rxe_v1_type);
}
