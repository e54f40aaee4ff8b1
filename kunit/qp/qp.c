// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs by their verbs (qp/): creation within the device's limits, modify_qp, query_qp.
 * A refused change changes nothing. Work that is posted in a state waits, is sent or is flushed
 * as section 10.3.1 requires. An overflow of a CQ stops its QPs.
 */
#include <rxe/knobs.h>
#include "../../drivers/rxe/net/internal.h"
#include "../fake.h"

#define MTU	FAKE_MTU
#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)

static int modify(struct kunit *test, struct ib_qp_attr attr, int mask)
{
	int err = rxe_modify_qp(&fake(test)->qp->ibqp, &attr, mask, NULL);

	fake_settle(test);
	return err;
}

static void to_state(struct kunit *test, enum ib_qp_state state)
{
	KUNIT_ASSERT_EQ(test, modify(test, (struct ib_qp_attr){ .qp_state = state },
				     IB_QP_STATE), 0);
}

static struct ib_qp_attr query(struct kunit *test)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(test, rxe_query_qp(&fake(test)->qp->ibqp, &attr, 0, &init), 0);
	return attr;
}

/* Values out of range, attributes that the device lacks */
static void refused(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr	attr;
		int			mask;
		int			err;
	} rows[] = {
		{ { .min_rnr_timer = 32 }, IB_QP_MIN_RNR_TIMER, -EINVAL },
		{ { .port_num = 2 }, IB_QP_PORT, -EINVAL },
		{ { .pkey_index = RXE_PKEY_TBL_LEN }, IB_QP_PKEY_INDEX, -EINVAL },
		{ { .cur_qp_state = IB_QPS_SQD }, IB_QP_CUR_STATE, -EINVAL },
		{ { .qp_state = IB_QPS_RTR }, IB_QP_STATE, -EINVAL },
		{ { .qp_state = IB_QPS_INIT }, IB_QP_STATE, -EINVAL },
		{ { .alt_port_num = 1 }, IB_QP_ALT_PATH, -EOPNOTSUPP },
		{ { .rate_limit = 1 }, IB_QP_RATE_LIMIT, -EOPNOTSUPP },
		{ { .cap.max_send_wr = 1 }, IB_QP_CAP, -EOPNOTSUPP },
	};
	struct ib_qp_attr *attr;
	u32 i;

	attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		*attr = rows[i].attr;
		KUNIT_EXPECT_EQ_MSG(test, rxe_modify_qp(&fake(test)->qp->ibqp, attr,
							rows[i].mask, NULL),
				    rows[i].err, "row %u", i);
	}
	KUNIT_EXPECT_EQ(test, READ_ONCE(fake(test)->qp->state), IB_QPS_RTS);
}

/* The first value is right and the second is wrong: neither is set */
static void all_or_nothing(struct kunit *test)
{
	struct ib_qp_attr attr = {
		.qp_access_flags = 0, .min_rnr_timer = 12, .cur_qp_state = IB_QPS_SQE,
	};
	struct rxe_qp *qp = fake(test)->qp;
	int flags = qp->attr.qp_access_flags;

	KUNIT_EXPECT_EQ(test, modify(test, attr, IB_QP_MIN_RNR_TIMER | IB_QP_ACCESS_FLAGS |
				     IB_QP_CUR_STATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, qp->attr.min_rnr_timer, 1);
	KUNIT_EXPECT_EQ(test, qp->attr.qp_access_flags, flags);
	KUNIT_EXPECT_EQ(test, modify(test, attr, IB_QP_MIN_RNR_TIMER | IB_QP_ACCESS_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, query(test).min_rnr_timer, 12);
	KUNIT_EXPECT_EQ(test, query(test).qp_access_flags, 0);
}

/* Work requests that are posted in SQD wait, and leave in RTS [10.3.1.5] */
static void sqd(struct kunit *test)
{
	struct rxe_pkt pkt;

	to_state(test, IB_QPS_SQD);
	KUNIT_EXPECT_FALSE(test, query(test).sq_draining);
	fake_send(test, 1, 0, MTU);
	fake_expect_nothing(test);
	to_state(test, IB_QPS_RTS);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &pkt);
}

/* In SQD, a message that has begun is finished. The queue drains until its ACK comes [10.3.1.5] */
static void sqd_drains(struct kunit *test)
{
	struct rxe_pkt pkt, ack = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = PSN(0),
		.syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE,
	};

	fake_send(test, 1, 0, MTU);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &pkt);
	to_state(test, IB_QPS_SQD);
	KUNIT_EXPECT_TRUE(test, query(test).sq_draining);
	fake_inject(test, &ack, NULL, 0);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_FALSE(test, query(test).sq_draining);
}

/* Work requests that were posted before ERR or in ERR are flushed, in order [10.8.3.4] */
static void err_flushes(struct kunit *test)
{
	struct fake *f = fake(test);
	struct rxe_pkt pkt;

	fake_post_recv(test, 1, 0, MTU);
	fake_send(test, 2, 0, MTU);
	fake_send(test, 3, 0, MTU);
	to_state(test, IB_QPS_ERR);
	fake_send(test, 4, 0, MTU);
	fake_post_recv(test, 5, 0, MTU);
	fake_settle(test);
	fake_completion(test, f->scq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, f->scq, 3, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, f->scq, 4, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, f->rcq, 1, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, f->rcq, 5, IB_WC_WR_FLUSH_ERR, NULL);
	while (fake_take(test, &pkt, NULL))
		KUNIT_EXPECT_LT(test, rxe_psn_diff(pkt.psn, PSN(2)), 0);
}

/*
 * Flushed work requests don't overflow a kernel consumer's CQ, which others may share: they wait
 * until it has been polled
 */
static void err_flush_waits(struct kunit *test)
{
	struct fake *f = fake(test);
	u32 num = fake_fill_cq(f->scq);

	f->qp->slow->flush_ms = 3600 * MSEC_PER_SEC;	/* only the test runs the work */
	fake_send(test, 2, 0, MTU);
	to_state(test, IB_QPS_ERR);
	fake_settle(test);
	fake_empty_cq(test, f->scq, num);
	fake_no_completion(test, f->scq);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&f->qp->slow->flush_work));
	flush_delayed_work(&f->qp->slow->flush_work);
	fake_settle(test);
	fake_completion(test, f->scq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_FALSE(test, rxe_cq_is_dead(f->scq));
}

/* RESET drops posted work requests without completions, and INIT starts afresh [10.3.1.1] */
static void reset(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct ib_qp_attr init = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
	};
	struct rxe_pkt pkt;

	fake_post_recv(test, 1, 0, MTU);
	fake_send(test, 2, 0, MTU);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), &pkt);
	to_state(test, IB_QPS_RESET);
	fake_no_completion(test, fake(test)->scq);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, modify(test, init, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX),
			-EINVAL);	/* access flags are required */
	KUNIT_EXPECT_EQ(test, modify(test, init, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
				     IB_QP_ACCESS_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, query(test).qp_state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, qp->sq.q.head, qp->sq.q.tail);
	fake_expect_nothing(test);
}

/* The receives of a process ring no doorbell. By one store, a process posts a ring full of them */
static void post_silently(struct kunit *test)
{
	struct rxe_ring *ring = fake(test)->qp->rq.recv.q.ring;

	WRITE_ONCE(ring->buf->producer_index, (ring->index - 1) & ring->mask);
}

/* From now on, the QP is a process's, and in ERR */
static void silent_in_err(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	qp->is_user = true;
	qp->slow->flush_ms = 3600 * MSEC_PER_SEC;	/* only the test runs the work */
	KUNIT_ASSERT_TRUE(test, rxe_qp_to_err(qp));
}

/* Return: number of receives that a run of the task, or runs that follow it, have flushed */
static u32 count_flushed(struct kunit *test)
{
	struct fake *f = fake(test);
	struct ib_wc wc;
	u32 num = 0;

	fake_settle(test);
	while (rxe_poll_cq(&f->rcq->ibcq, 1, &wc) == 1)
		num++;
	return num;
}

static u32 post_and_flush(struct kunit *test, u32 rounds)
{
	u32 num = 0;

	while (rounds--) {
		post_silently(test);
		rxe_task_kick(&fake(test)->qp->recv_task);
		num += count_flushed(test);
	}
	return num;
}

/*
 * A limited number of receives is flushed promptly. More of them wait for an interval, which
 * grows, or for a request for an event.
 */
static void err_silent(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_qp_slow *slow = qp->slow;
	u32 fit = rxe_ring_get_capacity(qp->rq.recv.q.ring);
	u32 rounds = RXE_FLUSH_LATE / fit + 5;

	silent_in_err(test);
	KUNIT_ASSERT_LT(test, 2 * fit, RXE_FLUSH_LATE);
	KUNIT_EXPECT_EQ(test, post_and_flush(test, rounds), RXE_FLUSH_LATE);
	slow->flush_ms = RXE_FLUSH_MAX_MS / 2;
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&slow->flush_work));
	flush_delayed_work(&slow->flush_work);
	KUNIT_EXPECT_EQ(test, count_flushed(test), fit);
	KUNIT_EXPECT_EQ(test, slow->flush_ms, RXE_FLUSH_MAX_MS);
	cancel_delayed_work_sync(&slow->flush_work);
	slow->flush_ms = 3600 * MSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, post_and_flush(test, rounds), RXE_FLUSH_LATE - fit);
	rxe_qp_cq_armed(&slow->flushing);
	KUNIT_EXPECT_EQ(test, count_flushed(test), fit);
	qp->is_user = false;
}

/* Receives whose completions would be lost aren't flushed, and no work looks for them */
static void err_dead_cq(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	silent_in_err(test);
	fake(test)->rcq->overflow = true;
	post_and_flush(test, 1);
	KUNIT_EXPECT_EQ(test, rxe_ring_count_pending(qp->rq.recv.q.ring),
			rxe_ring_get_capacity(qp->rq.recv.q.ring));
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&qp->slow->flush_work));
	qp->is_user = false;
}

/* A QP in RTS, in no list of a CQ: the test enters it into the table of QP numbers */
static struct rxe_qp *unlisted_qp(struct kunit *test, const struct rxe_qp *like,
				  struct rxe_qpn *entry)
{
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.send_cq = like->ibqp.send_cq;
	qp->ibqp.recv_cq = like->ibqp.recv_cq;
	qp->state = IB_QPS_RTS;
	qp->entry = entry;
	entry->qp = qp;
	kref_init(&entry->ref);
	spin_lock_init(&qp->state_lock);
	rxe_task_init(&qp->recv_task, qp, rxe_recv_run, rxe_recv_end);
	return qp;
}

/* A QP in RTS that does nothing: its tasks are paused */
static struct rxe_qp *new_qp(struct kunit *test, struct rxe_cq *scq, struct rxe_cq *rcq)
{
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = &scq->ibcq, .recv_cq = &rcq->ibcq,
	};

	KUNIT_ASSERT_NOT_NULL(test, qp);
	KUNIT_ASSERT_EQ(test, fake_create_qp(fake(test), qp, &init), 0);
	WRITE_ONCE(qp->state, IB_QPS_RTS);
	return qp;
}

static void lose_completion(struct rxe_cq *cq, struct rxe_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .qp = &qp->ibqp };
	int i, num = cq->overflow ? 1 : cq->ibcq.cqe + 1;

	local_bh_disable();
	for (i = 0; i < num; i++)
		rxe_cq_post(cq, &wc, false);
	local_bh_enable();
}

/*
 * An overflow stops the QPs that send or receive with the CQ, and no others, without a search of
 * the device's QPs. A QP that is connected later is stopped by its own loss, at once [11.6.3.4].
 */
static void cq_overflow(struct kunit *test)
{
	struct fake *f = fake(test);
	struct rxe_qp *receiver = new_qp(test, f->rcq, f->scq);
	struct rxe_qp *gone = new_qp(test, f->scq, f->scq);
	struct rxe_qp *other = new_qp(test, f->rcq, f->rcq), *late = new_qp(test, f->scq, f->rcq);
	struct rxe_qp *both = new_qp(test, f->scq, f->scq);
	struct rxe_qpn entry = {};
	struct rxe_qp *unlisted = unlisted_qp(test, f->qp, &entry);

	KUNIT_ASSERT_EQ(test, xa_insert(&f->rxe->qps, 7, &entry, GFP_KERNEL), 0);
	WRITE_ONCE(late->state, IB_QPS_RESET);
	rxe_destroy_qp(&gone->ibqp, NULL);
	lose_completion(f->scq, f->qp);
	flush_work(&f->scq->overflow_work);
	fake_settle(test);
	xa_erase(&f->rxe->qps, 7);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, f->events & BIT(IB_EVENT_QP_FATAL));
	KUNIT_EXPECT_EQ(test, receiver->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, both->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, other->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, unlisted->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, late->state, IB_QPS_RESET);
	WRITE_ONCE(late->state, IB_QPS_RTS);
	lose_completion(f->scq, late);
	KUNIT_EXPECT_EQ(test, late->state, IB_QPS_ERR);
	KUNIT_EXPECT_FALSE(test, flush_work(&f->scq->overflow_work));
	rxe_task_kill(&unlisted->recv_task);
	rxe_destroy_qp(&receiver->ibqp, NULL);
	rxe_destroy_qp(&both->ibqp, NULL);
	rxe_destroy_qp(&other->ibqp, NULL);
	rxe_destroy_qp(&late->ibqp, NULL);
}

static int create(struct kunit *test, struct ib_qp_init_attr *init)
{
	struct fake *f = fake(test);
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	init->send_cq = &f->scq->ibcq;
	init->recv_cq = &f->rcq->ibcq;
	err = fake_create_qp(f, qp, init);
	if (!err)
		rxe_destroy_qp(&qp->ibqp, NULL);
	return err;
}

/* The limits of query_device can be created, and no more. A QP has at least what was asked for */
static void create_limits(struct kunit *test)
{
	static const struct ib_qp_cap most = {
		.max_send_wr = RXE_MAX_QP_WR, .max_recv_wr = RXE_MAX_QP_WR,
		.max_send_sge = RXE_MAX_SGE, .max_recv_sge = RXE_MAX_SGE,
		.max_inline_data = RXE_MAX_INLINE,
	};
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_RC };
	u32 i;

	for (i = 0; i < 5; i++) {
		init.cap = (struct ib_qp_cap){};
		((u32 *)&init.cap)[i] = ((const u32 *)&most)[i];
		KUNIT_EXPECT_EQ_MSG(test, create(test, &init), 0, "field %u", i);
		KUNIT_EXPECT_GE(test, ((u32 *)&init.cap)[i], ((const u32 *)&most)[i]);
		init.cap = (struct ib_qp_cap){};
		((u32 *)&init.cap)[i] = ((const u32 *)&most)[i] + 1;
		KUNIT_EXPECT_EQ_MSG(test, create(test, &init), -EINVAL, "field %u", i);
	}
}

/* Types and flags that the device lacks [9.2.1] */
static void create_refused(struct kunit *test)
{
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_XRC_INI };

	KUNIT_EXPECT_EQ(test, create(test, &init), -EOPNOTSUPP);
	init.qp_type = IB_QPT_RAW_PACKET;
	KUNIT_EXPECT_EQ(test, create(test, &init), -EOPNOTSUPP);
	init.qp_type = IB_QPT_RC;
	init.create_flags = IB_QP_CREATE_NETIF_QP;
	KUNIT_EXPECT_EQ(test, create(test, &init), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake(test)->rxe->num_qp), 1);
}

/* Processes can create as many QPs as query_device says. A consumer in the kernel isn't refused */
static void create_too_many(struct kunit *test)
{
	struct ib_udata process = { .outlen = sizeof(struct rxe_create_qp_resp) };
	struct fake *f = fake(test);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = &f->scq->ibcq, .recv_cq = &f->rcq->ibcq,
	};
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	atomic_t *num = &f->rxe->num_qp;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.device = &f->rxe->ibdev;
	atomic_set(num, RXE_MAX_QP - 1);
	KUNIT_EXPECT_TRUE(test, rxe_limit_get(num, RXE_MAX_QP, true));
	KUNIT_EXPECT_EQ(test, rxe_create_qp(&qp->ibqp, &init, &process), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(num), RXE_MAX_QP);
	KUNIT_EXPECT_EQ(test, create(test, &init), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(num), RXE_MAX_QP);
	atomic_set(num, 1);
}

static u32 turns;

static void note_turn(void *owner)
{
	if (owner == &turns)
		turns++;
}

static const struct rxe_net_ops turn_ops = { .sent = note_turn };

/*
 * A change of attributes pauses the tasks. Meanwhile, neither sender of the QP keeps a place among
 * the waiting senders: its turn would be lost, and all others would wait.
 */
static void pause_gives_way(struct kunit *test)
{
	struct rxe_tx *other = rxe_tx_create(fake(test)->rxe->txq, &turns);
	struct sk_buff *skb = alloc_skb(rxe_knob(txq_first_bytes), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, other && skb);
	rxe_tx_set_ops(&turn_ops);
	turns = 0;
	skb_put(skb, rxe_knob(txq_first_bytes));
	rxe_tx_own(other, NULL, skb);
	KUNIT_EXPECT_TRUE(test, rxe_tx_full(fake(test)->qp->sq.sender.tx));
	KUNIT_EXPECT_TRUE(test, rxe_tx_full(fake(test)->qp->rq.reply.tx));
	KUNIT_EXPECT_TRUE(test, rxe_tx_full(other));
	KUNIT_EXPECT_EQ(test, modify(test, (struct ib_qp_attr){ .min_rnr_timer = 2 },
				     IB_QP_MIN_RNR_TIMER), 0);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, turns, 1u);
	rxe_tx_destroy(other);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(refused),
	KUNIT_CASE(all_or_nothing),
	KUNIT_CASE(sqd),
	KUNIT_CASE(sqd_drains),
	KUNIT_CASE(err_flushes),
	KUNIT_CASE(err_flush_waits),
	KUNIT_CASE(reset),
	KUNIT_CASE(pause_gives_way),
	KUNIT_CASE(err_silent),
	KUNIT_CASE(err_dead_cq),
	KUNIT_CASE(cq_overflow),
	KUNIT_CASE(create_limits),
	KUNIT_CASE(create_refused),
	KUNIT_CASE(create_too_many),
	{}
};

static struct kunit_suite suite = {
	.name = "qp-qp",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
