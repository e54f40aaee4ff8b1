// SPDX-License-Identifier: GPL-2.0
/*
 * MIDDLE packets of a train that are processed together (transport/packet.c). All data is
 * written to its place. If one packet is wrong, the answer is the same as if each packet had
 * come alone.
 */
#include <linux/string.h>
#include "../fake.h"
#include "../util.h"

#define MTU	FAKE_MTU
#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define MOST	16u		/* packets of a message */
#define GOOD	(RXE_AETH_ACK | RXE_AETH_CREDITS_NONE)

struct env {
	struct fake	*fake;
	u8		data[MOST * MTU];
	struct rxe_pkt	pkts[MOST];
};

static struct env *env_get(struct kunit *test)
{
	struct env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	rnd_fill(e->data, sizeof(e->data), 1);
	e->fake = test->priv;
	return e;
}

/* Responses have PSNs of requests that the QP has sent */
static u32 psn(u8 opcode, u32 n)
{
	return rxe_opcode[opcode].flags & RXE_OP_RESPONSE ?
	       rxe_psn_add(FAKE_SQ_PSN, n) : PSN(n);
}

/* One packet of the message: the @n-th */
static void one(struct kunit *test, struct env *e, u8 opcode, u32 n, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn(opcode, n),
		.syndrome = GOOD,
	};

	fake_inject(test, &pkt, e->data + n * MTU, len);
}

/* Packets @from to @to of the message in a train, for the caller to change */
static void middles(struct env *e, u8 opcode, u32 from, u32 to)
{
	u32 n;

	for (n = from; n < to; n++)
		e->pkts[n] = (struct rxe_pkt) {
			.opcode = opcode,
			.psn = psn(opcode, n),
			.payload_len = MTU,
		};
}

/* Begin a WRITE of @dma_len bytes, and prepare its MIDDLE packets before @to */
static struct env *write_begun(struct kunit *test, u32 dma_len, u32 to)
{
	struct env *e = env_get(test);
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_FIRST,
		.psn = PSN(0),
		.va = (uintptr_t)e->fake->mem,
		.rkey = e->fake->mr->rkey,
		.dma_len = dma_len,
	};

	fake_inject(test, &pkt, e->data, MTU);
	middles(e, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 1, to);
	return e;
}

/* Answer a READ of @len bytes with FIRST, and prepare the MIDDLE packets before @to */
static struct env *read_begun(struct kunit *test, u32 len, u32 to)
{
	struct env *e = env_get(test);

	fake_read(test, 1, 0, len);
	fake_expect(test, IB_OPCODE_RC_RDMA_READ_REQUEST, FAKE_SQ_PSN, NULL);
	one(test, e, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0, MTU);
	middles(e, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1, to);
	return e;
}

static void inject(struct kunit *test, struct env *e, u32 from, u32 to)
{
	fake_inject_train(test, e->pkts + from, to - from, e->data + from * MTU);
}

static void expect_data(struct kunit *test, const struct env *e, u32 len)
{
	KUNIT_EXPECT_MEMEQ(test, e->fake->mem, e->data, len);
	KUNIT_EXPECT_NULL(test, memchr_inv(e->fake->mem + len, 0, MTU));
}

static void expect_answer(struct kunit *test, u32 n, u8 syndrome)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, PSN(n), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, syndrome);
	fake_expect_nothing(test);
}

static void write(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU + 7, 15);

	inject(test, e, 1, 15);
	expect_data(test, e, 15 * MTU);
	fake_expect_nothing(test);
	e->pkts[15] = (struct rxe_pkt) {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_LAST,
		.psn = PSN(15),
		.payload_len = 7,
		.ack_req = true,
	};
	inject(test, e, 15, 16);
	expect_data(test, e, 15 * MTU + 7);
	expect_answer(test, 15, GOOD);
}

/* One of them requests an acknowledgment */
static void ack_req(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU + 7, 10);

	e->pkts[4].ack_req = true;
	inject(test, e, 1, 10);
	expect_data(test, e, 10 * MTU);
	expect_answer(test, 9, GOOD);
}

static void send(struct kunit *test)
{
	struct env *e = env_get(test);
	struct ib_wc wc;

	fake_post_recv(test, 1, 0, 10 * MTU);
	one(test, e, IB_OPCODE_RC_SEND_FIRST, 0, MTU);
	middles(e, IB_OPCODE_RC_SEND_MIDDLE, 1, 9);
	e->pkts[9] = (struct rxe_pkt) {
		.opcode = IB_OPCODE_RC_SEND_LAST,
		.psn = PSN(9),
		.payload_len = MTU,
		.ack_req = true,
	};
	inject(test, e, 1, 10);
	expect_data(test, e, 10 * MTU);
	expect_answer(test, 9, GOOD);
	fake_completion(test, e->fake->rcq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 10 * MTU);
}

/* There is no room for the fifth packet: it is refused, the first four aren't */
static void send_too_long(struct kunit *test)
{
	struct env *e = env_get(test);

	fake_post_recv(test, 1, 0, 5 * MTU + 1);
	one(test, e, IB_OPCODE_RC_SEND_FIRST, 0, MTU);
	middles(e, IB_OPCODE_RC_SEND_MIDDLE, 1, 9);
	inject(test, e, 1, 9);
	expect_data(test, e, 5 * MTU);
	expect_answer(test, 5, RXE_NAK_INV_REQ);
	fake_completion(test, e->fake->rcq, 1, IB_WC_LOC_LEN_ERR, NULL);
}

static void write_too_long(struct kunit *test)
{
	struct env *e = write_begun(test, 4 * MTU, 9);

	inject(test, e, 1, 9);
	expect_data(test, e, 3 * MTU);
	expect_answer(test, 3, RXE_NAK_INV_REQ);
}

/* A packet with other headers isn't processed together with those before it */
static void odd_one(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);

	e->pkts[5].opcode = IB_OPCODE_RC_SEND_MIDDLE;
	inject(test, e, 1, 9);
	expect_data(test, e, 5 * MTU);
	expect_answer(test, 5, RXE_NAK_INV_REQ);
}

/* The packet before the train is missing */
static void jump(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);
	struct rxe_pkt pkt;
	u32 n;

	for (n = 5; n < 9; n++)
		e->pkts[n].psn = PSN(n + 1);
	inject(test, e, 1, 9);
	expect_data(test, e, 5 * MTU);
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(5));
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
}

/* On a slow host, a NAK comes first */
static void missing(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);
	struct rxe_pkt pkt = {};

	e->pkts[8].ack_req = true;
	inject(test, e, 1, 4);
	inject(test, e, 5, 9);
	expect_data(test, e, 4 * MTU);
	inject(test, e, 4, 6);
	expect_data(test, e, 9 * MTU);
	while (fake_take(test, &pkt, NULL))
		;
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(8));
	KUNIT_EXPECT_EQ(test, pkt.syndrome, GOOD);
}

/* A train that begins before the expected PSN: executed once, answered */
static void partly_duplicate(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);

	inject(test, e, 1, 6);
	memset(e->fake->mem, 0, 6 * MTU);
	inject(test, e, 3, 9);
	KUNIT_EXPECT_NULL(test, memchr_inv(e->fake->mem, 0, 6 * MTU));
	KUNIT_EXPECT_MEMEQ(test, e->fake->mem + 6 * MTU, e->data + 6 * MTU,
			   3 * MTU);
	expect_answer(test, 8, GOOD);
}

/* Each packet has its own ICRC: packets behind a wrong one are held, not executed */
static void wrong_icrc(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);

	e->fake->sealed = true;
	inject(test, e, 1, 3);
	e->fake->broken = 4;
	inject(test, e, 3, 9);
	e->fake->broken = 0;
	expect_data(test, e, 6 * MTU);
	inject(test, e, 6, 9);
	expect_data(test, e, 9 * MTU);
}

/* The same in an early train, which is taken in later: it ends where its checks ended */
static void early_wrong_icrc(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);

	e->fake->sealed = true;
	e->fake->broken = 4;
	inject(test, e, 2, 9);
	e->fake->broken = 0;
	inject(test, e, 1, 4);
	expect_data(test, e, 5 * MTU);
	inject(test, e, 5, 7);
	expect_data(test, e, 9 * MTU);
}

/* A packet with a wrong P_Key is dropped and counted [10.9.1.1]. The membership bit may be 0 */
static void wrong_pkey(struct kunit *test)
{
	struct env *e = write_begun(test, 15 * MTU, 9);
	struct fake *f = e->fake;

	f->pkey = RXE_PKEY ^ 1;
	inject(test, e, 1, 4);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(f->rxe, RXE_CNT_DROP_PKEY), 3ull);
	expect_data(test, e, MTU);
	f->pkey = RXE_PKEY & 0x7fff;
	inject(test, e, 1, 4);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(f->rxe, RXE_CNT_DROP_PKEY), 3ull);
	expect_data(test, e, 4 * MTU);
}

/* If the peer is on this device, a packet from outside is dropped */
static void from_outside(struct kunit *test)
{
	struct env *e = write_begun(test, 5 * MTU, 4);

	e->fake->outside = true;
	inject(test, e, 1, 4);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(e->fake->rxe, RXE_CNT_DROP_ADDR), 3ull);
	e->fake->outside = false;
	expect_data(test, e, MTU);
	inject(test, e, 1, 4);
	expect_data(test, e, 4 * MTU);
}

static void read(struct kunit *test)
{
	struct env *e = read_begun(test, 9 * MTU + 5, 9);

	inject(test, e, 1, 9);
	expect_data(test, e, 9 * MTU);
	fake_no_completion(test, e->fake->scq);
	one(test, e, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 9, 5);
	expect_data(test, e, 9 * MTU + 5);
	fake_completion(test, e->fake->scq, 1, IB_WC_SUCCESS, NULL);
}

/* More responses than were requested */
static void read_too_long(struct kunit *test)
{
	struct env *e = read_begun(test, 4 * MTU + 5, 9);

	inject(test, e, 1, 9);
	expect_data(test, e, 4 * MTU);
	fake_completion(test, e->fake->scq, 1, IB_WC_BAD_RESP_ERR, NULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(write),
	KUNIT_CASE(ack_req),
	KUNIT_CASE(send),
	KUNIT_CASE(send_too_long),
	KUNIT_CASE(write_too_long),
	KUNIT_CASE(odd_one),
	KUNIT_CASE(jump),
	KUNIT_CASE(missing),
	KUNIT_CASE(partly_duplicate),
	KUNIT_CASE(wrong_icrc),
	KUNIT_CASE(early_wrong_icrc),
	KUNIT_CASE(wrong_pkey),
	KUNIT_CASE(from_outside),
	KUNIT_CASE(read),
	KUNIT_CASE(read_too_long),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-packet",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
