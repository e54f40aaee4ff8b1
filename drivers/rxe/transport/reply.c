// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's short answers: ACK, NAK, and the replies to atomics, FLUSH and ATOMIC
 * WRITE (section 9.7.5.1).
 *
 * Context: recv_task.
 */
#include <transport/common.h>

/**
 * rxe_reply_reset - forget the responses in progress
 * @reply: the responses; recv_task is paused, so no peer and no train is held
 */
void rxe_reply_reset(struct rxe_reply *reply)
{
	rxe_tx_leave(reply->tx);
	rxe_out_reset(&reply->out);
}

static void send_reply(struct rxe_qp *qp, struct rxe_pkt *pkt, u32 hint)
{
	struct rxe_outlet outlet __uninitialized;
	struct rxe_data none = {};

	rxe_outlet_responses(&outlet, qp, NULL);
	rxe_outlet_send(&outlet, pkt, &none, hint);
}

/**
 * rxe_send_ack - send an ACK or NAK
 * @qp: the QP
 * @syndrome: AETH syndrome
 * @psn: the PSN in it
 */
void rxe_send_ack(struct rxe_qp *qp, u8 syndrome, u32 psn)
{
	struct rxe_pkt pkt __uninitialized;

	rxe_pkt_init_response(qp, &pkt);
	pkt.opcode = IB_OPCODE_RC_ACKNOWLEDGE;
	pkt.psn = psn;
	pkt.syndrome = syndrome;
	qp->rq.ack.due = false;
	send_reply(qp, &pkt, 1);
}

/**
 * rxe_send_due_ack - acknowledge the requests so far, if an ACK is due
 * @qp: the QP; rxe_expect_advance() hasn't counted a request that comes next
 *
 * Also before a READ or atomic. Its response acknowledges earlier requests, too (section
 * 9.7.5.1.2). But it may have to wait, for a page or for room in the queues, and some adapters
 * don't take a response for the ACK of a SEND or WRITE.
 */
void rxe_send_due_ack(struct rxe_qp *qp)
{
	if (qp->rq.ack.due)
		rxe_send_ack(qp, RXE_AETH_ACK | RXE_AETH_CREDITS_NONE,
			     rxe_psn_add(qp->rq.expect.psn, -1));
}

/**
 * rxe_send_nak - send a NAK for the expected PSN
 * @qp: the QP
 * @syndrome: AETH syndrome
 */
void rxe_send_nak(struct rxe_qp *qp, u8 syndrome)
{
	rxe_send_ack(qp, syndrome, qp->rq.expect.psn);
}

/**
 * rxe_send_empty_response - answer a FLUSH or ATOMIC WRITE
 * @qp: the QP
 * @psn: its PSN
 */
void rxe_send_empty_response(struct rxe_qp *qp, u32 psn)
{
	struct rxe_pkt pkt __uninitialized;

	rxe_pkt_init_response(qp, &pkt);
	pkt.opcode = IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY;
	pkt.psn = psn;
	send_reply(qp, &pkt, qp->rq.reply.batch);
}

/**
 * rxe_send_atomic_ack - answer an atomic
 * @qp: the QP
 * @psn: its PSN
 * @orig: what the memory held before
 */
void rxe_send_atomic_ack(struct rxe_qp *qp, u32 psn, u64 orig)
{
	struct rxe_pkt pkt __uninitialized;

	rxe_pkt_init_response(qp, &pkt);
	pkt.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
	pkt.psn = psn;
	pkt.atomic_orig = orig;
	send_reply(qp, &pkt, qp->rq.reply.batch);
}
