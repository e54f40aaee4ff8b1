/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The responder: responder.c, read.c, single.c, reply.c, and uc.c.
 */
#ifndef RXE_TRANSPORT_RESPONDER_H
#define RXE_TRANSPORT_RESPONDER_H

#include <rdma/ib_verbs.h>
#include <loss/gap.h>
#include <queue/replay.h>
#include <rxe/psn.h>
#include <transport/recv.h>
#include <transport/reply.h>

struct rxe_data;
struct rxe_key;
struct rxe_pkt;
struct rxe_qp;

/**
 * struct rxe_expect - the request that is expected next; owned by recv_task
 * @seq: @psn without wrap-around; differs from that of the same PSN 2^24 packets ago
 * @psn: its PSN
 * @msn: message sequence number (MSN)
 * @op_flags: kind (of RXE_OP_MESSAGE) of the message that has begun and not ended; 0 between
 *	messages
 */
struct rxe_expect {
	u64			seq;
	u32			psn;
	u32			msn;
	u32			op_flags;
};

/**
 * struct rxe_write_msg - the WRITE in progress
 * @va: where the next byte goes
 * @rkey: its R_Key
 * @resid: bytes to come
 * @length: bytes of the whole message
 * @key: the key used last for a WRITE, SEND or atomic, held only for the run of recv_task
 */
struct rxe_write_msg {
	u64			va;
	u32			rkey;
	u32			resid;
	u32			length;
	struct rxe_key		*key;
};

/**
 * struct rxe_read_resp - the READ response in progress
 * @active: a response is in progress; other requests wait until it is done
 * @blocked: it waits for room in the queues of the stack, or for the pacer
 * @first: the next packet is its first
 * @again: it answers a duplicate request
 * @rkey: R_Key of the request
 * @va: address of the next byte
 * @resid: bytes to come
 * @psn: PSN of the next packet
 * @sent: the PSN from which on no response to a READ has been sent
 * @sent_then: @sent when the train or direct request that is taken in came
 * @key: the key of @rkey, held only for the run of recv_task
 */
struct rxe_read_resp {
	bool			active;
	bool			blocked;
	bool			first;
	bool			again;
	u32			rkey;
	u64			va;
	u32			resid;
	u32			psn;
	u32			sent;
	u32			sent_then;
	struct rxe_key		*key;
};

/**
 * struct rxe_rq - the responder's state; owned by recv_task. For locks of receive queues, see
 *	struct rxe_recvq and struct rxe_sharedq
 * @recv: receive work requests
 * @expect: the next request
 * @write: WRITE: the message
 * @read: READ response
 * @replay: replies to atomics
 * @reply: how responses leave
 * @ack: the answer that is due
 * @gap: the missing packet among the requests
 */
struct rxe_rq {
	struct rxe_recv		recv;
	struct rxe_expect	expect;
	struct rxe_write_msg	write;
	struct rxe_read_resp	read;
	struct rxe_replay	replay;
	struct rxe_reply	reply;
	struct rxe_ack		ack;
	struct rxe_gap		gap;
};

/* No message has begun. modify_qp sets the PSN for the next connection */
static inline void rxe_expect_reset(struct rxe_expect *expect)
{
	expect->msn = 0;
	expect->op_flags = 0;
}

/* Advance the expected PSN by @npkts */
static inline void rxe_expect_advance(struct rxe_expect *expect, u32 npkts)
{
	expect->psn = rxe_psn_add(expect->psn, npkts);
	expect->seq += npkts;
}

/* Forget the WRITE in progress. recv_task isn't running, so no key is held */
static inline void rxe_write_reset(struct rxe_write_msg *write)
{
	*write = (struct rxe_write_msg){};
}

/* Send no more of the READ response */
static inline void rxe_read_stop(struct rxe_read_resp *read)
{
	read->active = false;
	read->blocked = false;
}

/* Forget the READ in progress. recv_task isn't running, so no key is held */
static inline void rxe_read_reset(struct rxe_read_resp *read)
{
	*read = (struct rxe_read_resp){};
}

/* Set the first PSN; nothing was received. Context: process, both tasks paused */
static inline void rxe_rq_set_psn(struct rxe_rq *rq, u32 psn)
{
	rq->expect.psn = psn;
	rq->read.sent = psn;
}

/* In place of an AETH syndrome: the request waits for a page, or for another run */
#define RXE_WAITS	0xff
#define RXE_UNFINISHED	0xfe

/* single.c */
u8 rxe_single_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt, struct rxe_data *data);
void rxe_single_again(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_single_request(const struct rxe_swqe *wqe, struct rxe_pkt *pkt);

/* responder.c, read.c */
bool rxe_respond_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		     struct rxe_data *data);
bool rxe_respond_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			 struct rxe_data *data);
void rxe_respond_established(struct rxe_qp *qp);
bool rxe_respond_early_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
u32 rxe_respond_most(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_respond_end(struct rxe_qp *qp);
bool rxe_read_start(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_read_again(struct rxe_qp *qp, const struct rxe_pkt *pkt);
bool rxe_read_continue(struct rxe_qp *qp, u32 *budget);
void rxe_rc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status,
		   enum ib_event_type event);

/* uc.c */
void rxe_uc_respond(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		    struct rxe_data *data);
void rxe_uc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status,
		   enum ib_event_type event);

#endif /* RXE_TRANSPORT_RESPONDER_H */
