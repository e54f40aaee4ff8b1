/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of transport/ only. The queue pair is in rxe/transport.h.
 */
#ifndef RXE_TRANSPORT_COMMON_H
#define RXE_TRANSPORT_COMMON_H

#include <rxe/transport.h>

/* Half the PSN space is the specification's limit [9.7.3.1] */
#define RXE_MAX_PSN_SPAN	BIT(23)

/**
 * rxe_pkt_init - set the fields common to all packets to the peer of a connected QP
 * @qp: the QP
 * @pkt: out: the headers; all other fields are 0
 */
static inline void rxe_pkt_init(const struct rxe_qp *qp, struct rxe_pkt *pkt)
{
	*pkt = (struct rxe_pkt) {
		.pkey	= RXE_PKEY,
		.qpn	= qp->attr.dest_qp_num,
		.mig	= true,
	};
}

/**
 * rxe_pkt_init_response - set the fields common to all responses of an RC QP [table 50]
 * @qp: the QP
 * @pkt: out: a positive acknowledgment; all other fields are 0
 */
static inline void rxe_pkt_init_response(const struct rxe_qp *qp,
					 struct rxe_pkt *pkt)
{
	rxe_pkt_init(qp, pkt);
	pkt->syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE;
	pkt->msn = qp->rq.expect.msn;
}

/*
 * Do the QP's packets pass the network stack, with its queues and round trips? Packets to a
 * peer on the same device don't.
 */
static inline bool rxe_qp_uses_wire(const struct rxe_qp *qp)
{
	return !qp->path.same_dev;
}

/*
 * Does congestion control slow the QP down when packets were marked? The few MADs of the GSI are
 * never held back: any host may send a CNP to QP 1.
 */
static inline bool rxe_qp_has_rate(const struct rxe_qp *qp)
{
	return qp->sq.cc.ops->cnp && !qp->service->mads;
}

/* Does congestion control limit the rate? Inline, since it rarely does */
static inline bool rxe_is_paced(const struct rxe_qp *qp)
{
	return unlikely(READ_ONCE(qp->sq.cc.rate));
}

/* Limit of packets per train of the QP */
static inline s32 rxe_train_get_most(const struct rxe_qp *qp)
{
	return (RXE_TRAIN_BYTES + 1) >> ilog2(qp->mtu);
}

/* A MIDDLE packet: neither the first nor the last of a message, and of full length */
static inline bool rxe_is_middle(const struct rxe_qp *qp,
				 const struct rxe_pkt *pkt)
{
	const u32 flags = RXE_OP_PAYLOAD | RXE_OP_START | RXE_OP_END;

	return (pkt->flags & flags) == RXE_OP_PAYLOAD &&
	       pkt->payload_len == qp->mtu;
}

/* Bytes of payload of a packet and of the MIDDLE packets taken in with it */
static inline u32 rxe_pkt_get_data_len(const struct rxe_pkt *pkt)
{
	return pkt->payload_len * (pkt->more + 1);
}

/* errors.c */
void rxe_count_send_error(struct rxe_qp *qp, u8 status);
void rxe_count_recv_error(struct rxe_qp *qp, u8 status);

#endif /* RXE_TRANSPORT_COMMON_H */
