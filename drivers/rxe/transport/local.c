// SPDX-License-Identifier: GPL-2.0
/*
 * The peer is on this device: no wire, no packet.
 *
 * The sender enters the peer's receive task and hands it what a packet would
 * say, with the payload where its owner has it: it is copied once, from the
 * sender's memory to the target's. If the peer's task runs elsewhere, or has
 * something before it, packets are queued as trains as they are from the wire.
 *
 * Context: bottom halves off, in a task of the sender.
 */
#include <rxe/transport.h>

/* Both must mean each other, on the same netdev [9.6.1.5] */
static bool is_connected_to(const struct rxe_qp *qp, const struct rxe_qp *peer)
{
	const struct rxe_path *there = &peer->path, *here = &qp->path;

	return rxe_receives(peer) && peer->service == qp->service &&
	       peer->attr.dest_qp_num == rxe_qp_num(qp) &&
	       there->same_dev && there->proto == here->proto &&
	       rxe_path_ndev(there) == rxe_path_ndev(here) &&
	       rxe_gid_equal(&there->dgid, &here->sgid) &&
	       rxe_gid_equal(&there->sgid, &here->dgid);
}

/* Nothing may be overtaken */
static bool peer_ready(const struct rxe_qp *qp, const struct rxe_qp *peer,
		       bool response)
{
	const struct rxe_inq *in = response ? &peer->responses : &peer->requests;

	return is_connected_to(qp, peer) &&
	       skb_queue_empty_lockless(&in->queue) &&
	       skb_queue_empty(&in->held) &&
	       (response || !peer->rq.read.active);
}

/**
 * rxe_local_begin - be the peer's receive task
 * @qp: the sender
 * @response: what comes are responses
 *
 * Return: the peer, for rxe_local_end(); NULL if packets must be queued.
 */
struct rxe_qp *rxe_local_begin(struct rxe_qp *qp, bool response)
{
	struct rxe_qp *peer;

	if (!qp->path.same_dev || !rxe_path_intact(&qp->path) ||
	    !READ_ONCE(qp->rxe->tune.zero_copy))
		return NULL;
	rxe_out_flush(qp, response ? &qp->rq.out : &qp->sq.out);
	peer = rxe_qp_get_bh(qp->rxe, qp->attr.dest_qp_num);
	if (!peer)
		return NULL;
	if (!rxe_task_enter(&peer->recv_task))
		goto put;
	if (peer_ready(qp, peer, response))
		return peer;
	rxe_task_leave(&peer->recv_task, false);
put:
	rxe_qp_put(peer);
	return NULL;
}

/**
 * rxe_local_end - a run of the peer's receive task ends
 * @peer: from rxe_local_begin()
 * @more: there is more for it to do
 */
void rxe_local_end(struct rxe_qp *peer, bool more)
{
	more |= rxe_receiver_end(peer);
	rxe_task_leave(&peer->recv_task, more);
	rxe_qp_put(peer);
}

/**
 * rxe_local_back - be the peer's receive task until a run of ours ends
 * @qp: the sender, of responses
 *
 * Context: recv_task of @qp, which ends by rxe_local_back_end().
 *
 * Return: the peer; NULL if packets must be queued.
 */
struct rxe_qp *rxe_local_back(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	if (!rq->back)
		rq->back = rxe_local_begin(qp, true);
	return rq->back;
}

/**
 * rxe_local_back_end - the run is over, and all responses are given
 * @qp: the sender
 */
void rxe_local_back_end(struct rxe_qp *qp)
{
	struct rxe_qp *peer = qp->rq.back;

	if (!peer)
		return;
	qp->rq.back = NULL;
	rxe_local_end(peer, false);
}

/* As if it had been sent, received and parsed; false: nobody takes it in */
static bool pass_packet(struct rxe_qp *peer, struct rxe_pkt *pkt)
{
	u32 bytes = rxe_pkt_bytes(pkt->opcode, pkt->payload_len);

	pkt->flags = rxe_opcode[pkt->opcode].flags;
	rxe_count(peer->rxe, SENT_PKTS);
	rxe_count_add(peer->rxe, SENT_BYTES, bytes);
	rxe_count(peer->rxe, RCVD_PKTS);
	rxe_count_add(peer->rxe, RCVD_BYTES, bytes);
	if (rxe_receives(peer))
		return true;
	rxe_drop(peer->rxe, RXE_DROP_QP_STATE, 1);
	return false;
}

/**
 * rxe_local_request - have the peer execute a request
 * @peer: from rxe_local_begin()
 * @pkt: what the packet would say; flags are filled in
 * @data: its payload; moves on behind it
 *
 * Return: false if a READ must be served before another request.
 */
bool rxe_local_request(struct rxe_qp *peer, struct rxe_pkt *pkt,
		       struct rxe_data *data)
{
	u32 budget = RXE_TASK_BUDGET;

	data->taken = 0;
	if (pass_packet(peer, pkt) && rxe_respond_pkt(peer, pkt, data)) {
		rxe_count(peer->rxe, OUT_OF_SEQ_REQ);
		rxe_inq_skip(&peer->requests, peer->rq.epsn);
	}
	rxe_data_skip(data, pkt->payload_len - data->taken);
	return !peer->rq.read.active || !rxe_read_continue(peer, &budget);
}

/**
 * rxe_local_response - have the peer take in a response
 * @peer: from rxe_local_begin()
 * @pkt: what the packet would say; flags are filled in
 * @data: its payload; moves on behind it
 */
void rxe_local_response(struct rxe_qp *peer, struct rxe_pkt *pkt,
			struct rxe_data *data)
{
	data->taken = 0;
	if (pass_packet(peer, pkt))
		rxe_complete_pkt(peer, pkt, data);
	rxe_data_skip(data, pkt->payload_len - data->taken);
}
