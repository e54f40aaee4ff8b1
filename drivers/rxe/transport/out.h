/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Outgoing requests or responses (out.c).
 */
#ifndef RXE_TRANSPORT_OUT_H
#define RXE_TRANSPORT_OUT_H

#include <loss/firsts.h>
#include <rxe/net.h>
#include <rxe/psn.h>
#include <rxe/wire.h>

struct rxe_qp;

/**
 * struct rxe_out - outgoing requests or responses
 * @train: the packets so far; there is no skb while it has no packets
 * @l3_icrc: common start of their ICRCs
 * @psn: PSN of the last packet
 * @trains: trains sent since the owner last set it to 0
 * @firsts: which of the packets that are sent again arrive; only recv_task uses it
 */
struct rxe_out {
	struct rxe_train	train;
	struct rxe_l3_icrc	l3_icrc;
	u32			psn;
	u32			trains;
	struct rxe_firsts	firsts;
};

/* A new connection. There is no train: both tasks are paused */
static inline void rxe_out_reset(struct rxe_out *out)
{
	rxe_firsts_reset(&out->firsts);
}

void rxe_out_xmit(struct rxe_qp *qp, struct rxe_out *out);
void *rxe_out_begin(struct rxe_qp *qp, struct rxe_out *out, u32 len, u32 hint);
void rxe_out_again(struct rxe_qp *qp, struct rxe_out *out, u32 psn, u32 npkts);

/* Send the train, if there is one */
static inline void rxe_out_flush(struct rxe_qp *qp, struct rxe_out *out)
{
	if (out->train.npkts)
		rxe_out_xmit(qp, out);
}

/**
 * rxe_out_push - get memory for a packet, in this train or the next
 * @qp: the QP
 * @out: its requests or responses
 * @pkt: the packet
 * @hint: packets that may leave in one train from here, this one included
 *
 * A packet that is sent again begins a new train. In a train that comes too early, the packet
 * would be held with that train.
 *
 * Return: as rxe_train_push(); NULL if memory is short.
 */
static inline void *rxe_out_push(struct rxe_qp *qp, struct rxe_out *out,
				 const struct rxe_pkt *pkt, u32 hint)
{
	u32 len = rxe_pkt_get_bytes(pkt->opcode, pkt->payload_len);
	void *hdr = NULL;

	if (out->train.npkts && rxe_psn_diff(pkt->psn, out->psn) >= 0)
		hdr = rxe_train_push(&out->train, len);
	out->psn = pkt->psn;
	return hdr ?: rxe_out_begin(qp, out, len, hint);
}

#endif /* RXE_TRANSPORT_OUT_H */
