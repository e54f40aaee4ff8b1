// SPDX-License-Identifier: GPL-2.0
/*
 * ring/wqe.c: a work request is copied field by field. One that the specification or the
 * limits of the QP forbid gets an error status. With random bytes in the ring, nothing beyond
 * the element is read, nothing beyond the copy is written, and an accepted work request is
 * within all limits.
 */
#include <linux/string.h>
#include <rxe/dev.h>
#include <rxe/ring.h>
#include <rxe/service.h>
#include <rxe/wire.h>
#include <rxe/wr.h>
#include "../util.h"

#define SGES	5u
#define INLINE	96u

struct ctx {
	struct rxe_wr_rules rules;
	u32 mtu;
	struct edge ring;
	struct edge copy;
	struct rxe_send_wqe *elem;
	struct rxe_swqe *wqe;
	struct rxe_recv_wqe *relem;
	struct rxe_rwqe rwqe;
	struct ib_sge rsge[SGES];
};

static const u32 max_msg = RXE_MAX_MSG;

static void set_service(struct ctx *c, bool datagram)
{
	c->rules.services = datagram ? RXE_WR_FOR_UD : RXE_WR_FOR_RC;
	c->rules.datagram = datagram;
	c->rules.max_msg = datagram ? &c->mtu : &max_msg;
}

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u32 tail = max_t(u32, SGES * sizeof(struct rxe_sge), INLINE);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->mtu = 1024;
	c->rules.max_sge = SGES;
	c->rules.max_inline = INLINE;
	set_service(c, false);
	c->rwqe.sge = c->rsge;
	edge_init(test, &c->ring);
	edge_init(test, &c->copy);
	c->elem = (void *)edge_buf(&c->ring, sizeof(*c->elem) + tail);
	memset(c->elem, 0, sizeof(*c->elem) + tail);
	c->relem = (void *)edge_buf(&c->ring, sizeof(*c->relem) +
				    SGES * sizeof(struct rxe_sge));
	c->wqe = (void *)edge_buf(&c->copy, sizeof(*c->wqe) + tail);
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	edge_free(&c->ring);
	edge_free(&c->copy);
}

static u8 import(struct ctx *c)
{
	rxe_import_send(&c->rules, c->elem, c->wqe);
	return c->wqe->status;
}

static void set_sges(struct ctx *c, u32 num, u32 length)
{
	u32 i;

	c->elem->dma.num_sge = num;
	for (i = 0; i < min(num, SGES); i++) {
		c->elem->dma.sge[i].addr = 0x1000 * i + 7;
		c->elem->dma.sge[i].length = length;
		c->elem->dma.sge[i].lkey = 0x100 + i;
	}
}

/* Each service takes its own opcodes and no others [10.8.2.1] */
static void opcodes(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 op;

	for (op = 0; op < 300; op++) {
		bool atomic = op == IB_WR_ATOMIC_CMP_AND_SWP ||
			      op == IB_WR_ATOMIC_FETCH_AND_ADD;
		bool known = atomic || op == IB_WR_SEND ||
			     op == IB_WR_FLUSH || op == IB_WR_ATOMIC_WRITE ||
			     op == IB_WR_SEND_WITH_IMM ||
			     op == IB_WR_SEND_WITH_INV || op == IB_WR_LOCAL_INV ||
			     op == IB_WR_RDMA_WRITE || op == IB_WR_RDMA_READ ||
			     op == IB_WR_RDMA_WRITE_WITH_IMM;

		c->elem->wr.opcode = op;
		set_sges(c, 1, 8);
		c->elem->dma.length = 8;
		KUNIT_EXPECT_EQ_MSG(test, import(c), known ? IB_WC_SUCCESS :
				    IB_WC_LOC_QP_OP_ERR, "opcode %u", op);
	}
	c->elem->wr.opcode = U32_MAX;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_QP_OP_ERR);
}

/*
 * The provider posts an ATOMIC WRITE with inline data, without the flag. A FLUSH has no data, and
 * its scatter list is ignored
 */
static void placement(struct kunit *test)
{
	struct rxe_flush_wr *flush;
	struct ctx *c = test->priv;

	c->elem->wr.opcode = IB_WR_ATOMIC_WRITE;
	c->elem->wr.wr.rdma.remote_addr = 0x1000;
	c->elem->wr.wr.rdma.rkey = 0x77;
	c->elem->dma.length = 8;
	memcpy(c->elem->dma.inline_data, "abcdefgh", 8);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, c->wqe->data, "abcdefgh", 8);
	KUNIT_EXPECT_EQ(test, c->wqe->length, 8u);
	KUNIT_EXPECT_TRUE(test, c->wqe->flags & IB_SEND_INLINE);
	c->elem->dma.length = 7;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);

	flush = (struct rxe_flush_wr *)&c->elem->wr.wr;
	*flush = (struct rxe_flush_wr){ 0x2000, 0, 0x78, 0xf1, 0xf1 };
	c->elem->dma.length = 0xffffffff;
	c->elem->wr.opcode = IB_WR_FLUSH;
	set_sges(c, 2, 100);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->length, 0u);
	KUNIT_EXPECT_EQ(test, c->wqe->num_sge, 0u);
	KUNIT_EXPECT_EQ(test, c->wqe->raddr, 0x2000ull);
	KUNIT_EXPECT_EQ(test, c->wqe->rkey, 0x78u);
	KUNIT_EXPECT_EQ(test, c->wqe->flush_len, 0xffffffffu);
	KUNIT_EXPECT_EQ(test, c->wqe->feth, 0x11u);
}

/* A flushed work request with any opcode has a row in the table, for its completion */
static void flushed(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 op;

	c->elem->wr.wr_id = 0x1234;
	for (op = 0; op < 300; op++) {
		c->elem->wr.opcode = op == 299 ? U32_MAX : op;
		rxe_import_flushed(c->elem, c->wqe);
		KUNIT_EXPECT_EQ_MSG(test, c->wqe->opcode,
				    min_t(u32, op, RXE_WR_NONE), "opcode %u", op);
		KUNIT_EXPECT_EQ(test, c->wqe->wr_id, 0x1234);
		KUNIT_EXPECT_NULL(test, c->wqe->ah);
		KUNIT_EXPECT_FALSE(test, c->wqe->started);
	}
}

/* UD has only SEND. The caller looks up the address handle */
static void ud(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 op;

	set_service(c, true);
	for (op = 0; op < 300; op++) {
		bool known = op == IB_WR_SEND || op == IB_WR_SEND_WITH_IMM;

		c->elem->wr.opcode = op;
		c->elem->wr.wr.ud.ah_num = op + 7;
		set_sges(c, 1, 8);
		KUNIT_EXPECT_EQ_MSG(test, import(c), known ? IB_WC_SUCCESS :
				    IB_WC_LOC_QP_OP_ERR, "opcode %u", op);
		KUNIT_EXPECT_NULL(test, c->wqe->ah);
		if (known)
			KUNIT_EXPECT_EQ(test, c->wqe->ah_num, op + 7);
	}
	c->elem->wr.opcode = IB_WR_SEND;
	set_sges(c, 1, 1025);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
}

static void fields(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_send_wr *wr = &c->elem->wr;
	u32 i;

	wr->wr_id = 0x1122334455667788;
	wr->opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	wr->send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_FENCE;
	wr->ex.imm_data = cpu_to_be32(0xcafe1234);
	wr->wr.rdma.remote_addr = 0xfedcba9876543210;
	wr->wr.rdma.rkey = 0x89abcdef;
	set_sges(c, SGES, 1000);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->wr_id, 0x1122334455667788ull);
	KUNIT_EXPECT_EQ(test, (u32)c->wqe->opcode, wr->opcode);
	KUNIT_EXPECT_EQ(test, (u32)c->wqe->flags, wr->send_flags);
	KUNIT_EXPECT_EQ(test, c->wqe->imm, cpu_to_be32(0xcafe1234));
	KUNIT_EXPECT_EQ(test, c->wqe->raddr, 0xfedcba9876543210ull);
	KUNIT_EXPECT_EQ(test, c->wqe->rkey, 0x89abcdefu);
	KUNIT_EXPECT_EQ(test, c->wqe->length, SGES * 1000);
	KUNIT_EXPECT_EQ(test, c->wqe->num_sge, SGES);
	KUNIT_EXPECT_FALSE(test, c->wqe->started);
	for (i = 0; i < SGES; i++) {
		KUNIT_EXPECT_EQ(test, c->wqe->sge[i].addr, 0x1000ull * i + 7);
		KUNIT_EXPECT_EQ(test, c->wqe->sge[i].length, 1000u);
		KUNIT_EXPECT_EQ(test, c->wqe->sge[i].lkey, 0x100 + i);
	}
}

/* [9.2.7] */
static void atomics(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_send_wr *wr = &c->elem->wr;

	wr->opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	wr->wr.atomic.remote_addr = 0x0102030405060708;
	wr->wr.atomic.compare_add = 0x1112131415161718;
	wr->wr.atomic.swap = 0x2122232425262728;
	wr->wr.atomic.rkey = 0x31323334;
	set_sges(c, 1, 8);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->raddr, 0x0102030405060708ull);
	KUNIT_EXPECT_EQ(test, c->wqe->compare, 0x1112131415161718ull);
	KUNIT_EXPECT_EQ(test, c->wqe->swap_add, 0x2122232425262728ull);
	KUNIT_EXPECT_EQ(test, c->wqe->rkey, 0x31323334u);
	/* the operand comes first in a work request, and last in a packet */
	wr->opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->swap_add, 0x1112131415161718ull);
	KUNIT_EXPECT_EQ(test, c->wqe->compare, 0ull);
	set_sges(c, 2, 4);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	set_sges(c, 1, 7);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
	set_sges(c, 1, 16);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->length, 8u);
	set_sges(c, 0, 0);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
}

static void lengths(struct kunit *test)
{
	struct ctx *c = test->priv;

	c->elem->wr.opcode = IB_WR_RDMA_WRITE;
	set_sges(c, 0, 0);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->length, 0u);
	set_sges(c, 2, 1u << 30);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->length, 1u << 31);
	c->elem->dma.sge[1].length++;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
	/* a sum that is 0 in 32 bits */
	set_sges(c, 4, 1u << 30);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
	set_sges(c, SGES, U32_MAX);
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
}

static void too_many_sges(struct kunit *test)
{
	static const u32 nums[] = { SGES + 1, 32, 33, 1u << 16, U32_MAX };
	struct ctx *c = test->priv;
	int i;

	c->elem->wr.opcode = IB_WR_SEND;
	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		set_sges(c, nums[i], 8);
		KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_QP_OP_ERR);
	}
}

static void inline_data(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 len, i;

	c->elem->wr.opcode = IB_WR_SEND;
	c->elem->wr.send_flags = IB_SEND_INLINE;
	for (i = 0; i < INLINE; i++)
		c->elem->dma.inline_data[i] = i * 7;
	for (len = 0; len <= INLINE; len++) {
		c->elem->dma.length = len;
		KUNIT_ASSERT_EQ(test, import(c), IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, c->wqe->length, len);
		KUNIT_ASSERT_MEMEQ(test, c->wqe->data, c->elem->dma.inline_data,
				   len);
	}
	c->elem->dma.length = INLINE + 1;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
	c->elem->dma.length = U32_MAX;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_LOC_LEN_ERR);
}

/* The number of SGEs is ignored if the data is inline */
static void inline_num_sge(struct kunit *test)
{
	struct ctx *c = test->priv;

	c->elem->wr.opcode = IB_WR_RDMA_WRITE;
	c->elem->wr.send_flags = IB_SEND_INLINE;
	c->elem->dma.num_sge = U32_MAX;
	c->elem->dma.length = INLINE;
	KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, c->wqe->num_sge, 0u);
	KUNIT_EXPECT_EQ(test, c->wqe->length, INLINE);
}

/*
 * READ and atomics write to their SGEs, so they are never inline. Any opcode may have
 * SIGNALED, FENCE and SOLICITED, even without effect.
 */
static void send_flags(struct kunit *test)
{
	const u32 any = IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED;
	struct ctx *c = test->priv;
	u32 op, bit;

	for (op = 0; op <= IB_WR_ATOMIC_FETCH_AND_ADD; op++) {
		u32 may = op < IB_WR_RDMA_READ ? any | IB_SEND_INLINE : any;

		c->elem->wr.opcode = op;
		for (bit = 0; bit < 32; bit++) {
			c->elem->wr.send_flags = BIT(bit);
			c->elem->dma.length = 8;
			set_sges(c, 1, 8);
			KUNIT_EXPECT_EQ_MSG(test, import(c), BIT(bit) & may ?
					    IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR,
					    "opcode %u, flag %u", op, bit);
		}
		c->elem->wr.send_flags = any;
		KUNIT_EXPECT_EQ(test, import(c), IB_WC_SUCCESS);
	}
}

static void check_accepted(struct kunit *test, struct ctx *c)
{
	struct rxe_swqe *wqe = c->wqe;
	u64 sum = 0;
	u32 i;

	KUNIT_ASSERT_LE(test, (u32)wqe->opcode,
			(u32)IB_WR_ATOMIC_WRITE);
	KUNIT_ASSERT_LE(test, wqe->length, RXE_MAX_MSG);
	if (wqe->flags & IB_SEND_INLINE) {
		KUNIT_ASSERT_LE(test, wqe->length, INLINE);
		return;
	}
	KUNIT_ASSERT_LE(test, wqe->num_sge, SGES);
	for (i = 0; i < wqe->num_sge; i++)
		sum += wqe->sge[i].length;
	if (rxe_wr_type(wqe)->kind == RXE_WR_ATOMIC)	/* there may be more room */
		sum = min_t(u64, sum, sizeof(u64));
	KUNIT_ASSERT_EQ(test, sum, (u64)wqe->length);
}

static void fuzz_send(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 size = c->ring.page + PAGE_SIZE - (u8 *)c->elem;
	struct rnd_state rnd = rnd_init(7);
	u32 i, accepted = 0;

	for (i = 0; i < 100000; i++) {
		prandom_bytes_state(&rnd, c->elem, size);
		c->elem->wr.opcode %= 16;
		if (i % 3)
			c->elem->wr.send_flags %= 16;
		if (i & 1)
			c->elem->dma.num_sge %= SGES + 2;
		if (i & 2)
			c->elem->dma.length %= 2 * INLINE;
		if (i & 4)
			set_sges(c, rnd_below(&rnd, SGES + 2), 8);
		set_service(c, i % 5 == 0);
		if (import(c) == IB_WC_SUCCESS) {
			accepted++;
			check_accepted(test, c);
		}
	}
	KUNIT_EXPECT_GT(test, accepted, 1000u);
}

static void recv(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, n;

	for (n = 0; n <= SGES; n++) {
		memset(c->relem, 0, sizeof(*c->relem));
		c->relem->wr_id = 0x1234567890abcdef;
		c->relem->dma.num_sge = n;
		for (i = 0; i < n; i++) {
			c->relem->dma.sge[i].addr = i;
			c->relem->dma.sge[i].length = U32_MAX - i;
			c->relem->dma.sge[i].lkey = 0x77 + i;
		}
		rxe_import_recv(SGES, c->relem, &c->rwqe);
		KUNIT_EXPECT_EQ(test, c->rwqe.wr_id, 0x1234567890abcdefull);
		KUNIT_EXPECT_EQ(test, c->rwqe.num_sge, n);
		KUNIT_EXPECT_EQ(test, c->rwqe.length,
				(u64)n * U32_MAX - n * (n - 1) / 2);
		for (i = 0; i < n; i++)
			KUNIT_EXPECT_EQ(test, c->rwqe.sge[i].lkey, 0x77 + i);
	}
	c->relem->dma.num_sge = SGES + 1;	/* corrupt: room for 0 bytes */
	rxe_import_recv(SGES, c->relem, &c->rwqe);
	KUNIT_EXPECT_EQ(test, c->rwqe.num_sge, 0u);
	KUNIT_EXPECT_EQ(test, c->rwqe.length, 0ull);
	KUNIT_EXPECT_TRUE(test, c->rwqe.valid);
}

static void fuzz_recv(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 size = c->ring.page + PAGE_SIZE - (u8 *)c->relem;
	struct rnd_state rnd = rnd_init(8);
	u64 sum;
	u32 i, n;

	for (i = 0; i < 100000; i++) {
		prandom_bytes_state(&rnd, c->relem, size);
		if (i & 1)
			c->relem->dma.num_sge %= SGES + 2;
		rxe_import_recv(SGES, c->relem, &c->rwqe);
		KUNIT_ASSERT_LE(test, c->rwqe.num_sge, SGES);
		for (sum = 0, n = 0; n < c->rwqe.num_sge; n++)
			sum += c->rwqe.sge[n].length;
		KUNIT_ASSERT_EQ(test, c->rwqe.length, sum);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(opcodes),
	KUNIT_CASE(placement),
	KUNIT_CASE(flushed),
	KUNIT_CASE(ud),
	KUNIT_CASE(fields),
	KUNIT_CASE(atomics),
	KUNIT_CASE(lengths),
	KUNIT_CASE(too_many_sges),
	KUNIT_CASE(inline_data),
	KUNIT_CASE(inline_num_sge),
	KUNIT_CASE(send_flags),
	KUNIT_CASE(fuzz_send),
	KUNIT_CASE(recv),
	KUNIT_CASE(fuzz_recv),
	{}
};

static struct kunit_suite suite = {
	.name = "ring-wqe",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
