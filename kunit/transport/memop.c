// SPDX-License-Identifier: GPL-2.0
/*
 * Local work requests and SEND with Invalidate (transport/memop.c, responder.c). Each is
 * executed once, before the work requests behind it are sent. Completions are in the order of
 * the queue. The key is invalid when the receive completes. No key is ended while in use.
 */
#include <linux/scatterlist.h>
#include "../peer.h"
#include "../util.h"

#define SQ_PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define RQ_PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define MTU		FAKE_MTU

/* A region for fast registration, which maps the whole of fake.mem */
static struct ib_mr *fast_mr(struct kunit *test)
{
	struct fake *f = fake(test);
	struct ib_mr *mr = rxe_alloc_mr(&f->pd, IB_MR_TYPE_MEM_REG, 16);
	struct scatterlist sg;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	sg_init_one(&sg, f->mem, FAKE_MEM);
	sg_dma_address(&sg) = (uintptr_t)f->mem;
	sg_dma_len(&sg) = FAKE_MEM;
	mr->page_size = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, rxe_map_mr_sg(mr, &sg, 1, NULL), 1);
	return mr;
}

static bool valid(struct kunit *test, u32 rkey)
{
	struct rxe_key *key;
	int err;

	local_bh_disable();
	err = rxe_key_get_all(&fake(test)->pd, &fake(test)->qp->ibqp, rkey, 0, &key);
	rxe_key_drop(&key);
	local_bh_enable();
	return !err;
}

/* Another task uses the memory of the key, until rxe_key_put() */
static struct rxe_key *use(struct kunit *test, u32 rkey)
{
	struct rxe_key *key;

	local_bh_disable();
	KUNIT_ASSERT_EQ(test, rxe_key_get_all(&fake(test)->pd, &fake(test)->qp->ibqp, rkey, 0,
					      &key), 0);
	local_bh_enable();
	return key;
}

static int post(struct kunit *test, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	int err = rxe_post_send(&fake(test)->qp->ibqp, wr, &bad);

	fake_settle(test);
	return err;
}

static void post_reg(struct kunit *test, u64 wr_id, struct ib_mr *mr)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = mr, .key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};

	KUNIT_ASSERT_EQ(test, post(test, &wr.wr), 0);
}

static void post_inv(struct kunit *test, u64 wr_id, u32 rkey, int flags)
{
	struct ib_send_wr wr = {
		.wr_id = wr_id, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | flags, .ex.invalidate_rkey = rkey,
	};

	KUNIT_ASSERT_EQ(test, post(test, &wr), 0);
}

static void done(struct kunit *test, u64 wr_id, enum ib_wc_opcode opcode)
{
	struct ib_wc wc;

	fake_completion(test, fake(test)->scq, wr_id, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, (u32)wc.opcode, (u32)opcode);
}

/* The SEND @wr_id has left with the @n-th PSN; it is acknowledged and completes */
static void finish_send(struct kunit *test, u64 wr_id, u32 n)
{
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(n), NULL);
	fake_expect_nothing(test);
	peer_ack(test, SQ_PSN(n));
	done(test, wr_id, IB_WC_SEND);
}

/* Without earlier work requests, they are executed and complete at once. They use no PSN */
static void at_once(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	post_inv(test, 2, mr->rkey, 0);
	done(test, 2, IB_WC_LOCAL_INV);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	fake_expect_nothing(test);
	fake_send(test, 3, 0, 8);
	finish_send(test, 3, 0);
	rxe_dereg_mr(mr, NULL);
}

/* They don't wait for earlier work requests, but complete after them [10.8.3.3] */
static void in_order(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt pkt;

	fake_send(test, 1, 0, 8);
	post_reg(test, 2, mr);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	post_inv(test, 3, mr->rkey, 0);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	fake_send(test, 4, 0, 8);
	fake_no_completion(test, fake(test)->scq);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(0), &pkt);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(1), &pkt);
	peer_ack(test, SQ_PSN(1));
	done(test, 1, IB_WC_SEND);
	done(test, 2, IB_WC_REG_MR);
	done(test, 3, IB_WC_LOCAL_INV);
	done(test, 4, IB_WC_SEND);
	rxe_dereg_mr(mr, NULL);
}

/* With the fence indicator, one waits until all earlier ones are complete [10.8.3.3] */
static void fence(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	fake_send(test, 2, 0, 8);
	post_inv(test, 3, mr->rkey, IB_SEND_FENCE);
	fake_send(test, 4, 0, 8);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	finish_send(test, 2, 0);
	done(test, 3, IB_WC_LOCAL_INV);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	finish_send(test, 4, 1);
	rxe_dereg_mr(mr, NULL);
}

/* Retransmissions before and after them don't execute them again, which would fail */
static void resent(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt pkt;

	fake_send(test, 1, 0, 8);
	post_reg(test, 2, mr);
	fake_send(test, 3, 0, 8);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(0), &pkt);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(1), &pkt);
	peer_answer(test, SQ_PSN(0), RXE_AETH_RNR_NAK | 1);	/* go back to the first SEND */
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, pkt.psn, SQ_PSN(0));
	peer_ack(test, SQ_PSN(0));
	done(test, 1, IB_WC_SEND);
	done(test, 2, IB_WC_REG_MR);
	finish_send(test, 3, 1);
	rxe_dereg_mr(mr, NULL);
}

/* A bad one fails when it is the oldest work request, and puts the QP into ERR */
static void fails(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt pkt;

	fake_send(test, 1, 0, 8);
	post_inv(test, 2, mr->rkey, 0);
	fake_send(test, 3, 0, 8);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(0), &pkt);
	fake_expect_nothing(test);
	fake_no_completion(test, fake(test)->scq);
	peer_ack(test, SQ_PSN(0));
	done(test, 1, IB_WC_SEND);
	fake_completion(test, fake(test)->scq, 2, IB_WC_MW_BIND_ERR, NULL);
	fake_completion(test, fake(test)->scq, 3, IB_WC_WR_FLUSH_ERR, NULL);
	KUNIT_EXPECT_EQ(test, (u32)READ_ONCE(fake(test)->qp->state), (u32)IB_QPS_ERR);
	rxe_dereg_mr(mr, NULL);
}

/* Work requests that are refused when they are posted [11.4.1.1] */
static void post_refused(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = mr, .key = mr->rkey ^ 0x100,
	};

	KUNIT_EXPECT_EQ(test, post(test, &wr.wr), -EINVAL);
	wr.key = mr->rkey;
	wr.wr.send_flags = IB_SEND_INLINE;
	KUNIT_EXPECT_EQ(test, post(test, &wr.wr), -EINVAL);
	wr.wr.send_flags = 0;
	wr.wr.opcode = IB_WR_BIND_MW;	/* the kernel's API has none */
	KUNIT_EXPECT_EQ(test, post(test, &wr.wr), -EINVAL);
	rxe_dereg_mr(mr, NULL);
}

/* A task uses the memory: the invalidation, and all work requests behind it, wait */
static void waits(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	const struct ib_send_wr *bad;
	struct rxe_key *key;
	struct ib_send_wr wr = {
		.wr_id = 2, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED, .ex.invalidate_rkey = mr->rkey,
	};
	struct ib_wc wc;

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	key = use(test, mr->rkey);
	KUNIT_EXPECT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&fake(test)->scq->ibcq, 1, &wc), 0);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	rxe_key_put(key);
	KUNIT_ASSERT_TRUE(test, fake_wait_completion(test, fake(test)->scq, &wc));
	KUNIT_EXPECT_EQ(test, (u32)wc.status, (u32)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2ull);
	rxe_dereg_mr(mr, NULL);
}

/* The last packet names the key, and no other does */
static void sent_inv(struct kunit *test)
{
	struct ib_send_wr wr = {
		.wr_id = 1, .opcode = IB_WR_SEND_WITH_INV,
		.send_flags = IB_SEND_SIGNALED, .ex.invalidate_rkey = 0x12345678,
	};
	struct rxe_pkt pkt;

	fake_post(test, &wr, 0, 8);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE, SQ_PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x12345678u);
	fake_post(test, &wr, 0, 2 * MTU);
	fake_expect(test, IB_OPCODE_RC_SEND_FIRST, SQ_PSN(1), &pkt);
	fake_expect(test, IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE, SQ_PSN(2), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.rkey, 0x12345678u);
	peer_ack(test, SQ_PSN(2));
	done(test, 1, IB_WC_SEND);
	done(test, 1, IB_WC_SEND);
}

static struct rxe_pkt inv_pkt(u32 psn, u32 rkey)
{
	return (struct rxe_pkt) {
		.opcode = IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE,
		.psn = psn, .rkey = rkey, .ack_req = true,
	};
}

static void come_inv(struct kunit *test, u32 psn, u32 rkey)
{
	struct rxe_pkt pkt = inv_pkt(psn, rkey);
	u8 data[8] = "inv data";

	fake_inject(test, &pkt, data, sizeof(data));
}

/* The receive tells which key became invalid [9.4.1.1] */
static void received_inv(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt pkt;
	struct ib_wc wc;

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	fake_post_recv(test, 2, 0, 64);
	come_inv(test, RQ_PSN(0), mr->rkey);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, (int)IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, mr->rkey);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, "inv data", 8);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, RQ_PSN(0), &pkt);
	post_reg(test, 3, mr);	/* the region can be registered again */
	done(test, 3, IB_WC_REG_MR);
	rxe_dereg_mr(mr, NULL);
}

/* A SEND names a key that can't be invalidated: both sides get an error */
static void received_wrong(struct kunit *test)
{
	struct rxe_pkt pkt;

	fake_post_recv(test, 2, 0, 64);
	come_inv(test, RQ_PSN(0), fake(test)->mr->rkey);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, RQ_PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, (u8)RXE_NAK_REM_ACCESS);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_LOC_ACCESS_ERR, NULL);
	KUNIT_EXPECT_EQ(test, (u32)READ_ONCE(fake(test)->qp->state), (u32)IB_QPS_ERR);
}

/* Post a receive whose memory is named by the key of @mr */
static void post_recv_of(struct kunit *test, u64 wr_id, const struct ib_mr *mr)
{
	struct ib_sge sge = { .addr = mr->iova, .length = 64, .lkey = mr->lkey };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	KUNIT_ASSERT_EQ(test, rxe_post_recv(&fake(test)->qp->ibqp, &wr, &bad), 0);
}

/*
 * A task uses the memory: the packet waits until that task's run has ended. The receive may
 * name the memory by the very key
 */
static void received_busy(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt pkt = inv_pkt(RQ_PSN(0), mr->rkey);
	struct rxe_key *key;
	struct ib_wc wc;

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	post_recv_of(test, 2, mr);
	key = use(test, mr->rkey);
	fake_arrive(test, &pkt, "busy", 4);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&fake(test)->sent));
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&fake(test)->rcq->ibcq, 1, &wc), 0);
	rxe_key_put(key);
	fake_settle(test);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, "busy", 4);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, RQ_PSN(0), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome & RXE_AETH_TYPE_MASK, RXE_AETH_ACK);
	rxe_dereg_mr(mr, NULL);
}

/* A SEND of 4 bytes waits to invalidate the key of @mr, until rxe_key_put() */
static struct rxe_key *come_busy(struct kunit *test, struct ib_mr *mr, const char *data)
{
	struct rxe_pkt pkt = inv_pkt(RQ_PSN(0), mr->rkey);
	struct rxe_key *key;

	post_reg(test, 1, mr);
	done(test, 1, IB_WC_REG_MR);
	fake_post_recv(test, 2, 0, 64);
	key = use(test, mr->rkey);
	fake_arrive(test, &pkt, data, 4);
	return key;
}

/* The packet that waits is lost, and @other comes in its place */
static void replaced(struct kunit *test, struct ib_mr *mr, struct rxe_pkt *other,
		     const void *data, u32 len)
{
	struct rxe_key *key = come_busy(test, mr, "lost");
	struct rxe_qp *qp = fake(test)->qp;

	rxe_task_pause(&qp->recv_task);
	KUNIT_EXPECT_EQ(test, qp->rq.recv.ending, mr->rkey);
	rxe_inq_reset(qp->rxe, &qp->requests);
	rxe_task_resume(&qp->recv_task);
	rxe_key_put(key);
	fake_inject(test, other, data, len);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_MEMEQ(test, fake(test)->mem, data, len);
	KUNIT_EXPECT_EQ(test, qp->rq.recv.ending, 0u);
}

/* A SEND without invalidation takes the place: the key is valid again */
static void replaced_send(struct kunit *test)
{
	struct rxe_pkt other = {
		.opcode = IB_OPCODE_RC_SEND_ONLY, .psn = RQ_PSN(0), .ack_req = true,
	};
	struct ib_mr *mr = fast_mr(test);

	replaced(test, mr, &other, "came", 4);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	rxe_dereg_mr(mr, NULL);
}

/* A WRITE takes the place: the key is valid again */
static void replaced_write(struct kunit *test)
{
	struct rxe_pkt other = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, .psn = RQ_PSN(0),
		.va = (uintptr_t)fake(test)->mem, .rkey = fake(test)->mr->rkey, .dma_len = 4,
		.ack_req = true,
	};
	struct ib_mr *mr = fast_mr(test);

	replaced(test, mr, &other, "came", 4);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	rxe_dereg_mr(mr, NULL);
}

/* A SEND of another length takes the place: its data is written */
static void replaced_longer(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_pkt other = inv_pkt(RQ_PSN(0), mr->rkey);

	replaced(test, mr, &other, "longer", 6);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	rxe_dereg_mr(mr, NULL);
}

/* A SEND that invalidates another key takes the place */
static void replaced_key(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test), *mr2 = fast_mr(test);
	struct rxe_pkt other = inv_pkt(RQ_PSN(0), mr2->rkey);

	post_reg(test, 3, mr2);
	done(test, 3, IB_WC_REG_MR);
	replaced(test, mr, &other, "came", 4);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	KUNIT_EXPECT_FALSE(test, valid(test, mr2->rkey));
	rxe_dereg_mr(mr2, NULL);
	rxe_dereg_mr(mr, NULL);
}

/* The QP fails meanwhile: the receive is flushed, and the key is valid again */
static void received_flushed(struct kunit *test)
{
	struct ib_mr *mr = fast_mr(test);
	struct rxe_key *key = come_busy(test, mr, "busy");
	struct rxe_qp *qp = fake(test)->qp;

	rxe_qp_to_err(qp);
	rxe_task_schedule(&qp->recv_task);
	fake_completion(test, fake(test)->rcq, 2, IB_WC_WR_FLUSH_ERR, NULL);
	rxe_key_put(key);
	fake_settle(test);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	rxe_dereg_mr(mr, NULL);
}

/* A limited number is executed ahead: as many as a run can complete */
static void not_too_many(struct kunit *test)
{
	struct rxe_sq *sq = &fake(test)->qp->sq;
	struct ib_mr *mr = fast_mr(test);

	fake_send(test, 1, 0, 8);
	fake_expect(test, IB_OPCODE_RC_SEND_ONLY, SQ_PSN(0), NULL);
	spin_lock_bh(&sq->lock);
	sq->memops.executed = RXE_FLUSH_MOST;
	spin_unlock_bh(&sq->lock);
	post_reg(test, 2, mr);
	KUNIT_EXPECT_FALSE(test, valid(test, mr->rkey));
	spin_lock_bh(&sq->lock);
	sq->memops.executed = 0;
	spin_unlock_bh(&sq->lock);
	peer_ack(test, SQ_PSN(0));
	done(test, 1, IB_WC_SEND);
	done(test, 2, IB_WC_REG_MR);
	KUNIT_EXPECT_TRUE(test, valid(test, mr->rkey));
	rxe_dereg_mr(mr, NULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(at_once),
	KUNIT_CASE(in_order),
	KUNIT_CASE(fence),
	KUNIT_CASE(resent),
	KUNIT_CASE(fails),
	KUNIT_CASE(post_refused),
	KUNIT_CASE(waits),
	KUNIT_CASE(sent_inv),
	KUNIT_CASE(received_inv),
	KUNIT_CASE(received_wrong),
	KUNIT_CASE(received_busy),
	KUNIT_CASE(replaced_send),
	KUNIT_CASE(replaced_write),
	KUNIT_CASE(replaced_longer),
	KUNIT_CASE(replaced_key),
	KUNIT_CASE(received_flushed),
	KUNIT_CASE(not_too_many),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-memop",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
