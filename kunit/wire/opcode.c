// SPDX-License-Identifier: GPL-2.0
/*
 * wire/opcode.c: every row of the opcode table is as in the specification, and there
 * are no other rows.
 */
#include <linux/string.h>
#include "../util.h"
#include "spec.h"

KUNIT_ARRAY_PARAM(op, spec_ops, spec_name);

/* Each row is as the specification has it [table 38] */
static void row(struct kunit *test)
{
	const struct spec_op *want = test->param_value;
	const struct rxe_opcode *op = &rxe_opcode[want->opcode];
	u32 flags = RXE_OP_VALID | want->kind, hdr = RXE_BTH_BYTES, bytes;
	const char *ext;

	for (ext = want->ext; *ext; ext++) {
		flags |= spec_ext(*ext, &bytes);
		hdr += bytes;
	}
	KUNIT_EXPECT_EQ(test, hdr, (u32)want->hdr);
	KUNIT_EXPECT_EQ(test, (u32)op->hdr_len, (u32)want->hdr);
	KUNIT_EXPECT_EQ(test, op->flags, flags);
	KUNIT_EXPECT_NOT_NULL(test, op->name);
}

static void no_other(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 256; i++)
		if (!spec_find(i))
			KUNIT_EXPECT_EQ_MSG(test, rxe_opcode[i].flags, 0u,
					    "opcode %#x", i);
}

/* The access that a QP must allow for a request that reads or changes its memory */
static void access(struct kunit *test)
{
	u32 i, kind, want;

	for (i = 0; i < ARRAY_SIZE(spec_ops); i++) {
		kind = spec_ops[i].kind;
		want = 0;	/* SEND: none. FLUSH: as its header says */
		if (kind & (RXE_OP_WRITE | RXE_OP_ATOMIC_WRITE))
			want = IB_ACCESS_REMOTE_WRITE;
		else if (kind & RXE_OP_READ_REQ)
			want = IB_ACCESS_REMOTE_READ;
		else if (kind & RXE_OP_ATOMIC_REQ)
			want = IB_ACCESS_REMOTE_ATOMIC;
		KUNIT_EXPECT_EQ_MSG(test, (u32)rxe_opcode[spec_ops[i].opcode].access, want,
				    "opcode %#x", spec_ops[i].opcode);
	}
}

static void longest_header(struct kunit *test)
{
	u32 i, max = 0;

	for (i = 0; i < 256; i++)
		max = max_t(u32, max, rxe_opcode[i].hdr_len);
	KUNIT_EXPECT_EQ(test, max, (u32)RXE_MAX_HDR_BYTES);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(row, op_gen_params),
	KUNIT_CASE(no_other),
	KUNIT_CASE(access),
	KUNIT_CASE(longest_header),
	{}
};

static struct kunit_suite suite = {
	.name = "wire-opcode",
	.test_cases = cases,
};

kunit_test_suite(suite);
