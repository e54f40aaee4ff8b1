// SPDX-License-Identifier: GPL-2.0
/*
 * rxe/psn.h: arithmetic on the 24-bit circle of PSNs, at the wrap-around and at the
 * opposite side. rxe/wire.h: the sizes of messages, pads and packets.
 */
#include <rxe/wire.h>
#include "../util.h"

/* Before and after, across the wrap-around [9.7.3.1] */
static void diff(struct kunit *test)
{
	static const struct { u32 a, b; s32 diff; } want[] = {
		{ 0, 0, 0 }, { 1, 0, 1 }, { 0, 1, -1 },
		{ 0, 0xffffff, 1 }, { 0xffffff, 0, -1 },
		{ 5, 0xfffffb, 10 }, { 0xfffffb, 5, -10 },
		{ 0x7fffff, 0, 0x7fffff }, { 0x800000, 0, -0x800000 },
		{ 0, 0x800000, -0x800000 }, { 0, 0x800001, 0x7fffff },
		{ 0xffffff, 0xffffff, 0 }, { 0xc00000, 0x400000, -0x800000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ_MSG(test, rxe_psn_diff(want[i].a, want[i].b),
				    want[i].diff, "%#x - %#x", want[i].a,
				    want[i].b);
}

static void add(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rxe_psn_add(0, 0), 0u);
	KUNIT_EXPECT_EQ(test, rxe_psn_add(0xffffff, 1), 0u);
	KUNIT_EXPECT_EQ(test, rxe_psn_add(0, -1), 0xffffffu);
	KUNIT_EXPECT_EQ(test, rxe_psn_add(0xfffffe, 5), 3u);
	KUNIT_EXPECT_EQ(test, rxe_psn_add(3, -5), 0xfffffeu);
	KUNIT_EXPECT_EQ(test, rxe_psn_add(0x123456, 1 << 24), 0x123456u);
}

static void add_then_diff(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(3);
	u32 psn, i;
	s32 n;

	for (i = 0; i < 100000; i++) {
		psn = prandom_u32_state(&rnd) & RXE_PSN_MASK;
		n = (s32)rnd_below(&rnd, 1 << 24) - (1 << 23);
		if (rxe_psn_diff(rxe_psn_add(psn, n), psn) != n)
			KUNIT_FAIL(test, "psn %#x + %d", psn, n);
	}
}

static void num_pkts(struct kunit *test)
{
	u32 mtu;

	for (mtu = 256; mtu <= 4096; mtu *= 2) {
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(0, mtu), 1u);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(1, mtu), 1u);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(mtu, mtu), 1u);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(mtu + 1, mtu), 2u);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(10 * mtu - 1, mtu), 10u);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(1u << 31, mtu),
				(1u << 31) / mtu);
		KUNIT_EXPECT_EQ(test, rxe_count_pkts(U32_MAX, mtu),
				(u32)(BIT_ULL(32) / mtu));
	}
}

static void pad(struct kunit *test)
{
	u32 len;

	for (len = 0; len < 5000; len++) {
		KUNIT_EXPECT_LT(test, rxe_pad(len), 4u);
		KUNIT_EXPECT_EQ(test, (len + rxe_pad(len)) % 4, 0u);
	}
}

static void pkt_bytes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_RC_ACKNOWLEDGE, 0), 20u);
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_RC_SEND_ONLY, 0), 16u);
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_RC_SEND_ONLY, 1), 20u);
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_RC_RDMA_WRITE_ONLY, 5),
			40u);
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_UD_SEND_ONLY, 4096),
			4120u);
	KUNIT_EXPECT_EQ(test, rxe_pkt_get_bytes(IB_OPCODE_RC_COMPARE_SWAP, 0),
			44u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(diff),
	KUNIT_CASE(add),
	KUNIT_CASE(add_then_diff),
	KUNIT_CASE(num_pkts),
	KUNIT_CASE(pad),
	KUNIT_CASE(pkt_bytes),
	{}
};

static struct kunit_suite suite = {
	.name = "wire-psn",
	.test_cases = cases,
};

kunit_test_suite(suite);
