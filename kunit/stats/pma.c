// SPDX-License-Identifier: GPL-2.0
/*
 * stats/pma.c: each field has its counter, and saturates. An unsupported request gets an error
 * status. MADs of other classes aren't answered.
 */
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rxe/dev.h>
#include "../util.h"

struct ctx {
	struct rxe_dev rxe;
	struct ib_pma_mad in;
	struct ib_pma_mad out;
};

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->rxe.stats = alloc_percpu(struct rxe_stats);
	KUNIT_ASSERT_NOT_NULL(test, c->rxe.stats);
	c->in.mad_hdr.mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	c->in.mad_hdr.class_version = 1;
	c->in.mad_hdr.method = IB_MGMT_METHOD_GET;
	c->in.mad_hdr.tid = cpu_to_be64(0x1122334455667788ull);
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	free_percpu(c->rxe.stats);
}

static void set(struct ctx *c, enum rxe_counter index, u64 value)
{
	this_cpu_ptr(c->rxe.stats)->cnt[index] = value;
}

/* Return: the result; the answer is in @c->out */
static int ask(struct ctx *c, __be16 attr, u8 port)
{
	struct ib_pma_portcounters *cnt = (void *)c->in.data;
	size_t size = sizeof(c->out);
	u16 pkey_index = 0;

	c->in.mad_hdr.attr_id = attr;
	cnt->port_select = port;
	memset(&c->out, 0xa5, sizeof(c->out));
	return rxe_process_mad(&c->rxe.ibdev, 0, 1, NULL, NULL, (struct ib_mad *)&c->in,
			       (struct ib_mad *)&c->out, &size, &pkey_index);
}

static void expect_status(struct kunit *test, __be16 attr, u8 port, u16 status)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, ask(c, attr, port), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->out.mad_hdr.status), status);
	KUNIT_EXPECT_EQ(test, c->out.mad_hdr.method, (u8)IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, c->out.mad_hdr.tid, c->in.mad_hdr.tid);
}

/* Each field shows the right counters [16.1.3.5] */
static void counters(struct kunit *test)
{
	struct ctx *c = test->priv;
	const struct ib_pma_portcounters *cnt = (void *)c->out.data;
	u32 i;

	for (i = 0; i < RXE_NUM_COUNTERS; i++)
		set(c, i, 0);
	set(c, RXE_CNT_LINK_DOWNED, 7);
	set(c, RXE_CNT_DROP_ICRC, 1);
	set(c, RXE_CNT_DROP_MALFORMED, 2);
	set(c, RXE_CNT_DROP_QUEUE, 4);
	set(c, RXE_CNT_DROP_MEMORY, 8);
	set(c, RXE_CNT_DROP_TX, 16);
	set(c, RXE_CNT_DROP_TX_MEM, 32);
	set(c, RXE_CNT_SENT_BYTES, 4003);
	set(c, RXE_CNT_RCVD_BYTES, 8000);
	set(c, RXE_CNT_SENT_PKTS, 3);
	set(c, RXE_CNT_RCVD_PKTS, 5);
	expect_status(test, IB_PMA_PORT_COUNTERS, 1, 0);
	KUNIT_EXPECT_EQ(test, cnt->port_select, (u8)1);
	KUNIT_EXPECT_EQ(test, cnt->link_downed_counter, (u8)7);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(cnt->port_rcv_errors), (u16)15);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(cnt->port_xmit_discards), (u16)48);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_xmit_data), 1000u);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_rcv_data), 2000u);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_xmit_packets), 3u);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_rcv_packets), 5u);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(cnt->symbol_error_counter), (u16)0);
}

/* No field wraps around [16.1.3.5] */
static void limits(struct kunit *test)
{
	struct ctx *c = test->priv;
	const struct ib_pma_portcounters *cnt = (void *)c->out.data;

	set(c, RXE_CNT_LINK_DOWNED, 256);
	set(c, RXE_CNT_DROP_ICRC, 0x10000);
	set(c, RXE_CNT_SENT_BYTES, 0x400000000ull);
	set(c, RXE_CNT_RCVD_PKTS, 0x100000001ull);
	expect_status(test, IB_PMA_PORT_COUNTERS, 0xff, 0);
	KUNIT_EXPECT_EQ(test, cnt->link_downed_counter, (u8)0xff);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(cnt->port_rcv_errors), (u16)0xffff);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_xmit_data), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cnt->port_rcv_packets), U32_MAX);
}

static void extended(struct kunit *test)
{
	struct ctx *c = test->priv;
	const struct ib_pma_portcounters_ext *cnt = (void *)c->out.data;

	set(c, RXE_CNT_SENT_BYTES, 0x400000000ull);
	set(c, RXE_CNT_SENT_PKTS, 0x100000001ull);
	set(c, RXE_CNT_SENT_MCAST, 1);
	set(c, RXE_CNT_RCVD_PKTS, 9);
	set(c, RXE_CNT_RCVD_MCAST, 4);
	expect_status(test, IB_PMA_PORT_COUNTERS_EXT, 1, 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_xmit_data), 0x100000000ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_xmit_packets), 0x100000001ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_unicast_xmit_packets), 0x100000000ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_multicast_xmit_packets), 1ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_unicast_rcv_packets), 5ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(cnt->port_multicast_rcv_packets), 4ull);
}

/* [13.4.7] */
static void refused(struct kunit *test)
{
	struct ctx *c = test->priv;

	expect_status(test, IB_PMA_CLASS_PORT_INFO, 0, 0);
	expect_status(test, IB_PMA_PORT_COUNTERS, 0, IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	expect_status(test, IB_PMA_PORT_COUNTERS_EXT, 2, IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	expect_status(test, IB_PMA_PORT_SAMPLES_CONTROL, 1,
		      IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	c->in.mad_hdr.method = IB_MGMT_METHOD_SET;
	expect_status(test, IB_PMA_PORT_COUNTERS, 1, IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);
	c->in.mad_hdr.class_version = 2;
	expect_status(test, IB_PMA_PORT_COUNTERS, 1, IB_MGMT_MAD_STATUS_BAD_VERSION);
}

/* Responses and MADs of other classes are left to the RDMA core [13.5.2] */
static void left_alone(struct kunit *test)
{
	struct ctx *c = test->priv;

	c->in.mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	KUNIT_EXPECT_EQ(test, ask(c, IB_PMA_PORT_COUNTERS, 1), (int)IB_MAD_RESULT_SUCCESS);
	c->in.mad_hdr.method = IB_MGMT_METHOD_GET;
	c->in.mad_hdr.mgmt_class = IB_MGMT_CLASS_CM;
	KUNIT_EXPECT_EQ(test, ask(c, IB_PMA_PORT_COUNTERS, 1), (int)IB_MAD_RESULT_SUCCESS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(counters),
	KUNIT_CASE(limits),
	KUNIT_CASE(extended),
	KUNIT_CASE(refused),
	KUNIT_CASE(left_alone),
	{}
};

static struct kunit_suite suite = {
	.name = "stats-pma",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
