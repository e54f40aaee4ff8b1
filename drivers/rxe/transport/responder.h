/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The responder: responder.c, read.c, single.c, reply.c, and uc.c.
 */
#ifndef RXE_TRANSPORT_RESPONDER_H
#define RXE_TRANSPORT_RESPONDER_H

#include <rdma/ib_verbs.h>
#include <cc/np.h>
#include <loss/gap.h>
#include <queue/recvq.h>
#include <queue/replay.h>
#include <queue/sharedq.h>
#include <rxe/psn.h>
#include <rxe/wr.h>
#include <transport/out.h>

struct rxe_data;
struct rxe_key;
struct rxe_pkt;
struct rxe_qp;

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
 * @active: there is one; other requests wait until it is done
 * @blocked: it waits for room in the queues of the stack, or for the pacer
 * @first: the next packet is its first
 * @again: it answers a duplicate request
 * @va: address of the next byte
 * @rkey: its R_Key
 * @resid: bytes to come
 * @psn: PSN of the next packet
 * @key: the key of @rkey, held only for the run of recv_task
 */
struct rxe_read_resp {
	bool			active;
	bool			blocked;
	bool			first;
	bool			again;
	u64			va;
	u32			rkey;
	u32			resid;
	u32			psn;
	struct rxe_key		*key;
};

/**
 * struct rxe_persist - the persistent FLUSH in progress
 * @seq: rxe_rq.seq of the request
 * @done: bytes that earlier runs of recv_task have written back
 */
struct rxe_persist {
	u64			seq;
	u64			done;
};

/**
 * struct rxe_rq - the responder's state; owned by recv_task
 * @recvq: receive work requests, unless @shared has them
 * @shared: the queue of the QP's SRQ, or NULL
 * @pd: protection domain of the receive work requests
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED was raised
 * @wqe: the receive work request in use
 * @epsn: expected PSN
 * @seq: the same without wrap-around: tells it from the same PSN 2^24 packets ago
 * @msn: message sequence number
 * @op_flags: kind (RXE_OP_SEND, RXE_OP_WRITE) of the message that has begun
 *	and not ended; 0 between messages
 * @off: SEND: bytes received so far
 * @write: WRITE: the message
 * @read: READ response
 * @persist: the persistent FLUSH in progress
 * @replay: replies to atomics
 * @back: the peer on this device whose receive task was entered for the rest of the
 *	run; NULL if responses go out as packets
 * @out: outgoing responses
 * @tx: accounting of READ responses in the lower queues
 * @batch: packets of the train that is being taken in
 * @ack_due: an ACK is to be sent at the end of the run
 * @nak_sent: a NAK (PSN sequence or RNR) was sent for @epsn
 * @ending: the key that a SEND with Invalidate is making invalid, or 0
 * @early_psn: PSN of the last packet that came too early
 * @gap: the missing packet among the requests
 * @np: CNPs for ECN marks on requests and responses
 */
struct rxe_rq {
	struct rxe_recvq	recvq;
	struct rxe_sharedq	*shared;
	struct ib_pd		*pd;
	bool			last_wqe;
	struct rxe_rwqe		wqe;
	u32			epsn;
	u64			seq;
	u32			msn;
	u32			op_flags;
	u32			off;
	struct rxe_write_msg	write;
	struct rxe_read_resp	read;
	struct rxe_persist	persist;
	struct rxe_replay	replay;
	struct rxe_qp		*back;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	u32			batch;
	bool			ack_due;
	bool			nak_sent;
	u32			ending;
	u32			early_psn;
	struct rxe_gap		gap;
	struct rxe_np		np;
};

/* Forget the FLUSH in progress */
static inline void rxe_persist_reset(struct rxe_persist *persist)
{
	*persist = (struct rxe_persist){};
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

/* Forget the READ in progress; likewise */
static inline void rxe_read_reset(struct rxe_read_resp *read)
{
	*read = (struct rxe_read_resp){};
}

/* Advance the expected PSN by @npkts */
static inline void rxe_rq_advance(struct rxe_rq *rq, u32 npkts)
{
	rq->epsn = rxe_psn_add(rq->epsn, npkts);
	rq->seq += npkts;
}

/* Results in place of an AETH syndrome: waits for a page; to be continued in another run */
#define RXE_WAITS	0xff
#define RXE_UNFINISHED	0xfe

/* reply.c */
void rxe_send_ack(struct rxe_qp *qp, u8 syndrome, u32 psn);
void rxe_send_nak(struct rxe_qp *qp, u8 syndrome);
void rxe_send_empty_response(struct rxe_qp *qp, u32 psn);
void rxe_send_atomic_ack(struct rxe_qp *qp, u32 psn, u64 orig);

/* single.c */
bool rxe_single_enabled(const struct rxe_qp *qp, u32 flags);
u8 rxe_single_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt, struct rxe_data *data);
void rxe_single_again(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_single_request(const struct rxe_swqe *wqe, struct rxe_pkt *pkt);

/* responder.c, read.c */
void rxe_responder_reset(struct rxe_rq *rq);
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
bool rxe_rq_next(struct rxe_qp *qp);
void rxe_recv_done(struct rxe_qp *qp, struct ib_wc *wc, bool solicited);
void rxe_recv_fail(struct rxe_qp *qp, struct ib_wc *wc);
void rxe_rc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status,
		   enum ib_event_type event);

/* uc.c */
void rxe_uc_respond(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		    struct rxe_data *data);
void rxe_uc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status,
		   enum ib_event_type event);

#endif /* RXE_TRANSPORT_RESPONDER_H */
