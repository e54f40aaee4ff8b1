// SPDX-License-Identifier: GPL-2.0
/*
 * Received trains that wait (queue/inq.c, early.c): early packets are held within limits, and
 * executed only when they are known to be the peer's.
 */
#include <linux/string.h>
#include <qp/qp.h>
#include "../peer.h"
#include "../util.h"

#define PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define FOREVER	(60ULL * NSEC_PER_SEC)

static struct rxe_inq *requests(struct kunit *test)
{
	return &fake(test)->qp->requests;
}

static u32 held(struct kunit *test)
{
	struct sk_buff *skb;
	u32 num = 0;

	for (skb = rxe_early_peek(&requests(test)->early); skb; skb = skb_rb_next(skb))
		num++;
	return num;
}

/*
 * Post receive work requests for messages of a byte. Nothing is requested again, and nothing
 * expires on a slow host.
 */
static int init(struct kunit *test)
{
	int err = fake_init(test);

	if (err)
		return err;
	knob_set(inq_age_ms, 10000);
	knob_set(queue_age_ms, 25000);
	fake(test)->qp->rq.gap.patience = FOREVER;
	peer_post_bytes(test);
	return 0;
}

static void genuine(struct kunit *test, u32 n)
{
	peer_byte(test, n);
}

static void forged(struct kunit *test, u32 n)
{
	u8 byte = 0xee;

	peer_request(test, IB_OPCODE_RC_SEND_ONLY, PSN(n), &byte, 1);
}

/* Send @num messages from @first on, in a train */
static void train(struct kunit *test, u32 first, u32 num)
{
	struct rxe_pkt pkts[8] = {};
	u8 bytes[8];
	u32 i;

	for (i = 0; i < num; i++) {
		pkts[i] = (struct rxe_pkt) {
			.opcode = IB_OPCODE_RC_SEND_ONLY,
			.psn = PSN(first + i),
			.payload_len = 1,
			.ack_req = true,
		};
		bytes[i] = PEER_BYTE(first + i);
	}
	fake_inject_train(test, pkts, num, bytes);
}

/* The last ACK covers @last, and exactly the messages @first to @last were received */
static void expect_received(struct kunit *test, u32 first, u32 last)
{
	struct rxe_pkt pkt = {};

	while (fake_take(test, &pkt, NULL))
		;
	KUNIT_EXPECT_EQ(test, pkt.psn, PSN(last));
	KUNIT_EXPECT_EQ(test, pkt.syndrome & RXE_AETH_TYPE_MASK, RXE_AETH_ACK);
	peer_expect_bytes(test, first, last);
}

/* If a held packet and the one in order differ, the latter is executed; this is counted */
static void forged_loses(struct kunit *test)
{
	u32 i;

	forged(test, 5);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	for (i = 0; i < 5; i++)
		genuine(test, i);
	expect_received(test, 0, 4);
	genuine(test, 5);
	expect_received(test, 5, 5);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 1ull);
}

/* The same within a train that goes past the held packet */
static void forged_in_train(struct kunit *test)
{
	forged(test, 3);
	train(test, 0, 7);
	expect_received(test, 0, 6);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 1ull);
}

/* Two early packets of one PSN differ: both are dropped, and the PSN is requested again */
static void two_differ(struct kunit *test)
{
	struct rxe_pkt pkt;

	forged(test, 2);
	train(test, 1, 3);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 1ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_EARLY), 4ull);
	fake(test)->qp->rq.gap.patience = 0;
	genuine(test, 0);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
	train(test, 1, 3);
	expect_received(test, 0, 3);
}

/* A later packet shows that the peer has sent the held one */
static void later_vouches(struct kunit *test)
{
	genuine(test, 1);
	genuine(test, 0);
	expect_received(test, 0, 0);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	genuine(test, 2);
	expect_received(test, 1, 2);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
}

/* A copy of the first held packet in order shows it, too. Then all held packets are executed */
static void same_vouches(struct kunit *test)
{
	train(test, 1, 4);
	train(test, 5, 4);
	train(test, 0, 2);
	expect_received(test, 0, 8);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 0ull);
}

/* A packet that is held already isn't held twice */
static void twice(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 20; i++)
		train(test, 1, 4);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_EARLY), 0ull);
	train(test, 3, 4);	/* the last two are new */
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_EARLY), 2ull);
	train(test, 0, 2);
	expect_received(test, 0, 4);
}

/* Early packets arrive in any order, and are executed in the order of their PSNs */
static void descending(struct kunit *test)
{
	u32 i;

	for (i = 11; i; i--)
		genuine(test, i);
	KUNIT_EXPECT_EQ(test, held(test), 11u);
	train(test, 0, 2);
	expect_received(test, 0, 11);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, requests(test)->early.bytes, 0u);
}

#define MANY	199u	/* a prime */

static void expect_sorted(struct kunit *test, u32 first)
{
	struct sk_buff *skb = rxe_early_peek(&requests(test)->early);

	for (; skb; skb = skb_rb_next(skb), first++)
		KUNIT_EXPECT_EQ(test, rxe_rx(skb)->psn, PSN(first));
}

/*
 * Many packets are held. Trains that repeat some of them are recognised as copies. After a packet
 * that differs from its held copy, no held packet is trusted.
 */
static void many(struct kunit *test)
{
	u32 i;

	for (i = 1; i < MANY; i++) {
		genuine(test, 2 + i * 71 % MANY);
		requests(test)->early.expires = jiffies + 60 * HZ;	/* a slow machine */
	}
	KUNIT_EXPECT_EQ(test, held(test), MANY - 1);
	expect_sorted(test, 3);
	for (i = 3; i < MANY; i += 17)
		train(test, i, 8);
	for (i = 3; i < MANY; i += 5)
		genuine(test, i);
	KUNIT_EXPECT_EQ(test, held(test), MANY - 1);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 0ull);
	train(test, 2, 1);	/* before and behind the held packets */
	train(test, MANY + 2, 8);
	KUNIT_EXPECT_EQ(test, held(test), MANY + 1);
	expect_sorted(test, 2);
	forged(test, 100);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 1ull);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake(test)->rxe->rx_held), 0);
	train(test, 0, 4);
	expect_received(test, 0, 3);
}

/* A train in order goes past several held ones: it is compared with each of them */
static void past_several(struct kunit *test)
{
	genuine(test, 6);
	genuine(test, 4);
	genuine(test, 2);
	train(test, 0, 5);
	expect_received(test, 0, 4);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	forged(test, 8);
	train(test, 5, 5);
	expect_received(test, 5, 9);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_HELD_DIFFERS), 1ull);
}

/* Not held: packets beyond the window, and requests that would be refused */
static void not_worth_it(struct kunit *test)
{
	struct rxe_pkt read = {
		.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
		.psn = PSN(1),
		.va = (uintptr_t)fake(test)->mem,
		.rkey = fake(test)->mr->rkey,
		.dma_len = 1,
	};
	struct rxe_pkt first = {
		.opcode = IB_OPCODE_RC_SEND_FIRST,
		.psn = PSN(1),
	};
	u8 byte = 1;

	forged(test, rxe_knob(window_max) + 1);
	forged(test, BIT(22));
	fake_inject(test, &first, &byte, 1);
	fake(test)->qp->attr.qp_access_flags = 0;
	fake_inject(test, &read, NULL, 0);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	/* the peer gets one NAK */
	fake(test)->qp->rq.gap.patience = 0;
	forged(test, BIT(22));
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, PSN(0), &read);
	KUNIT_EXPECT_EQ(test, read.syndrome, RXE_NAK_PSN_SEQ);
	fake_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_EARLY), 5ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_OUT_OF_SEQ_REQ), 5ull);
	forged(test, rxe_knob(window_max));
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	genuine(test, 0);
}

/* The device's limit: dropped packets are requested when their turn has come */
static void limit(struct kunit *test)
{
	atomic_t *total = &fake(test)->rxe->rx_held;
	struct rxe_pkt pkt;

	atomic_set(total, rxe_knob(held_dev_bytes));
	genuine(test, 1);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	atomic_set(total, 0);
	fake(test)->qp->rq.gap.patience = 0;
	genuine(test, 0);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, PSN(1), &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
	genuine(test, 1);
	expect_received(test, 0, 1);
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(total),
			(int)requests(test)->early.bytes);
	requests(test)->early.bytes += rxe_knob(held_qp_bytes);
	genuine(test, 5);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	requests(test)->early.bytes -= rxe_knob(held_qp_bytes);
	genuine(test, 2);
	genuine(test, 4);
	genuine(test, 5);
	KUNIT_EXPECT_EQ(test, atomic_read(total), 0);
	KUNIT_EXPECT_EQ(test, requests(test)->early.bytes, 0u);
	KUNIT_EXPECT_EQ(test, requests(test)->bytes, 0u);
}

static void age(struct kunit *test)
{
	genuine(test, 1);
	KUNIT_ASSERT_EQ(test, held(test), 1u);
	rxe_rx(rxe_early_peek(&requests(test)->early))->since -=
		msecs_to_jiffies(rxe_knob(inq_age_ms)) + 2;
	requests(test)->early.expires = jiffies - 1;
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_AGE), 1ull);
	train(test, 0, 4);
	expect_received(test, 0, 3);
}

/* Packets that came one after the other expire in bunches */
static void age_in_bunches(struct kunit *test)
{
	unsigned long most = msecs_to_jiffies(rxe_knob(inq_age_ms));

	genuine(test, 1);
	rxe_rx(rxe_early_peek(&requests(test)->early))->since -= most - 1;
	requests(test)->early.expires = jiffies - 1;
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, held(test), 2u);
	KUNIT_EXPECT_GE(test, (long)(requests(test)->early.expires - jiffies),
			(long)most / RXE_INQ_CHECKS - 1);
	train(test, 0, 4);
	expect_received(test, 0, 3);
}

/* An early packet is counted once, however often it is checked */
static void counted_once(struct kunit *test)
{
	u32 i;

	genuine(test, 0);
	train(test, 2, 4);
	for (i = 0; i < 5; i++)
		genuine(test, 0);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_OUT_OF_SEQ_REQ), 4ull);
	train(test, 1, 2);
	expect_received(test, 0, 5);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_OUT_OF_SEQ_REQ), 4ull);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DUP_REQ), 5ull);
}

/* The packets behind one with a wrong ICRC are held as a train of their own */
static void broken(struct kunit *test)
{
	struct fake *f = fake(test);

	f->sealed = true;
	f->broken = 3;
	train(test, 1, 5);
	KUNIT_EXPECT_EQ(test, held(test), 2u);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_ICRC), 1ull);
	f->broken = 0;
	train(test, 0, 2);
	expect_received(test, 0, 2);
	train(test, 3, 2);
	expect_received(test, 3, 5);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_ICRC), 1ull);
}

/* A reset drops all held packets */
static void reset(struct kunit *test)
{
	struct rxe_qp *qp = fake(test)->qp;

	genuine(test, 1);
	KUNIT_ASSERT_EQ(test, held(test), 1u);
	rxe_task_pause(&qp->send_task);
	rxe_task_pause(&qp->recv_task);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	rxe_qp_reset(qp);
	KUNIT_EXPECT_EQ(test, held(test), 0u);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake(test)->rxe->rx_held), 0);
}

/* Held packets are copied: the page or block of a small packet may have much other data */
static void own_memory(struct kunit *test)
{
	struct sk_buff *first;

	genuine(test, 2);
	fake(test)->gro = true;
	train(test, 3, 4);
	fake(test)->gro = false;
	KUNIT_ASSERT_EQ(test, held(test), 2u);
	for (first = rxe_early_peek(&requests(test)->early); first; first = skb_rb_next(first)) {
		KUNIT_EXPECT_FALSE(test, first->head_frag);
		KUNIT_EXPECT_EQ(test, skb_shinfo(first)->nr_frags, 0);
	}
	KUNIT_EXPECT_GE(test, atomic_read(&fake(test)->rxe->rx_held), 2 * 256);
	genuine(test, 0);
	genuine(test, 1);
	genuine(test, 2);
	expect_received(test, 0, 6);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake(test)->rxe->rx_held), 0);
}

static u32 queued_bytes(struct kunit *test)
{
	return READ_ONCE(requests(test)->bytes);
}

static void make_older(struct kunit *test, u32 ms)
{
	struct sk_buff *skb;

	skb_queue_walk(&requests(test)->queue, skb)
		rxe_rx(skb)->since -= msecs_to_jiffies(ms) + 2;
	rxe_task_kick(&fake(test)->qp->recv_task);
}

/* The response to this READ can't leave, since the rate is limited */
static void inject_read(struct kunit *test, u32 n)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
		.psn = PSN(n),
		.va = (unsigned long)fake(test)->mem,
		.rkey = fake(test)->mr->rkey,
		.dma_len = 1,
	};

	fake(test)->qp->sq.cc.ops = &rxe_cc_dcqcn;
	fake(test)->qp->sq.cc.next = KTIME_MAX;
	WRITE_ONCE(fake(test)->qp->sq.cc.rate, 1);
	fake_inject(test, &pkt, NULL, 0);
}

/* A READ of a byte whose response can't leave */
static void begin_read(struct kunit *test, u32 n)
{
	inject_read(test, n);
	fake_expect_nothing(test);
	KUNIT_ASSERT_TRUE(test, fake(test)->qp->rq.read.active);
}

static void end_read(struct kunit *test)
{
	WRITE_ONCE(fake(test)->qp->sq.cc.rate, 0);
	rxe_task_kick(&fake(test)->qp->recv_task);
}

/* Packets that wait for long behind a READ count in full, and small packets are copied */
static void behind_read(struct kunit *test)
{
	atomic_t *total = &fake(test)->rxe->rx_held;
	struct sk_buff *skb;
	u32 n;

	begin_read(test, 0);
	genuine(test, 1);
	rxe_task_kick(&fake(test)->qp->recv_task);
	KUNIT_EXPECT_EQ(test, atomic_read(total), 0);
	make_older(test, rxe_knob(inq_age_ms));
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(total), queued_bytes(test));
	genuine(test, 2);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(total), queued_bytes(test));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&requests(test)->queue), 2u);
	skb_queue_walk(&requests(test)->queue, skb) {
		KUNIT_EXPECT_FALSE(test, skb->head_frag);
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->nr_frags, 0);
	}
	atomic_add(rxe_knob(held_dev_bytes), total);
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	atomic_sub(rxe_knob(held_dev_bytes), total);
	genuine(test, 3);
	end_read(test);
	for (n = 0; n < 3; n++)
		fake_completion(test, fake(test)->rcq, n, IB_WC_SUCCESS, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(total), 0);
	KUNIT_EXPECT_EQ(test, queued_bytes(test), 0u);
	genuine(test, 4);
	KUNIT_EXPECT_FALSE(test, requests(test)->slow);
}

/* With many QPs, also the packets of a short queue count against the limit of the device */
static void behind_read_many(struct kunit *test)
{
	struct rxe_dev *rxe = fake(test)->rxe;
	const int others = rxe_knob(queue_free_dev_bytes) / SKB_TRUESIZE(1);

	begin_read(test, 0);
	genuine(test, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&rxe->rx_queued), 0);
	atomic_add(others, &rxe->num_qp);
	genuine(test, 2);
	KUNIT_EXPECT_GT(test, atomic_read(&rxe->rx_queued), 0);
	atomic_add(rxe_knob(queue_dev_bytes), &rxe->rx_queued);
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	atomic_sub(rxe_knob(queue_dev_bytes), &rxe->rx_queued);
	atomic_sub(others, &rxe->num_qp);
	end_read(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&rxe->rx_queued), 0);
}

/*
 * With many QPs, a queue that waits for nothing takes a packet though the limit of the device is
 * reached. Behind its first train, a queue that waits gets only half of the limit
 */
static void behind_read_others(struct kunit *test)
{
	struct rxe_dev *rxe = fake(test)->rxe;
	const int others = rxe_knob(queue_free_dev_bytes) / SKB_TRUESIZE(1);
	const int half = rxe_knob(queue_dev_bytes) / 2;

	atomic_add(others, &rxe->num_qp);
	atomic_add(2 * half, &rxe->rx_queued);
	genuine(test, 0);
	fake_completion(test, fake(test)->rcq, 0, IB_WC_SUCCESS, NULL);
	peer_expect_ack(test, PSN(0), 1);
	atomic_sub(half, &rxe->rx_queued);
	begin_read(test, 1);
	KUNIT_EXPECT_TRUE(test, requests(test)->waiting);
	atomic_add(half / 2, &rxe->rx_queued);
	genuine(test, 2);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	atomic_sub(half / 2, &rxe->rx_queued);
	genuine(test, 2);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 2ull);
	atomic_sub(half, &rxe->rx_queued);
	genuine(test, 3);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 2ull);
	atomic_sub(others, &rxe->num_qp);
	end_read(test);
	KUNIT_EXPECT_FALSE(test, requests(test)->waiting);
	KUNIT_EXPECT_EQ(test, atomic_read(&rxe->rx_queued), 0);
}

/* Trains that were queued before the queue waits count anew when it does */
static void behind_read_recounted(struct kunit *test)
{
	struct rxe_dev *rxe = fake(test)->rxe;
	const int others = rxe_knob(queue_free_dev_bytes) / SKB_TRUESIZE(1);

	atomic_add(others, &rxe->num_qp);
	rxe_task_pause(&fake(test)->qp->recv_task);
	inject_read(test, 0);
	genuine(test, 1);
	genuine(test, 2);
	KUNIT_EXPECT_LT(test, (u32)atomic_read(&rxe->rx_queued), queued_bytes(test));
	atomic_add(rxe_knob(queue_dev_bytes) / 2, &rxe->rx_queued);
	rxe_task_resume(&fake(test)->qp->recv_task);
	fake_settle(test);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	atomic_sub(rxe_knob(queue_dev_bytes) / 2, &rxe->rx_queued);
	atomic_sub(others, &rxe->num_qp);
	end_read(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&rxe->rx_queued), 0);
}

/* When the queue becomes slow, packets that don't fit any more and old packets are dropped */
static void behind_read_dropped(struct kunit *test)
{
	atomic_t *total = &fake(test)->rxe->rx_held;

	begin_read(test, 0);
	genuine(test, 1);
	atomic_set(total, rxe_knob(held_dev_bytes));
	make_older(test, rxe_knob(inq_age_ms));
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_QUEUE), 1ull);
	KUNIT_EXPECT_EQ(test, queued_bytes(test), 0u);
	atomic_set(total, 0);
	genuine(test, 1);
	make_older(test, rxe_knob(queue_age_ms));
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_DROP_AGE), 1ull);
	KUNIT_EXPECT_EQ(test, queued_bytes(test), 0u);
	KUNIT_EXPECT_EQ(test, atomic_read(total), 0);
	end_read(test);
	genuine(test, 1);
	fake_completion(test, fake(test)->rcq, 0, IB_WC_SUCCESS, NULL);
}

/* A packet that is held and executed later reports congestion once */
static void becn_once(struct kunit *test)
{
	struct rxe_pkt pkt = { .opcode = IB_OPCODE_RC_SEND_ONLY, .psn = PSN(1), .becn = true };
	u8 byte = 0x41;

	fake_inject(test, &pkt, &byte, 1);
	KUNIT_EXPECT_EQ(test, held(test), 1u);
	genuine(test, 0);
	genuine(test, 2);
	expect_received(test, 0, 2);
	KUNIT_EXPECT_EQ(test, fake_counter(test, RXE_CNT_RP_CNP_HANDLED) +
			fake_counter(test, RXE_CNT_RP_CNP_IGNORED), 1ull);
}

/* Packets that come in another order than they left are no reason for another NAK [C9-112] */
static void one_nak(struct kunit *test)
{
	struct rxe_gap *gap = &fake(test)->qp->rq.gap;
	struct rxe_pkt pkt;

	gap->patience = 0;
	genuine(test, 3);
	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, FAKE_RQ_PSN, &pkt);
	KUNIT_EXPECT_EQ(test, pkt.syndrome, RXE_NAK_PSN_SEQ);
	gap->patience = FOREVER;
	gap->since = ktime_sub_ns(gap->since, 2 * FOREVER);
	genuine(test, 6);
	genuine(test, 5);
	genuine(test, 7);
	genuine(test, 4);
	fake_expect_nothing(test);
}

/* A QP in ERR requests nothing [10.3.1] */
static void silent_in_err(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	genuine(test, 3);
	fake(test)->qp->rq.gap.patience = 0;
	KUNIT_ASSERT_EQ(test, rxe_modify_qp(&fake(test)->qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	fake_settle(test);
	fake_expect_nothing(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(forged_loses),
	KUNIT_CASE(forged_in_train),
	KUNIT_CASE(two_differ),
	KUNIT_CASE(later_vouches),
	KUNIT_CASE(same_vouches),
	KUNIT_CASE(twice),
	KUNIT_CASE(descending),
	KUNIT_CASE(many),
	KUNIT_CASE(past_several),
	KUNIT_CASE(not_worth_it),
	KUNIT_CASE(limit),
	KUNIT_CASE(age),
	KUNIT_CASE(age_in_bunches),
	KUNIT_CASE(counted_once),
	KUNIT_CASE(broken),
	KUNIT_CASE(reset),
	KUNIT_CASE(own_memory),
	KUNIT_CASE(behind_read),
	KUNIT_CASE(behind_read_many),
	KUNIT_CASE(behind_read_others),
	KUNIT_CASE(behind_read_recounted),
	KUNIT_CASE(behind_read_dropped),
	KUNIT_CASE(becn_once),
	KUNIT_CASE(one_nak),
	KUNIT_CASE(silent_in_err),
	{}
};

static struct kunit_suite suite = {
	.name = "queue-inq",
	.init = init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
