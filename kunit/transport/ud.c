// SPDX-License-Identifier: GPL-2.0
/*
 * UD and the GSI as receivers (transport/ud.c): datagrams that are longer than the receive work
 * request.
 */
#include "../peer.h"

#define LEN	8u

/* Post a receive that has @missing bytes too few for a datagram */
static void post(struct kunit *test, u64 wr_id, u32 missing)
{
	fake_post_recv(test, wr_id, wr_id * FAKE_MTU, RXE_GRH_BYTES + LEN - missing);
}

static void datagram(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_UD_SEND_ONLY,
		.qkey = qp->service->qkey ?: qp->attr.qkey,
		.src_qpn = FAKE_PEER,
	};

	fake_inject(test, &pkt, "datagram", LEN);
}

static void expect_received(struct kunit *test, u64 wr_id)
{
	struct ib_wc wc;

	fake_completion(test, fake(test)->rcq, wr_id, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.byte_len, RXE_GRH_BYTES + LEN);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + wr_id * FAKE_MTU + RXE_GRH_BYTES, "datagram",
			   LEN);
}

/*
 * A receive that is too short completes with an error, and no byte of it is written. The QP stays
 * usable, and the next datagram gets the next receive [11.6.2]
 */
static void too_long(struct kunit *test)
{
	struct fake *f = fake(test);

	post(test, 1, 1);
	post(test, 2, 0);
	datagram(test);
	fake_completion(test, f->rcq, 1, IB_WC_LOC_LEN_ERR, NULL);
	fake_no_completion(test, f->rcq);
	KUNIT_EXPECT_NULL(test, memchr_inv(f->mem, 0, FAKE_MEM));
	peer_expect_counted(test, RXE_CNT_DROP_NO_RECV, 1);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
	datagram(test);
	expect_received(test, 2);
}

/* On the GSI, no receive completes, since the GSI's owner treats an error as the end of the QP */
static void too_long_for_gsi(struct kunit *test)
{
	struct fake *f = fake(test);

	post(test, 1, 1);
	datagram(test);
	datagram(test);
	fake_no_completion(test, f->rcq);
	KUNIT_EXPECT_NULL(test, memchr_inv(f->mem, 0, FAKE_MEM));
	peer_expect_counted(test, RXE_CNT_DROP_NO_RECV, 2);
	KUNIT_EXPECT_EQ(test, fake_state(test), IB_QPS_RTS);
}

static struct kunit_case ud_cases[] = {
	KUNIT_CASE(too_long),
	{}
};

static struct kunit_suite ud_suite = {
	.name = "transport-ud",
	.init = fake_init_ud,
	.exit = fake_exit,
	.test_cases = ud_cases,
};

static struct kunit_case gsi_cases[] = {
	KUNIT_CASE(too_long_for_gsi),
	{}
};

static struct kunit_suite gsi_suite = {
	.name = "transport-ud-gsi",
	.init = fake_init_gsi,
	.exit = fake_exit,
	.test_cases = gsi_cases,
};

kunit_test_suites(&ud_suite, &gsi_suite);
