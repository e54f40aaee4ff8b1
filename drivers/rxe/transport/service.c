// SPDX-License-Identifier: GPL-2.0
/*
 * The table of transport services: one row per QP type.
 */
#include <rdma/ib_mad.h>
#include <rxe/transport.h>

static bool take_rc(struct rxe_qp *qp, struct sk_buff *skb,
		    const struct rxe_pkt *pkt, struct rxe_data *data)
{
	if (pkt->flags & RXE_OP_RESPONSE)
		return rxe_complete_pkt(qp, pkt, data);
	return rxe_respond_pkt(qp, pkt, data);
}

static bool take_uc(struct rxe_qp *qp, struct sk_buff *skb,
		    const struct rxe_pkt *pkt, struct rxe_data *data)
{
	rxe_uc_respond(qp, pkt, data);
	return false;
}

static bool take_ud(struct rxe_qp *qp, struct sk_buff *skb,
		    const struct rxe_pkt *pkt, struct rxe_data *data)
{
	rxe_ud_rcv(qp, skb, pkt, data);
	return false;
}

static bool take_local_rc(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			  struct rxe_data *data)
{
	u32 budget = RXE_TASK_BUDGET;

	if (pkt->flags & RXE_OP_RESPONSE) {
		if (rxe_complete_pkt(qp, pkt, data))
			rxe_drop(qp->rxe, RXE_DROP_EARLY, 1);
		return likely(!qp->responses.parked);
	}
	qp->rq.read.sent_then = qp->rq.read.sent;	/* it comes now, as no train does */
	if (rxe_respond_pkt(qp, pkt, data)) {
		rxe_drop(qp->rxe, RXE_DROP_EARLY, 1);
		rxe_count(qp, OUT_OF_SEQ_REQ);
		rxe_early_skip(&qp->requests.early, qp->rq.expect.psn);
	}
	if (unlikely(qp->requests.parked))
		return false;
	if (qp->rq.read.active)
		rxe_read_continue(qp, &budget);
	return true;
}

static bool take_local_uc(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			  struct rxe_data *data)
{
	rxe_uc_respond(qp, pkt, data);
	return likely(!qp->requests.parked);
}

static const struct rxe_service services[] = {
	[IB_QPT_RC] = {
		.opcode		= IB_OPCODE_RC,
		.wrs		= RXE_WR_FOR_RC | RXE_WR_FOR_PROCESS,
		.kernel_wrs	= RXE_WR_FOR_RC | RXE_WR_FOR_KERNEL_RC,
		.acked		= true,
		.send		= rxe_rc_requester,
		.due		= rxe_rc_requester_due,
		.take		= take_rc,
		.take_local	= take_local_rc,
		.refuse		= rxe_rc_refuse,
	},
	[IB_QPT_UC] = {
		.opcode		= IB_OPCODE_UC,
		.wrs		= RXE_WR_FOR_UC | RXE_WR_FOR_PROCESS,
		.kernel_wrs	= RXE_WR_FOR_UC,
		.send		= rxe_uc_requester,
		.due		= rxe_ud_requester_due,
		.take		= take_uc,
		.take_local	= take_local_uc,
		.refuse		= rxe_uc_refuse,
	},
	[IB_QPT_UD] = {
		.opcode		= IB_OPCODE_UD,
		.wrs		= RXE_WR_FOR_UD,
		.kernel_wrs	= RXE_WR_FOR_UD,
		.datagram	= true,
		.send		= rxe_ud_requester,
		.due		= rxe_ud_requester_due,
		.take		= take_ud,
	},
	[IB_QPT_GSI] = {
		.opcode		= IB_OPCODE_UD,
		.wrs		= RXE_WR_FOR_UD,
		.kernel_wrs	= RXE_WR_FOR_UD,
		.qkey		= IB_QP1_QKEY,
		.qpn		= 1,
		.kernel_only	= true,
		.mads		= true,
		.keep_short_recv = true,
		.datagram	= true,
		.send		= rxe_ud_requester,
		.due		= rxe_ud_requester_due,
		.take		= take_ud,
	},
};

/**
 * rxe_service_find - find the service of a QP type [9.2.1]
 * @type: enum ib_qp_type
 *
 * Return: its row, or NULL if it isn't supported.
 */
const struct rxe_service *rxe_service_find(enum ib_qp_type type)
{
	if (type >= ARRAY_SIZE(services) || !services[type].send)
		return NULL;
	return &services[type];
}
