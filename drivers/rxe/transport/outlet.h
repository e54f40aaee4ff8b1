/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packets of a connected QP go to the wire (out.h), or to a peer on the same device
 * (local.c). Only this file chooses between them. It uses a branch rather than a table of
 * functions. An indirect call per packet costs 1 to 3 % of all instructions.
 */
#ifndef RXE_TRANSPORT_OUTLET_H
#define RXE_TRANSPORT_OUTLET_H

#include <transport/local.h>
#include <transport/out.h>
#include <payload/payload.h>

struct rxe_qp;

/**
 * struct rxe_outlet - where the packets of a run go
 * @qp: the sender
 * @peer: a QP on this device, whose receive task the caller has entered; NULL: to the
 *	wire
 * @out: to the wire: the outgoing packets
 * @tx: to the wire: the sender that is charged for them, or NULL
 * @response: they are responses
 * @spent: bytes that count against the budget of the run; the caller may reset it
 *
 * Context: the task that owns @out.
 */
struct rxe_outlet {
	struct rxe_qp	*qp;
	struct rxe_qp	*peer;
	struct rxe_out	*out;
	struct rxe_tx	*tx;
	bool		response;
	u32		spent;
};

/* local.c */
void rxe_outlet_requests(struct rxe_outlet *outlet, struct rxe_qp *qp);
void rxe_outlet_responses(struct rxe_outlet *outlet, struct rxe_qp *qp,
			  struct rxe_tx *tx);
void rxe_outlet_end(struct rxe_outlet *outlet);

/**
 * rxe_outlet_send - send a packet
 * @outlet: where to
 * @pkt: the headers; flags are filled in
 * @data: its payload; advances to its end
 * @hint: packets that may leave in one train from here, this one included
 *
 * If memory is short, the packet counts as lost.
 *
 * Return: false if the peer is busy with a READ now, and nothing more can be sent in
 * this run.
 */
static __always_inline bool rxe_outlet_send(struct rxe_outlet *outlet,
					    struct rxe_pkt *pkt,
					    struct rxe_data *data, u32 hint)
{
	u32 len = pkt->payload_len;
	void *p;

	if (outlet->peer)
		return rxe_local_send(outlet, pkt, data);
	outlet->spent += max_t(u32, len, RXE_PKT_COST);
	p = rxe_out_push(outlet->qp, outlet->out, pkt, hint);
	if (!p) {
		rxe_data_skip(data, len);
		return true;
	}
	if (outlet->tx)
		outlet->out->train.tx = outlet->tx;
	p = rxe_pkt_build(pkt, p);
	if (pkt->pad)
		memset(p + len, 0, pkt->pad);
	if (len)
		rxe_data_read(data, p, len);
	return true;
}

/* Does rxe_outlet_send() copy the data, and take the answer, if the peer can take the packet? */
static inline bool rxe_outlet_answers(const struct rxe_outlet *outlet)
{
	return outlet->peer;
}

/* Is the train full? With a peer: has it taken so much that others should have their turn? */
static inline bool rxe_outlet_is_full(const struct rxe_outlet *outlet)
{
	return outlet->peer ? outlet->spent >= RXE_LOCAL_FULL :
			      rxe_train_is_full(&outlet->out->train);
}

/* Was memory short for the last packet? Then the next ones should wait for another run. */
static inline bool rxe_outlet_is_short(const struct rxe_outlet *outlet)
{
	return !outlet->peer && !outlet->out->train.npkts;
}

#endif /* RXE_TRANSPORT_OUTLET_H */
