// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion notification (annex A17.9). A switch marks packets. The receiver reports the marks
 * to the sender by a CNP, and the sender slows down. This file takes and sends CNPs. cc/
 * decides when a CNP is due and by how much the rate falls.
 *
 * A CNP isn't authenticated. An attacker who can forge a packet of the connection can slow it
 * down, but not below rp_min_rate; a mark on a forged READ response shrinks the window, but not
 * below window_lossy. A UD QP has no peer, and a CNP no Q_Key: any host that
 * knows the QP's number can slow the QP down likewise.
 *
 * Context: recv_task.
 */
#include <transport/allowance.h>
#include <transport/common.h>

static void send_cnp(struct rxe_qp *qp, struct rxe_path *path, u32 qpn)
{
	struct rxe_pkt pkt = {
		.opcode = RXE_OPCODE_CNP, .pkey = RXE_PKEY, .qpn = qpn, .becn = true,
	};
	u32 len = rxe_pkt_get_bytes(pkt.opcode, 0);
	struct rxe_train train;
	void *p = rxe_train_start(qp->rxe, path, &train, len, 1);

	if (!p)
		return;
	rxe_pkt_build(&pkt, p);
	train.class = RXE_CLASS_CNP;
	train.sqpn = rxe_qp_num(qp);
	if (rxe_train_xmit(qp->rxe, path, &train))
		rxe_count(qp, SEND_ERR);
	else
		rxe_count(qp, NP_CNP_SENT);
}

/*
 * A datagram names its sender in the DETH. There is no answer to a multicast datagram: its
 * destination can't be the source of a CNP.
 */
static void answer_datagram(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	struct rxe_path path;

	if (rxe_path_back(&path, skb))
		return;
	send_cnp(qp, &path, pkt->src_qpn);
	rxe_path_destroy(&path);
}

/*
 * A marked packet has the priority that it came with. A packet without a priority has that of
 * the connection: without a VLAN tag, no packet carries the SL, and both ends have the same SL.
 */
static bool is_priority_on(const struct rxe_qp *qp, struct sk_buff *skb)
{
	u8 priority = rxe_rx_priority(skb);

	if (!priority && !qp->service->datagram)
		priority = qp->path.priority;
	return rxe_ecn_is_on(qp->rxe, priority);
}

/*
 * Only packets with payload are answered: a CNP slows down nothing else. A packet that gets no
 * CNP must not delay the CNP for others (rxe_np_due()).
 */
static bool wants_cnp(const struct rxe_qp *qp, struct sk_buff *skb,
		      const struct rxe_pkt *pkt)
{
	if (!(pkt->flags & RXE_OP_PAYLOAD) || rxe_rx(skb)->mcast ||
	    !READ_ONCE(qp->rxe->tune.roce_np))
		return false;
	if (qp->service->datagram && (!(pkt->flags & RXE_OP_DETH) || !rxe_ud_qkey_ok(qp, pkt)))
		return false;
	return is_priority_on(qp, skb);
}

/* A connection is one flow. A datagram's flow is that of the sending QP */
static u32 get_flow(const struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	return qp->service->datagram ? rxe_rx_flow(skb, pkt->src_qpn) : 0;
}

/*
 * READ responses were marked: ask for less. Only responses that are in flight count: a response
 * that comes twice, or that somebody forged, says nothing about the path.
 */
static void reduce_reads(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_allowance was;

	if (!sq->cc.ops->marked)
		return;
	spin_lock(&sq->lock);
	if (rxe_psn_diff(psn, sq->flight.una) >= 0 && rxe_psn_diff(psn, sq->flight.top) < 0) {
		was = rxe_allowance_get(sq);
		sq->cc.ops->marked(&sq->cc, sq->flight.una, sq->flight.top, ktime_get_ns());
		if (sq->cc.window < was.window)
			sq->flight.overfull = true;
		rxe_allowance_trace(sq, was);
	}
	spin_unlock(&sq->lock);
}

static void answer_marked(struct rxe_qp *qp, struct sk_buff *skb,
			  const struct rxe_pkt *pkt)
{
	bool due = wants_cnp(qp, skb, pkt) &&
		   rxe_np_due(&qp->slow->np, get_flow(qp, skb, pkt), ktime_get_ns());

	rxe_count_add(qp, NP_MARKED, rxe_rx(skb)->npkts);
	trace_rxe_mark(qp, rxe_rx(skb)->npkts, due);
	if (!due)
		return;
	if (qp->service->datagram)
		answer_datagram(qp, skb, pkt);
	else
		send_cnp(qp, &qp->path, qp->attr.dest_qp_num);
	if (pkt->flags & RXE_OP_READ_RESP)
		reduce_reads(qp, pkt->psn);
}

/*
 * Does a CNP slow the QP down? A UD QP has no priority of its own: each of its datagrams may
 * have another one.
 */
static bool heeds_cnp(const struct rxe_qp *qp)
{
	return rxe_qp_has_rate(qp) &&
	       (qp->service->datagram || rxe_ecn_is_on(qp->rxe, qp->path.priority));
}

/* The peer reports that packets of this QP were marked */
static void take_cnp(struct rxe_qp *qp)
{
	struct rxe_cc *cc = &qp->sq.cc;
	bool heeded = heeds_cnp(qp);
	struct rxe_allowance was;

	trace_rxe_cnp(qp, heeded);
	if (!heeded) {
		rxe_count(qp, RP_CNP_IGNORED);
		return;
	}
	rxe_count(qp, RP_CNP_HANDLED);
	spin_lock(&qp->sq.lock);
	was = rxe_allowance_get(&qp->sq);
	cc->ops->cnp(cc, ktime_get_ns());
	rxe_allowance_trace(&qp->sq, was);
	spin_unlock(&qp->sq.lock);
}

/**
 * rxe_notice - handle the congestion notification in a received packet
 * @qp: the QP
 * @skb: the train that has the packet
 * @pkt: the packet's headers, verified; those of the first of a run of MIDDLE packets
 *
 * An ECN mark is answered by a CNP [A17.9]. A CNP, or the BECN bit in another packet, is given
 * to congestion control, unless it was sent to a multicast group.
 *
 * Context: recv_task.
 *
 * Return: true if the packet is a CNP: nothing else is to be done with it.
 */
bool rxe_notice(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	bool cnp = pkt->flags & RXE_OP_CNP;

	if (rxe_rx(skb)->ce && !cnp) {
		rxe_rx(skb)->ce = false;
		answer_marked(qp, skb, pkt);
	}
	if (cnp && (!pkt->becn || rxe_rx(skb)->mcast))
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
	else if (pkt->becn && !rxe_rx(skb)->mcast)
		take_cnp(qp);
	return cnp;
}
