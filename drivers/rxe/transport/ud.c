// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable datagrams (section 9.8.3), including the GSI.
 *
 * A datagram completes when it has been passed to net/. The first 40 bytes of a receive buffer
 * are for the GRH. An IPv4 header is in the last 20 of them (A17.4.5.1).
 *
 * Context: send_task and recv_task; the send queue under sq.lock.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <rxe/mcast.h>
#include <transport/common.h>

/* A Q_Key with the high bit set selects the QP's own Q_Key [10.2.5] */
static u32 ud_get_qkey(const struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	return wqe->remote_qkey & BIT(31) ? qp->attr.qkey : wqe->remote_qkey;
}

static void ud_init_pkt(struct rxe_qp *qp, const struct rxe_swqe *wqe,
			struct rxe_pkt *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = qp->service->opcode + rxe_wr_type(wqe)->only;
	pkt->pkey = RXE_PKEY;
	pkt->qpn = wqe->remote_qpn;
	pkt->psn = qp->sq.flight.psn;
	pkt->mig = true;
	pkt->solicited = wqe->flags & IB_SEND_SOLICITED;
	pkt->pad = rxe_pad(wqe->length);
	pkt->qkey = ud_get_qkey(qp, wqe);
	pkt->src_qpn = rxe_qp_num(qp);
	pkt->imm = wqe->imm;
}

/*
 * Send a datagram, which is one packet [9.8.3].
 *
 * @cost: out: bytes of the budget. A datagram to a multicast group is delivered to each member
 * on this device. There may be many members, so a run sends only one such datagram.
 *
 * Return: enum ib_wc_status, success even if the datagram is dropped on its way; or
 * -EAGAIN if it waits for a page.
 */
static int ud_send_datagram(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 *cost)
{
	struct rxe_path *path = &wqe->ah->path;
	struct rxe_train train;
	struct rxe_pkt pkt;
	int err;
	u32 len;
	void *p;

	ud_init_pkt(qp, wqe, &pkt);
	len = rxe_pkt_get_bytes(pkt.opcode, wqe->length);
	p = rxe_train_start(qp->rxe, path, &train, len, 1);
	if (!p)
		goto sent;
	train.tx = qp->sq.sender.tx;
	train.mad = qp->service->mads;
	/* The path is that of an AH, which may have been made for another QP or setting */
	if (unlikely(path->ecn) && !rxe_qp_has_rate(qp))
		train.class = RXE_CLASS_NOT_ECT;
	if (unlikely(path->mcast))
		train.grp = rxe_mcast_find(qp->rxe, &path->dgid);
	if (train.grp)
		*cost = RXE_TASK_BUDGET;
	p = rxe_pkt_build(&pkt, p);
	memset(p + wqe->length, 0, pkt.pad);
	err = rxe_gather(&qp->sq.sender.source, wqe, qp->sq.sender.segs, p);
	if (err) {
		rxe_train_drop(&train);
		return err == -EAGAIN ? err : IB_WC_LOC_PROT_ERR;
	}
	if (!path->same_dev && rxe_is_paced(qp))
		rxe_pace_charge(qp, max_t(u32, wqe->length, RXE_PKT_COST));
	if (rxe_train_xmit(qp->rxe, path, &train))
		rxe_count(qp, SEND_ERR);
	rxe_count(qp, RDMA_SENDS);
sent:
	qp->sq.flight.psn = rxe_psn_add(qp->sq.flight.psn, 1);
	return IB_WC_SUCCESS;
}

static struct rxe_swqe *ud_get_next_wqe(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = NULL;

	spin_lock(&sq->lock);
	if (sq->q.tail != sq->q.head || rxe_sq_import(qp))
		wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);
	spin_unlock(&sq->lock);
	return wqe;
}

static void ud_finish_wqe(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status)
{
	struct rxe_sq *sq = &qp->sq;

	spin_lock(&sq->lock);
	rxe_sq_finish(qp, wqe, status);
	sq->q.cur = sq->q.tail;
	spin_unlock(&sq->lock);
}

static bool ud_must_wait(struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	if (wqe->status)
		return false;
	if (rxe_pager_is_busy(&qp->sq.sender.source.pager))
		return true;
	if (wqe->ah->path.same_dev)
		return false;
	rxe_tx_follow(&qp->sq.sender.tx, wqe->ah->path.txq);
	return (rxe_is_paced(qp) && !rxe_pace_ask(qp, RXE_PACE_SEND)) ||
	       rxe_tx_full(qp->sq.sender.tx);
}

/**
 * rxe_ud_requester - a run of the send task for UD and GSI, rxe_service.send
 * @qp: the QP
 *
 * Return: true if the budget was spent.
 */
bool rxe_ud_requester(struct rxe_qp *qp)
{
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_swqe *wqe;

	while (budget) {
		u8 state = READ_ONCE(qp->state);
		u32 cost;
		int status;

		if (state == IB_QPS_ERR || state == IB_QPS_SQE)
			return rxe_sq_flush(qp);
		if (state != IB_QPS_RTS)
			return false;
		wqe = ud_get_next_wqe(qp);
		if (!wqe || ud_must_wait(qp, wqe))
			return false;
		cost = wqe->length;
		status = wqe->status ? wqe->status : ud_send_datagram(qp, wqe, &cost);
		if (status == -EAGAIN)
			return !rxe_pager_is_busy(&qp->sq.sender.source.pager);
		rxe_task_spend(&budget, cost);
		if (status) {
			rxe_qp_to_sqe(qp);	/* before the consumer sees the error */
			rxe_count_send_error(qp, status);
		}
		ud_finish_wqe(qp, wqe, status);
	}
	return true;
}

/**
 * rxe_ud_requester_due - does the send task have anything to do? rxe_service.due for UD
 *	and GSI
 * @qp: the QP
 *
 * Return: true if it may have something to do.
 */
bool rxe_ud_requester_due(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;

	return READ_ONCE(sq->q.tail) != READ_ONCE(sq->q.head) ||
	       rxe_ring_count_pending(sq->q.ring);
}

/* Kernel consumers need these data for an answer: MAC, VLAN, kind of network header */
static void fill_gsi_wc(struct rxe_qp *qp, struct sk_buff *skb, struct ib_wc *wc)
{
	wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = rxe_rx_network(skb);
	if (!rxe_rx(skb)->same_dev && skb_mac_header_was_set(skb) &&
	    skb_mac_header_len(skb) >= ETH_HLEN) {
		wc->wc_flags |= IB_WC_WITH_SMAC;
		ether_addr_copy(wc->smac, eth_hdr(skb)->h_source);
	}
	if (rxe_rx(skb)->vlan != RXE_NO_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = rxe_rx(skb)->vlan & VLAN_VID_MASK;
	}
}

/**
 * rxe_ud_qkey_ok - does a datagram have the QP's Q_Key? [10.2.5]
 * @qp: the QP
 * @pkt: the datagram
 *
 * Context: any.
 * Return: true if so.
 */
bool rxe_ud_qkey_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	return pkt->qkey == (qp->service->qkey ?: qp->attr.qkey);
}

/* Return: as rxe_scatter() */
static int ud_deliver(struct rxe_qp *qp, struct sk_buff *skb,
		      const struct rxe_pkt *pkt, struct rxe_data *data)
{
	struct rxe_rwqe *wqe = &qp->rq.recv.wqe;
	const struct rxe_list list = { wqe->sge, wqe->num_sge, qp->is_user, qp->rq.recv.pd,
				       &qp->rq.write.key, &qp->requests.pager };
	u8 grh[RXE_GRH_BYTES];
	const struct rxe_seg seg = { .va = (uintptr_t)grh, .len = sizeof(grh) };
	struct rxe_data head = { .seg = &seg };

	rxe_rx_grh(skb, grh);
	return rxe_scatter(&list, 0, &head, seg.len) ?:
	       rxe_scatter(&list, seg.len, data, pkt->payload_len);
}

static void ud_finish_recv(struct rxe_qp *qp, struct sk_buff *skb,
			   const struct rxe_pkt *pkt, u8 status)
{
	struct ib_wc wc = {
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = pkt->payload_len + RXE_GRH_BYTES,
		.src_qp = pkt->src_qpn,
		.wc_flags = IB_WC_GRH,
		.sl = qp->is_user ? rxe_rx_wc_sl(skb) : skb->priority & 0xf,
	};

	if (pkt->flags & RXE_OP_IMMDT) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	if (!qp->is_user)
		fill_gsi_wc(qp, skb, &wc);
	rxe_recv_done(qp, &wc, pkt->solicited);
}

static void ud_fail_recv(struct rxe_qp *qp, struct sk_buff *skb,
			 const struct rxe_pkt *pkt, u8 status)
{
	rxe_count_recv_error(qp, status);
	ud_finish_recv(qp, skb, pkt, status);
}

/*
 * Does the datagram fit into the receive work request? If not, the work request completes
 * with an error [11.6.2], so that the next work request can be used. The QP stays usable, since
 * any host may have sent the datagram. Exception: on the GSI, no work request completes. All
 * have the same size, and the GSI's owner treats an error as the end of the QP.
 */
static bool ud_recv_fits(struct rxe_qp *qp, struct sk_buff *skb,
			 const struct rxe_pkt *pkt)
{
	if (qp->rq.recv.wqe.length >= pkt->payload_len + RXE_GRH_BYTES)
		return true;
	if (!qp->service->keep_short_recv)
		ud_fail_recv(qp, skb, pkt, IB_WC_LOC_LEN_ERR);
	return false;
}

/**
 * rxe_ud_rcv - take in one datagram
 * @qp: the QP
 * @skb: the datagram; net/ makes no trains of datagrams
 * @pkt: its headers
 * @data: its payload
 *
 * A datagram with a wrong Q_Key or without receive work request is silently dropped
 * [9.8.3.2]. Context: recv_task.
 */
void rxe_ud_rcv(struct rxe_qp *qp, struct sk_buff *skb,
		const struct rxe_pkt *pkt, struct rxe_data *data)
{
	int err;

	if (!rxe_ud_qkey_ok(qp, pkt)) {
		rxe_drop(qp->rxe, RXE_DROP_QKEY, 1);
		return;
	}
	if (!rxe_rq_next(qp) || !ud_recv_fits(qp, skb, pkt)) {
		rxe_drop(qp->rxe, RXE_DROP_NO_RECV, 1);
		return;
	}
	err = ud_deliver(qp, skb, pkt, data);
	if (err == -EAGAIN) {
		qp->requests.parked = true;
		return;
	}
	if (!err) {
		ud_finish_recv(qp, skb, pkt, IB_WC_SUCCESS);
		return;
	}
	rxe_qp_to_err(qp);	/* before the consumer sees the error */
	ud_fail_recv(qp, skb, pkt, IB_WC_LOC_PROT_ERR);
}
