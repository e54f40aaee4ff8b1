// SPDX-License-Identifier: GPL-2.0
/*
 * See fake.h. This file has no test cases.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "../drivers/rxe/net/internal.h"
#include "fake.h"
#include "util.h"

static struct fake *active;

static void seal_pkt(struct sk_buff *skb, u32 n, u8 *bth, u32 len)
{
	struct rxe_l3_icrc l3_icrc = {};
	u32 state = rxe_rx_icrc_start(&l3_icrc, skb, n, len);

	rxe_icrc_put(state, bth, len - RXE_ICRC_BYTES);
}

/* Add ICRCs, as if the train had come by wire */
static void seal(struct fake *f, struct sk_buff *skb)
{
	u32 pkt = rxe_rx(skb)->pkt, n, len, run;
	u8 *bth;

	rxe_rx(skb)->trusted = false;
	for (n = 0; n * pkt < skb->len; n++) {
		bth = rxe_skb_run(skb, n * pkt, &run);
		len = min(pkt, skb->len - n * pkt);
		seal_pkt(skb, n, bth, len);
		bth[len - 1] ^= n + 1 == f->broken;
	}
}

/* For struct rxe_net_ops.rcv: keep packets for the test's QP number, pass on the others */
static void catch(struct rxe_dev *rxe, struct sk_buff *skb)
{
	u8 buf[RXE_BTH_BYTES];
	const u8 *bth = skb_header_pointer(skb, 0, sizeof(buf), buf);

	if (active && rxe == active->rxe && bth &&
	    (bth[5] << 16 | bth[6] << 8 | bth[7]) == FAKE_PEER) {
		skb_queue_tail(&active->sent, skb);
		return;
	}
	if (active && active->sealed)
		seal(active, skb);
	if (active) {
		rxe_rx(skb)->ce = active->marked;
		if (active->gro)
			skb_shinfo(skb)->gso_type = SKB_GSO_FRAGLIST;
		rxe_rx(skb)->same_dev = !active->outside;
	}
	rxe_demux(rxe, skb);
}

static const struct rxe_net_ops catch_ops = { .rcv = catch };
static const struct rxe_net_ops normal_ops = { .rcv = rxe_demux };

static void on_event(struct ib_event *event, void *context)
{
	struct fake *f = context;

	set_bit(event->event, &f->events);
	f->locked |= softirq_count() || irqs_disabled();
}

static void init_path(struct fake *f, struct rxe_path *path, u8 from, u8 to)
{
	path->sgid_attr = &f->gid_attr;
	path->dgid_attr = &f->gid_attr;
	path->sgid.raw[10] = 0xff;
	path->sgid.raw[11] = 0xff;
	path->dgid = path->sgid;
	path->sgid.raw[15] = from;
	path->dgid.raw[15] = to;
	path->proto = RXE_ROCE_V2_IPV4;
	path->sport = 0xc000;
	path->hop_limit = 64;
	path->vlan = RXE_NO_VLAN;
	path->same_dev = true;
}

static struct rxe_cq *make_cq(struct kunit *test, struct fake *f)
{
	struct ib_cq_init_attr attr = { .cqe = 4 * FAKE_WR };
	struct rxe_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->ibcq.device = &f->rxe->ibdev;
	KUNIT_ASSERT_EQ(test, rxe_create_cq(&cq->ibcq, &attr, NULL), 0);
	return cq;
}

static void make_dev(struct kunit *test, struct fake *f)
{
	struct rxe_dev *rxe = kunit_kzalloc(test, sizeof(*rxe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rxe);
	f->rxe = rxe;
	xa_init_flags(&rxe->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&rxe->keys, XA_FLAGS_ALLOC);
	xa_init_flags(&rxe->ahs, XA_FLAGS_ALLOC);
	rxe_mcast_init(&rxe->mcast);
	xa_init_flags(&rxe->counters, XA_FLAGS_ALLOC1);
	rxe->stats = alloc_percpu(struct rxe_stats);
	KUNIT_ASSERT_NOT_NULL(test, rxe->stats);
	rxe->active_mtu = 4096;
	rxe->ibdev.num_comp_vectors = 1;
	f->ndev = kunit_kzalloc(test, sizeof(*f->ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->ndev);
	rxe->ndev = f->ndev;
	rxe->txq = rxe_txq_find(f->ndev, 0);
	KUNIT_ASSERT_NOT_NULL(test, rxe->txq);
	rcu_assign_pointer(f->gid_attr.ndev, f->ndev);
	f->pd.device = &rxe->ibdev;
}

static void make_srq(struct kunit *test, struct fake *f)
{
	struct rxe_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = FAKE_WR - 1, .max_sge = 4 },
	};

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.device = &f->rxe->ibdev;
	srq->ibsrq.pd = &f->pd;
	srq->ibsrq.event_handler = on_event;
	srq->ibsrq.srq_context = f;
	KUNIT_ASSERT_EQ(test, rxe_create_srq(&srq->ibsrq, &init, NULL), 0);
	f->srq = srq;
}

int fake_create_qp(struct fake *f, struct rxe_qp *qp, struct ib_qp_init_attr *init)
{
	qp->ibqp.device = &f->rxe->ibdev;
	qp->ibqp.pd = &f->pd;
	qp->ibqp.srq = init->srq;
	qp->ibqp.qp_type = init->qp_type;
	qp->ibqp.send_cq = init->send_cq;
	qp->ibqp.recv_cq = init->recv_cq;
	return rxe_create_qp(&qp->ibqp, init, NULL);
}

static void make_qp(struct kunit *test, struct fake *f, enum ib_qp_type type)
{
	struct rxe_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct ib_qp_init_attr init = {
		.qp_type = type,
		.port_num = 1,
		.send_cq = &f->scq->ibcq,
		.recv_cq = &f->rcq->ibcq,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = FAKE_WR - 1, .max_recv_wr = FAKE_WR - 1,
			 .max_send_sge = 4, .max_recv_sge = 4,
			 .max_inline_data = 64 },
	};

	KUNIT_ASSERT_NOT_NULL(test, qp);
	init.srq = f->srq ? &f->srq->ibsrq : NULL;
	qp->ibqp.event_handler = on_event;
	qp->ibqp.qp_context = f;
	KUNIT_ASSERT_EQ(test, fake_create_qp(f, qp, &init), 0);
	f->qp = qp;
}

/* Set what modify_qp sets on the way to RTS */
static void to_rts(struct kunit *test, struct fake *f)
{
	struct rxe_qp *qp = f->qp;

	qp->attr = (struct rxe_qp_attr) {
		.dest_qp_num = FAKE_PEER,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 4,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.min_rnr_timer = 1,
	};
	qp->mtu = FAKE_MTU;
	rxe_sq_set_psn(&qp->sq, FAKE_SQ_PSN);
	rxe_rq_set_psn(&qp->rq, FAKE_RQ_PSN);
	qp->sq.gap.patience = 0;	/* tests needn't wait */
	qp->rq.gap.patience = 0;
	KUNIT_ASSERT_EQ(test, rxe_replay_init(&qp->rq.replay, 4), 0);
	init_path(f, &qp->path, 1, 2);
	init_path(f, &f->peer, 2, 1);
	WRITE_ONCE(qp->state, IB_QPS_RTS);
	rxe_task_resume(&qp->recv_task);
	rxe_task_resume(&qp->send_task);
}

static int init_fake(struct kunit *test, enum ib_qp_type type, bool srq)
{
	struct fake *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	knobs_save(test);
	skb_queue_head_init(&f->sent);
	make_dev(test, f);
	f->scq = make_cq(test, f);
	f->rcq = make_cq(test, f);
	f->mem = kunit_kzalloc(test, FAKE_MEM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->mem);
	f->mr = rxe_get_dma_mr(&f->pd, IB_ACCESS_LOCAL_WRITE |
			       IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			       IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->mr));
	active = f;
	rxe_rx_set_ops(&catch_ops);
	if (srq)
		make_srq(test, f);
	make_qp(test, f, type);
	to_rts(test, f);
	fake_settle(test);
	return 0;
}

int fake_init(struct kunit *test)
{
	return init_fake(test, IB_QPT_RC, false);
}

int fake_init_uc(struct kunit *test)
{
	return init_fake(test, IB_QPT_UC, false);
}

int fake_init_ud(struct kunit *test)
{
	return init_fake(test, IB_QPT_UD, false);
}

int fake_init_gsi(struct kunit *test)
{
	return init_fake(test, IB_QPT_GSI, false);
}

int fake_init_srq(struct kunit *test)
{
	return init_fake(test, IB_QPT_RC, true);
}

void fake_exit(struct kunit *test)
{
	struct fake *f = test->priv;

	if (!f)
		return;
	if (f->qp)
		rxe_destroy_qp(&f->qp->ibqp, NULL);
	if (f->srq)
		rxe_destroy_srq(&f->srq->ibsrq, NULL);
	rxe_rx_set_ops(&normal_ops);
	active = NULL;
	skb_queue_purge(&f->sent);
	if (!IS_ERR_OR_NULL(f->mr))
		rxe_dereg_mr(f->mr, NULL);
	if (f->scq)
		rxe_destroy_cq(&f->scq->ibcq, NULL);
	if (f->rcq)
		rxe_destroy_cq(&f->rcq->ibcq, NULL);
	if (f->rxe) {
		free_percpu(f->rxe->stats);
		rxe_txq_put(f->rxe->txq);
	}
	knobs_restore(test);
	rcu_barrier();
	KUNIT_EXPECT_FALSE(test, f->locked);
}

static bool task_idle(struct rxe_task *task)
{
	return !(atomic_read(&task->state) & (RXE_TASK_RUNNING | RXE_TASK_LISTED));
}

void fake_settle(struct kunit *test)
{
	unsigned long deadline = jiffies + 5 * HZ;
	struct fake *f = test->priv;

	while (!task_idle(&f->qp->send_task) || !task_idle(&f->qp->recv_task)) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, deadline));
		usleep_range(50, 100);
	}
	flush_work(&f->qp->slow->event_work);
	if (f->srq)
		flush_work(&f->srq->shared.low);
}

static void fill_in(struct fake *f, struct rxe_pkt *pkt)
{
	pkt->qpn = rxe_qp_num(f->qp);
	pkt->pkey = f->pkey ?: RXE_PKEY;
	pkt->pad = rxe_pad(pkt->payload_len);
}

/* Return: false if the packet doesn't fit into the train */
static bool add(struct fake *f, struct rxe_train *train, struct rxe_pkt *pkt,
		const void *payload, u32 left)
{
	u32 bytes = rxe_pkt_get_bytes(pkt->opcode, pkt->payload_len);
	u8 *p;

	if (train->npkts)
		p = rxe_train_push(train, bytes);
	else
		p = rxe_train_start(f->rxe, &f->peer, train, bytes, left);
	if (!p)
		return false;
	p = rxe_pkt_build(pkt, p);
	if (pkt->payload_len)
		memcpy(p, payload, pkt->payload_len);
	memset(p + pkt->payload_len, 0, pkt->pad);
	return true;
}

/* Remove bytes of the end, but not from skb->len, as a bug elsewhere might */
static void cut_off(struct sk_buff *skb, u32 bytes)
{
	u32 nr = skb_shinfo(skb)->nr_frags;

	if (nr) {
		skb_frag_size_sub(&skb_shinfo(skb)->frags[nr - 1], bytes);
		return;
	}
	skb->tail -= bytes;
	skb->data_len += bytes;
}

/* @missing: bytes of the end, payload and ICRC, that the skb lacks */
static void arrive_train(struct kunit *test, struct rxe_pkt *pkts, u32 num,
			 const void *payload, u32 missing)
{
	struct fake *f = test->priv;
	struct rxe_train train = {};
	u32 i;

	local_bh_disable();
	for (i = 0; i < num; i++) {
		fill_in(f, &pkts[i]);
		if (!add(f, &train, &pkts[i], payload, num - i))
			break;
		payload += pkts[i].payload_len;
	}
	train.sqpn = FAKE_PEER;
	if (missing) {
		rxe_train_close(&train);
		cut_off(train.skb, missing);
	}
	if (i)
		rxe_train_xmit(f->rxe, &f->peer, &train);
	local_bh_enable();
	KUNIT_ASSERT_EQ(test, i, num);
}

void fake_inject_train(struct kunit *test, struct rxe_pkt *pkts, u32 num,
		       const void *payload)
{
	arrive_train(test, pkts, num, payload, 0);
	fake_settle(test);
}

void fake_inject_short(struct kunit *test, struct rxe_pkt *pkt, const void *payload, u32 len,
		       u32 missing)
{
	pkt->payload_len = len;
	arrive_train(test, pkt, 1, payload, missing + pkt->pad + RXE_ICRC_BYTES);
	fake_settle(test);
}

void fake_arrive(struct kunit *test, struct rxe_pkt *pkt, const void *payload,
		 u32 len)
{
	pkt->payload_len = len;
	arrive_train(test, pkt, 1, payload, 0);
}

void fake_inject(struct kunit *test, struct rxe_pkt *pkt, const void *payload,
		 u32 len)
{
	pkt->payload_len = len;
	fake_inject_train(test, pkt, 1, payload);
}

u64 fake_counter(struct kunit *test, enum rxe_counter which)
{
	struct fake *f = test->priv;

	return rxe_count_sum(f->rxe, which);
}

static bool take(struct kunit *test, struct rxe_pkt *pkt, void *payload)
{
	struct fake *f = test->priv;
	struct sk_buff *skb = skb_peek(&f->sent);
	u8 hdr[RXE_MAX_HDR_BYTES];
	u32 off, len;

	if (!skb)
		return false;
	off = f->taken;
	len = min(rxe_rx(skb)->pkt, skb->len - off);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, off, hdr,
					    min_t(u32, len, sizeof(hdr))), 0);
	KUNIT_ASSERT_TRUE(test, rxe_pkt_parse(pkt, hdr,
					      min_t(u32, len, sizeof(hdr)),
					      len));
	KUNIT_ASSERT_LE(test, pkt->payload_len, FAKE_MTU);
	if (payload)
		KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, off + pkt->hdr_len,
						    payload, pkt->payload_len),
				0);
	f->taken += len;
	if (f->taken == skb->len) {
		skb_unlink(skb, &f->sent);
		kfree_skb(skb);
		f->taken = 0;
	}
	return true;
}

bool fake_take(struct kunit *test, struct rxe_pkt *pkt, void *payload)
{
	fake_settle(test);
	return take(test, pkt, payload);
}

bool fake_wait(struct kunit *test, struct rxe_pkt *pkt, void *payload)
{
	unsigned long deadline = jiffies + 5 * HZ;

	while (time_before(jiffies, deadline)) {
		if (fake_take(test, pkt, payload))
			return true;
		usleep_range(100, 200);
	}
	return false;
}

void fake_expect(struct kunit *test, u8 opcode, u32 psn, struct rxe_pkt *pkt)
{
	struct rxe_pkt own;

	if (!pkt)
		pkt = &own;
	KUNIT_ASSERT_TRUE(test, fake_take(test, pkt, NULL));
	KUNIT_ASSERT_STREQ(test, rxe_opcode[pkt->opcode].name,
			   rxe_opcode[opcode].name);
	KUNIT_ASSERT_EQ(test, pkt->psn, psn & RXE_PSN_MASK);
	KUNIT_ASSERT_EQ(test, pkt->qpn, FAKE_PEER);
}

void fake_expect_nothing(struct kunit *test)
{
	struct rxe_pkt pkt;
	bool any = fake_take(test, &pkt, NULL);

	KUNIT_ASSERT_FALSE_MSG(test, any, "%s PSN %#x syndrome %#x",
			       rxe_opcode[pkt.opcode].name, pkt.psn,
			       pkt.syndrome);
}

static struct ib_sge sge_of(struct fake *f, u32 off, u32 len)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)f->mem + off,
		.length = len,
		.lkey = f->mr->lkey,
	};
}

void fake_post_recv(struct kunit *test, u64 wr_id, u32 off, u32 len)
{
	struct fake *f = test->priv;
	struct ib_sge sge = sge_of(f, off, len);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	int err;

	if (f->srq)
		err = rxe_post_srq_recv(&f->srq->ibsrq, &wr, &bad);
	else
		err = rxe_post_recv(&f->qp->ibqp, &wr, &bad);
	KUNIT_ASSERT_EQ(test, err, 0);
}

void fake_post(struct kunit *test, struct ib_send_wr *wr, u32 off, u32 len)
{
	struct fake *f = test->priv;
	struct ib_sge sge = sge_of(f, off, len);
	const struct ib_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	KUNIT_ASSERT_EQ(test, rxe_post_send(&f->qp->ibqp, wr, &bad), 0);
	fake_settle(test);
}

void fake_send(struct kunit *test, u64 wr_id, u32 off, u32 len)
{
	struct ib_send_wr wr = {
		.wr_id = wr_id,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	fake_post(test, &wr, off, len);
}

void fake_read(struct kunit *test, u64 wr_id, u32 off, u32 len)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = wr_id,
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = 0x10000,
		.rkey = 0x1234,
	};

	fake_post(test, &wr.wr, off, len);
}

void fake_completion(struct kunit *test, struct rxe_cq *cq, u64 wr_id,
		     enum ib_wc_status status, struct ib_wc *wc)
{
	struct ib_wc own;

	if (!wc)
		wc = &own;
	fake_settle(test);
	KUNIT_ASSERT_EQ(test, rxe_poll_cq(&cq->ibcq, 1, wc), 1);
	KUNIT_ASSERT_EQ(test, wc->wr_id, wr_id);
	KUNIT_ASSERT_EQ(test, (u32)wc->status, (u32)status);
}

void fake_no_completion(struct kunit *test, struct rxe_cq *cq)
{
	struct ib_wc wc = {};

	fake_settle(test);
	KUNIT_ASSERT_EQ_MSG(test, rxe_poll_cq(&cq->ibcq, 1, &wc), 0,
			    "wr_id %llu status %u", wc.wr_id, wc.status);
}

/* Completions of another QP */
static const struct ib_wc other_wc = { .wr_id = 9, .status = IB_WC_SUCCESS };

u32 fake_fill_cq(struct rxe_cq *cq)
{
	u32 num;

	for (num = 0; rxe_cq_count_flushable(cq); num++) {
		local_bh_disable();
		rxe_cq_post(cq, &other_wc, false);
		local_bh_enable();
	}
	return num;
}

void fake_empty_cq(struct kunit *test, struct rxe_cq *cq, u32 num)
{
	while (num--)
		fake_completion(test, cq, other_wc.wr_id, other_wc.status, NULL);
}

bool fake_wait_completion(struct kunit *test, struct rxe_cq *cq,
			  struct ib_wc *wc)
{
	unsigned long deadline = jiffies + 5 * HZ;

	while (time_before(jiffies, deadline)) {
		if (rxe_poll_cq(&cq->ibcq, 1, wc) == 1)
			return true;
		usleep_range(100, 200);
	}
	return false;
}
