/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inside of a QP: requester, responder, completer (chapter 9).
 *
 * Contexts. Two tasks a QP, each of which runs on one CPU at a time (task.c),
 * with bottom halves off:
 *   - send_task: the requester. Imports work requests, builds and sends trains.
 *   - recv_task: everything that comes in. The completer (responses to our
 *     requests), the responder (requests of the peer), timeouts, flushing.
 * What both touch is in struct rxe_sq under its lock. What only one of them
 * touches needs no lock. modify_qp and destroy_qp pause the tasks.
 *
 * Lock order: sq.lock, then state_lock or cq.lock; the others (task.lock,
 * post_*_lock, rxe_txq.lock) nest with none of them. Nothing is sent and no
 * consumer's handler is called with a lock held.
 */
#ifndef RXE_TRANSPORT_H
#define RXE_TRANSPORT_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <cc/window.h>
#include <loss/firsts.h>
#include <loss/recovery.h>
#include <rxe/dev.h>
#include <rxe/inq.h>
#include <rxe/net.h>
#include <rxe/qp.h>
#include <rxe/ring.h>
#include <rxe/service.h>
#include <rxe/verbs.h>
#include <rxe/wire.h>
#include <rxe/wr.h>

struct rxe_qp;
struct rxe_data;
struct rxe_seg;

/* Half the PSN space is the specification's limit (section 9.7.3.1) */
#define RXE_MAX_PSN_SPAN	BIT(23)

/*
 * Bytes that one run of a task sends or takes in before others get a turn: a
 * train, or many packets one by one, of which none counts for less than
 * RXE_TRAIN_COST. A process sends RXE_TASK_TURNS such runs at most.
 */
#define RXE_TASK_BUDGET		(60 * SZ_1K)
#define RXE_TRAIN_COST		SZ_1K
#define RXE_TASK_TURNS		16

/*
 * Bytes of payload in a packet that doesn't leave the device, whatever the path
 * MTU: nobody sees where it ends.
 */
#define RXE_LOCAL_MTU		SZ_16K

/*
 * Corks: after RXE_CORK_ROW doorbells in a row, no more than RXE_CORK_GAP_NS
 * apart, messages of at most RXE_CORK_LEN bytes wait for RXE_CORK_MSGS of them,
 * or RXE_CORK_NS. RXE_CORK_STREAM of them are a stream, which is likely to go on.
 * If there are RXE_CORK_MOST the worker is behind, and the poster sends them itself.
 * After RXE_CORK_VAIN timers in a row for less than RXE_CORK_FEW, the next
 * RXE_CORK_SKIP don't wait.
 */
#define RXE_CORK_ROW		2
#define RXE_CORK_GAP_NS		(500 * NSEC_PER_USEC)
#define RXE_CORK_LEN		SZ_8K
#define RXE_CORK_MSGS		16
#define RXE_CORK_STREAM		8
#define RXE_CORK_MOST		64
#define RXE_CORK_FEW		3
#define RXE_CORK_VAIN		16
#define RXE_CORK_SKIP		64
#define RXE_CORK_NS		(20 * NSEC_PER_USEC)

/* So large must a message be for a worker to send it, to a peer on this device, too */
#define RXE_WORKER_LEN		SZ_32K
#define RXE_WORKER_LOCAL	SZ_256K

/*
 * Packets that wait for what follows before they are taken in; messages of one
 * packet that come in a row before the next ones do, and how many more if one
 * waited in vain
 */
#define RXE_RX_BATCH		32
#define RXE_RX_ROW		2
#define RXE_RX_VAIN		32

/*
 * How long a packet may be late before it counts as lost: at first, and at most.
 * Where packets are handed from one CPU to another, they change places.
 */
#define RXE_REORDER_NS		(500 * NSEC_PER_USEC)
#define RXE_REORDER_MAX_NS	(16 * NSEC_PER_MSEC)

/**
 * struct rxe_task - a function of a QP that never runs twice at a time
 * @lock: protects the flags
 * @running: some CPU is in @fn
 * @again: asked to run while running or paused
 * @paused: must not start
 * @tasklet: where it goes on when a budget is spent
 * @qp: argument of @fn
 * @fn: does one budget of work; returns true if there is more. Bottom halves
 *	are off.
 */
struct rxe_task {
	spinlock_t		lock;	/* the flags below */
	bool			running;
	bool			again;
	bool			paused;
	struct tasklet_struct	tasklet;
	struct rxe_qp		*qp;
	bool			(*fn)(struct rxe_qp *qp);
};

void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp,
		   bool (*fn)(struct rxe_qp *qp));
bool rxe_task_enter(struct rxe_task *task);
void rxe_task_leave(struct rxe_task *task, bool more);
void rxe_task_run(struct rxe_task *task);
bool rxe_task_work(struct rxe_task *task);
void rxe_task_kick(struct rxe_task *task);
void rxe_task_schedule(struct rxe_task *task);
void rxe_task_pause(struct rxe_task *task);
void rxe_task_resume(struct rxe_task *task);
void rxe_task_kill(struct rxe_task *task);

/* A train or datagram of @bytes was sent or taken in */
static inline void rxe_task_spend(u32 *budget, u32 bytes)
{
	*budget -= min(*budget, max_t(u32, bytes, RXE_TRAIN_COST));
}

/**
 * struct rxe_cork - does a process post without waiting for anything?
 * @timer: when what is corked has waited long enough
 * @work: sends it
 * @armed: the timer is going to
 * @working: a worker sends, or is about to
 * @last: the last doorbell
 * @polled: what rxe_cork_fits() was told then
 * @asked: likewise
 * @row: doorbells since it last looked for an answer, up to RXE_CORK_ROW
 * @stream: many messages came together the last time; the next row is shorter by
 *	one
 * @vain: corks in a row that gathered few, up to RXE_CORK_VAIN; above: so many
 *	more messages don't wait
 */
struct rxe_cork {
	struct hrtimer		timer;
	struct work_struct	work;
	atomic_t		armed;
	bool			working;
	ktime_t			last;
	u32			polled;
	u32			asked;
	u32			row;
	bool			stream;
	u32			vain;
};

/**
 * struct rxe_gap - what is missing while trains are held, and is it lost or late?
 * @psn: the packet that is missing
 * @since: when that was seen; 0: nothing is missing
 * @patience: ns to wait before it counts as lost; grows when what was asked for
 *	again had only been late
 * @asked_psn: the packet that was asked for again the last time
 * @asked: it was, and hasn't come twice since
 */
struct rxe_gap {
	u32	psn;
	ktime_t	since;
	u64	patience;
	u32	asked_psn;
	bool	asked;
};

/**
 * struct rxe_out - packets on their way out, requests or responses
 * @train: they are put into it; none is there if it has no packets
 * @l3_icrc: what their ICRCs have in common
 * @psn: of the last packet
 * @trains: so many have left; the owner sets it to 0 when it likes
 * @firsts: how much arrives of what is sent again; recv_task's
 */
struct rxe_out {
	struct rxe_train	train;
	struct rxe_l3_icrc	l3_icrc;
	u32			psn;
	u32			trains;
	struct rxe_firsts	firsts;
};

/**
 * struct rxe_sq - the requester's and the completer's state
 * @lock: protects all below; bottom halves off
 * @ring: the work requests as posted; struct rxe_send_wqe from user space,
 *	struct rxe_swqe from kernel consumers
 * @wqes: copies, one place for each place of @ring
 * @stride: bytes of a place in @wqes
 * @segs: where the data is that is being sent; send_task's alone
 * @source: the region that was read from last, held for the run of send_task
 *	only; likewise
 * @out: requests that are being sent; likewise
 * @tx: what they have in the queues below; likewise
 * @tail: oldest work request that has not completed
 * @cur: work request being sent
 * @head: one after the newest that was imported (free-running, like the two
 *	above)
 * @psn: next PSN to send
 * @una: oldest PSN that is not acknowledged
 * @top: one after the highest PSN ever sent
 * @rd_atomic: READs and atomics from @tail to @cur
 * @rnr_retries: RNR NAKs since the last progress
 * @rnr_wait: nothing may be sent until the RNR timer fires
 * @moved: something was acknowledged in this run of recv_task
 * @drained: SQD: the event was raised
 * @stalled: a work request can't be sent; it fails when its turn has come
 * @rec: loss recovery
 * @rtt: round trips
 * @cc: congestion control
 * @limited: the window kept something from being sent
 * @gap: what is missing among the responses
 * @mr: the region that responses are written to, held for the run of recv_task
 *	only
 * @missing: packets of the oldest work request that are to be sent again, or
 *	responses that are to be asked for again
 * @missing_psn: the first of them
 * @implied: an ACK came for what is behind a READ or atomic without response
 * @implied_psn: how far it went
 * @deadline: when the timer acts; if @lazy, when it looks how long to wait
 * @lazy: @deadline is too early
 * @graced: the timer fired late, and @deadline was put off
 * @anew: what was sent in this run was sent when nothing was in flight
 * @rtt_psn: a packet whose acknowledgment is timed
 * @rtt_una: @una when it left
 * @rtt_start: when it left; 0: none is timed
 * @timer: retransmission and RNR timer
 * @timer_fired: it did, and the receive task is to act
 */
struct rxe_sq {
	spinlock_t		lock;	/* all below */
	struct rxe_ring		*ring;
	void			*wqes;
	struct rxe_seg		*segs;
	struct rxe_mr		*source;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	u32			stride;
	u32			tail;
	u32			cur;
	u32			head;
	u32			psn;
	u32			una;
	u32			top;
	u32			rd_atomic;
	u8			rnr_retries;
	bool			rnr_wait;
	bool			moved;
	bool			drained;
	bool			stalled;
	struct rxe_recovery	rec;
	struct rxe_rtt		rtt;
	struct rxe_cc		cc;
	bool			limited;
	struct rxe_gap		gap;
	u32			missing;
	u32			missing_psn;
	bool			implied;
	u32			implied_psn;
	struct rxe_mr		*mr;
	ktime_t			deadline;
	bool			lazy;
	bool			graced;
	bool			anew;
	u32			rtt_psn;
	u32			rtt_una;
	ktime_t			rtt_start;
	struct hrtimer		timer;
	bool			timer_fired;
};

/* Did the last packet leave without a train, for want of one? The send task knows. */
static inline bool rxe_sq_alone(const struct rxe_sq *sq)
{
	return READ_ONCE(sq->out.train.alone);
}

/* The responder's memory of an atomic, to answer a duplicate (section 9.4.5) */
struct rxe_atomic_res {
	u64			seq;
	bool			valid;
	u64			orig;
};

/**
 * struct rxe_rq - the responder's state; owned by recv_task
 * @ring: receive work requests as posted (struct rxe_recv_wqe)
 * @wqe: the one in use
 * @epsn: expected PSN
 * @seq: the same, but never wraps: tells a PSN from the one 2^24 before
 * @msn: message sequence number
 * @op_flags: kind (RXE_OP_SEND, RXE_OP_WRITE) of the message that has begun
 *	and not ended; 0 between messages
 * @off: bytes of it so far
 * @va: WRITE: where the next byte goes
 * @rkey: WRITE: R_Key of the message
 * @resid: WRITE: bytes to come
 * @write_len: WRITE: length of the message
 * @mr: the region that is written to, held for the run of the task only
 * @back: the peer on this device, in whose receive task we are for the rest of
 *	the run; NULL if responses go out as packets
 * @out: responses that are being sent
 * @tx: what READ responses have in the queues below
 * @batch: packets of the train that is being taken in
 * @ack_due: an ACK is owed; one for what a run took in
 * @nak_sent: a NAK (PSN sequence or RNR) was sent for @epsn
 * @early_psn: the packet that came too early last
 * @gap: what is missing among the requests
 * @read: the READ response in progress; others wait until it is done, and it
 *	waits (blocked) while the queues of the stack are full. It may be for a
 *	duplicate request (again). Its region (mr) is held for the run of the task
 *	only
 * @atomics: replies to the latest atomics
 * @num_atomics: places in @atomics
 * @next_atomic: the place to use next
 */
struct rxe_rq {
	struct rxe_ring		*ring;
	struct rxe_rwqe		wqe;
	u32			epsn;
	u64			seq;
	u32			msn;
	u32			op_flags;
	u32			off;
	u64			va;
	u32			rkey;
	u32			resid;
	u32			write_len;
	struct rxe_mr		*mr;
	struct rxe_qp		*back;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	u32			batch;
	bool			ack_due;
	bool			nak_sent;
	u32			early_psn;
	struct rxe_gap		gap;
	struct {
		bool		active;
		bool		blocked;
		bool		first;
		bool		again;
		u64		va;
		u32		rkey;
		u32		resid;
		u32		psn;
		struct rxe_mr	*mr;
	} read;
	struct rxe_atomic_res	*atomics;
	u32			num_atomics;
	u32			next_atomic;
};

/**
 * struct rxe_qpn - a QP's entry in the table of QP numbers
 * @ref: one for the table, one for each lookup that is in use
 * @rcu: frees it after the last lookup
 * @qp: valid while a reference is held
 *
 * Separate from the QP, whose memory the RDMA core frees at once after
 * destroy_qp.
 */
struct rxe_qpn {
	struct kref		ref;
	struct rcu_head		rcu;
	struct rxe_qp		*qp;
};

/**
 * struct rxe_qp - queue pair
 * @ibqp: the RDMA core's QP
 * @rxe: the device
 * @service: what its type means
 * @entry: in the table of QP numbers
 * @idle: completed when @entry has no reference left
 * @mutex: one modify_qp at a time
 * @state: enum ib_qp_state; written with both tasks paused, or by recv_task
 *	(to ERR, SQE), read locklessly
 * @state_lock: orders writers of @state
 * @is_user: rings are in user memory
 * @sig_all: every send completion is signalled
 * @cap: queue sizes as created
 * @attr: as query_qp returns it
 * @mtu: path MTU, bytes (UD: the port's)
 * @path: RC: to the peer
 * @path_valid: @path is initialised
 * @comm_est: IB_EVENT_COMM_EST was raised
 * @events: a bit for each enum ib_event_type that the owner is to be told
 * @event_work: tells it
 * @post_sq_lock: one kernel poster of sends at a time
 * @post_rq_lock: one kernel poster of receives at a time
 * @send_task: the requester
 * @recv_task: the responder and the completer
 * @requests: those received
 * @responses: those received
 * @gap_timer: the time to wait for what is missing is over
 * @cork: what is posted waits for more
 * @flushing: in ERR: link in rxe_cq.flushing, if it is a process's
 * @flush_work: in ERR: looks for receives that were posted since
 * @flush_ms: when it will
 * @sq: the requester's and the completer's state
 * @rq: the responder's state
 */
struct rxe_qp {
	struct ib_qp		ibqp;
	struct rxe_dev		*rxe;
	const struct rxe_service *service;
	struct rxe_qpn		*entry;
	struct completion	idle;
	struct mutex		mutex;	/* modify_qp */
	u8			state;
	spinlock_t		state_lock;	/* writers of state */
	bool			is_user;
	bool			sig_all;
	struct ib_qp_cap	cap;
	struct ib_qp_attr	attr;
	u32			mtu;
	struct rxe_path		path;
	bool			path_valid;
	bool			comm_est;
	unsigned long		events;
	struct work_struct	event_work;
	spinlock_t		post_sq_lock;	/* kernel posters of sends */
	spinlock_t		post_rq_lock;	/* and of receives */
	struct rxe_task		send_task;
	struct rxe_task		recv_task;
	struct rxe_inq		requests;
	struct rxe_inq		responses;
	struct hrtimer		gap_timer;
	struct rxe_cork		cork;
	struct list_head	flushing;
	struct delayed_work	flush_work;
	u32			flush_ms;
	struct rxe_sq		sq;
	struct rxe_rq		rq;
};

static inline struct rxe_qp *to_rxe_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rxe_qp, ibqp);
}

static inline struct rxe_cq *rxe_scq(const struct rxe_qp *qp)
{
	return to_rxe_cq(qp->ibqp.send_cq);
}

static inline struct rxe_cq *rxe_rcq(const struct rxe_qp *qp)
{
	return to_rxe_cq(qp->ibqp.recv_cq);
}

static inline u32 rxe_qp_num(const struct rxe_qp *qp)
{
	return qp->ibqp.qp_num;
}

static inline struct rxe_swqe *rxe_swqe(const struct rxe_sq *sq, u32 index)
{
	return sq->wqes + (size_t)(index & sq->ring->mask) * sq->stride;
}

/* cork.c */
void rxe_sq_kick(struct rxe_qp *qp);
void rxe_doorbell(struct rxe_qp *qp);
void rxe_cork_late(struct rxe_cork *cork, u32 gathered);
bool rxe_cork_fits(struct rxe_cork *cork, u32 polled, bool more, u32 asked,
		   ktime_t now);
void rxe_cork_init(struct rxe_qp *qp);
void rxe_cork_reset(struct rxe_qp *qp);

/* out.c */
void rxe_out_flush(struct rxe_qp *qp, struct rxe_out *out);
void *rxe_out_begin(struct rxe_qp *qp, struct rxe_out *out, u32 len, u32 hint);
void rxe_out_again(struct rxe_qp *qp, struct rxe_out *out, u32 psn, u32 npkts);

/**
 * rxe_out_push - room for a packet, in this train or the next
 * @qp: the QP
 * @out: its requests or responses
 * @pkt: the packet
 * @hint: packets that may leave in one train from here, this one included
 *
 * What is sent again begins a train: at the end of one that comes too early, it
 * would be held with it.
 *
 * Return: as rxe_train_push(); NULL if memory is short.
 */
static inline void *rxe_out_push(struct rxe_qp *qp, struct rxe_out *out,
				 const struct rxe_pkt *pkt, u32 hint)
{
	u32 len = rxe_pkt_bytes(pkt->opcode, pkt->payload_len);
	void *hdr = NULL;

	if (out->train.npkts && rxe_psn_diff(pkt->psn, out->psn) >= 0)
		hdr = rxe_train_push(&out->train, len);
	out->psn = pkt->psn;
	return hdr ?: rxe_out_begin(qp, out, len, hint);
}

/* gap.c */
bool rxe_gap_lost(struct rxe_qp *qp, struct rxe_gap *gap, bool missing,
		  u32 psn);
void rxe_gap_late(struct rxe_gap *gap, u32 psn);
void rxe_gap_reset(struct rxe_gap *gap);
void rxe_gap_timer_init(struct rxe_qp *qp);
void rxe_gap_watch(struct rxe_qp *qp);

/* What becomes of a train */
enum rxe_fate {
	RXE_USED_UP,
	RXE_GOES_ON,		/* behind a READ that must be served first */
	RXE_TOO_EARLY,		/* something is missing before it; keep it */
	RXE_REFUSED,		/* the same, but it isn't worth it */
};

/* packet.c */
enum rxe_fate rxe_receive_train(struct rxe_qp *qp, struct rxe_inq *in,
				struct sk_buff *skb);

/* qp table and receive task: rcv.c */
bool rxe_receiver(struct rxe_qp *qp);
bool rxe_receiver_end(struct rxe_qp *qp);
bool rxe_receives(const struct rxe_qp *qp);
struct rxe_qp *rxe_qp_get(struct rxe_dev *rxe, u32 qpn);
void rxe_qp_put(struct rxe_qp *qp);

/**
 * rxe_pkt_to_peer - what all packets to the peer of an RC QP have in common
 * @qp: the QP
 * @pkt: set; all else is 0
 */
static inline void rxe_pkt_to_peer(const struct rxe_qp *qp, struct rxe_pkt *pkt)
{
	*pkt = (struct rxe_pkt) {
		.pkey	= RXE_PKEY,
		.qpn	= qp->attr.dest_qp_num,
		.mig	= true,
	};
}

/**
 * rxe_pkt_response - what all responses of an RC QP have in common
 * @qp: the QP
 * @pkt: set, to a positive acknowledgment; all else is 0
 */
static inline void rxe_pkt_response(const struct rxe_qp *qp,
				    struct rxe_pkt *pkt)
{
	rxe_pkt_to_peer(qp, pkt);
	pkt->syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE;
	pkt->msn = qp->rq.msn;
}

/* Neither the first nor the last of a message, and as long as it should be */
static inline bool rxe_is_middle(const struct rxe_qp *qp,
				 const struct rxe_pkt *pkt)
{
	const u32 flags = RXE_OP_PAYLOAD | RXE_OP_START | RXE_OP_END;

	return (pkt->flags & flags) == RXE_OP_PAYLOAD &&
	       pkt->payload_len == qp->mtu;
}

/* Bytes of payload of a packet and those that are taken in with it */
static inline u32 rxe_pkt_data_len(const struct rxe_pkt *pkt)
{
	return pkt->payload_len * (pkt->more + 1);
}

/* requester.c, ud.c */
bool rxe_requester(struct rxe_qp *qp);
bool rxe_rc_requester(struct rxe_qp *qp);
bool rxe_rc_requester_due(const struct rxe_qp *qp);
bool rxe_sq_import(struct rxe_qp *qp);
void rxe_sq_rewind(struct rxe_qp *qp);
void rxe_sq_catch_up(struct rxe_sq *sq);
struct rxe_flight rxe_sq_flight(const struct rxe_qp *qp);
bool rxe_ud_requester(struct rxe_qp *qp);
bool rxe_ud_requester_due(const struct rxe_qp *qp);
bool rxe_ud_flush(struct rxe_qp *qp);
void rxe_ud_rcv(struct rxe_qp *qp, struct sk_buff *skb,
		const struct rxe_pkt *pkt, struct rxe_data *data);

/* completer.c */
bool rxe_complete_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		      struct rxe_data *data);
bool rxe_complete_early_ok(struct rxe_qp *qp, const struct rxe_pkt *pkt);
u32 rxe_complete_most(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_complete_end(struct rxe_qp *qp);
void rxe_sq_retire(struct rxe_qp *qp);
void rxe_sq_finish(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status);

/* The next @npkts packets of the peer are executed, or answered */
static inline void rxe_rq_advance(struct rxe_rq *rq, u32 npkts)
{
	rq->epsn = rxe_psn_add(rq->epsn, npkts);
	rq->seq += npkts;
}

/* responder.c, read.c */
bool rxe_respond_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		     struct rxe_data *data);
bool rxe_respond_early_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
u32 rxe_respond_most(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_respond_end(struct rxe_qp *qp);
bool rxe_read_start(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_read_again(struct rxe_qp *qp, const struct rxe_pkt *pkt);
bool rxe_read_continue(struct rxe_qp *qp, u32 *budget);
void rxe_send_ack(struct rxe_qp *qp, u8 syndrome, u32 psn);
void rxe_send_nak(struct rxe_qp *qp, u8 syndrome);
void rxe_send_atomic_ack(struct rxe_qp *qp, u32 psn, u64 orig);
bool rxe_rq_next(struct rxe_qp *qp);
void rxe_recv_done(struct rxe_qp *qp, struct ib_wc *wc, bool solicited);
void rxe_responder_fail(struct rxe_qp *qp, u8 nak, u8 wc_status,
			enum ib_event_type event);

/* state.c: errors, flushing, events */
bool rxe_qp_to_err(struct rxe_qp *qp);
void rxe_qp_event_init(struct rxe_qp *qp);
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type event);
bool rxe_qp_flush(struct rxe_qp *qp);
void rxe_sq_check_drained(struct rxe_qp *qp);
void rxe_flush_init(struct rxe_qp *qp);
void rxe_qp_drop_posted(struct rxe_qp *qp);
void rxe_qp_reset(struct rxe_qp *qp);

/* timer.c */
void rxe_timer_init(struct rxe_qp *qp);
void rxe_timer_arm(struct rxe_qp *qp, u64 ns);
void rxe_timer_cancel(struct rxe_qp *qp);
void rxe_wait_anew(struct rxe_qp *qp);
void rxe_wait(struct rxe_qp *qp);
void rxe_timeout(struct rxe_qp *qp);
void rxe_rtt_start(struct rxe_sq *sq, u32 psn);
void rxe_rtt_ack(struct rxe_sq *sq, u32 psn);
u64 rxe_rnr_ns(u8 code);
struct rxe_retry_limit rxe_retry_limit(const struct rxe_qp *qp);

/* local.c: the peer is on this device */
struct rxe_qp *rxe_local_begin(struct rxe_qp *qp, bool response);
void rxe_local_end(struct rxe_qp *peer, bool more);
struct rxe_qp *rxe_local_back(struct rxe_qp *qp);
void rxe_local_back_end(struct rxe_qp *qp);
bool rxe_local_request(struct rxe_qp *peer, struct rxe_pkt *pkt,
		       struct rxe_data *data);
void rxe_local_response(struct rxe_qp *peer, struct rxe_pkt *pkt,
			struct rxe_data *data);

/* copy.c */

/**
 * struct rxe_seg - a piece of memory
 * @mr: the region, reference held; NULL: the kernel's own memory
 * @va: first byte, an address in the region or the kernel's
 * @len: bytes, not 0
 */
struct rxe_seg {
	struct rxe_mr	*mr;
	u64		va;
	u32		len;
};

/**
 * struct rxe_data - a packet's payload, where it is now
 * @skb: in this train, or else
 * @seg: in this segment and those behind it
 * @at: contiguous bytes at hand
 * @run: how many
 * @off: what is behind those, in the train or the segment
 * @chunk: if not 0, the payload of several MIDDLE packets, so many bytes each
 * @gap: bytes between two of them; 0 if each has an skb, which are linear
 * @taken: bytes that it has moved on since somebody set this to 0
 */
struct rxe_data {
	const struct sk_buff	*skb;
	const struct rxe_seg	*seg;
	const void		*at;
	u32			run;
	u32			off;
	u32			chunk;
	u32			gap;
	u32			taken;
};

/**
 * struct rxe_list - a scatter list
 * @sge: the list
 * @num_sge: its length
 * @mr: the region that was used last, or NULL; one lookup for a run of packets.
 *	The caller gives it back at the end of the run.
 */
struct rxe_list {
	const struct ib_sge	*sge;
	u32			num_sge;
	struct rxe_mr		**mr;
};

void *rxe_skb_run(const struct sk_buff *skb, u32 off, u32 *len);
bool rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 *state);
int rxe_map(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 off, u32 len,
	    struct rxe_seg *segs);
void rxe_unmap(struct rxe_seg *segs, u32 num);
void rxe_data_skip(struct rxe_data *data, u32 len);
bool rxe_data_read(struct rxe_data *data, void *dst, u32 len);
bool rxe_data_to_mr(struct rxe_data *data, u32 len, const struct rxe_mr *mr,
		    u64 va);
int rxe_gather(struct rxe_qp *qp, const struct rxe_swqe *wqe, void *dst);
bool rxe_mr_keep(struct rxe_qp *qp, struct rxe_mr **mr, u32 key, int access,
		 u64 va, u64 len);
int rxe_scatter(struct rxe_qp *qp, const struct rxe_list *list, u64 dst_off,
		struct rxe_data *data, u32 len);

/**
 * rxe_mr_drop - give back the region that was kept
 * @mr: where; NULL from now on
 */
static inline void rxe_mr_drop(struct rxe_mr **mr)
{
	if (*mr)
		rxe_mr_put(*mr);
	*mr = NULL;
}

#endif /* RXE_TRANSPORT_H */
