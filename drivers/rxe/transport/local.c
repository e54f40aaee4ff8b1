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

/* Be the peer's receive task. Return: the peer; NULL if packets must be queued */
static struct rxe_qp *enter_peer(struct rxe_qp *qp, bool response)
{
	struct rxe_qp *peer;

	if (!qp->path.same_dev || !rxe_path_intact(&qp->path) ||
	    !READ_ONCE(qp->rxe->tune.zero_copy))
		return NULL;
	rxe_out_flush(qp, response ? &qp->rq.out : &qp->sq.sender.out);
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

static void leave_peer(struct rxe_qp *peer, bool more)
{
	more |= rxe_receiver_end(peer);
	rxe_task_leave(&peer->recv_task, more);
	rxe_qp_put(peer);
}

/**
 * rxe_outlet_requests - where the requests of a run go
 * @outlet: set; ends by rxe_outlet_end()
 * @qp: the requester
 */
void rxe_outlet_requests(struct rxe_outlet *outlet, struct rxe_qp *qp)
{
	*outlet = (struct rxe_outlet) {
		.qp	= qp,
		.peer	= enter_peer(qp, false),
		.out	= &qp->sq.sender.out,
		.tx	= qp->sq.sender.tx,
	};
}

/**
 * rxe_outlet_end - a run's requests are sent
 * @outlet: from rxe_outlet_requests(); those to the wire are for the caller to flush
 */
void rxe_outlet_end(struct rxe_outlet *outlet)
{
	struct rxe_qp *peer = outlet->peer;

	if (peer)
		leave_peer(peer, peer->rq.read.active);
}

/**
 * rxe_outlet_responses - where responses go
 * @outlet: set; ends with the run of recv_task (rxe_local_back_end())
 * @qp: the responder
 * @tx: whom they count for; NULL: for nobody, since they are few
 */
void rxe_outlet_responses(struct rxe_outlet *outlet, struct rxe_qp *qp,
			  struct rxe_tx *tx)
{
	struct rxe_rq *rq = &qp->rq;

	if (!rq->back)
		rq->back = enter_peer(qp, true);
	*outlet = (struct rxe_outlet) {
		.qp	= qp,
		.peer	= rq->back,
		.out	= &rq->out,
		.tx	= tx,
		.response = true,
	};
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
	leave_peer(peer, false);
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

/* Return: false if a READ must be served before another request */
static bool give_request(struct rxe_qp *peer, struct rxe_pkt *pkt,
			 struct rxe_data *data)
{
	u32 budget = RXE_TASK_BUDGET;

	if (pass_packet(peer, pkt) && rxe_respond_pkt(peer, pkt, data)) {
		rxe_count(peer->rxe, OUT_OF_SEQ_REQ);
		rxe_inq_skip(&peer->requests, peer->rq.epsn);
	}
	rxe_data_skip(data, pkt->payload_len - data->taken);
	return !peer->rq.read.active || !rxe_read_continue(peer, &budget);
}

static void give_response(struct rxe_qp *peer, struct rxe_pkt *pkt,
			  struct rxe_data *data)
{
	if (pass_packet(peer, pkt))
		rxe_complete_pkt(peer, pkt, data);
	rxe_data_skip(data, pkt->payload_len - data->taken);
}

/**
 * rxe_local_send - have the peer take in a packet
 * @outlet: of requests or responses; has a peer
 * @pkt: what the packet would say; flags are filled in
 * @data: its payload; moves on behind it
 *
 * Return: false if the peer is busy with a READ now.
 */
bool rxe_local_send(struct rxe_outlet *outlet, struct rxe_pkt *pkt,
		    struct rxe_data *data)
{
	/* copied once and not sealed: half of what a packet by wire costs */
	outlet->spent += pkt->payload_len / 2 + RXE_LOCAL_COST;
	data->taken = 0;
	if (!outlet->response)
		return give_request(outlet->peer, pkt, data);
	give_response(outlet->peer, pkt, data);
	return true;
}
