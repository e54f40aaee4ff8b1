/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The responder's answers: what is due, and how it leaves (reply.c).
 */
#ifndef RXE_TRANSPORT_REPLY_H
#define RXE_TRANSPORT_REPLY_H

#include <linux/types.h>
#include <transport/out.h>

struct rxe_qp;
struct rxe_tx;

/**
 * struct rxe_ack - the answer that is due; owned by recv_task
 * @early_psn: PSN of the last packet that came too early
 * @due: an ACK is to be sent at the end of the run
 * @nak_sent: a NAK (PSN sequence or RNR) was sent for the expected PSN
 */
struct rxe_ack {
	u32			early_psn;
	bool			due;
	bool			nak_sent;
};

/**
 * struct rxe_reply - how responses leave; owned by recv_task
 * @back: the peer on this device whose receive task was entered for the rest of the
 *	run; NULL if responses go out as packets
 * @out: outgoing responses
 * @tx: accounting of READ responses in the lower queues
 * @batch: packets of the train that is being taken in
 */
struct rxe_reply {
	struct rxe_qp		*back;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	u32			batch;
};

/* Nothing is to be answered. Without a NAK, early_psn isn't used */
static inline void rxe_ack_reset(struct rxe_ack *ack)
{
	ack->due = false;
	ack->nak_sent = false;
}

void rxe_reply_reset(struct rxe_reply *reply);
void rxe_send_ack(struct rxe_qp *qp, u8 syndrome, u32 psn);
void rxe_send_due_ack(struct rxe_qp *qp);
void rxe_send_nak(struct rxe_qp *qp, u8 syndrome);
void rxe_send_empty_response(struct rxe_qp *qp, u32 psn);
void rxe_send_atomic_ack(struct rxe_qp *qp, u32 psn, u64 orig);

#endif /* RXE_TRANSPORT_REPLY_H */
