// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable connections (transport/uc.c) as the peer sees them. If a packet is lost, its
 * whole message is lost, and no other. A message that completes has all its bytes. Nothing is
 * answered. Sends complete when they have left, and a local error stops the send queue only.
 */
#include <linux/string.h>
#include "../fake.h"
#include "../util.h"

#define PSN(n)		rxe_psn_add(FAKE_RQ_PSN, n)
#define SQ_PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define MTU		FAKE_MTU
#define MOST		(4 * MTU)	/* bytes of a message of the tests */

/* MOST bytes of a pattern that differs everywhere */
static u8 *make_data(struct kunit *test, u32 seed)
{
	u8 *data = kunit_kzalloc(test, MOST, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	rnd_fill(data, MOST, seed);
	return data;
}

/* An UC opcode: packet @n of @num */
static u8 opcode_of(u8 first, u32 n, u32 num)
{
	if (n == num - 1)
		return first + (n ? IB_OPCODE_SEND_LAST : IB_OPCODE_SEND_ONLY);
	return first + (n ? IB_OPCODE_SEND_MIDDLE : IB_OPCODE_SEND_FIRST);
}

/* Packet @n, with PSN @psn, of a message of @len bytes; WRITEs go to fake.mem */
static void part(struct kunit *test, u8 first, u32 psn, u32 n, const u8 *data, u32 len)
{
	u32 num = rxe_count_pkts(len, MTU), off = n * MTU;
	struct rxe_pkt pkt = {
		.opcode = opcode_of(first, n, num),
		.psn = psn,
		.ack_req = true,	/* has no effect */
		.va = (uintptr_t)fake(test)->mem,
		.rkey = fake(test)->mr->rkey,
		.dma_len = len,
	};

	fake_inject(test, &pkt, data + off, n == num - 1 ? len - off : MTU);
}

static void send_part(struct kunit *test, u32 psn, u32 n, const u8 *data, u32 len)
{
	part(test, IB_OPCODE_UC_SEND_FIRST, psn, n, data, len);
}

/* The whole message, from @psn on */
static void send_all(struct kunit *test, u32 psn, const u8 *data, u32 len)
{
	u32 n;

	for (n = 0; n < rxe_count_pkts(len, MTU); n++)
		send_part(test, rxe_psn_add(psn, n), n, data, len);
}

static void expect_received(struct kunit *test, u64 wr_id, u32 off, const u8 *data,
			    u32 len)
{
	struct ib_wc wc;

	fake_completion(test, fake(test)->rcq, wr_id, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, len);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + off, data, len);
}

/* A receive completes with its message's last packet, and nothing is answered [9.8.2.2] */
static void send_whole(struct kunit *test)
{
	u8 *data = make_data(test, 1);

	fake_post_recv(test, 1, 0, MOST);
	fake_post_recv(test, 2, MOST, MOST);
	send_part(test, PSN(0), 0, data, 700);
	send_part(test, PSN(1), 1, data, 700);
	fake_no_completion(test, fake(test)->rcq);
	send_part(test, PSN(2), 2, data, 700);
	expect_received(test, 1, 0, data, 700);
	send_all(test, PSN(3), data, 1);
	expect_received(test, 2, MOST, data, 1);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

static void send_imm(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_UC_SEND_ONLY_WITH_IMMEDIATE,
		.psn = PSN(0),
		.imm = cpu_to_be32(0x12345678),
	};
	struct ib_wc wc;

	fake_post_recv(test, 1, 0, MTU);
	fake_inject(test, &pkt, NULL, 0);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0u);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.ex.imm_data, cpu_to_be32(0x12345678));
}

/* One packet of a message of four is lost */
static const u32 lost_pkts[] = { 0, 1, 2, 3 };

static void lost_desc(const u32 *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "packet-%u", *n);
}

KUNIT_ARRAY_PARAM(lost, lost_pkts, lost_desc);

/* The receive serves the next message, whatever its PSN [9.8.2.2] */
static void lost(struct kunit *test)
{
	u32 gone = *(const u32 *)test->param_value, n;
	u8 *data = make_data(test, 1), *next = make_data(test, 2);

	fake_post_recv(test, 1, 0, MOST);
	fake_post_recv(test, 2, MOST, MOST);
	for (n = 0; n < 4; n++)
		if (n != gone)
			send_part(test, PSN(n), n, data, MOST);
	fake_no_completion(test, fake(test)->rcq);
	send_all(test, PSN(4), next, MOST);
	expect_received(test, 1, 0, next, MOST);
	send_all(test, PSN(1000), data, MOST);
	expect_received(test, 2, MOST, data, MOST);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

/* The last packet and the next message's first are lost: no mixture of both completes */
static void lost_seam(struct kunit *test)
{
	u8 *data = make_data(test, 1), *next = make_data(test, 2);

	fake_post_recv(test, 1, 0, MOST);
	send_part(test, PSN(0), 0, data, MOST);
	send_part(test, PSN(1), 1, data, MOST);
	send_part(test, PSN(6), 2, next, MOST);
	send_part(test, PSN(7), 3, next, MOST);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_REST), 2u);
}

/* A late or duplicate packet causes no loss of a message */
static void duplicate(struct kunit *test)
{
	u8 *data = make_data(test, 1);
	u32 n;

	fake_post_recv(test, 1, 0, MOST);
	for (n = 0; n < 4; n++) {
		send_part(test, PSN(n), n, data, MOST);
		if (n)
			send_part(test, PSN(n), n, data, MOST);
	}
	expect_received(test, 1, 0, data, MOST);
	fake_no_completion(test, fake(test)->rcq);
}

/* The order of opcodes must be valid, even if the PSNs are in sequence [9.7.4.1.2] */
static void wrong_order(struct kunit *test)
{
	u8 *data = make_data(test, 1);

	fake_post_recv(test, 1, 0, MOST);
	send_part(test, PSN(0), 3, data, MOST);		/* LAST without FIRST */
	send_part(test, PSN(1), 0, data, MOST);
	send_part(test, PSN(2), 0, data, MOST);		/* FIRST in a message */
	part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(3), 1, data, MOST);
	send_part(test, PSN(4), 3, data, MOST);
	fake_no_completion(test, fake(test)->rcq);
	send_all(test, PSN(5), data, MOST);
	expect_received(test, 1, 0, data, MOST);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, fake(test)->events, 0ul);
}

/* FIRST and MIDDLE are full, LAST isn't empty [9.7.4.1.6]; else the message is lost */
static void wrong_length(struct kunit *test)
{
	u8 *data = make_data(test, 1);
	struct rxe_pkt pkt = { .opcode = IB_OPCODE_UC_SEND_FIRST, .psn = PSN(0) };

	fake_post_recv(test, 1, 0, MOST);
	fake_inject(test, &pkt, data, MTU - 4);
	send_part(test, PSN(1), 3, data, MOST);
	send_part(test, PSN(2), 0, data, MOST);
	pkt.opcode = IB_OPCODE_UC_SEND_LAST;
	pkt.psn = PSN(3);
	fake_inject(test, &pkt, NULL, 0);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_REFUSED), 2u);
	send_all(test, PSN(4), data, 1);
	expect_received(test, 1, 0, data, 1);
}

/* Without a receive a message is dropped as a whole, even if one is posted amidst it */
static void no_receive(struct kunit *test)
{
	u8 *data = make_data(test, 1);

	send_part(test, PSN(0), 0, data, 2 * MTU);
	fake_post_recv(test, 1, 0, MOST);
	send_part(test, PSN(1), 1, data, 2 * MTU);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_NO_RECV), 1u);
	send_all(test, PSN(2), data, 2 * MTU);
	expect_received(test, 1, 0, data, 2 * MTU);
	fake_expect_nothing(test);
}

/* The receive fails and the QP with it [9.9.3]; no NAK is sent */
static void too_long(struct kunit *test)
{
	u8 *data = make_data(test, 1);

	fake_post_recv(test, 1, 0, MTU + 1);
	fake_post_recv(test, 2, 0, MTU);
	send_part(test, PSN(0), 0, data, MTU + 2);
	fake_no_completion(test, fake(test)->rcq);
	send_part(test, PSN(1), 1, data, MTU + 2);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_LOC_LEN_ERR, NULL);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	fake_expect_nothing(test);
}

static void bad_recv_memory(struct kunit *test)
{
	struct ib_sge sge = { .addr = (uintptr_t)fake(test)->mem, .length = 8, .lkey = 1 };
	struct ib_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	u8 data[8] = {};

	KUNIT_ASSERT_EQ(test, rxe_post_recv(&fake(test)->qp->ibqp, &wr, &bad), 0);
	send_all(test, PSN(0), data, 8);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_LOC_PROT_ERR, NULL);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
	fake_expect_nothing(test);
}

static void write(struct kunit *test)
{
	u8 *data = make_data(test, 1);
	u32 n;

	for (n = 0; n < 3; n++)
		part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(n), n, data, 600);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, 600);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[600], 0);
	fake_expect_nothing(test);
}

/* The last packet of a WRITE of @len bytes, with immediate data */
static void write_imm_last(struct kunit *test, u32 psn, const u8 *data, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_UC_RDMA_WRITE_LAST_WITH_IMMEDIATE,
		.psn = psn,
		.imm = cpu_to_be32(5),
	};

	fake_inject(test, &pkt, data + len - MTU, MTU);
}

/* The receive completes only if all of the WRITE has come */
static void write_imm(struct kunit *test)
{
	u8 *data = make_data(test, 1);
	struct ib_wc wc;
	u32 n;

	fake_post_recv(test, 1, 0, 0);
	part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(0), 0, data, MOST);
	part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(2), 2, data, MOST);
	write_imm_last(test, PSN(3), data, MOST);
	fake_no_completion(test, fake(test)->rcq);
	for (n = 0; n < 3; n++)
		part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(4 + n), n, data, MOST);
	write_imm_last(test, PSN(7), data, MOST);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, MOST);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, MOST);
}

/* Without access nothing is written, no NAK is sent, and the next message is received */
static void write_bad_key(struct kunit *test)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
		.psn = PSN(0),
		.va = (uintptr_t)fake(test)->mem,
		.rkey = fake(test)->mr->rkey + 1,
		.dma_len = 8,
	};
	u8 data[8] = "abcdefg";

	fake_post_recv(test, 1, 64, 8);
	fake_inject(test, &pkt, data, 8);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
	pkt.rkey--;
	pkt.psn = PSN(1);
	pkt.dma_len = 12;			/* more than arrives */
	fake_inject(test, &pkt, data, 8);
	fake(test)->qp->attr.qp_access_flags = 0;
	pkt.psn = PSN(2);
	pkt.dma_len = 8;
	fake_inject(test, &pkt, data, 8);
	fake_no_completion(test, fake(test)->rcq);
	KUNIT_EXPECT_EQ(test, fake(test)->mem[0], 0);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_REFUSED), 3u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_REFUSED_ACCESS), 1u);
	send_all(test, PSN(3), data, 8);
	expect_received(test, 1, 64, data, 8);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, fake(test)->events, 0ul);
}

/* A run of MIDDLE packets that is refused counts as so many packets */
static void refused_run(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, 5 * MTU, GFP_KERNEL);
	struct rxe_pkt pkts[3];
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, data);
	part(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, PSN(0), 0, data, 5 * MTU);
	fake(test)->qp->attr.qp_access_flags = 0;
	for (n = 0; n < ARRAY_SIZE(pkts); n++)
		pkts[n] = (struct rxe_pkt) {
			.opcode = IB_OPCODE_UC_RDMA_WRITE_MIDDLE,
			.psn = PSN(n + 1),
			.payload_len = MTU,
		};
	fake_inject_train(test, pkts, ARRAY_SIZE(pkts), data);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_REFUSED), 3u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_REST), 0u);
}

/* Packets of another service are dropped: requests and answers of RC, and those of UD */
static void foreign(struct kunit *test)
{
	static const u8 ops[] = {
		IB_OPCODE_RC_SEND_ONLY, IB_OPCODE_RC_ACKNOWLEDGE,
		IB_OPCODE_RC_RDMA_READ_REQUEST, IB_OPCODE_UD_SEND_ONLY,
	};
	u8 data[8] = {};
	u32 i;

	fake_post_recv(test, 1, 0, MTU);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rxe_pkt pkt = { .opcode = ops[i], .psn = PSN(0) };

		fake_inject(test, &pkt, data,
			    rxe_opcode[ops[i]].flags & RXE_OP_PAYLOAD ? 8 : 0);
		KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_MALFORMED), i + 1);
	}
	fake_no_completion(test, fake(test)->rcq);
	fake_expect_nothing(test);
	send_all(test, PSN(0), data, 8);
	expect_received(test, 1, 0, data, 8);
}

#define HOLED		6		/* packets of a train */

/* MIDDLE packets that are processed together, with a missing packet between them */
static void train_with_hole(struct kunit *test)
{
	struct rxe_pkt *pkts = kunit_kcalloc(test, HOLED, sizeof(*pkts), GFP_KERNEL);
	u8 *data = kunit_kzalloc(test, HOLED * MTU, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, pkts);
	KUNIT_ASSERT_NOT_NULL(test, data);
	fake_post_recv(test, 1, 0, 8 * MTU);
	send_part(test, PSN(0), 0, data, 2 * MTU);
	for (i = 0; i < HOLED; i++) {
		pkts[i].opcode = IB_OPCODE_UC_SEND_MIDDLE;
		pkts[i].psn = PSN(1 + i + i / 3);
		pkts[i].payload_len = MTU;
	}
	fake_inject_train(test, pkts, HOLED, data);
	send_part(test, PSN(8), 1, data, 2 * MTU);
	fake_no_completion(test, fake(test)->rcq);
	send_all(test, PSN(9), data, MOST);
	expect_received(test, 1, 0, data, MOST);
}

#define TRAFFIC		4000		/* messages */

/* Make message @id. Each packet has bytes that identify it */
static u32 make_message(struct rnd_state *rnd, u8 *data, u32 id)
{
	u32 len = 4 + rnd_below(rnd, MOST - 4), off;

	memset(data, id, len);
	for (off = 0; off + 4 <= len; off += MTU)
		memcpy(data + off, &id, 4);
	return len;
}

/* A completed receive has all packets of one message; each message completes at most once */
static void random_loss(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(7), again;
	u32 id, psn = 0, n, num, len, whole, complete = 0, last = 0;
	u8 *data = make_data(test, 1), *want = make_data(test, 2);
	struct ib_wc wc;
	bool all;

	for (id = 1; id <= TRAFFIC; id++) {
		again = rnd;
		len = make_message(&rnd, data, id);
		num = rxe_count_pkts(len, MTU);
		if (id % 4 == 1)
			fake_post_recv(test, id, 0, MOST);
		for (n = 0, all = true, whole = 0; n < num; n++, psn++) {
			if (!rnd_below(&rnd, 8)) {
				all = false;
				continue;
			}
			send_part(test, PSN(psn), n, data, len);
			whole++;
			if (n && !rnd_below(&rnd, 8))
				send_part(test, PSN(psn), n, data, len);
		}
		if (rxe_poll_cq(&fake(test)->rcq->ibcq, 1, &wc) != 1)
			continue;
		make_message(&again, want, id);
		KUNIT_ASSERT_TRUE(test, all);
		KUNIT_ASSERT_EQ(test, whole, num);
		KUNIT_ASSERT_EQ(test, (u32)wc.status, (u32)IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, wc.byte_len, len);
		KUNIT_ASSERT_MEMEQ(test, fake(test)->mem, want, len);
		KUNIT_ASSERT_GT(test, id, last);
		last = id;
		complete++;
	}
	KUNIT_EXPECT_GT(test, complete, TRAFFIC / 8u);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
	fake_expect_nothing(test);
}

/* The packets of a work request leave, and it completes without an answer [9.8.2.1] */
static void sends(struct kunit *test)
{
	u8 data[MTU];
	struct rxe_pkt pkt;
	u32 n;

	memcpy(fake(test)->mem, make_data(test, 3), MOST);
	fake_send(test, 1, 0, 2 * MTU + 5);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, NULL);
	for (n = 0; n < 3; n++) {
		KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, data));
		KUNIT_EXPECT_EQ(test, pkt.opcode,
				opcode_of(IB_OPCODE_UC_SEND_FIRST, n, 3));
		KUNIT_EXPECT_EQ(test, pkt.psn, SQ_PSN(n));
		KUNIT_EXPECT_FALSE(test, pkt.ack_req);
		KUNIT_EXPECT_MEMEQ(test, data, fake(test)->mem + n * MTU, pkt.payload_len);
	}
	fake_expect_nothing(test);
	for (n = 0; n < 100; n++) {	/* far more than a window */
		fake_send(test, n, 0, MOST);
		fake_completion(test, fake(test)->scq, n, IB_WC_SUCCESS, NULL);
	}
	KUNIT_EXPECT_EQ(test, fake(test)->qp->sq.flight.psn, SQ_PSN(403));
}

static void writes(struct kunit *test)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = 1,
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(9),
		},
		.remote_addr = 0x10000,
		.rkey = 0x1234,
	};
	struct ib_wc wc;
	struct rxe_pkt pkt;

	fake_post(test, &wr.wr, 0, MTU + 1);
	fake_expect(test, IB_OPCODE_UC_RDMA_WRITE_FIRST, SQ_PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.va, 0x10000u);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, pkt.dma_len, MTU + 1);
	fake_expect(test, IB_OPCODE_UC_RDMA_WRITE_LAST_WITH_IMMEDIATE, SQ_PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.imm, cpu_to_be32(9));
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)IB_WC_RDMA_WRITE);
}

/* A work request that UC doesn't support is refused when it is posted [10.8.2.1] */
static void not_offered(struct kunit *test)
{
	static const u8 ops[] = {
		IB_WR_RDMA_READ, IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD,
		IB_WR_SEND_WITH_INV,
	};
	struct ib_send_wr wr = { .wr_id = 1 };
	const struct ib_send_wr *bad;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		wr.opcode = ops[i];
		KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad),
				-EINVAL);
	}
	fake_expect_nothing(test);
}

static void post_bad(struct kunit *test, u64 wr_id)
{
	struct ib_sge sge = { .addr = (uintptr_t)fake(test)->mem, .length = 8, .lkey = 1 };
	struct ib_send_wr wr = {
		.wr_id = wr_id, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad), 0);
}

/* An error stops the send queue, not receiving; SQE to RTS resumes sending [10.3.1.6] */
static void local_error(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	u8 data[8] = "1234567";

	fake_send(test, 1, 0, 8);
	post_bad(test, 2);
	fake_settle(test);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_SQE);
	fake_send(test, 3, 0, 8);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, NULL);
	fake_completion(test, fake(test)->scq, 2, IB_WC_LOC_PROT_ERR, NULL);
	fake_completion(test, fake(test)->scq, 3, IB_WC_WR_FLUSH_ERR, NULL);
	fake_no_completion(test, fake(test)->scq);
	fake_post_recv(test, 4, 64, 8);
	send_all(test, PSN(0), data, 8);
	expect_received(test, 4, 64, data, 8);
	WRITE_ONCE(qp->state, IB_QPS_RTS);
	fake_send(test, 5, 0, 8);
	fake_completion(test, fake(test)->scq, 5, IB_WC_SUCCESS, NULL);
	fake_expect(test, IB_OPCODE_UC_SEND_ONLY, SQ_PSN(0), NULL);
	fake_expect(test, IB_OPCODE_UC_SEND_ONLY, rxe_psn_add(qp->sq.flight.psn, -1), NULL);
	fake_expect_nothing(test);
}

/*
 * The change to RTS flushes work requests that SQE hasn't flushed. It doesn't send them [10.3.1.6]
 */
static void late_flush(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	struct rxe_qp *qp = fake(test)->qp;

	rxe_task_pause(&qp->send_task);
	WRITE_ONCE(qp->state, IB_QPS_SQE);
	fake_send(test, 1, 0, 8);
	fake_send(test, 2, 0, 8);
	KUNIT_ASSERT_EQ(test, rxe_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	fake_completion(test, fake(test)->scq, 1, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, fake(test)->scq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	fake_expect_nothing(test);
	fake_send(test, 3, 0, 8);
	fake_completion(test, fake(test)->scq, 3, IB_WC_SUCCESS, NULL);
}

static void flush(struct kunit *test)
{
	fake_post_recv(test, 1, 0, 8);
	rxe_qp_to_err(fake(test)->qp);
	fake_send(test, 2, 0, 8);
	rxe_task_kick(&fake(test)->qp->recv_task);
	fake_completion(test, fake(test)->scq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	fake_completion(test, fake(test)->rcq, 1, IB_WC_WR_FLUSH_ERR, NULL);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_SEND_WC_FLUSH), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_SEND_WC_ERR), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_FLUSH), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RECV_WC_ERR), 1u);
}

/* In SQD no message begins; one event says that all have left [10.3.1.5] */
static void drain(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	qp->attr.en_sqd_async_notify = true;
	WRITE_ONCE(qp->state, IB_QPS_SQD);
	fake_send(test, 1, 0, 8);
	fake_no_completion(test, fake(test)->scq);
	KUNIT_EXPECT_TRUE(test, fake(test)->events & BIT(IB_EVENT_SQ_DRAINED));
	WRITE_ONCE(qp->state, IB_QPS_RTS);
	rxe_sq_kick(qp);
	fake_completion(test, fake(test)->scq, 1, IB_WC_SUCCESS, NULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send_whole),
	KUNIT_CASE(send_imm),
	KUNIT_CASE_PARAM(lost, lost_gen_params),
	KUNIT_CASE(lost_seam),
	KUNIT_CASE(duplicate),
	KUNIT_CASE(wrong_order),
	KUNIT_CASE(wrong_length),
	KUNIT_CASE(no_receive),
	KUNIT_CASE(too_long),
	KUNIT_CASE(bad_recv_memory),
	KUNIT_CASE(write),
	KUNIT_CASE(write_imm),
	KUNIT_CASE(write_bad_key),
	KUNIT_CASE(refused_run),
	KUNIT_CASE(foreign),
	KUNIT_CASE(train_with_hole),
	KUNIT_CASE(random_loss),
	KUNIT_CASE(sends),
	KUNIT_CASE(writes),
	KUNIT_CASE(not_offered),
	KUNIT_CASE(local_error),
	KUNIT_CASE(late_flush),
	KUNIT_CASE(flush),
	KUNIT_CASE(drain),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-uc",
	.init = fake_init_uc,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
