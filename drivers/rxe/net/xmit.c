// SPDX-License-Identifier: GPL-2.0
/*
 * Sending a train: it gets network headers and the ICRC of each packet, and goes to the stack.
 * If the peer is on the same device, it goes directly to the receiving side.
 *
 * Context: bottom halves off.
 */
#include <rxe/knobs.h>
#include "internal.h"
#include "proto.h"

/* A train whose ICRCs are being computed */
struct seal {
	u8			proto;
	const void		*l3;
	u32			pkt_bytes;
	u32			n;	/* packets done */
	struct rxe_l3_icrc	*l3_icrc;
};

static void rxe_seal_packet(struct seal *seal, void *pkt, u32 len)
{
	u32 state = rxe_l3_icrc_start(seal->l3_icrc, seal->proto, seal->l3,
				      seal->n++, len);

	rxe_icrc_put(state, pkt, len - RXE_ICRC_BYTES);
}

/* Packets in contiguous memory */
static void rxe_seal_run(struct seal *seal, void *data, u32 bytes)
{
	while (bytes) {
		u32 len = min(bytes, seal->pkt_bytes);

		rxe_seal_packet(seal, data, len);
		data += len;
		bytes -= len;
	}
}

/* Fill in the ICRCs. skb->data is at the network header, which has @hdr_len bytes. */
static void rxe_seal_skb(struct sk_buff *skb, u8 proto, u32 hdr_len,
			 const struct rxe_train *train)
{
	struct rxe_l3_icrc own = {};
	struct seal seal = {
		.proto = proto, .l3 = skb->data, .pkt_bytes = train->pkt,
		.l3_icrc = train->l3_icrc ?: &own,
	};
	u32 i;

	rxe_seal_run(&seal, skb->data + hdr_len, skb_headlen(skb) - hdr_len);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		rxe_seal_run(&seal, skb_frag_address(frag), skb_frag_size(frag));
	}
}

/*
 * Without a wire, no ICRC is needed; the headers only carry the addresses. If an address is gone,
 * the path is down. The wire is no fallback: its packets have another size.
 */
static int rxe_xmit_same_dev(struct rxe_dev *rxe, struct rxe_path *path,
			     struct rxe_train *train, struct sk_buff *skb)
{
	int err = 0;

	/* If it is a VLAN netdev, the receiver takes the VLAN from it */
	skb->dev = rxe_path_get_ndev(path);
	if (skb->dev && rxe_path_is_intact(path)) {
		skb->priority = path->sl;
		rxe_l3(path->proto)->push(skb, path, 0);
		rxe_rx_same_dev(rxe, skb, path, train);
	} else {
		kfree_skb(skb);
		err = -ENETDOWN;
	}
	return err;
}

/*
 * Give a multicast datagram to the members on this device, without the wire. The sender may
 * be a member, too. On loopback, nothing else is sent, since @skb would come back.
 *
 * Return: true if there is no wire.
 */
static bool rxe_xmit_members(struct rxe_dev *rxe, const struct rxe_path *path,
			     const struct rxe_train *train, struct sk_buff *skb)
{
	struct net_device *ndev = rxe_path_get_ndev(path);
	struct sk_buff *copy;

	if (!ndev)
		return false;
	if (train->grp) {
		copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (copy) {
			copy->dev = ndev;
			rxe_rx_same_dev(rxe, copy, path, train);
		} else {
			rxe_drop(rxe, RXE_DROP_MEMORY, 1);
		}
	}
	return ndev->flags & IFF_LOOPBACK;
}

/*
 * A packet that isn't ECN-capable, whatever its path says. A CNP is such a packet. It also has
 * its own traffic class and priority, so that it doesn't queue behind data.
 */
static noinline void rxe_xmit_set_class(struct sk_buff *skb, const struct rxe_path *path, u8 class)
{
	u8 tos = path->tos & ~INET_ECN_MASK;

	if (class == RXE_CLASS_CNP) {
		tos = rxe_knob(np_cnp_dscp) << 2;
		skb->priority = rxe_knob(np_cnp_prio);
	}
	if (path->proto == RXE_ROCE_V2_IPV4)
		ip_hdr(skb)->tos = tos;
	else if (path->proto == RXE_ROCE_V2_IPV6)
		ipv6_change_dsfield(ipv6_hdr(skb), 0, tos);
}

static int rxe_xmit_wire(struct rxe_dev *rxe, struct rxe_path *path,
			 struct rxe_train *train, struct sk_buff *skb)
{
	const struct rxe_l3 *l3 = rxe_l3(path->proto);
	int err;

	skb->priority = path->priority;
	if (train->tx)
		rxe_tx_own(train->tx, rxe_net_sock(rxe, path->proto), skb);
	__skb_set_sw_hash(skb, path->hash, true);
	l3->push(skb, path, train->npkts);
	if (unlikely(train->class))
		rxe_xmit_set_class(skb, path, train->class);
	rxe_seal_skb(skb, path->proto, l3->bytes, train);
	if (unlikely(path->mcast) && rxe_xmit_members(rxe, path, train, skb)) {
		consume_skb(skb);
		return 0;
	}
	err = l3->send(skb, path, train);
	if (err > 0) {
		rxe_drop(rxe, RXE_DROP_TX, train->npkts);
		err = 0;
	}
	return err;
}

/**
 * rxe_train_xmit - send a train, which is consumed in any case
 * @rxe: device
 * @path: the path that the train was begun for
 * @train: from rxe_train_start()
 *
 * Packets that the stack or a queue drops are lost as on a wire: counted, no error.
 *
 * Context: bottom halves off.
 * Return: 0, or a negative error if the path can't work just now (no route,
 * netdev down).
 */
int rxe_train_xmit(struct rxe_dev *rxe, struct rxe_path *path,
		   struct rxe_train *train)
{
	struct sk_buff *skb = train->skb;
	u32 npkts = train->npkts, bytes;
	int err;

	if (!npkts) {
		rxe_train_drop(train);
		return 0;
	}
	rxe_train_close(train);
	train->skb = NULL;
	bytes = skb->len;
	if (path->same_dev)
		err = rxe_xmit_same_dev(rxe, path, train, skb);
	else
		err = rxe_xmit_wire(rxe, path, train, skb);
	if (err)
		return err;
	rxe_count_add(rxe, SENT_PKTS, npkts);
	rxe_count_add(rxe, SENT_BYTES, bytes);
	if (unlikely(path->mcast))
		rxe_count_add(rxe, SENT_MCAST, npkts);
	return 0;
}
