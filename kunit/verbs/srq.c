// SPDX-License-Identifier: GPL-2.0
/*
 * verbs/srq.c and queue/sharedq.c, as a kernel consumer and a QP use them. Each work request
 * is taken once, in order, also while the SRQ is resized. The limit raises one event. A QP
 * that stops doesn't take work requests of others.
 */
#include <linux/kthread.h>
#include "../fake.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)

static struct ib_srq *ibsrq(struct kunit *test)
{
	return &fake(test)->srq->ibsrq;
}

static bool came(struct kunit *test, enum ib_event_type event)
{
	fake_settle(test);
	return test_and_clear_bit(event, &fake(test)->events);
}

static void packet(struct kunit *test, u8 opcode, u32 psn, u32 len)
{
	struct rxe_pkt pkt = { .opcode = opcode, .psn = psn, .ack_req = true };
	static const u8 data[FAKE_MTU];

	fake_inject(test, &pkt, data, len);
}

static u8 answer(struct kunit *test, u32 psn)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	return pkt.syndrome & RXE_AETH_TYPE_MASK;
}

static void post(struct kunit *test, u32 first, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		fake_post_recv(test, first + i, 0, 256);
}

/* SENDs that must take work requests @wr_id and on */
static void consume(struct kunit *test, u32 psn, u64 wr_id, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(psn + i), 100);
		KUNIT_ASSERT_EQ(test, answer(test, PSN(psn + i)), RXE_AETH_ACK);
		fake_completion(test, fake(test)->rcq, wr_id + i, IB_WC_SUCCESS, NULL);
	}
}

static int modify(struct kunit *test, int mask, u32 max_wr, u32 limit)
{
	struct ib_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return rxe_modify_srq(ibsrq(test), &attr, mask, NULL);
}

static struct ib_srq_attr query(struct kunit *test)
{
	struct ib_srq_attr attr = {};

	KUNIT_ASSERT_EQ(test, rxe_query_srq(ibsrq(test), &attr), 0);
	return attr;
}

/* The oldest receive is used first [10.2.9] */
static void in_order(struct kunit *test)
{
	post(test, 0, 5);
	consume(test, 0, 0, 5);
	post(test, 5, FAKE_WR - 1);
	consume(test, 5, 5, FAKE_WR - 1);
}

static void bad_posts(struct kunit *test)
{
	struct ib_sge sge[5] = {};
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = 5 };
	const struct ib_recv_wr *bad = NULL;
	struct fake *f = fake(test);

	KUNIT_EXPECT_EQ(test, rxe_post_srq_recv(ibsrq(test), &wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wr);
	wr.num_sge = 1;
	KUNIT_EXPECT_EQ(test, rxe_post_recv(&f->qp->ibqp, &wr, &bad), -EINVAL);
	post(test, 0, FAKE_WR - 1);
	KUNIT_EXPECT_EQ(test, rxe_post_srq_recv(ibsrq(test), &wr, &bad), -ENOMEM);
	f->srq->is_user = true;
	KUNIT_EXPECT_EQ(test, rxe_post_srq_recv(ibsrq(test), &wr, &bad), -EOPNOTSUPP);
	f->srq->is_user = false;
}

/* The peer gets an RNR NAK; its next try finds a receive that was posted meanwhile */
static void empty(struct kunit *test)
{
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), 100);
	KUNIT_ASSERT_EQ(test, answer(test, PSN(0)), RXE_AETH_RNR_NAK);
	post(test, 1, 1);
	consume(test, 0, 1, 1);
}

/* One event each time the limit is set, and at once if few are left [11.6.3.1] */
static void limit(struct kunit *test)
{
	post(test, 0, 10);
	KUNIT_ASSERT_EQ(test, modify(test, IB_SRQ_LIMIT, 0, 8), 0);
	KUNIT_EXPECT_EQ(test, query(test).srq_limit, 8u);
	consume(test, 0, 0, 2);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_SRQ_LIMIT_REACHED));
	consume(test, 2, 2, 1);
	KUNIT_EXPECT_TRUE(test, came(test, IB_EVENT_SRQ_LIMIT_REACHED));
	KUNIT_EXPECT_EQ(test, query(test).srq_limit, 0u);
	consume(test, 3, 3, 2);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_SRQ_LIMIT_REACHED));
	KUNIT_ASSERT_EQ(test, modify(test, IB_SRQ_LIMIT, 0, 6), 0);
	KUNIT_EXPECT_TRUE(test, came(test, IB_EVENT_SRQ_LIMIT_REACHED));
	KUNIT_ASSERT_EQ(test, modify(test, IB_SRQ_LIMIT, 0, 5), 0);
	KUNIT_ASSERT_EQ(test, modify(test, IB_SRQ_LIMIT, 0, 0), 0);
	consume(test, 5, 5, 5);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_SRQ_LIMIT_REACHED));
}

/* Only the receive that the QP has taken is flushed; then one event is raised [11.6.3.1] */
static void last_wqe(struct kunit *test)
{
	struct fake *f = fake(test);

	post(test, 0, 4);
	consume(test, 0, 0, 1);
	packet(test, IB_OPCODE_RC_SEND_FIRST, PSN(1), FAKE_MTU);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_QP_LAST_WQE_REACHED));
	KUNIT_ASSERT_TRUE(test, rxe_qp_to_err(f->qp));
	rxe_task_kick(&f->qp->recv_task);
	fake_completion(test, f->rcq, 1, IB_WC_WR_FLUSH_ERR, NULL);
	fake_no_completion(test, f->rcq);
	KUNIT_EXPECT_TRUE(test, came(test, IB_EVENT_QP_LAST_WQE_REACHED));
	rxe_task_kick(&f->qp->recv_task);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_QP_LAST_WQE_REACHED));
	KUNIT_EXPECT_EQ(test, rxe_ring_count_pending(f->srq->shared.q.ring), 2u);
}

/* The event doesn't come before the receive has completed, which waits for room in the CQ */
static void last_wqe_waits(struct kunit *test)
{
	struct fake *f = fake(test);
	u32 num;

	post(test, 0, 1);
	packet(test, IB_OPCODE_RC_SEND_FIRST, PSN(0), FAKE_MTU);
	num = fake_fill_cq(f->rcq);
	f->qp->slow->flush_ms = 3600 * MSEC_PER_SEC;	/* only the test runs the work */
	KUNIT_ASSERT_TRUE(test, rxe_qp_to_err(f->qp));
	rxe_task_kick(&f->qp->recv_task);
	KUNIT_EXPECT_FALSE(test, came(test, IB_EVENT_QP_LAST_WQE_REACHED));
	fake_empty_cq(test, f->rcq, num);
	flush_delayed_work(&f->qp->slow->flush_work);
	fake_settle(test);
	fake_completion(test, f->rcq, 0, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_TRUE(test, came(test, IB_EVENT_QP_LAST_WQE_REACHED));
}

/* From now on, receives complete in @cq */
static void set_recv_cq(struct kunit *test, struct ib_cq *cq)
{
	struct rxe_qp *qp = fake(test)->qp;

	rxe_task_pause(&qp->recv_task);
	qp->ibqp.recv_cq = cq;
	rxe_task_resume(&qp->recv_task);
}

/* A receive and a send are under way, and will complete in scq */
static void use_both(struct kunit *test)
{
	post(test, 0, 4);
	packet(test, IB_OPCODE_RC_SEND_FIRST, PSN(0), FAKE_MTU);
	fake_send(test, 9, 0, 8);
	set_recv_cq(test, &fake(test)->scq->ibcq);
}

/* The receive completes before the sends, which a kernel consumer may wait for */
static void last_wqe_first(struct kunit *test)
{
	struct fake *f = fake(test);

	use_both(test);
	KUNIT_ASSERT_TRUE(test, rxe_qp_to_err(f->qp));
	rxe_task_kick(&f->qp->recv_task);
	fake_completion(test, f->scq, 0, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, f->scq, 9, IB_WC_WR_FLUSH_ERR, NULL);
	set_recv_cq(test, &f->rcq->ibcq);
}

/* A send that has failed completes first: it is the reason for the others */
static void reason_first(struct kunit *test)
{
	struct fake *f = fake(test);
	struct rxe_pkt nak = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE, .psn = FAKE_SQ_PSN,
		.syndrome = RXE_NAK_REM_ACCESS,
	};

	use_both(test);
	fake_inject(test, &nak, NULL, 0);
	fake_completion(test, f->scq, 9, IB_WC_REM_ACCESS_ERR, NULL);
	fake_completion(test, f->scq, 0, IB_WC_WR_FLUSH_ERR, NULL);
	set_recv_cq(test, &f->rcq->ibcq);
}

/* The L_Keys are those of the SRQ's protection domain */
static void own_pd(struct kunit *test)
{
	struct fake *f = fake(test);
	struct ib_pd other = { .device = &f->rxe->ibdev };

	post(test, 0, 2);
	f->qp->ibqp.pd = &other;
	consume(test, 0, 0, 1);
	f->qp->ibqp.pd = &f->pd;
	f->qp->rq.recv.pd = &other;
	packet(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), 100);
	fake_completion(test, f->rcq, 1, IB_WC_LOC_PROT_ERR, NULL);
}

/* Bigger and smaller, with work requests in it that wrap around in the old ring */
static void resize(struct kunit *test)
{
	static const u32 size[] = { 40, 7, 15, 100, 7 };
	u32 i, n = 10;

	post(test, 0, 10);
	consume(test, 0, 0, 10);
	for (i = 0; i < ARRAY_SIZE(size); i++, n += 7) {
		post(test, n, 7);
		KUNIT_ASSERT_EQ(test, modify(test, IB_SRQ_MAX_WR, size[i], 0), 0);
		KUNIT_EXPECT_GE(test, query(test).max_wr, size[i]);
		consume(test, n, n, 7);
	}
	KUNIT_EXPECT_EQ(test, query(test).max_wr, 7u);
	post(test, n, 7);
}

static void modify_refused(struct kunit *test)
{
	const int size = IB_SRQ_MAX_WR, lim = IB_SRQ_LIMIT;
	struct ib_srq_attr attr;

	post(test, 0, 8);
	KUNIT_EXPECT_EQ(test, modify(test, size, 7, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(test, size, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(test, size, RXE_MAX_SRQ_WR + 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(test, lim, 0, FAKE_WR), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(test, size | lim, 20, 21), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(test, lim << 1, 20, 1), -EINVAL);
	attr = query(test);
	KUNIT_EXPECT_EQ(test, attr.max_wr, FAKE_WR - 1);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 4u);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0u);
	KUNIT_EXPECT_EQ(test, modify(test, size | lim, 30, 5), 0);
	KUNIT_EXPECT_EQ(test, modify(test, size, RXE_MAX_SRQ_WR, 0), 0);
	KUNIT_EXPECT_EQ(test, query(test).max_wr, (u32)RXE_MAX_SRQ_WR);
	consume(test, 0, 0, 8);
}

static void create_refused(struct kunit *test)
{
	struct fake *f = fake(test);
	struct rxe_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_init_attr bad[] = {
		{ .attr = { .max_wr = 0, .max_sge = 1 } },
		{ .attr = { .max_wr = RXE_MAX_SRQ_WR + 1, .max_sge = 1 } },
		{ .attr = { .max_wr = 1, .max_sge = RXE_MAX_SGE + 1 } },
		{ .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IB_SRQT_XRC },
		{ .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IB_SRQT_TM },
	};
	struct ib_srq_init_attr good = { .attr = { RXE_MAX_SRQ_WR, RXE_MAX_SGE } };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.device = &f->rxe->ibdev;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_NE(test, rxe_create_srq(&srq->ibsrq, &bad[i], NULL), 0);
	atomic_set(&f->rxe->num_srq, RXE_MAX_SRQ - 1);
	KUNIT_ASSERT_EQ(test, rxe_create_srq(&srq->ibsrq, &good, NULL), 0);
	KUNIT_EXPECT_EQ(test, good.attr.max_wr, (u32)RXE_MAX_SRQ_WR);
	/* one more is refused to a process, but not to a consumer in the kernel */
	KUNIT_EXPECT_FALSE(test, rxe_limit_get(&f->rxe->num_srq, RXE_MAX_SRQ, true));
	KUNIT_EXPECT_TRUE(test, rxe_limit_get(&f->rxe->num_srq, RXE_MAX_SRQ, false));
	atomic_dec(&f->rxe->num_srq);
	rxe_destroy_srq(&srq->ibsrq, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->rxe->num_srq), RXE_MAX_SRQ - 1);
}

/* A limit given at the creation is ignored [11.2.3.1] */
static void create_with_limit(struct kunit *test)
{
	struct rxe_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1, .srq_limit = 3 } };
	struct ib_srq_attr attr = {};

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.device = &fake(test)->rxe->ibdev;
	KUNIT_ASSERT_EQ(test, rxe_create_srq(&srq->ibsrq, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, rxe_query_srq(&srq->ibsrq, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0u);
	KUNIT_EXPECT_GE(test, attr.max_wr, 8u);
	rxe_destroy_srq(&srq->ibsrq, NULL);
}

#define MANY	20000u

/* Takes @MANY work requests; returns the first that is out of order, or MANY */
static int taker(void *arg)
{
	struct rxe_sharedq *shared = arg;
	struct ib_sge sge[4];
	struct rxe_rwqe wqe = { .sge = sge };
	u32 next = 0;

	while (next < MANY && !kthread_should_stop()) {
		local_bh_disable();
		if (!rxe_sharedq_take(shared, &wqe)) {
			local_bh_enable();
			schedule();
			continue;
		}
		local_bh_enable();
		if (wqe.wr_id != next || wqe.num_sge != 1 || sge[0].lkey != next)
			break;
		next++;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return next;
}

/* One thread takes; this one posts and changes the size: none is lost or comes twice */
static void resize_while_taken(struct kunit *test)
{
	struct rxe_sharedq *shared = &fake(test)->srq->shared;
	struct ib_sge sge = { .length = 1 };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	unsigned long deadline = jiffies + 200 * HZ;
	const struct ib_recv_wr *bad;
	struct task_struct *t;
	u32 n = 0;

	t = kthread_run(taker, shared, "srq-taker");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	while (n < MANY && time_before(jiffies, deadline)) {
		wr.wr_id = n;
		sge.lkey = n;
		if (!rxe_post_srq_recv(ibsrq(test), &wr, &bad))
			n++;
		else
			schedule();
		if (n % 37 == 0)
			modify(test, IB_SRQ_MAX_WR, n % 2 ? 60 : 200, 0);
	}
	while (rxe_ring_count_pending(shared->q.ring) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, n, MANY);
	KUNIT_EXPECT_EQ(test, kthread_stop(t), (int)MANY);
}

/*
 * During a move, work requests are taken from the old ring and posted to the new one, and no
 * place is used again before the end.
 */
static void take_while_moved(struct kunit *test)
{
	struct rxe_sharedq *shared = &fake(test)->srq->shared;
	struct rxe_ring *old = shared->q.ring;
	u32 size = rxe_recvq_get_wqe_size(shared->q.max_sge);
	struct rxe_ring *new = rxe_ring_create(NULL, 7, size);
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = {};

	KUNIT_ASSERT_FALSE(test, IS_ERR(new));
	post(test, 0, 5);
	/* the state between move_begin() and move_end() */
	new->buf->producer_index = 5;
	shared->moving = 5;
	shared->old = old;
	shared->q.ring = new;
	consume(test, 0, 0, 3);
	post(test, 5, 2);
	KUNIT_EXPECT_EQ(test, rxe_post_srq_recv(ibsrq(test), &wr, &bad), -ENOMEM);
	consume(test, 3, 3, 4);
	shared->old = NULL;
	rxe_ring_release(new, new->index);
	rxe_ring_destroy(old);
	post(test, 7, 7);
	consume(test, 7, 7, 7);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(in_order),
	KUNIT_CASE(bad_posts),
	KUNIT_CASE(empty),
	KUNIT_CASE(limit),
	KUNIT_CASE(last_wqe),
	KUNIT_CASE(last_wqe_waits),
	KUNIT_CASE(last_wqe_first),
	KUNIT_CASE(reason_first),
	KUNIT_CASE(own_pd),
	KUNIT_CASE(resize),
	KUNIT_CASE(modify_refused),
	KUNIT_CASE(create_refused),
	KUNIT_CASE(create_with_limit),
	KUNIT_CASE(resize_while_taken),
	KUNIT_CASE(take_while_moved),
	{}
};

static struct kunit_suite suite = {
	.name = "verbs-srq",
	.init = fake_init_srq,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
