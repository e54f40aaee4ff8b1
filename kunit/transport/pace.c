// SPDX-License-Identifier: GPL-2.0
/*
 * transport/pace.c: at a limited rate, a QP sends small trains, and no faster than the rate.
 * This holds for SENDs of RC and UC, and for READ responses, until the limit ends. Requests and
 * responses of a QP get the same share.
 */
#include "../peer.h"
#include "../util.h"

#define PKTS	12u
#define BYTES	(PKTS * FAKE_MTU)
#define ROOM	3u		/* packets of a train */
#define RATE	(200ULL * FAKE_MTU)	/* bytes/s */

/* Set a rate at which ROOM packets may leave at once, and the next ones later */
static void limit(struct kunit *test, u64 rate)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;

	knob_set(pace_ns, ROOM * FAKE_MTU * NSEC_PER_SEC / rate);
	knob_set(pace_late_ns, 0);
	spin_lock_bh(&sq->lock);
	WRITE_ONCE(sq->cc.rate, rate);
	sq->cc.next = ktime_get_ns();
	spin_unlock_bh(&sq->lock);
}

/* As limit(), by DCQCN, which doesn't raise the rate during the test */
static void limit_dcqcn(struct kunit *test, u64 rate)
{
	struct rxe_cc *cc = &fake(test)->qp->sq.cc;

	knob_set(rp_time_reset, 100 * USEC_PER_SEC);
	cc->ops = &rxe_cc_dcqcn;
	cc->dcqcn = (struct rxe_dcqcn) {
		.target = rate, .time_from = ktime_get_ns(), .alpha_from = ktime_get_ns(),
	};
	limit(test, rate);
}

/* Return: packets of the longest train that the test hasn't taken completely */
static u32 longest(struct kunit *test)
{
	struct sk_buff *skb;
	u32 most = 0;

	fake_settle(test);
	skb_queue_walk(&fake(test)->sent, skb)
		most = max_t(u32, most, rxe_rx(skb)->npkts);
	return most;
}

/*
 * Take the message that begins now. Its trains are as long as the rate allows. It takes at least
 * the time that the rate needs for all its packets except the last train.
 */
static void expect_paced(struct kunit *test, u64 begin)
{
	const u64 least = (BYTES - ROOM * FAKE_MTU) * NSEC_PER_SEC / RATE;
	struct rxe_pkt pkt;
	u32 most = 0, n;

	for (n = 0; n < PKTS; n++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		most = max(most, longest(test));
	}
	KUNIT_EXPECT_EQ(test, most, ROOM);
	KUNIT_EXPECT_GE(test, ktime_get_ns() - begin, least);
	fake_expect_nothing(test);
}

static void take_all(struct kunit *test)
{
	struct rxe_pkt pkt;

	while (fake_take(test, &pkt, NULL))
		;
}

/* Without a limit, trains are longer */
static void send(struct kunit *test)
{
	u64 begin;

	fake_send(test, 1, 0, BYTES);
	KUNIT_EXPECT_GT(test, longest(test), ROOM);
	take_all(test);
	if (fake(test)->qp->service->acked)
		peer_ack(test, FAKE_SQ_PSN + PKTS - 1);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, NULL);

	begin = ktime_get_ns();
	limit(test, RATE);
	fake_send(test, 2, 0, BYTES);
	expect_paced(test, begin);
}

static void ask_for_read(struct kunit *test, u32 n)
{
	peer_rdma(test, IB_OPCODE_RC_RDMA_READ_REQUEST,
		  rxe_psn_add(FAKE_RQ_PSN, n * PKTS), 0, BYTES, NULL, 0);
}

static void responses(struct kunit *test)
{
	u64 begin;

	ask_for_read(test, 0);
	KUNIT_EXPECT_GT(test, longest(test), ROOM);
	take_all(test);

	begin = ktime_get_ns();
	limit_dcqcn(test, RATE);
	ask_for_read(test, 1);
	expect_paced(test, begin);
}

/* A rate that READ responses couldn't raise again doesn't limit them */
static void responses_free(struct kunit *test)
{
	fake(test)->qp->sq.cc.ops = &rxe_cc_swift;
	limit(test, 1);
	ask_for_read(test, 0);
	KUNIT_EXPECT_GT(test, longest(test), ROOM);
	take_all(test);
}

static void take_read(struct kunit *test)
{
	u32 n;

	for (n = 0; n < PKTS; n++)
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &(struct rxe_pkt){}, NULL));
}

/*
 * The first READ request behind a READ response measures a round trip when it comes, although it
 * waits for the READ in progress
 */
static void turns(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	/* A READ takes half a second: the machine may stand still for a while in between */
	limit_dcqcn(test, RATE / 10);
	ask_for_read(test, 0);
	ask_for_read(test, 1);
	take_read(test);
	KUNIT_EXPECT_EQ(test, qp->sq.cc.seen_at, 0ULL);
	KUNIT_EXPECT_NE(test, qp->slow->ended.at, 0ULL);
	ask_for_read(test, 2);
	KUNIT_EXPECT_NE(test, qp->sq.cc.seen_at, 0ULL);
	KUNIT_EXPECT_GT(test, qp->sq.cc.seen_rtt, 0ULL);
	KUNIT_EXPECT_TRUE(test, qp->rq.read.active);
	KUNIT_EXPECT_EQ(test, qp->slow->ended.at, 0ULL);
	qp->sq.cc.seen_at = 0;
	ask_for_read(test, 3);	/* not the first */
	KUNIT_EXPECT_EQ(test, qp->sq.cc.seen_at, 0ULL);
}

/* A READ that finds nothing left to be sent: the peer may have paused */
static void turns_idle(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	limit_dcqcn(test, RATE);
	ask_for_read(test, 0);
	take_read(test);
	fake_settle(test);
	KUNIT_EXPECT_NE(test, qp->slow->ended.at, 0ULL);
	knob_set(rp_time_reset, 1);
	ask_for_read(test, 1);
	KUNIT_EXPECT_EQ(test, qp->sq.cc.seen_rtt, (u64)NSEC_PER_USEC);
}

/* Requests and READ responses share the rate, although both always wait for it */
static void shares(struct kunit *test)
{
	u32 responses = 0, n;
	struct rxe_pkt pkt;

	/* Trains leave every 150 ms: the machine may stand still for a while in between */
	limit_dcqcn(test, RATE / 10);
	ask_for_read(test, 0);
	fake_send(test, 1, 0, BYTES);
	for (n = 0; n < PKTS; n++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		responses += !!(pkt.flags & RXE_OP_RESPONSE);
	}
	KUNIT_EXPECT_GE(test, responses, PKTS / 2 - ROOM);
	KUNIT_EXPECT_LE(test, responses, PKTS / 2 + ROOM);
}

/* One packet may leave at any rate, and then nothing until the limit ends */
static void release(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt;

	limit(test, 1);
	knob_set(pace_ns, 0);
	fake_send(test, 1, 0, BYTES);
	fake_expect(test, IB_OPCODE_RC_SEND_FIRST, FAKE_SQ_PSN, NULL);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->pace.waits), RXE_PACE_SEND);

	WRITE_ONCE(qp->sq.cc.rate, 0);
	peer_ack(test, FAKE_SQ_PSN);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_GT(test, longest(test), ROOM);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->pace.waits), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send),
	KUNIT_CASE(responses),
	KUNIT_CASE(responses_free),
	KUNIT_CASE(turns),
	KUNIT_CASE(turns_idle),
	KUNIT_CASE(shares),
	KUNIT_CASE(release),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-pace",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

static struct kunit_case uc_cases[] = {
	KUNIT_CASE(send),
	{}
};

static struct kunit_suite uc_suite = {
	.name = "transport-pace-uc",
	.init = fake_init_uc,
	.exit = fake_exit,
	.test_cases = uc_cases,
};

kunit_test_suites(&suite, &uc_suite);
