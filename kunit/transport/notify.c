// SPDX-License-Identifier: GPL-2.0
/*
 * transport/notify.c: packets with an ECN mark are answered by a CNP, other packets aren't. A CNP
 * from the peer is counted and given to congestion control, and has no other effect. Both rules
 * hold for the priorities in ecn_priorities.
 */
#include "../peer.h"
#include "../util.h"

static u64 count(struct kunit *test, int which)
{
	return rxe_count_sum(fake(test)->rxe, which);
}

/* One packet of a SEND; a receive work request is posted for it */
static void send_to_qp(struct kunit *test, u32 n, bool marked)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_SEND_ONLY, .psn = (FAKE_RQ_PSN + n) & RXE_PSN_MASK,
		.ack_req = true,
	};
	u8 data[16] = {};

	fake_post_recv(test, n, 0, sizeof(data));
	fake(test)->marked = marked;
	fake_inject(test, &pkt, data, sizeof(data));
	fake(test)->marked = false;
}

static void expect_cnp(struct kunit *test)
{
	struct rxe_pkt pkt;

	fake_expect(test, RXE_OPCODE_CNP, 0, &pkt);
	KUNIT_EXPECT_TRUE(test, pkt.becn);
	KUNIT_EXPECT_FALSE(test, pkt.ack_req);
	KUNIT_EXPECT_EQ(test, pkt.pkey, RXE_PKEY);
}

static void expect_ack(struct kunit *test, u32 n)
{
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, FAKE_RQ_PSN + n, NULL);
	fake_expect_nothing(test);
}

/* A CNP for a marked packet, none for other packets [A17.9] */
static void mark_is_answered(struct kunit *test)
{
	fake(test)->rxe->tune.roce_np = true;
	fake(test)->rxe->tune.ecn_priorities = U8_MAX;
	send_to_qp(test, 0, true);
	expect_cnp(test);
	expect_ack(test, 0);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_MARKED), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_CNP_SENT), 1ULL);

	send_to_qp(test, 1, false);
	expect_ack(test, 1);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_MARKED), 1ULL);

	knob_set(np_min_time_between_cnps, 1000000);
	send_to_qp(test, 2, true);
	expect_ack(test, 2);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_MARKED), 2ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_CNP_SENT), 1ULL);
}

static void off(struct kunit *test)
{
	fake(test)->rxe->tune.roce_np = false;
	fake(test)->rxe->tune.ecn_priorities = U8_MAX;
	send_to_qp(test, 0, true);
	expect_ack(test, 0);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_MARKED), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_CNP_SENT), 0ULL);
}

/*
 * The class of a received packet gives its priority. A packet with class 0 has the priority of the
 * connection.
 */
static void mark_of_priority(struct kunit *test)
{
	struct fake *f = fake(test);

	knob_set(np_min_time_between_cnps, 0);
	f->rxe->tune.roce_np = true;
	f->rxe->tune.ecn_priorities = BIT(3);
	send_to_qp(test, 0, true);
	expect_ack(test, 0);
	f->peer.tos = 3 << 5;
	send_to_qp(test, 1, true);
	expect_cnp(test);
	expect_ack(test, 1);
	f->qp->path.priority = 3;
	f->peer.tos = 4 << 5;
	send_to_qp(test, 2, true);
	expect_ack(test, 2);
	f->peer.tos = 0;
	send_to_qp(test, 3, true);
	expect_cnp(test);
	expect_ack(test, 3);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_MARKED), 4ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_NP_CNP_SENT), 2ULL);
}

/* Marks on READ responses also make this QP ask for less, if its algorithm heeds marks */
static void marked_read(struct kunit *test)
{
	static const u8 data[FAKE_MTU];
	struct rxe_sq *sq = &fake(test)->qp->sq;
	u32 was = sq->cc.window;

	knob_set(np_min_time_between_cnps, 0);
	fake(test)->rxe->tune.roce_np = true;
	fake(test)->rxe->tune.ecn_priorities = U8_MAX;
	fake_read(test, 1, 0, 3 * FAKE_MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, FAKE_SQ_PSN, NULL);
	fake(test)->marked = true;
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, FAKE_SQ_PSN, data, FAKE_MTU);
	expect_cnp(test);
	KUNIT_EXPECT_EQ(test, sq->cc.window, was);

	sq->cc.ops = &rxe_cc_dcqcn;
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, rxe_psn_add(FAKE_SQ_PSN, 1),
		     data, FAKE_MTU);
	expect_cnp(test);
	KUNIT_EXPECT_EQ(test, sq->cc.window, was / 2);
	KUNIT_EXPECT_TRUE(test, sq->flight.overfull);
	fake(test)->marked = false;
}

/* A CNP acknowledges nothing and isn't answered, marked or not */
static void cnp_comes(struct kunit *test)
{
	struct rxe_pkt pkt = { .opcode = RXE_OPCODE_CNP, .becn = true };

	fake(test)->rxe->tune.roce_np = true;
	fake(test)->rxe->tune.ecn_priorities = U8_MAX;
	fake_send(test, 7, 0, 16);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, FAKE_SQ_PSN, NULL);
	fake(test)->marked = true;
	fake_inject(test, &pkt, NULL, 0);
	fake(test)->marked = false;
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->scq);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_HANDLED) +
			count(test, RXE_CNT_RP_CNP_IGNORED), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_DROP_MALFORMED), 0ULL);

	pkt = (struct rxe_pkt){ .opcode = RXE_OPCODE_CNP };	/* without BECN */
	fake_inject(test, &pkt, NULL, 0);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_DROP_MALFORMED), 1ULL);
	fake_no_completion(test, fake(test)->scq);

	pkt = (struct rxe_pkt){ .opcode = RXE_OPCODE_CNP, .becn = true };
	fake(test)->peer.sgid.raw[15] = 9;	/* another host's address */
	fake_inject(test, &pkt, NULL, 0);
	fake(test)->peer.sgid.raw[15] = 2;
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_DROP_ADDR), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_HANDLED) +
			count(test, RXE_CNT_RP_CNP_IGNORED), 1ULL);
}

/* A CNP slows the QP down, unless its priority is off */
static void cnp_of_priority(struct kunit *test)
{
	struct rxe_pkt pkt = { .opcode = RXE_OPCODE_CNP, .becn = true };
	struct rxe_qp *qp = fake(test)->qp;

	rxe_cc_reset(&qp->sq.cc, &rxe_cc_dcqcn);
	qp->path.priority = 3;
	fake(test)->rxe->tune.ecn_priorities = (u8)~BIT(3);
	fake_inject(test, &pkt, NULL, 0);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_IGNORED), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_HANDLED), 0ULL);
	KUNIT_EXPECT_EQ(test, qp->sq.cc.rate, 0ULL);

	fake(test)->rxe->tune.ecn_priorities = BIT(3);
	fake_inject(test, &pkt, NULL, 0);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_IGNORED), 1ULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_HANDLED), 1ULL);
	KUNIT_EXPECT_GT(test, qp->sq.cc.rate, 0ULL);
}

/* A peer may also set the BECN bit in another packet */
static void becn(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE, .psn = FAKE_SQ_PSN, .becn = true,
		.syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE,
	};

	fake_send(test, 7, 0, 16);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, FAKE_SQ_PSN, NULL);
	fake_inject(test, &pkt, NULL, 0);
	fake_completion(test, fake(test)->scq, 7, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_EQ(test, count(test, RXE_CNT_RP_CNP_HANDLED) +
			count(test, RXE_CNT_RP_CNP_IGNORED), 1ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mark_is_answered),
	KUNIT_CASE(off),
	KUNIT_CASE(mark_of_priority),
	KUNIT_CASE(marked_read),
	KUNIT_CASE(cnp_comes),
	KUNIT_CASE(cnp_of_priority),
	KUNIT_CASE(becn),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-notify",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
