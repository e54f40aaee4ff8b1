// SPDX-License-Identifier: GPL-2.0
/*
 * The requester and completer (transport/requester.c, completer.c, recover.c, timer.c) as the
 * peer sees them, with PSNs that wrap around. Each work request becomes the right packets, and
 * completes exactly once and in order. It is sent again after loss, NAK, RNR NAK and silence, as
 * often as the retry counts of the QP allow. Answers to packets that were never sent are ignored.
 */
#include <linux/string.h>
#include "../fake.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define MTU	FAKE_MTU

/* 4.096 us * 2^10: 4 ms */
#define SHORT_TIMEOUT	10

static struct fake *fake(struct kunit *test)
{
	return test->priv;
}

static u8 state(struct kunit *test)
{
	return READ_ONCE(fake(test)->qp->state);
}

static void fill(u8 *p, u32 len, u32 seed)
{
	struct rnd_state rnd = rnd_init(seed);

	prandom_bytes_state(&rnd, p, len);
}

static void answer(struct kunit *test, u32 psn, u8 syndrome)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = psn,
		.syndrome = syndrome,
	};

	fake_inject(test, &pkt, NULL, 0);
}

static void ack(struct kunit *test, u32 psn)
{
	answer(test, psn, RXE_AETH_ACK | RXE_AETH_CREDITS_NONE);
}

static void respond(struct kunit *test, u8 opcode, u32 psn, const void *data,
		    u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE,
	};

	fake_inject(test, &pkt, data, len);
}

static void expect_done(struct kunit *test, u64 wr_id)
{
	fake_completion(test, fake(test)->scq, wr_id, IB_WC_SUCCESS, NULL);
}

static void expect_fails(struct kunit *test, u64 wr_id, enum ib_wc_status status)
{
	fake_completion(test, fake(test)->scq, wr_id, status, NULL);
}

static void no_completion(struct kunit *test)
{
	fake_no_completion(test, fake(test)->scq);
}

static void expect_counted(struct kunit *test, enum rxe_counter which, u64 times)
{
	KUNIT_EXPECT_EQ_MSG(test, fake_counter(test, which), times, "counter %u", which);
}

/* Posts one SEND, takes its packets away */
static void send_and_take(struct kunit *test, u64 wr_id, u32 len)
{
	struct rxe_pkt pkt;
	u32 i;

	fake_send(test, wr_id, 0, len);
	for (i = 0; i < rxe_count_pkts(len, MTU); i++)
		KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	fake_expect_nothing(test);
}

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

	fill(fake(test)->mem, 100, 1);
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
	no_completion(test);
	ack(test, PSN(0));
	expect_done(test, 1);
	no_completion(test);
}

/* Every length around the MTU's multiples: opcodes, PSNs, data, one ACK [table 38] */
static void lengths(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, MTU - 1, MTU, MTU + 1, 2 * MTU,
				    2 * MTU + 1, 10 * MTU + 3, 30 * MTU };
	u32 i, n, pkts, psn = FAKE_SQ_PSN, len;
	struct rxe_pkt pkt;
	u8 data[MTU];

	fill(fake(test)->mem, FAKE_MEM, 2);
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
		no_completion(test);
		ack(test, rxe_psn_add(psn, -1));
		expect_done(test, i);
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
	ack(test, PSN(2));
	expect_done(test, 1);
}

/* One ACK for several work requests; unsignalled ones complete silently */
static void coalesced_ack(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u32 i;

	for (i = 0; i < 8; i++) {
		wr.wr_id = i;
		wr.send_flags = i % 2 ? IB_SEND_SIGNALED : 0;
		fake_post(test, &wr, 0, 1);
		fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), NULL);
	}
	ack(test, PSN(5));
	for (i = 1; i < 6; i += 2)
		expect_done(test, i);
	no_completion(test);
	ack(test, PSN(7));
	expect_done(test, 7);
	no_completion(test);
}

/* Old, forged and repeated answers change nothing */
static void not_believed(struct kunit *test)
{
	static const u8 syndromes[] = {
		RXE_AETH_ACK, RXE_NAK_PSN_SEQ, RXE_NAK_INV_REQ,
		RXE_NAK_REM_ACCESS, RXE_NAK_REM_OP, RXE_AETH_RNR_NAK,
		0x40, 0x80, 0xff,
	};
	static const int psns[] = { 1, 2, 100, 1 << 22, 1 << 23, -1, -2, -1000 };
	u32 i, k;

	send_and_take(test, 1, 10);
	for (i = 0; i < ARRAY_SIZE(syndromes); i++) {
		for (k = 0; k < ARRAY_SIZE(psns); k++)
			answer(test, PSN(psns[k]), syndromes[i]);
		/* responses to a READ that there wasn't */
		respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
			fake(test)->mem, 10);
		respond(test, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, PSN(0), NULL, 0);
	}
	/* six syndromes exist, and four PSNs are after the last one that was sent */
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_PSN), 24ULL);
	fake_expect_nothing(test);
	no_completion(test);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_RTS);
	ack(test, PSN(0));
	expect_done(test, 1);
	ack(test, PSN(0));
	no_completion(test);
}

/* A syndrome that doesn't exist acknowledges nothing, not even what was before */
static void reserved_syndromes(struct kunit *test)
{
	static const u8 syndromes[] = { 0x40, 0x5f, 0x64, 0x7f, 0x80, 0xe3, 0xff };
	u32 i;

	send_and_take(test, 1, 10);
	send_and_take(test, 2, 10);
	for (i = 0; i < ARRAY_SIZE(syndromes); i++)
		answer(test, PSN(1), syndromes[i]);
	fake_expect_nothing(test);
	no_completion(test);
	ack(test, PSN(1));
	expect_done(test, 1);
	expect_done(test, 2);
}

/* The peer requests a packet: everything from there on is sent again [9.7.5.1.2] */
static void nak_sequence(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 4; i++)
		send_and_take(test, i, 1);
	answer(test, PSN(2), RXE_NAK_PSN_SEQ);
	expect_done(test, 0);
	expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(2), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), NULL);
	fake_expect_nothing(test);
	ack(test, PSN(3));
	expect_done(test, 2);
	expect_done(test, 3);
	expect_counted(test, RXE_CNT_NAK_SEQ, 1);
	expect_counted(test, RXE_CNT_RCVD_SEQ_ERR, 1);
	expect_counted(test, RXE_CNT_IMPLIED_NAK, 0);
}

/* A NAK in the middle of a message: sending continues there, not at its start */
static void nak_in_message(struct kunit *test)
{
	struct rxe_pkt pkt;
	u8 data[MTU];
	u32 i;

	fill(fake(test)->mem, 8 * MTU, 3);
	send_and_take(test, 1, 8 * MTU);
	answer(test, PSN(5), RXE_NAK_PSN_SEQ);
	no_completion(test);
	for (i = 5; i < 8; i++) {
		KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
		KUNIT_ASSERT_EQ(test, pkt.opcode, i < 7 ?
				IB_OPCODE_RC_SEND_MIDDLE :
				IB_OPCODE_RC_SEND_LAST);
		KUNIT_ASSERT_MEMEQ(test, data, fake(test)->mem + i * MTU, MTU);
	}
	fake_expect_nothing(test);
	ack(test, PSN(7));
	expect_done(test, 1);
}

/* On a path without trains, a NAK reports the loss of one packet */
static void nak_alone(struct kunit *test, u32 n)
{
	WRITE_ONCE(fake(test)->qp->sq.sender.out.train.alone, true);
	answer(test, PSN(n), RXE_NAK_PSN_SEQ);
}

/* A peer that holds the packets behind a loss: they aren't sent again */
static void peer_keeps(struct kunit *test)
{
	struct rxe_pkt pkt;
	u8 data[MTU];

	fill(fake(test)->mem, 8 * MTU, 6);
	send_and_take(test, 1, 8 * MTU);
	nak_alone(test, 2);
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
	KUNIT_EXPECT_EQ(test, pkt.opcode, IB_OPCODE_RC_SEND_MIDDLE);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(2));
	KUNIT_EXPECT_MEMEQ(test, data, fake(test)->mem + 2 * MTU, MTU);
	/* one packet more than is missing: the peer compares it with what it holds */
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(3), &pkt);
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	fake_expect_nothing(test);
	nak_alone(test, 5);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(5), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(6), NULL);
	fake_expect_nothing(test);
	ack(test, PSN(7));
	expect_done(test, 1);
}

/* A peer that drops them: everything is sent again, now and for the next losses */
static void peer_drops(struct kunit *test)
{
	u32 i;

	send_and_take(test, 1, 8 * MTU);
	nak_alone(test, 2);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(2), NULL);
	fake_expect(test, IB_OPCODE_RC_SEND_MIDDLE, PSN(3), NULL);
	fake_expect_nothing(test);
	nak_alone(test, 4);
	for (i = 4; i < 8; i++)
		fake_expect(test, i < 7 ? IB_OPCODE_RC_SEND_MIDDLE :
			    IB_OPCODE_RC_SEND_LAST, PSN(i), NULL);
	fake_expect_nothing(test);
	ack(test, PSN(7));
	expect_done(test, 1);
	for (i = 0; i < 4; i++)
		send_and_take(test, 2 + i, 1);
	nak_alone(test, 9);
	expect_done(test, 2);
	for (i = 9; i < 12; i++)
		fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(i), NULL);
	fake_expect_nothing(test);
	ack(test, PSN(11));
	for (i = 1; i < 4; i++)
		expect_done(test, 2 + i);
}

/* A READ request was lost: it is sent again, for all of its responses */
static void read_nak(struct kunit *test)
{
	struct rxe_pkt pkt;

	fake_read(test, 1, 0, 3 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	send_and_take(test, 2, 1);
	nak_alone(test, 0);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 3 * MTU);
	fake_expect_nothing(test);
}

/* Each fatal NAK has its completion status [10.10.2.3] */
static void fatal_naks(struct kunit *test)
{
	static const struct { u8 syndrome; enum ib_wc_status status; } naks[] = {
		{ RXE_NAK_INV_REQ, IB_WC_REM_INV_REQ_ERR },
		{ RXE_NAK_REM_ACCESS, IB_WC_REM_ACCESS_ERR },
		{ RXE_NAK_REM_OP, IB_WC_REM_OP_ERR },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(naks); i++) {
		WRITE_ONCE(fake(test)->qp->state, IB_QPS_RTS);
		fake(test)->qp->sq.flight.psn = FAKE_SQ_PSN;
		fake(test)->qp->sq.flight.una = FAKE_SQ_PSN;
		fake(test)->qp->sq.flight.top = FAKE_SQ_PSN;
		send_and_take(test, 1, 1);
		send_and_take(test, 2, 1);
		send_and_take(test, 3, 1);
		answer(test, PSN(1), naks[i].syndrome);
		expect_done(test, 1);
		expect_fails(test, 2, naks[i].status);
		expect_fails(test, 3, IB_WC_WR_FLUSH_ERR);
		no_completion(test);
		fake_expect_nothing(test);
		KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
		expect_counted(test, RXE_CNT_SEND_WC_ERR, 2 * (i + 1));
		expect_counted(test, RXE_CNT_SEND_WC_FLUSH, i + 1);
		expect_counted(test, RXE_CNT_SEND_WC_INV_REQ, 1);
		expect_counted(test, RXE_CNT_SEND_WC_ACCESS, i > 0);
	}
}

/*
 * Silence: sent again retry_cnt times, then an error; also for retry_cnt 7
 * [9.7.6.1.3]
 */
static void silence(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	u32 retry_cnt, i;
	struct rxe_pkt pkt;
	struct ib_wc wc;

	for (retry_cnt = 0; retry_cnt < 8; retry_cnt += 7) {
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		qp->sq.flight.psn = FAKE_SQ_PSN;
		qp->sq.flight.una = FAKE_SQ_PSN;
		qp->sq.flight.top = FAKE_SQ_PSN;
		qp->sq.rec.retries = 0;
		qp->attr.timeout = 0;
		qp->attr.retry_cnt = retry_cnt;
		fake_send(test, 1, 0, 1);
		fake_send(test, 2, 0, 1);
		/* The timeout starts here, even if the machine stood still between the sends */
		spin_lock_bh(&qp->sq.lock);
		qp->attr.timeout = SHORT_TIMEOUT;
		rxe_wait(qp);
		spin_unlock_bh(&qp->sq.lock);
		KUNIT_ASSERT_TRUE(test, fake_wait_completion(test,
							     fake(test)->scq,
							     &wc));
		/* before a round trip was measured, there are probes, too */
		for (i = 0; fake_take(test, &pkt, NULL); )
			i += pkt.psn == PSN(0);
		KUNIT_EXPECT_GE(test, i, retry_cnt + 1);
		KUNIT_EXPECT_LE(test, i, retry_cnt + 4);
		KUNIT_EXPECT_EQ(test, wc.wr_id, 1ull);
		KUNIT_EXPECT_EQ(test, (u32)wc.status, (u32)IB_WC_RETRY_EXC_ERR);
		expect_fails(test, 2, IB_WC_WR_FLUSH_ERR);
		fake_expect_nothing(test);
		KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	}
}

/* Progress resets the retries: more losses than retry_cnt, one by one */
static void many_losses(struct kunit *test)
{
	struct rxe_pkt pkt;
	u32 i;

	fake(test)->qp->attr.timeout = SHORT_TIMEOUT;
	fake(test)->qp->attr.retry_cnt = 7;
	for (i = 0; i < 20; i++) {
		fake_send(test, i, 0, 1);
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
		ack(test, PSN(i));
		expect_done(test, i);
		while (fake_take(test, &pkt, NULL))
			KUNIT_ASSERT_EQ(test, pkt.psn, PSN(i));
	}
}

/* On a lossy path, probes are sent long before the timeout, and take no retry */
static void probe(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt;
	u32 i;

	qp->attr.timeout = 20;		/* 4 s: longer than fake_wait() would wait */
	qp->attr.retry_cnt = 1;
	qp->sq.rtt.smooth = NSEC_PER_MSEC;
	qp->sq.rec.lossy_until = ktime_add_ns(ktime_get(), rxe_knob(loss_memory_ns));
	fake_send(test, 1, 0, 1);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_ASSERT_EQ(test, pkt.psn, PSN(0));
	}
	KUNIT_EXPECT_EQ(test, qp->sq.rec.retries, 0);
	ack(test, PSN(0));
	expect_done(test, 1);
}

/* On a path without loss, a probe is sent after silence_ns, before a long timeout */
static void first_probe(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	ktime_t start = ktime_get();
	struct rxe_pkt pkt;

	qp->attr.timeout = 20;		/* 4 s: longer than the test waits */
	qp->attr.retry_cnt = 1;
	send_and_take(test, 1, 1);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 300ll);
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, qp->sq.rec.retries, 0);
	KUNIT_EXPECT_GE(test, fake_counter(test, RXE_CNT_PROBE), 1ull);
	expect_counted(test, RXE_CNT_ACK_TIMEOUT, 0);
	ack(test, PSN(0));
	expect_done(test, 1);
	/* now that something seems to get lost, a round trip is enough */
	qp->sq.rtt.smooth = NSEC_PER_MSEC;
	qp->sq.rtt.var = 0;
	start = ktime_get();
	send_and_take(test, 2, 1);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(1));
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 300ll);
	ack(test, PSN(1));
	expect_done(test, 2);
}

/* An idle connection is left alone: no timer, no packet */
static void idle(struct kunit *test)
{
	fake(test)->qp->attr.timeout = SHORT_TIMEOUT;
	send_and_take(test, 1, 1);
	ack(test, PSN(0));
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, fake(test)->qp->sq.rto.deadline, (ktime_t)0);
}

/* After an RNR NAK only the refused work request is sent again */
static void expect_refused(struct kunit *test)
{
	struct rxe_pkt pkt;

	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_ASSERT_EQ(test, pkt.psn, PSN(0));
	KUNIT_ASSERT_FALSE(test, fake_take(test, &pkt, NULL));
}

/* The QP waits for the time in the RNR NAK [9.7.5.2.8]. This peer drops later packets. */
static void rnr(struct kunit *test)
{
	ktime_t start;
	u32 i;

	fake(test)->qp->attr.rnr_retry = 7;
	send_and_take(test, 1, 1);
	send_and_take(test, 2, 1);
	for (i = 0; i < 20; i++) {		/* 7 is for ever */
		start = ktime_get();
		answer(test, PSN(0), RXE_AETH_RNR_NAK | 14);	/* 1.28 ms */
		expect_refused(test);
		KUNIT_ASSERT_GE(test, ktime_us_delta(ktime_get(), start), 1280ll);
	}
	no_completion(test);
	ack(test, PSN(0));
	expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	ack(test, PSN(1));
	expect_done(test, 2);
}

/* This peer holds the packets behind a refused work request: they aren't sent again */
static void rnr_kept(struct kunit *test)
{
	struct rxe_pkt pkt;

	send_and_take(test, 1, 1);
	send_and_take(test, 2, 1);
	answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	fake_send(test, 3, 0, 1);
	expect_refused(test);
	ack(test, PSN(1));
	expect_done(test, 1);
	expect_done(test, 2);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(2), NULL);
	KUNIT_EXPECT_FALSE(test, fake_take(test, &pkt, NULL));
	ack(test, PSN(2));
	expect_done(test, 3);
}

/* The refused work request is lost when it is sent again: a probe follows */
static void rnr_lost(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	ktime_t start;

	qp->attr.timeout = 20;		/* 4 s */
	send_and_take(test, 1, 1);
	send_and_take(test, 2, 1);
	answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	expect_refused(test);
	start = ktime_get();
	WRITE_ONCE(qp->sq.sender.out.train.alone, true);
	expect_refused(test);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 2000ll);
	ack(test, PSN(1));
	expect_done(test, 1);
	expect_done(test, 2);
}

/* The refused packet had come twice: its second RNR NAK doesn't count as a retry */
static void rnr_twice(struct kunit *test)
{
	fake(test)->qp->attr.rnr_retry = 1;
	send_and_take(test, 1, 1);
	answer(test, PSN(0), RXE_AETH_RNR_NAK);	/* 655.36 ms */
	answer(test, PSN(0), RXE_AETH_RNR_NAK);
	answer(test, PSN(0), RXE_AETH_RNR_NAK);
	expect_refused(test);
	ack(test, PSN(0));
	expect_done(test, 1);
}

/*
 * The timer has fired when the RNR NAK comes: the wait isn't cut short, and the retries of
 * earlier silence are forgotten, since the peer has answered
 */
static void rnr_and_timeout(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;

	send_and_take(test, 1, 1);
	spin_lock_bh(&sq->lock);
	sq->rto.fired = true;
	sq->rec.retries = 7;
	spin_unlock_bh(&sq->lock);
	answer(test, PSN(0), RXE_AETH_RNR_NAK);	/* 655.36 ms */
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, sq->rnr.state, (u8)RXE_RNR_WAIT);
	KUNIT_EXPECT_EQ(test, sq->rec.retries, 0u);
}

static void rnr_exceeded(struct kunit *test)
{
	u32 i;

	fake(test)->qp->attr.rnr_retry = 3;
	send_and_take(test, 1, 1);
	send_and_take(test, 2, 1);
	for (i = 0; i < 3; i++) {
		answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
		expect_refused(test);
	}
	answer(test, PSN(0), RXE_AETH_RNR_NAK | 1);
	expect_fails(test, 1, IB_WC_RNR_RETRY_EXC_ERR);
	expect_fails(test, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
	expect_counted(test, RXE_CNT_RCVD_RNR, 4);
	expect_counted(test, RXE_CNT_RNR_RETRY, 3);
	expect_counted(test, RXE_CNT_RNR_EXCEEDED, 1);
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

	send_and_take(test, 1, 1);
	KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad), 0);
	fake_settle(test);
	KUNIT_EXPECT_TRUE(test, fake(test)->qp->sq.stop.stalled);
	to_state(test, IB_QPS_SQD, 0, false);
	ack(test, PSN(0));
	expect_done(test, 1);
	no_completion(test);
	to_state(test, IB_QPS_RTS, 0, false);
	expect_fails(test, 2, IB_WC_MW_BIND_ERR);
}

static void read(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 3 * MTU, GFP_KERNEL);
	struct rxe_pkt pkt;

	KUNIT_ASSERT_NOT_NULL(test, data);
	fill(data, 3 * MTU, 4);
	fake_read(test, 1, 50, 2 * MTU + 9);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x10000ull);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 2 * MTU + 9);
	/* the next PSN is behind the responses */
	fake_send(test, 2, 0, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(3), NULL);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(1),
		data + MTU, MTU);
	no_completion(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(2),
		data + 2 * MTU, 9);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[49], 0);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 50, data, 2 * MTU + 9);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[50 + 2 * MTU + 9], 0);
	ack(test, PSN(3));
	expect_done(test, 2);
}

/* A response is lost: only the missing ones are requested again */
static void read_hole(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 4 * MTU, GFP_KERNEL);
	struct rxe_pkt pkt;

	KUNIT_ASSERT_NOT_NULL(test, data);
	fill(data, 4 * MTU, 5);
	fake(test)->qp->sq.rtt.smooth = NSEC_PER_SEC;	/* no probe, however slow this host is */
	fake_read(test, 1, 0, 4 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(2),
		data + 2 * MTU, MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x10000ull + MTU);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, 2 * MTU);	/* one more */
	fake_expect_nothing(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(3),
		data + 3 * MTU, MTU);
	fake_expect_nothing(test);
	no_completion(test);
	fake(test)->qp->sq.gap.patience = NSEC_PER_SEC;
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(1), data + MTU,
		MTU);
	no_completion(test);
	/* the same as the held response, which proves that all held ones are the peer's */
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(2),
		data + 2 * MTU, MTU);
	expect_done(test, 1);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, 4 * MTU);
}

/* While a peer serves READs again, their requester waits for the rest, and counts no retry */
static void read_again(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_sq *sq = &qp->sq;
	u8 data[MTU] = {};

	qp->attr.timeout = 20;		/* 4 s: longer than the test takes */
	fake_read(test, 1, 0, 2 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	spin_lock_bh(&sq->lock);
	sq->rec.since = ktime_sub_ms(ktime_get(), 3000);
	sq->rto.fired = true;
	spin_unlock_bh(&sq->lock);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), sq->rec.since), 2000ll);
	fake_expect_nothing(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(1), data, MTU);
	expect_done(test, 1);
}

/*
 * A READ waits at its peer for longer than a probe waits. A small window cuts the probe to one
 * packet. When the response to the first request comes, the rest isn't asked for again, and
 * the answer isn't timed.
 */
static void read_probed(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_sq *sq = &qp->sq;
	u8 data[MTU] = {};
	struct rxe_pkt pkt;

	qp->attr.timeout = 20;		/* 4 s: longer than the test takes */
	fake_read(test, 1, 0, 4 * MTU);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	spin_lock_bh(&sq->lock);
	sq->cc.window = 1;
	spin_unlock_bh(&sq->lock);
	WRITE_ONCE(sq->sender.out.train.alone, true);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(0));
	KUNIT_EXPECT_EQ(test, pkt.dma_len, MTU);
	rxe_task_pause(&qp->send_task);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, PSN(0), data, MTU);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(1), data, MTU);
	KUNIT_EXPECT_EQ(test, sq->rtt.smooth, 0ull);
	rxe_task_resume(&qp->send_task);
	fake_expect_nothing(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, PSN(2), data, MTU);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, PSN(3), data, MTU);
	expect_done(test, 1);
}

/* An ACK for a PSN behind a READ shows that the response is lost [9.7.5.1.3] */
static void implied_nak(struct kunit *test)
{
	fake_read(test, 1, 0, 10);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	send_and_take(test, 2, 1);
	ack(test, PSN(1));
	no_completion(test);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, PSN(0), NULL);
	fake_expect_nothing(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		fake(test)->mem + 1000, 10);
	expect_done(test, 1);
	expect_done(test, 2);
	expect_counted(test, RXE_CNT_IMPLIED_NAK, 1);
	expect_counted(test, RXE_CNT_RCVD_SEQ_ERR, 1);
	expect_counted(test, RXE_CNT_NAK_SEQ, 0);
}

static void read_wrong_length(struct kunit *test)
{
	fake_read(test, 1, 0, 10);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		fake(test)->mem + 1000, 12);
	expect_fails(test, 1, IB_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
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
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(fake(test)->mem + 16),
			0x0102030405060708ull);

	wr.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	fake_post(test, &wr.wr, 24, 8);
	fake_expect(test, IB_OPCODE_RC_FETCH_ADD, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.swap_add, 0x1111ull);
	resp.psn = PSN(1);
	fake_inject(test, &resp, NULL, 0);
	expect_done(test, 1);
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
	ack(test, PSN(0));
	no_completion(test);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0), NULL, 0);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_ATOMIC_WRITE);
}

/* A response with data doesn't answer an ATOMIC WRITE */
static void atomic_write_answer(struct kunit *test)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_ATOMIC_WRITE },
	};

	fake_post(test, &wr.wr, 16, 8);
	fake_expect(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), NULL);
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		fake(test)->mem, 8);
	fake_completion(test, fake(test)->scq, 1, IB_WC_BAD_RESP_ERR, NULL);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
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
		respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(i),
			fake(test)->mem + 1000, 8);
		expect_done(test, i);
		if (i < 2)
			fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST,
				    PSN(i + 2), NULL);
		fake_expect_nothing(test);
	}
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
	respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, PSN(0),
		fake(test)->mem + 1000, 8);
	expect_done(test, 1);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	ack(test, PSN(1));
	expect_done(test, 2);
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
		ack(test, PSN(acked - 1));
	}
	expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, sent, pkts);
}

/*
 * The window shrinks below what is in flight, where perhaps nothing asks for an ACK: one packet
 * more leaves, which does
 */
static void window_shrinks(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u32 window = 4 * rxe_knob(window_calm), sent = 1;
	struct rxe_pkt pkt;

	qp->mtu = 32;
	qp->sq.cc.window = window;
	send_and_take(test, 1, 1);
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
	ack(test, PSN(0));
	KUNIT_EXPECT_EQ(test, qp->sq.cc.window, window / 2);
	rxe_task_schedule(&qp->send_task);	/* as if it had been in the middle of the message */
	KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(window));
	KUNIT_EXPECT_TRUE(test, pkt.ack_req);
	fake_expect_nothing(test);
}

/* An L_Key that doesn't allow reading: no packet, an error, the rest is flushed */
static void local_protection(struct kunit *test)
{
	struct ib_pd other = fake(test)->pd;

	send_and_take(test, 1, 1);
	to_rxe_mr(fake(test)->mr)->key.pd = &other;
	fake_send(test, 2, 0, 8);
	to_rxe_mr(fake(test)->mr)->key.pd = &fake(test)->pd;
	fake_expect_nothing(test);
	no_completion(test);
	ack(test, PSN(0));
	expect_done(test, 1);
	expect_fails(test, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, state(test), IB_QPS_ERR);
}

/*
 * Packets that were lost before a work request that can't be sent are still sent again,
 * alone or with all that follow
 */
static void loss_before_failure(struct kunit *test)
{
	struct ib_pd other = fake(test)->pd;

	send_and_take(test, 1, 1);
	send_and_take(test, 2, 1);
	to_rxe_mr(fake(test)->mr)->key.pd = &other;
	fake_send(test, 3, 0, 8);
	to_rxe_mr(fake(test)->mr)->key.pd = &fake(test)->pd;
	nak_alone(test, 0);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(0), NULL);
	fake_expect_nothing(test);
	answer(test, PSN(1), RXE_NAK_PSN_SEQ);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, PSN(1), NULL);
	fake_expect_nothing(test);
	expect_done(test, 1);
	no_completion(test);
	ack(test, PSN(1));
	expect_done(test, 2);
	expect_fails(test, 3, IB_WC_LOC_PROT_ERR);
}

static void full_queue(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad;
	u32 i, n = fake(test)->qp->cap.max_send_wr;

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr,
						    &bad), 0);
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad),
			-ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr);
	ack(test, PSN(0));
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad),
			0);
}

/*
 * send_task reads a message's data again, and an ACK for the first copy comes: the message
 * completes only when send_task has read the data
 */
static void acked_while_read(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;

	send_and_take(test, 1, 3 * MTU);
	sq->reading = (struct rxe_reading){ .busy = true, .last = PSN(2) };
	ack(test, PSN(1));
	KUNIT_EXPECT_EQ(test, sq->flight.una, PSN(2));
	ack(test, PSN(2));
	no_completion(test);
	send_and_take(test, 2, MTU);	/* at the end of this run, nothing is being read */
	expect_done(test, 1);
	ack(test, PSN(3));
	expect_done(test, 2);
}

/* What fails in ERR completes only when send_task doesn't run, and in the order of the queue */
static void failed_while_read(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = PSN(0),
		.syndrome = RXE_NAK_REM_OP,
	};
	struct ib_wc wc;

	send_and_take(test, 1, MTU);
	send_and_take(test, 2, MTU);
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, rxe_task_enter(&qp->send_task));
	fake_arrive(test, &pkt, NULL, 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->state), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&fake(test)->scq->ibcq, 1, &wc), 0);
	rxe_task_leave(&qp->send_task, false);
	local_bh_enable();
	fake_settle(test);
	expect_fails(test, 1, IB_WC_REM_OP_ERR);
	expect_fails(test, 2, IB_WC_WR_FLUSH_ERR);
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
	no_completion(test);
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
	KUNIT_CASE(coalesced_ack),
	KUNIT_CASE(not_believed),
	KUNIT_CASE(reserved_syndromes),
	KUNIT_CASE(nak_sequence),
	KUNIT_CASE(nak_in_message),
	KUNIT_CASE(peer_keeps),
	KUNIT_CASE(peer_drops),
	KUNIT_CASE(read_nak),
	KUNIT_CASE(fatal_naks),
	KUNIT_CASE(silence),
	KUNIT_CASE(many_losses),
	KUNIT_CASE(probe),
	KUNIT_CASE(first_probe),
	KUNIT_CASE(idle),
	KUNIT_CASE(rnr),
	KUNIT_CASE(rnr_kept),
	KUNIT_CASE(rnr_lost),
	KUNIT_CASE(rnr_twice),
	KUNIT_CASE(rnr_and_timeout),
	KUNIT_CASE(rnr_exceeded),
	KUNIT_CASE(drained),
	KUNIT_CASE(sqd_unsendable),
	KUNIT_CASE(read),
	KUNIT_CASE(read_hole),
	KUNIT_CASE(read_again),
	KUNIT_CASE(read_probed),
	KUNIT_CASE(implied_nak),
	KUNIT_CASE(read_wrong_length),
	KUNIT_CASE(atomic),
	KUNIT_CASE(atomic_write),
	KUNIT_CASE(atomic_write_answer),
	KUNIT_CASE(initiator_depth),
	KUNIT_CASE(fence),
	KUNIT_CASE(window),
	KUNIT_CASE(window_shrinks),
	KUNIT_CASE(local_protection),
	KUNIT_CASE(loss_before_failure),
	KUNIT_CASE(full_queue),
	KUNIT_CASE(acked_while_read),
	KUNIT_CASE(failed_while_read),
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
