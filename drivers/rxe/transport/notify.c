// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion notification (annex A17.9): a switch marks packets, their receiver tells the
 * sender by a CNP, and the sender slows down. When to do either is decided in cc/.
 *
 * A CNP is no proof of anything: whoever can forge a packet of the connection can slow it
 * down, but not below the least rate.
 *
 * Context: recv_task.
 */
#include <rxe/transport.h>
#include <stats/allowance.h>

static void send_cnp(struct rxe_qp *qp, struct rxe_path *path, u32 qpn)
{
	struct rxe_pkt pkt = {
		.opcode = RXE_OPCODE_CNP, .pkey = RXE_PKEY, .qpn = qpn, .becn = true,
	};
	u32 len = rxe_pkt_bytes(pkt.opcode, 0);
	struct rxe_train train;
	void *p = rxe_train_start(qp->rxe, path, &train, len, 1);

	if (!p)
		return;
	rxe_pkt_build(&pkt, p);
	train.cnp = true;
	train.sqpn = rxe_qp_num(qp);
	if (rxe_train_xmit(qp->rxe, path, &train))
		rxe_count(qp, SEND_ERR);
	else
		rxe_count(qp, NP_CNP_SENT);
}

/* A datagram names its sender; a group's has no address to answer from */
static void answer_datagram(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	struct rxe_path path;

	if (!(pkt->flags & RXE_OP_DETH) || rxe_rx(skb)->mcast || rxe_path_back(&path, skb))
		return;
	if (rxe_path_ecn(qp->rxe, &path))
		send_cnp(qp, &path, pkt->src_qpn);
	rxe_path_destroy(&path);
}

/* Only data is sent at a rate that the sender controls */
static void answer_mark(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	bool due = pkt->flags & RXE_OP_PAYLOAD && READ_ONCE(qp->rxe->tune.roce_np) &&
		   rxe_np_due(&qp->rq.np, ktime_get_ns());

	rxe_count_add(qp, NP_MARKED, rxe_rx(skb)->npkts);
	trace_rxe_mark(qp, rxe_rx(skb)->npkts, due);
	if (!due)
		return;
	if (qp->service->datagram)
		answer_datagram(qp, skb, pkt);
	else if (rxe_path_ecn(qp->rxe, &qp->path))
		send_cnp(qp, &qp->path, qp->attr.dest_qp_num);
}

/* The peer tells that packets of ours were marked */
static void take_cnp(struct rxe_qp *qp)
{
	struct rxe_cc *cc = &qp->sq.cc;
	struct rxe_allowance was;

	trace_rxe_cnp(qp, cc->ops->cnp);
	if (!cc->ops->cnp) {
		rxe_count(qp, RP_CNP_IGNORED);
		return;
	}
	rxe_count(qp, RP_CNP_HANDLED);
	spin_lock(&qp->sq.lock);
	was = rxe_allowance(&qp->sq);
	cc->ops->cnp(cc, ktime_get_ns());
	rxe_allowance_trace(&qp->sq, was);
	spin_unlock(&qp->sq.lock);
}

/**
 * rxe_notice - a packet tells of congestion: it was marked, or it is a CNP, or has a
 *	BECN, which says the same
 * @qp: the QP
 * @skb: its train
 * @pkt: its headers, verified; or the first of MIDDLE packets
 *
 * Return: true if it is a CNP, and says no more.
 */
bool rxe_notice(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	bool cnp = pkt->flags & RXE_OP_CNP;

	if (rxe_rx(skb)->ce && !cnp) {
		rxe_rx(skb)->ce = false;
		answer_mark(qp, skb, pkt);
	}
	if (cnp && (!pkt->becn || rxe_rx(skb)->mcast))
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
	else if (pkt->becn)
		take_cnp(qp);
	return cnp;
}
