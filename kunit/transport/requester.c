// SPDX-License-Identifier: GPL-2.0
/*
 * The requester (transport/requester.c) as its peer sees it, with PSNs that wrap around. Each
 * work request becomes the right packets, in order, within the limits of the QP. A work request
 * that can't be sent fails, and no work request before it.
 */
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define MTU	FAKE_MTU

static void send_only(struct kunit *test)
{
	struct ib_send_wr wr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND_WITH_IMM,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED,
		.ex.imm_data = cpu_to_be32(0xabcd),
	};
	u8 data[MTU];
	struct rxe_pkt pkt;

	rnd_fill(fake(test)->mem, 100, 1);
	fake_post(test, &wr, 0, 99);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
	KUNIT_EXPECT_EQ(test, pkt.opcode,
			(u8)IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 99u);
	KUNIT_EXPECT_EQ(test, pkt.imm, cpu_to_be32(0xabcd));
	KUNIT_EXPECT_EQ(test, pkt.pkey, (u16)0xffff);
	KUNIT_EXPECT_TRUE(test, pkt.solicited);
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	KUNIT_EXPECT_MEMEQ(test, data, fake(test)->mem, 99);
	fake_expect_nothing(test);
	peer_expect_not_done(test);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	peer_expect_not_done(test);
}

/* Every length around the MTU's multiples: opcodes, PSNs, data, one ACK [table 38] */
static void lengths(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, MTU - 1, MTU, MTU + 1, 2 * MTU,
				    2 * MTU + 1, 10 * MTU + 3, 30 * MTU };
	u32 i, n, pkts, psn = FAKE_SQ_PSN, len;
	struct rxe_pkt pkt;
	u8 data[MTU];

	rnd_fill(fake(test)->mem, FAKE_MEM, 2);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		pkts = rxe_count_pkts(lens[i], MTU);
		fake_send(test, i, 5, lens[i]);
		for (n = 0; n < pkts; n++) {
			KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
			KUNIT_ASSERT_EQ(test, pkt.opcode, pkts == 1 ?
					IB_OPCODE_RC_SEND_ONLY : !n ?
					IB_OPCODE_RC_SEND_FIRST : n < pkts - 1 ?
					IB_OPCODE_RC_SEND_MIDDLE :
					IB_OPCODE_RC_SEND_LAST);
			KUNIT_ASSERT_EQ(test, pkt.psn, psn);
			len = min(MTU, lens[i] - n * MTU);
			KUNIT_ASSERT_EQ(test, pkt.payload_len, len);
			KUNIT_ASSERT_MEMEQ(test, data,
					   fake(test)->mem + 5 + n * MTU, len);
			psn = rxe_psn_add(psn, 1);
		}
		KUNIT_ASSERT_TRUE(test, pkt.ack_req);
		peer_expect_not_done(test);
		peer_ack(test, rxe_psn_add(psn, -1));
		peer_expect_done(test, i);
	}
}

static void write(struct kunit *test)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = 1,
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(5),
		},
		.remote_addr = 0x123456789,
		.rkey = 0x4321,
	};
	struct rxe_pkt pkt;

	fake_post(test, &wr.wr, 0, 2 * MTU + 1);
	fake_expect(test, IB_OPCODE_RC_RDMA_WRITE_FIRST, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x123456789ull);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x4321u);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 2 * MTU + 1);
	fake_expect(test, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, PSN(1), NULL);
	fake_expect(test, IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, PSN(2),
		    &pkt);
	KUNIT_EXPECT_EQ(test, pkt.imm, cpu_to_be32(5));
	peer_ack(test, PSN(2));
	peer_expect_done(test, 1);
}

static void to_state(struct kunit *test, enum ib_qp_state to, int mask, bool notify)
{
	struct ib_qp_attr attr = { .qp_state = to, .en_sqd_async_notify = notify };

	KUNIT_ASSERT_EQ(test, rxe_modify_qp(&fake(test)->qp->ibqp, &attr,
					    IB_QP_STATE | mask, NULL), 0);
	fake_settle(test);
}

static bool told_drained(struct kunit *test)
{
	return test_and_clear_bit(IB_EVENT_SQ_DRAINED, &fake(test)->events);
}

/* The event comes once, if this change to SQD requested it [10.3.1.5] [11.2.5.3] */
static void drained(struct kunit *test)
{
	to_state(test, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, true);
	KUNIT_EXPECT_TRUE(test, told_drained(test));
	to_state(test, IB_QPS_SQD, 0, false);
	KUNIT_EXPECT_FALSE(test, told_drained(test));
	to_state(test, IB_QPS_RTS, 0, false);
	to_state(test, IB_QPS_SQD, 0, false);
	KUNIT_EXPECT_FALSE(test, told_drained(test));
}

/*
 * A work request that can't be sent is reached before SQD, and is the oldest in SQD: it waits
 * [10.3.1.5], without work for the tasks. It fails in RTS.
 */
static void sqd_unsendable(struct kunit *test)
{
	struct ib_send_wr wr = {
		.wr_id = 2, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = 0x55,
	};
	const struct ib_send_wr *bad;

	peer_take_send(test, 1, 1);
	KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad), 0);
	fake_settle(test);
	KUNIT_EXPECT_TRUE(test, fake(test)->qp->sq.stop.stalled);
	to_state(test, IB_QPS_SQD, 0, false);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	peer_expect_not_done(test);
	to_state(test, IB_QPS_RTS, 0, false);
	peer_expect_failed(test, 2, IB_WC_MW_BIND_ERR);
}

static void atomic(struct kunit *test)
{
	struct ib_atomic_wr wr = {
		.wr = {
			.wr_id = 1,
			.opcode = IB_WR_ATOMIC_CMP_AND_SWP,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = 0x1000,
		.rkey = 0x99,
		.compare_add = 0x1111,
		.swap = 0x2222,
	};
	struct rxe_pkt pkt, resp = {
		.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
		.psn = PSN(0),
		.syndrome = RXE_AETH_CREDITS_NONE,
		.atomic_orig = 0x0102030405060708,
	};

	fake_post(test, &wr.wr, 16, 8);
	fake_expect(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x1000ull);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x99u);
	KUNIT_EXPECT_EQ(test, pkt.compare, 0x1111ull);
	KUNIT_EXPECT_EQ(test, pkt.swap_add, 0x2222ull);
	fake_inject(test, &resp, NULL, 0);
	peer_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(fake(test)->mem + 16),
			0x0102030405060708ull);

	wr.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	fake_post(test, &wr.wr, 24, 8);
	fake_expect(test, IB_OPCODE_RC_FETCH_ADD, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.swap_add, 0x1111ull);
	resp.psn = PSN(1);
	fake_inject(test, &resp, NULL, 0);
	peer_expect_done(test, 1);
}

/* Masked atomics are accepted if their masks change nothing, as those of RDS do */
static void atomic_masked(struct kunit *test)
{
	struct ib_sge sge = { .addr = (uintptr_t)fake(test)->mem, .length = 8,
			      .lkey = fake(test)->mr->lkey };
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
			.sg_list = &sge, .num_sge = 1,
		},
		.compare_add = 0x1111, .swap = 0x2222,
		.compare_add_mask = ~0ull, .swap_mask = ~0ull,
	};
	const struct ib_send_wr *bad;
	struct rxe_pkt pkt;

	fake_post(test, &wr.wr, 0, 8);
	fake_expect(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.compare, 0x1111ull);
	KUNIT_EXPECT_EQ(test, pkt.swap_add, 0x2222ull);
	wr.swap_mask = 1;
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr.wr, &bad), -EINVAL);
	wr.swap_mask = ~0ull;
	wr.compare_add_mask = 1;
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr.wr, &bad), -EINVAL);
	wr.wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD;
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr.wr, &bad), -EINVAL);
	wr.compare_add_mask = 0;
	fake_post(test, &wr.wr, 0, 8);
	fake_expect(test, IB_OPCODE_RC_FETCH_ADD, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.swap_add, 0x1111ull);
}

/* Eight bytes leave, and an answer without data completes it [A19.4.2] */
static void atomic_write(struct kunit *test)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = 1,
			.opcode = IB_WR_ATOMIC_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = 0x1000,
		.rkey = 0x99,
	};
	struct rxe_pkt pkt;
	struct ib_wc wc;
	u8 data[FAKE_MTU];

	memcpy(fake(test)->mem + 16, "abcdefgh", 8);
	fake_post(test, &wr.wr, 16, 8);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
	KUNIT_EXPECT_EQ(test, pkt.opcode, IB_OPCODE_RC_ATOMIC_WRITE);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, pkt.va, 0x1000ull);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x99u);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 8u);
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 8u);
	KUNIT_EXPECT_MEMEQ(test, data, "abcdefgh", 8);
	/* an ACK is no answer to it: the answer was lost */
	peer_ack(test, PSN(0));
	peer_expect_not_done(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL, 0);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_ATOMIC_WRITE);
}

/* max_rd_atomic is 2 here [9.7.4.2] */
static void initiator_depth(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 4; i++)
		fake_read(test, i, 0, 8);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(1), NULL);
	fake_expect_nothing(test);
	for (i = 0; i < 4; i++) {
		peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(i),
			     fake(test)->mem + 1000, 8);
		peer_expect_done(test, i);
		if (i < 2)
			fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST,
				    PSN(i + 2), NULL);
		fake_expect_nothing(test);
	}
}

/*
 * The PSNs of all started messages are within half the PSN space: the longest message waits until
 * nothing else is in flight [9.7.3.1]. Its packets use only the begin of the memory, since no
 * window is that large.
 */
static void psn_span(struct kunit *test)
{
	fake(test)->qp->mtu = 32;
	peer_take_send(test, 1, 1);
	fake_send(test, 2, 0, BIT(23) * 32);
	fake_expect_nothing(test);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_FIRST, PSN(1), NULL);
}

/* A fenced request waits for READs and atomics [10.8.3.3] */
static void fence(struct kunit *test)
{
	struct ib_send_wr wr = {
		.wr_id = 2,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};

	fake_read(test, 1, 0, 8);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	fake_post(test, &wr, 0, 8);
	fake_expect_nothing(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		     fake(test)->mem + 1000, 8);
	peer_expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	peer_ack(test, PSN(1));
	peer_expect_done(test, 2);
}

/* A long message stops at the window and goes on with each ACK */
static void window(struct kunit *test)
{
	u32 pkts = 16 * rxe_knob(window_first), sent = 0, acked = 0;
	struct rxe_pkt pkt;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	fake(test)->qp->mtu = 32;	/* so that it fits in the memory */
	fake_post(test, &wr, 0, pkts * 32);
	while (acked < pkts) {
		while (fake_take(test, &pkt, NULL)) {
			KUNIT_ASSERT_EQ(test, pkt.psn, PSN(sent));
			sent++;
		}
		KUNIT_ASSERT_LE(test, sent - acked, fake(test)->qp->sq.cc.window);
		KUNIT_ASSERT_GT(test, sent, acked);
		acked = sent - (sent < pkts ? 10 : 0);
		peer_ack(test, PSN(acked - 1));
	}
	peer_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, sent, pkts);
}

/*
 * The window shrinks below the number of packets in flight, of which perhaps none requests an ACK:
 * one more packet leaves, which requests an ACK
 */
static void window_shrinks(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u32 window = 4 * rxe_knob(window_calm), sent = 1;
	struct rxe_pkt pkt;

	qp->mtu = 32;
	qp->sq.cc.window = window;
	peer_take_send(test, 1, 1);
	fake_post(test, &wr, 0, 2 * window * 32);
	while (fake_take(test, &pkt, NULL))
		sent++;
	KUNIT_ASSERT_EQ(test, sent, window);
	spin_lock_bh(&qp->sq.lock);
	qp->sq.rtt = (struct rxe_rtt){ .min = 1, .min_at = ktime_get(), .smooth = 1 };
	qp->sq.timed = (struct rxe_timed){
		.psn = PSN(0), .una = PSN(0), .limited = true,
		.start = ktime_sub_ns(ktime_get(), 10 * NSEC_PER_SEC),
	};
	spin_unlock_bh(&qp->sq.lock);
	peer_ack(test, PSN(0));
	KUNIT_EXPECT_EQ(test, qp->sq.cc.window, window / 2);
	rxe_task_schedule(&qp->send_task);	/* as if it had been in the middle of the message */
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(window));
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	fake_expect_nothing(test);
}

/* The L_Key doesn't allow reading: no packet leaves, and later work requests are flushed */
static void local_protection(struct kunit *test)
{
	struct ib_pd other = fake(test)->pd;

	peer_take_send(test, 1, 1);
	to_rxe_mr(fake(test)->mr)->key.pd = &other;
	fake_send(test, 2, 0, 8);
	to_rxe_mr(fake(test)->mr)->key.pd = &fake(test)->pd;
	fake_expect_nothing(test);
	peer_expect_not_done(test);
	peer_ack(test, PSN(0));
	peer_expect_done(test, 1);
	peer_expect_failed(test, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

static void full_queue(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad;
	u32 i, n = fake(test)->qp->slow->cap.max_send_wr;

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr,
						    &bad), 0);
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad),
			-ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr);
	peer_ack(test, PSN(0));
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad),
			0);
}

/* A work request that can never be sent is refused when it is posted [11.4.1.1] */
static void bad_posts(struct kunit *test)
{
	struct ib_sge sge[5] = {};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = sge,
		.num_sge = 5,
	};
	const struct ib_send_wr *bad;
	struct ib_qp *qp = &fake(test)->qp->ibqp;

	KUNIT_EXPECT_EQ(test, rxe_post_send(qp, &wr, &bad), -EINVAL);
	wr.num_sge = 1;
	wr.opcode = IB_WR_LOCAL_INV;
	KUNIT_EXPECT_EQ(test, rxe_post_send(qp, &wr, &bad), -EINVAL);
	wr.opcode = IB_WR_SEND;
	wr.send_flags = IB_SEND_INLINE;
	sge[0].length = 1000;
	KUNIT_EXPECT_EQ(test, rxe_post_send(qp, &wr, &bad), -EINVAL);
	fake_expect_nothing(test);
	peer_expect_not_done(test);
}

/* bad_wr names the first refused work request of a list; if none is refused, the first one */
static void bad_wr(struct kunit *test)
{
	struct fake *f = test->priv;
	struct ib_send_wr refused = { .opcode = IB_WR_LSO };
	struct ib_send_wr second = { .opcode = IB_WR_SEND };
	struct ib_send_wr first = { .opcode = IB_WR_SEND, .next = &second };
	const struct ib_send_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, rxe_post_send(&f->qp->ibqp, &first, &bad), 0);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&first);
	second.next = &refused;
	KUNIT_EXPECT_EQ(test, rxe_post_send(&f->qp->ibqp, &first, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&refused);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bad_wr),
	KUNIT_CASE(send_only),
	KUNIT_CASE(lengths),
	KUNIT_CASE(write),
	KUNIT_CASE(drained),
	KUNIT_CASE(sqd_unsendable),
	KUNIT_CASE(atomic),
	KUNIT_CASE(atomic_masked),
	KUNIT_CASE(atomic_write),
	KUNIT_CASE(initiator_depth),
	KUNIT_CASE(psn_span),
	KUNIT_CASE(fence),
	KUNIT_CASE(window),
	KUNIT_CASE(window_shrinks),
	KUNIT_CASE(local_protection),
	KUNIT_CASE(full_queue),
	KUNIT_CASE(bad_posts),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-requester",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
