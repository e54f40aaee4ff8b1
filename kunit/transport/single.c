// SPDX-License-Identifier: GPL-2.0
/*
 * Requests with a single response (transport/single.c, queue/replay.c) as the peer sees
 * them: atomics, ATOMIC WRITE, FLUSH. A duplicate gets the same response, and isn't executed again.
 */
#include <linux/string.h>
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)

static void atomic(struct kunit *test, u8 opcode, u32 psn, u32 off, u64 compare,
		   u64 swap_add)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.va = fake_addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.compare = compare,
		.swap_add = swap_add,
		.ack_req = true,
	};

	fake_inject(test, &pkt, NULL, 0);
}

static void expect_orig(struct kunit *test, u32 psn, u64 orig)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.atomic_orig, orig);
}

static void atomics(struct kunit *test)
{
	u64 *mem = (u64 *)(fake(test)->mem + 64);

	*mem = 100;
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 64, 0, 5);
	expect_orig(test, PSN(0), 100);
	KUNIT_EXPECT_EQ(test, *mem, 105ull);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(1), 64, 105, 7);
	expect_orig(test, PSN(1), 105);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(2), 64, 105, 8);
	expect_orig(test, PSN(2), 7);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
	/* duplicates: the saved replies are sent, and nothing is executed */
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 64, 0, 5);
	expect_orig(test, PSN(0), 100);
	atomic(test, IB_OPCODE_RC_COMPARE_SWAP, PSN(1), 64, 105, 7);
	expect_orig(test, PSN(1), 105);
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
}

/* As many replies are saved as the peer may have outstanding [9.4.5] */
static void atomic_memory(struct kunit *test)
{
	u64 *mem = (u64 *)fake(test)->mem;
	u32 i;

	for (i = 0; i < 10; i++) {
		atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(i), 0, 0, 1);
		expect_orig(test, PSN(i), i);
	}
	for (i = 6; i < 10; i++) {
		atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(i), 0, 0, 1);
		expect_orig(test, PSN(i), i);
	}
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, *mem, 10ull);
}

/* The PSNs wrap around: a reply that was saved 2^24 packets ago isn't sent */
static void atomic_wrapped(struct kunit *test)
{
	struct rxe_rq *rq = &fake(test)->qp->rq;
	u32 i;

	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	expect_orig(test, PSN(0), 0);
	for (i = 0; i < 4; i++)
		rxe_expect_advance(&rq->expect, BIT(22));
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 0, 0, 1);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, *(u64 *)fake(test)->mem, 1ull);
}

static void atomic_unaligned(struct kunit *test)
{
	atomic(test, IB_OPCODE_RC_FETCH_ADD, PSN(0), 4, 0, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

/* Annex A19: the answer is a READ response without data */
static void place(struct kunit *test, u8 opcode, u32 psn, u32 off, u32 len,
		  u32 feth, u64 value)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.va = fake_addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.dma_len = len,
		.feth = feth,
		.ack_req = true,
	};

	fake_inject(test, &pkt, &value,
		    opcode == IB_OPCODE_RC_ATOMIC_WRITE ? sizeof(value) : 0);
}

static void expect_placed(struct kunit *test, u32 psn)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, psn, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 0u);
	KUNIT_EXPECT_EQ(test, pkt.syndrome & RXE_AETH_TYPE_MASK, RXE_AETH_ACK);
}

/* A duplicate is answered, and doesn't overwrite newer data [A19.4.2] */
static void atomic_write(struct kunit *test)
{
	u64 *mem = (u64 *)(fake(test)->mem + 64);

	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 64, 8, 0, 0x1234567890abcdef);
	expect_placed(test, PSN(0));
	KUNIT_EXPECT_EQ(test, *mem, 0x1234567890abcdefull);
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(1), 64, 8, 0, 7);
	expect_placed(test, PSN(1));
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 64, 8, 0, 0x1234567890abcdef);
	expect_placed(test, PSN(0));
	KUNIT_EXPECT_EQ(test, *mem, 7ull);
}

static void atomic_write_unaligned(struct kunit *test)
{
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 4, 8, 0, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
}

static void atomic_write_length(struct kunit *test)
{
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 8, 16, 0, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_INV_REQ);
}

static void atomic_write_access(struct kunit *test)
{
	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_REMOTE_WRITE;
	place(test, IB_OPCODE_RC_ATOMIC_WRITE, PSN(0), 8, 8, 0, 1);
	peer_expect_nak(test, PSN(0), RXE_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, *(u64 *)(fake(test)->mem + 8), 0ull);
}

/* A range or all; of a range, zero bytes need no key [A19.4.1] [C9-88] */
static void flush(struct kunit *test)
{
	peer_allow_flush(test, IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL);
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 4096, PEER_FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(0));
	place(test, IB_OPCODE_RC_FLUSH, PSN(1), 0, U32_MAX, PEER_FETH(1, IB_FLUSH_MR), 0);
	expect_placed(test, PSN(1));
	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_FLUSH_GLOBAL;
	place(test, IB_OPCODE_RC_FLUSH, PSN(2), 0, 0, PEER_FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(2));
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 4096, PEER_FETH(1, IB_FLUSH_RANGE), 0);
	expect_placed(test, PSN(0));
}

/* A persistent FLUSH is executed in steps, and answered after the last one [A19.4.1] */
static void flush_persistent(struct kunit *test)
{
	struct rxe_key *key = &to_rxe_mr(fake(test)->mr)->key;
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_FLUSH,
		.flags = RXE_OP_FLUSH,
		.psn = PSN(0),
		.rkey = fake(test)->mr->rkey,
		.feth = PEER_FETH(IB_FLUSH_PERSISTENT, IB_FLUSH_MR),
	};
	u32 step;

	peer_allow_flush(test, IB_ACCESS_FLUSH_PERSISTENT, IB_ACCESS_FLUSH_PERSISTENT);
	key->length = 2ull * RXE_PERSIST_STEP + 1;
	qp->slow->persist.seq = qp->rq.expect.seq - 1;
	local_bh_disable();
	for (step = 0; step < 3; step++) {
		KUNIT_EXPECT_EQ(test, rxe_single_execute(qp, &pkt, NULL),
				(u8)RXE_UNFINISHED);
		KUNIT_EXPECT_EQ(test, qp->slow->persist.done, step * (u64)RXE_PERSIST_STEP);
	}
	KUNIT_EXPECT_EQ(test, rxe_single_execute(qp, &pkt, NULL), (u8)0);
	KUNIT_EXPECT_EQ(test, qp->slow->persist.done, key->length);
	rxe_out_flush(qp, &qp->rq.reply.out);
	local_bh_enable();
	expect_placed(test, PSN(0));
	place(test, IB_OPCODE_RC_FLUSH, PSN(1), 0, 0, pkt.feth, 0);
	expect_placed(test, PSN(1));
}

/* Without the QP's access flag: an invalid request; without the key's: an access error */
static const struct bad_flush {
	const char *name;
	int qp;
	int key;
	u32 feth;
	u8 nak;
} bad_flushes[] = {
	{ "qp", 0, IB_ACCESS_FLUSH_GLOBAL, PEER_FETH(1, 0), RXE_NAK_INV_REQ },
	{ "no-type", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL,
	  PEER_FETH(0, 0), RXE_NAK_INV_REQ },
	{ "type", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL,
	  PEER_FETH(5, 0), RXE_NAK_INV_REQ },
	{ "level", IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_GLOBAL,
	  PEER_FETH(1, 2), RXE_NAK_INV_REQ },
	{ "key", IB_ACCESS_FLUSH_GLOBAL, 0, PEER_FETH(1, 0), RXE_NAK_REM_ACCESS },
	{ "key-all", IB_ACCESS_FLUSH_GLOBAL, 0, PEER_FETH(1, 1), RXE_NAK_REM_ACCESS },
	{ "persistent", IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT,
	  IB_ACCESS_FLUSH_GLOBAL, PEER_FETH(2, 1), RXE_NAK_REM_ACCESS },
};

static void bad_flush_name(const struct bad_flush *bad, char *name)
{
	strscpy(name, bad->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad_flush, bad_flushes, bad_flush_name);

/* [A19.4.3] */
static void flush_refused(struct kunit *test)
{
	const struct bad_flush *bad = test->param_value;

	to_rxe_mr(fake(test)->mr)->key.access &= ~IB_ACCESS_FLUSH_GLOBAL;
	fake(test)->qp->attr.qp_access_flags &= ~IB_ACCESS_FLUSH_GLOBAL;
	peer_allow_flush(test, bad->qp, bad->key);
	place(test, IB_OPCODE_RC_FLUSH, PSN(0), 0, 64, bad->feth, 0);
	peer_expect_nak(test, PSN(0), bad->nak);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_ERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(atomics),
	KUNIT_CASE(atomic_memory),
	KUNIT_CASE(atomic_wrapped),
	KUNIT_CASE(atomic_unaligned),
	KUNIT_CASE(atomic_write),
	KUNIT_CASE(atomic_write_unaligned),
	KUNIT_CASE(atomic_write_length),
	KUNIT_CASE(atomic_write_access),
	KUNIT_CASE(flush),
	KUNIT_CASE(flush_persistent),
	KUNIT_CASE_PARAM(flush_refused, bad_flush_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-single",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
