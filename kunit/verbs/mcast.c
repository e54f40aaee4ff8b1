// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups (verbs/mcast.c), and delivery of datagrams to their members
 * (transport/rcv.c): each member gets one copy, and no other QP gets any.
 */
#include "../fake.h"

#define MEMBERS	8u
#define QKEY	0x11111111u

static union ib_gid group(u32 n)
{
	union ib_gid mgid = {};

	mgid.raw[0] = 0xff;
	mgid.raw[1] = 0x0e;
	*(__be32 *)&mgid.raw[12] = cpu_to_be32(n);
	return mgid;
}

static union ib_gid group4(void)
{
	union ib_gid mgid = {};

	ipv6_addr_set_v4mapped(htonl(0xe1010203), (struct in6_addr *)&mgid);
	return mgid;
}

static struct ib_qp stranger(struct kunit *test, u32 qpn)
{
	return (struct ib_qp) { .device = &fake(test)->rxe->ibdev, .qp_num = qpn };
}

static int attach(struct kunit *test, u32 qpn, union ib_gid mgid)
{
	struct ib_qp qp = stranger(test, qpn);

	return rxe_attach_mcast(&qp, &mgid, 0);
}

static int detach(struct kunit *test, u32 qpn, union ib_gid mgid)
{
	struct ib_qp qp = stranger(test, qpn);

	return rxe_detach_mcast(&qp, &mgid, 0);
}

static struct rxe_mcast_grp *find(struct kunit *test, union ib_gid mgid)
{
	struct rxe_mcast_grp *grp;

	rcu_read_lock();
	grp = rxe_mcast_find(fake(test)->rxe, &mgid);
	rcu_read_unlock();
	return grp;
}

/* A group exists as long as it has members [11.3.1] [11.3.2] */
static void comes_and_goes(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, find(test, group(1)));
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(1)), -EINVAL);
	KUNIT_ASSERT_EQ(test, attach(test, 20, group(1)), 0);
	KUNIT_ASSERT_EQ(test, attach(test, 21, group(1)), 0);
	KUNIT_EXPECT_NOT_NULL(test, find(test, group(1)));
	KUNIT_EXPECT_NULL(test, find(test, group(2)));
	KUNIT_EXPECT_EQ(test, detach(test, 22, group(1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(1)), 0);
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(1)), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, find(test, group(1)));
	KUNIT_EXPECT_EQ(test, detach(test, 21, group(1)), 0);
	KUNIT_EXPECT_NULL(test, find(test, group(1)));
	KUNIT_EXPECT_EQ(test, fake(test)->rxe->mcast.num_grps, 0u);
	KUNIT_EXPECT_EQ(test, fake(test)->rxe->mcast.num_attached, 0u);
}

/* A QP that was attached twice is a member until it is detached twice */
static void twice(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, attach(test, 20, group(1)), 0);
	KUNIT_ASSERT_EQ(test, attach(test, 20, group(1)), 0);
	KUNIT_EXPECT_EQ(test, find(test, group(1))->num_members, 1u);
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(1)), 0);
	KUNIT_EXPECT_NOT_NULL(test, find(test, group(1)));
	KUNIT_EXPECT_EQ(test, detach(test, 20, group(1)), 0);
	KUNIT_EXPECT_NULL(test, find(test, group(1)));
}

static void most_members(struct kunit *test)
{
	u32 i;

	for (i = 0; i < RXE_MAX_MCAST_QP_ATTACH; i++)
		KUNIT_ASSERT_EQ(test, attach(test, 100 + i, group(1)), 0);
	KUNIT_EXPECT_EQ(test, attach(test, 99, group(1)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, attach(test, 99, group(2)), 0);
	KUNIT_EXPECT_EQ(test, detach(test, 99, group(2)), 0);
	while (i--)
		KUNIT_EXPECT_EQ(test, detach(test, 100 + i, group(1)), 0);
}

static void most_groups(struct kunit *test)
{
	u32 i;

	for (i = 0; i < RXE_MAX_MCAST_GRP; i++)
		KUNIT_ASSERT_EQ(test, attach(test, 20, group(i)), 0);
	KUNIT_EXPECT_EQ(test, attach(test, 20, group(i)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, attach(test, 21, group(0)), 0);
	KUNIT_EXPECT_EQ(test, detach(test, 21, group(0)), 0);
	while (i--)
		KUNIT_EXPECT_EQ(test, detach(test, 20, group(i)), 0);
	KUNIT_EXPECT_EQ(test, fake(test)->rxe->mcast.num_grps, 0u);
}

static void most_attachments(struct kunit *test)
{
	u32 i;

	for (i = 0; i < RXE_MAX_TOTAL_MCAST_QP_ATTACH; i++)
		if (attach(test, 20, group(1)))
			break;
	KUNIT_EXPECT_EQ(test, i, (u32)RXE_MAX_TOTAL_MCAST_QP_ATTACH);
	KUNIT_EXPECT_EQ(test, attach(test, 20, group(1)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, attach(test, 20, group(2)), -ENOMEM);
	KUNIT_EXPECT_NULL(test, find(test, group(2)));
	while (i--)
		detach(test, 20, group(1));
	KUNIT_EXPECT_NULL(test, find(test, group(1)));
}

/* UD QPs, each with a CQ, and a receive buffer of 64 bytes in fake.mem */
struct members {
	struct rxe_qp	*qp[MEMBERS];
	struct rxe_cq	*cq[MEMBERS];
};

static void to_rts(struct rxe_qp *qp)
{
	qp->attr.qkey = QKEY;
	WRITE_ONCE(qp->state, IB_QPS_RTS);
	rxe_task_resume(&qp->recv_task);
	rxe_task_resume(&qp->send_task);
}

static void post_recv(struct kunit *test, struct rxe_qp *qp, u32 n)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)fake(test)->mem + 64 * n,
		.length = 64,
		.lkey = fake(test)->mr->lkey,
	};
	struct ib_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	KUNIT_ASSERT_EQ(test, rxe_post_recv(&qp->ibqp, &wr, &bad), 0);
}

static void make_member(struct kunit *test, struct members *m, u32 n)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };
	struct rxe_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	KUNIT_ASSERT_NOT_NULL(test, cq);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	cq->ibcq.device = &fake(test)->rxe->ibdev;
	KUNIT_ASSERT_EQ(test, rxe_create_cq(&cq->ibcq, &attr, NULL), 0);
	m->cq[n] = cq;
	init.send_cq = &cq->ibcq;
	init.recv_cq = &cq->ibcq;
	KUNIT_ASSERT_EQ(test, fake_create_qp(fake(test), qp, &init), 0);
	m->qp[n] = qp;
	to_rts(qp);
	post_recv(test, qp, n);
}

static void make_members(struct kunit *test, struct members *m)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < MEMBERS; i++)
		make_member(test, m, i);
}

static void end_members(struct members *m)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++) {
		rxe_destroy_qp(&m->qp[i]->ibqp, NULL);
		rxe_destroy_cq(&m->cq[i]->ibcq, NULL);
	}
}

/* A datagram of 8 bytes to a group, which has no wire */
static void inject_as(struct kunit *test, union ib_gid mgid, u32 qpn, u8 opcode)
{
	struct fake *f = fake(test);
	struct rxe_path path = f->peer;
	struct rxe_train train = {};
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.pkey = RXE_PKEY,
		.qpn = qpn,
		.qkey = QKEY,
		.src_qpn = FAKE_PEER,
		.payload_len = 8,
	};
	u8 *p;

	path.same_dev = false;
	path.mcast = true;
	path.dgid = mgid;
	path.proto = mgid.raw[0] == 0xff ? RXE_ROCE_V2_IPV6 : RXE_ROCE_V2_IPV4;
	f->ndev->flags |= IFF_LOOPBACK;
	local_bh_disable();
	p = rxe_train_start(f->rxe, &path, &train,
			    rxe_pkt_get_bytes(opcode, pkt.payload_len), 1);
	if (p) {
		train.grp = rxe_mcast_find(f->rxe, &mgid);
		memcpy(rxe_pkt_build(&pkt, p), "datagram", 8);
		rxe_train_xmit(f->rxe, &path, &train);
	}
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, p);
}

static void inject(struct kunit *test, union ib_gid mgid, u32 qpn)
{
	inject_as(test, mgid, qpn, IB_OPCODE_UD_SEND_ONLY);
}

/* Delivery is synchronous here, since no member's task is busy */
static bool received(struct kunit *test, struct members *m, u32 n)
{
	struct ib_wc wc;

	if (rxe_poll_cq(&m->cq[n]->ibcq, 1, &wc) != 1)
		return false;
	KUNIT_EXPECT_EQ(test, (u32)wc.status, (u32)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, RXE_GRH_BYTES + 8u);
	KUNIT_EXPECT_EQ(test, wc.src_qp, FAKE_PEER);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 64 * n + RXE_GRH_BYTES, "datagram", 8);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&m->cq[n]->ibcq, 1, &wc), 0);
	return true;
}

static void expect_received(struct kunit *test, struct members *m, unsigned long who)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		KUNIT_EXPECT_EQ_MSG(test, received(test, m, i), test_bit(i, &who),
				    "member %u", i);
}

static void attach_all(struct kunit *test, struct members *m, union ib_gid mgid, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		KUNIT_ASSERT_EQ(test, rxe_attach_mcast(&m->qp[i]->ibqp, &mgid, 0), 0);
}

static void detach_all(struct kunit *test, struct members *m, union ib_gid mgid, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		KUNIT_EXPECT_EQ(test, rxe_detach_mcast(&m->qp[i]->ibqp, &mgid, 0), 0);
}

/* Each member gets a copy; a QP that isn't one, or has another Q_Key, gets none [10.5.2] */
static void to_each(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group4(), MEMBERS - 1);
	m.qp[2]->attr.qkey = QKEY + 1;
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 0x7b);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_QKEY), 1ull);
	detach_all(test, &m, group4(), MEMBERS - 1);
	end_members(&m);
}

static u64 counted(struct kunit *test, enum rxe_counter which)
{
	return rxe_count_sum(fake(test)->rxe, which);
}

/* A datagram is sent and received once, however many members get a copy */
static void walks_once(struct kunit *test)
{
	struct members m;
	u64 bytes;

	make_members(test, &m);
	attach_all(test, &m, group4(), 1);
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 1);
	bytes = counted(test, RXE_CNT_RCVD_BYTES);
	detach_all(test, &m, group4(), 1);

	attach_all(test, &m, group4(), MEMBERS);
	post_recv(test, m.qp[0], 0);
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 0xff);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_SENT_MCAST), 2ull);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_RCVD_MCAST), 2ull);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_RCVD_PKTS), 2ull);
	KUNIT_EXPECT_EQ(test, counted(test, RXE_CNT_RCVD_BYTES), 2 * bytes);
	detach_all(test, &m, group4(), MEMBERS);
	end_members(&m);
}

/* The addresses are in the GRH [A17.4.5.1] */
static void to_ipv6(struct kunit *test)
{
	union ib_gid mgid = group(7);
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, mgid, 2);
	inject(test, mgid, IB_MULTICAST_QPN);
	expect_received(test, &m, 3);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 24, mgid.raw, 16);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem + 64 + 24, mgid.raw, 16);
	detach_all(test, &m, mgid, 2);
	end_members(&m);
}

/* A group that never had members, and a group that has none left */
static void to_none(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group(1), 1);
	inject(test, group(2), IB_MULTICAST_QPN);
	expect_received(test, &m, 0);
	detach_all(test, &m, group(1), 1);
	inject(test, group(1), IB_MULTICAST_QPN);
	expect_received(test, &m, 0);
	end_members(&m);
}

/* QP number 0xffffff is for groups, and for nothing else [9.6.1.2] */
static void wrong_qpn(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group4(), 1);
	inject(test, group4(), rxe_qp_num(m.qp[0]));
	expect_received(test, &m, 0);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_ADDR), 1ull);
	detach_all(test, &m, group4(), 1);
	end_members(&m);
}

/* Only datagrams go to groups */
static void wrong_service(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group4(), 2);
	inject_as(test, group4(), IB_MULTICAST_QPN, IB_OPCODE_RC_SEND_ONLY);
	expect_received(test, &m, 0);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_MALFORMED), 2ull);
	detach_all(test, &m, group4(), 2);
	end_members(&m);
}

/* A member without receive work request loses its copy [9.8.3.2]; the others don't */
static void no_recv(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group4(), 3);
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 7);
	post_recv(test, m.qp[1], 1);
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 2);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_NO_RECV), 2ull);
	detach_all(test, &m, group4(), 3);
	end_members(&m);
}

/* A datagram with a wrong ICRC reaches no member, and is counted once */
static void icrc(struct kunit *test)
{
	struct members m;

	make_members(test, &m);
	attach_all(test, &m, group4(), MEMBERS);
	fake(test)->sealed = true;
	fake(test)->broken = 1;
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 0);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_DROP_ICRC), 1ull);
	fake(test)->broken = 0;
	inject(test, group4(), IB_MULTICAST_QPN);
	expect_received(test, &m, 0xff);
	detach_all(test, &m, group4(), MEMBERS);
	end_members(&m);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(comes_and_goes),
	KUNIT_CASE(twice),
	KUNIT_CASE(most_members),
	KUNIT_CASE(most_groups),
	KUNIT_CASE(most_attachments),
	KUNIT_CASE(to_each),
	KUNIT_CASE(walks_once),
	KUNIT_CASE(to_ipv6),
	KUNIT_CASE(to_none),
	KUNIT_CASE(wrong_qpn),
	KUNIT_CASE(wrong_service),
	KUNIT_CASE(no_recv),
	KUNIT_CASE(icrc),
	{}
};

static struct kunit_suite suite = {
	.name = "verbs-mcast",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
