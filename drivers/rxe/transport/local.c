// SPDX-License-Identifier: GPL-2.0
/*
 * A peer on the same device: requests and responses without packets.
 *
 * Theory. A packet by wire costs a copy into an skb, a queue, a second copy, and a switch
 * between tasks. If both ends are on this host, one copy is enough. The sender enters the
 * peer's receive task on its own CPU. It passes the headers and a pointer to the payload. The
 * peer copies the payload from the sender's memory to its destination. Responses return in the
 * same way. RXE_TASK_DEPTH bounds the depth of the stack.
 *
 * Exception: the sender builds trains if the peer's task runs on another CPU, if the stack is
 * too deep, or if the peer has older packets to process. Such trains are queued like those
 * from the wire.
 *
 * This file is below the requester and the responder, as net/ is. It calls the peer through
 * two tables: rxe_service.take_local takes a packet, rxe_task.end ends the peer's run.
 *
 * Context: bottom halves off, in a task of the sender.
 */
#include <rxe/transport.h>

/* The QPs must be connected to each other, on the same netdev [9.6.1.5] */
static bool is_connected_to(const struct rxe_qp *qp, const struct rxe_qp *peer)
{
	const struct rxe_path *there = &peer->path, *here = &qp->path;

	return rxe_qp_can_receive(peer) && peer->service == qp->service &&
	       peer->attr.dest_qp_num == rxe_qp_num(qp) &&
	       there->same_dev && there->proto == here->proto &&
	       rxe_path_get_ndev(there) == rxe_path_get_ndev(here) &&
	       rxe_gid_equal(&there->dgid, &here->sgid) &&
	       rxe_gid_equal(&there->sgid, &here->dgid);
}

/* A direct request or response must not overtake packets that wait */
static bool is_peer_ready(const struct rxe_qp *qp, const struct rxe_qp *peer,
			  bool response)
{
	const struct rxe_inq *in = response ? &peer->responses : &peer->requests;

	return is_connected_to(qp, peer) &&
	       skb_queue_empty_lockless(&in->queue) &&
	       !rxe_early_holds(&in->early) && !in->parked &&
	       (response || !peer->rq.read.active);
}

/*
 * Enter the receive task of a peer on the same device. Return: the peer; NULL if packets must be
 * queued. Not inline: a sender to the wire doesn't need the registers.
 */
static noinline struct rxe_qp *enter_peer(struct rxe_qp *qp, bool response)
{
	struct rxe_qp *peer;

	if (!rxe_path_is_intact(&qp->path) || !READ_ONCE(qp->rxe->tune.zero_copy))
		return NULL;
	rxe_out_flush(qp, response ? &qp->rq.reply.out : &qp->sq.sender.out);
	peer = rxe_qp_get_bh(qp->rxe, qp->attr.dest_qp_num);
	if (!peer)
		return NULL;
	if (!rxe_task_enter(&peer->recv_task))
		goto put;
	if (is_peer_ready(qp, peer, response))
		return peer;
	rxe_task_leave(&peer->recv_task, false);
put:
	rxe_qp_put(peer);
	return NULL;
}

static void leave_peer(struct rxe_qp *peer, bool more)
{
	rxe_task_end(&peer->recv_task, more);
	rxe_qp_put(peer);
}

/**
 * rxe_outlet_requests - find where the requests of a run go
 * @outlet: out: the outlet; end it with rxe_outlet_end()
 * @qp: the requester
 */
void rxe_outlet_requests(struct rxe_outlet *outlet, struct rxe_qp *qp)
{
	*outlet = (struct rxe_outlet) {
		.qp	= qp,
		.peer	= qp->path.same_dev ? enter_peer(qp, false) : NULL,
		.out	= &qp->sq.sender.out,
		.tx	= qp->sq.sender.tx,
	};
}

/**
 * rxe_outlet_end - end an outlet of requests
 * @outlet: from rxe_outlet_requests(); the caller flushes requests to the wire
 */
void rxe_outlet_end(struct rxe_outlet *outlet)
{
	struct rxe_qp *peer = outlet->peer;

	if (peer)
		leave_peer(peer, peer->rq.read.active);
}

/**
 * rxe_outlet_responses - find where responses go
 * @outlet: out: the outlet; ends with the run of recv_task (rxe_local_back_end())
 * @qp: the responder
 * @tx: the sender that is charged for the responses; NULL for short answers: no accounting
 */
void rxe_outlet_responses(struct rxe_outlet *outlet, struct rxe_qp *qp,
			  struct rxe_tx *tx)
{
	struct rxe_rq *rq = &qp->rq;

	if (qp->path.same_dev && !rq->reply.back)
		rq->reply.back = enter_peer(qp, true);
	*outlet = (struct rxe_outlet) {
		.qp	= qp,
		.peer	= rq->reply.back,
		.out	= &rq->reply.out,
		.tx	= tx,
		.response = true,
	};
}

/**
 * rxe_local_back_end - leave the peer's task at the end of a run of recv_task
 * @qp: the responder, which has entered it (rxe_reply.back)
 */
void rxe_local_back_end(struct rxe_qp *qp)
{
	struct rxe_qp *peer = qp->rq.reply.back;

	qp->rq.reply.back = NULL;
	leave_peer(peer, false);
}

/*
 * The peer can't take the packet now (rxe_inq.parked). Leave its task. Queue this packet and
 * the packets behind it as trains. Return: as rxe_local_send().
 */
static noinline bool queue_packet(struct rxe_outlet *outlet, struct rxe_pkt *pkt,
				  struct rxe_data *data)
{
	struct rxe_qp *peer = outlet->peer;

	rxe_data_rewind(data);
	outlet->peer = NULL;
	if (outlet->response)
		outlet->qp->rq.reply.back = NULL;
	leave_peer(peer, false);
	return rxe_outlet_send(outlet, pkt, data, 1);
}

/* The peer is done with the packet, which counts as sent and received */
static void finish_packet(struct rxe_qp *peer, const struct rxe_pkt *pkt,
			  struct rxe_data *data)
{
	u32 bytes = rxe_pkt_get_bytes(pkt->opcode, pkt->payload_len);

	rxe_count(peer->rxe, SENT_PKTS);
	rxe_count_add(peer->rxe, SENT_BYTES, bytes);
	rxe_count(peer->rxe, RCVD_PKTS);
	rxe_count_add(peer->rxe, RCVD_BYTES, bytes);
	if (pkt->payload_len != data->taken)
		rxe_data_skip(data, pkt->payload_len - data->taken);
}

/*
 * Bytes of the task's budget: with one copy and no ICRC, half of those by wire. The peer copies the
 * response to a READ in the same run.
 */
static u32 get_cost(const struct rxe_pkt *pkt)
{
	u32 bytes = pkt->payload_len;

	if (pkt->flags & RXE_OP_READ_REQ)
		bytes = min_t(u32, pkt->dma_len, 2 * RXE_TASK_BUDGET);
	return bytes / 2 + RXE_LOCAL_COST;
}

/**
 * rxe_local_send - have the peer take in a packet
 * @outlet: of requests or responses; has a peer
 * @pkt: the headers; flags are filled in
 * @data: its payload; advances to its end
 *
 * Return: false if the peer is busy with a READ now.
 */
bool rxe_local_send(struct rxe_outlet *outlet, struct rxe_pkt *pkt,
		    struct rxe_data *data)
{
	struct rxe_qp *peer = outlet->peer;

	data->taken = 0;
	pkt->flags = rxe_opcode[pkt->opcode].flags;
	outlet->spent += get_cost(pkt);
	if (!rxe_qp_can_receive(peer))
		rxe_drop(peer->rxe, RXE_DROP_QP_STATE, 1);
	else if (!peer->service->take_local(peer, pkt, data))
		return queue_packet(outlet, pkt, data);
	finish_packet(peer, pkt, data);
	return outlet->response || !peer->rq.read.active;
}
