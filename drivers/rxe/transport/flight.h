/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets in flight, and packets to be sent again (flight.c).
 */
#ifndef RXE_TRANSPORT_FLIGHT_H
#define RXE_TRANSPORT_FLIGHT_H

#include <linux/minmax.h>
#include <loss/recovery.h>
#include <rxe/psn.h>
#include <rxe/wr.h>

struct rxe_qp;
struct rxe_sq;

/**
 * struct rxe_flight - PSNs of sent and unacknowledged packets; under sq.lock
 * @psn: next PSN to send
 * @una: oldest PSN that is not acknowledged
 * @top: one after the highest PSN that was picked to be sent
 * @overfull: the window may have shrunk to what is in flight, or below. Perhaps no packet in
 *	flight asks for an acknowledgment. One more packet may then leave, and asks for it
 * @rd_atomic: READs and atomics that were sent and haven't completed
 * @implied: an ACK came for PSNs behind a READ or atomic that has no response yet
 * @implied_psn: PSN of that ACK
 * @nak: @implied: syndrome of a NAK for the PSN behind @implied_psn; 0: none. It is taken in when
 *	all before it is complete
 */
struct rxe_flight {
	u32			psn;
	u32			una;
	u32			top;
	u32			rd_atomic;
	bool			overfull;
	bool			implied;
	u8			nak;
	u32			implied_psn;
};

/**
 * struct rxe_resend - packets to be sent again before all others; under sq.lock
 * @npkts: packets of the oldest work request, or responses to request again
 * @psn: PSN of the first
 * @probe: responses are requested again only because none came
 */
struct rxe_resend {
	u32			npkts;
	u32			psn;
	bool			probe;
};

/* Nothing is in flight; @psn is the first PSN */
static inline void rxe_flight_reset(struct rxe_flight *flight, u32 psn)
{
	*flight = (struct rxe_flight){ .psn = psn, .una = psn, .top = psn };
}

/* Nothing is to be sent again */
static inline void rxe_resend_reset(struct rxe_resend *resend)
{
	*resend = (struct rxe_resend){};
}

/* Packets of the oldest work request that were sent and aren't acknowledged */
static inline s32 rxe_count_unanswered(const struct rxe_flight *flight,
				       const struct rxe_swqe *wqe)
{
	return min(rxe_psn_diff(flight->psn, flight->una),
		   rxe_psn_diff(wqe->last_psn, flight->una) + 1);
}

void rxe_sq_note_resent(struct rxe_qp *qp, u32 end);
void rxe_sq_leave_again(struct rxe_qp *qp);
void rxe_sq_rewind(struct rxe_qp *qp);
void rxe_sq_catch_up(struct rxe_sq *sq);
struct rxe_loss_facts rxe_sq_loss_facts(const struct rxe_qp *qp);
void rxe_sq_set_psn(struct rxe_sq *sq, u32 psn);

#endif /* RXE_TRANSPORT_FLIGHT_H */
