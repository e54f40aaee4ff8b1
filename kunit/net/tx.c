// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of a device and of each sender in the lower queues (net/txq.c, net/tx.c), and which
 * sender gets its turn when an skb leaves.
 */
#include <rxe/knobs.h>
#include "../../drivers/rxe/net/internal.h"
#include "../util.h"

#define SENDERS	3
#define SKBS	16u	/* limit of a sender */
#define BYTES	100u	/* bytes of an skb */

static struct {
	struct rxe_txq *q;
	struct rxe_tx *tx[SENDERS];
	struct sk_buff_head queue[SENDERS];
	u32 called[SENDERS];
	ktime_t called_at[SENDERS];
} fix;

static const struct net_device ndevs[SENDERS];	/* only to compare */

static void sent(void *owner)
{
	int i = (u32 *)owner - fix.called;

	fix.called_at[i] = ktime_get();
	WRITE_ONCE(fix.called[i], fix.called[i] + 1);
}

static const struct rxe_net_ops ops = { .sent = sent };

static int tx_init(struct kunit *test)
{
	int i;

	memset(&fix, 0, sizeof(fix));
	knobs_save(test);
	knob_set(txq_sender_skbs, SKBS);
	rxe_tx_set_ops(&ops);
	fix.q = rxe_txq_find(&ndevs[0], 0);
	KUNIT_ASSERT_NOT_NULL(test, fix.q);
	for (i = 0; i < SENDERS; i++) {
		skb_queue_head_init(&fix.queue[i]);
		fix.tx[i] = rxe_tx_create(fix.q, &fix.called[i]);
		KUNIT_ASSERT_NOT_NULL(test, fix.tx[i]);
	}
	return 0;
}

static void tx_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < SENDERS; i++) {
		skb_queue_purge(&fix.queue[i]);
		rxe_tx_destroy(fix.tx[i]);
	}
	rxe_txq_put(fix.q);
	knobs_restore(test);
}

/* The sender puts skbs into the queues until it must wait. Return: how many */
static u32 fill(struct kunit *test, int i, u32 bytes)
{
	struct sk_buff *skb;
	u32 n;

	for (n = 0; n < 10000 && !rxe_tx_full(fix.tx[i]); n++) {
		skb = alloc_skb(bytes, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_put(skb, bytes);
		rxe_tx_own(fix.tx[i], NULL, skb);
		skb_queue_tail(&fix.queue[i], skb);
	}
	return n;
}

static void leave(int i, u32 num)
{
	while (num--)
		kfree_skb(skb_dequeue(&fix.queue[i]));
}

/* A sender at its own limit doesn't make others wait */
static void own_limit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS);
	KUNIT_EXPECT_EQ(test, fill(test, 1, BYTES), SKBS);
	KUNIT_EXPECT_EQ(test, fix.called[0] + fix.called[1], 0u);
}

/* The sender is woken once, when half of its skbs have left */
static void own_half(struct kunit *test)
{
	fill(test, 0, BYTES);
	leave(0, SKBS / 2);
	KUNIT_EXPECT_EQ(test, fix.called[0], 0u);
	leave(0, 1);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
	leave(0, 1);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
	KUNIT_EXPECT_EQ(test, rxe_tx_share(fix.tx[0]), SKBS / 2 + 2);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS / 2 + 2);
	KUNIT_EXPECT_EQ(test, rxe_tx_share(fix.tx[0]), 0u);
}

/* A sender that waits for half of its skbs and asks again must still wait */
static void own_asks_again(struct kunit *test)
{
	fill(test, 0, BYTES);
	leave(0, SKBS / 2 - 1);
	KUNIT_EXPECT_TRUE(test, rxe_tx_full(fix.tx[0]));
	KUNIT_EXPECT_EQ(test, fix.called[0], 0u);
	leave(0, 2);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
}

/* A sender with too many skbs is passed over, and gets its turn later */
static void passed_over(struct kunit *test)
{
	u32 limit = rxe_knob(txq_first_bytes), bytes = limit / (SKBS + 4), i;

	KUNIT_EXPECT_EQ(test, fill(test, 0, bytes), SKBS);
	KUNIT_EXPECT_EQ(test, fill(test, 1, bytes), 5u);
	KUNIT_EXPECT_EQ(test, fill(test, 2, bytes), 0u);
	KUNIT_EXPECT_EQ(test, fix.called[1] + fix.called[2], 0u);
	leave(0, SKBS - 2);
	for (i = 1; i <= SENDERS; i++) {
		KUNIT_EXPECT_EQ(test, fix.called[i % SENDERS], 1u);
		KUNIT_EXPECT_TRUE(test, fix.tx[i % SENDERS]->turn);
		KUNIT_EXPECT_EQ(test, fix.called[0] + fix.called[1] + fix.called[2], i);
		rxe_tx_leave(fix.tx[i % SENDERS]);
	}
}

/* Waiting senders that ask again get no turn before the queues have drained */
static void asks_again(struct kunit *test)
{
	u32 bytes = rxe_knob(txq_first_bytes) / 8, left = 8;
	int i;

	KUNIT_EXPECT_EQ(test, fill(test, 0, bytes), left);
	KUNIT_EXPECT_EQ(test, fill(test, 1, bytes), 0u);
	while (--left > 4) {
		leave(0, 1);
		for (i = 0; i < 2; i++)
			KUNIT_EXPECT_TRUE(test, rxe_tx_full(fix.tx[i]));
	}
	KUNIT_EXPECT_EQ(test, fix.called[0] + fix.called[1], 0u);
	leave(0, 1);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
	KUNIT_EXPECT_EQ(test, fill(test, 0, bytes), 4u);
	KUNIT_EXPECT_EQ(test, fix.called[1], 0u);
}

/* A waiting sender is always woken when its last skb has left */
static void last(struct kunit *test)
{
	knob_set(txq_sender_skbs, 2);
	fill(test, 0, BYTES);
	leave(0, 2);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
}

/* A train that is segmented counts as queued until its last packet has left */
static void cut(struct kunit *test)
{
	u32 room = rxe_tx_room(fix.tx[0]);
	struct sk_buff *train, *last = alloc_skb(BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, last);
	fill(test, 0, room);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[0]), 0u);
	train = skb_dequeue(&fix.queue[0]);
	rxe_tx_cut(train, last);
	kfree_skb(train);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[0]), 0u);
	KUNIT_EXPECT_EQ(test, fix.called[0], 0u);
	kfree_skb(last);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[0]), room);
	KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
}

/* Nothing leaves and all senders wait, until the last sender was called @times times */
static void wait_stuck(struct kunit *test, u64 force, u32 times)
{
	int i, tries = 5000;

	knob_set(txq_stuck_ns, 10 * NSEC_PER_MSEC);
	knob_set(txq_force, force);
	KUNIT_EXPECT_EQ(test, fill(test, 0, rxe_knob(txq_first_bytes)), 1u);
	for (i = 1; i < SENDERS; i++)
		KUNIT_EXPECT_EQ(test, fill(test, i, BYTES), 0u);
	while (READ_ONCE(fix.called[SENDERS - 1]) < times && tries--)
		usleep_range(1000, 2000);
}

/* While nothing leaves, all waiting senders may send, but few at once and each only once */
static void stuck(struct kunit *test)
{
	int i;

	wait_stuck(test, 2, 1);
	/* The timer fires once a millisecond, but the first call may be late */
	KUNIT_EXPECT_GE(test, fix.called_at[2] - fix.called_at[1], (ktime_t)NSEC_PER_MSEC / 2);
	for (i = 0; i < SENDERS; i++) {
		KUNIT_EXPECT_EQ(test, fix.called[i], 1u);
		KUNIT_EXPECT_EQ(test, fill(test, i, 1), 1u);
	}
}

/* A sender that has nothing more to send doesn't keep the others from their turns */
static void stuck_idle(struct kunit *test)
{
	int i;

	wait_stuck(test, 1, 3);
	for (i = 0; i < SENDERS; i++)
		KUNIT_EXPECT_GE(test, READ_ONCE(fix.called[i]), 3u);
}

/* The same for a sender that is at its own limit, none of whose skbs leaves */
static void stuck_own(struct kunit *test)
{
	int tries = 5000;

	knob_set(txq_stuck_ns, 10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS);
	while (READ_ONCE(fix.called[0]) < 2 && tries--)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_GE(test, READ_ONCE(fix.called[0]), 2u);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), 1u);
}

/* While senders wait only for skbs of their own, the little that others send says nothing */
static void own_keeps_limit(struct kunit *test)
{
	u32 room;
	int times = 3;

	knob_set(txq_period_ns, NSEC_PER_MSEC);
	knob_set(txq_stuck_ns, NSEC_PER_SEC);
	fill(test, 0, BYTES);
	room = rxe_tx_room(fix.tx[1]);
	while (times--) {
		struct sk_buff *skb = alloc_skb(1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, skb);
		rxe_tx_own(fix.tx[1], NULL, skb);
		usleep_range(10000, 20000);
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), room);
}

/* Packets that wait for a neighbour's address hold up only their sender */
static void park(struct kunit *test)
{
	u32 limit = rxe_knob(txq_first_bytes), bytes = limit / (SKBS / 2);
	struct sk_buff *skb;

	KUNIT_EXPECT_EQ(test, fill(test, 0, bytes), SKBS / 2);
	KUNIT_EXPECT_EQ(test, fill(test, 1, bytes), 0u);
	KUNIT_EXPECT_TRUE(test, rxe_tx_is_loaded(fix.tx[1], false));
	skb_queue_walk(&fix.queue[0], skb)
		KUNIT_EXPECT_TRUE(test, rxe_tx_park(skb, false));
	KUNIT_EXPECT_FALSE(test, rxe_tx_is_loaded(fix.tx[1], false));
	KUNIT_EXPECT_EQ(test, fix.called[0] + fix.called[1], 1u);
	rxe_tx_leave(fix.tx[0]);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), limit);
	KUNIT_EXPECT_EQ(test, fill(test, 1, bytes), SKBS / 2);
	KUNIT_EXPECT_EQ(test, rxe_tx_share(fix.tx[0]), SKBS / 2);
	leave(0, SKBS / 2);
	KUNIT_EXPECT_EQ(test, rxe_tx_share(fix.tx[0]), SKBS);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), 0u);
	leave(1, SKBS / 2);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), limit);
}

/* The sender puts @num datagrams that wait for addresses into the queues. Return: those dropped */
static u32 send_to_dead(struct kunit *test, u32 num)
{
	struct sk_buff *skb;
	u32 dropped = 0;

	while (num-- && !rxe_tx_full(fix.tx[0])) {
		skb = alloc_skb(1, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_put(skb, 1);
		rxe_tx_own(fix.tx[0], NULL, skb);
		if (rxe_tx_is_loaded(fix.tx[0], true) && !rxe_tx_park(skb, true)) {
			kfree_skb(skb);
			dropped++;
		} else {
			skb_queue_tail(&fix.queue[0], skb);
		}
	}
	return dropped;
}

/*
 * Datagrams that wait for a neighbour's address leave the sender half of its limit for other
 * neighbours, even if they are small.
 */
static void park_datagrams(struct kunit *test)
{
	u32 waiting = SKBS / 2 - 1, i;
	int times = 2;

	while (times--) {
		KUNIT_EXPECT_EQ(test, send_to_dead(test, 4 * SKBS), 4 * SKBS - waiting);
		KUNIT_EXPECT_EQ(test, fix.called[0], 0u);
		KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS - waiting);
		for (i = 0; i < SKBS - waiting; i++)
			kfree_skb(skb_dequeue_tail(&fix.queue[0]));
		KUNIT_EXPECT_EQ(test, fix.called[0], 1u);
		rxe_tx_leave(fix.tx[0]);
		leave(0, waiting);
		KUNIT_EXPECT_EQ(test, rxe_tx_share(fix.tx[0]), SKBS);
		fix.called[0] = 0;
	}
}

/* The sender goes to other queues, where it can't send */
static void go_in_vain(struct kunit *test, int i, struct rxe_txq *q)
{
	rxe_tx_follow(&fix.tx[i], q);
	KUNIT_EXPECT_EQ(test, fill(test, i, BYTES), 0u);
}

/*
 * A sender goes to the queues of another netdev, which aren't full, and back. Its own limit holds
 * for both.
 */
static void other_netdev(struct kunit *test)
{
	struct rxe_txq *other = rxe_txq_find(&ndevs[1], 0);
	int times = 3;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_EQ(test, fill(test, 0, rxe_knob(txq_first_bytes)), 1u);
	KUNIT_EXPECT_EQ(test, fill(test, 1, BYTES), 0u);
	rxe_tx_follow(&fix.tx[1], other);
	KUNIT_EXPECT_EQ(test, fill(test, 1, BYTES), SKBS);
	while (times--) {
		go_in_vain(test, 1, fix.q);
		go_in_vain(test, 1, other);
	}
	KUNIT_EXPECT_EQ(test, fix.called[1], 0u);
	leave(1, SKBS);
	KUNIT_EXPECT_EQ(test, fix.called[1], 1u);
	leave(0, 1);
	KUNIT_EXPECT_EQ(test, fix.called[1], 1u);
	rxe_txq_put(other);
}

/* Packets that leave after their sender has moved count in the queues where they were */
static void moved(struct kunit *test)
{
	u32 limit = rxe_knob(txq_first_bytes);
	struct rxe_txq *other = rxe_txq_find(&ndevs[1], 0);
	struct rxe_txq *third = rxe_txq_find(&ndevs[2], 0);

	KUNIT_ASSERT_TRUE(test, other && third);
	KUNIT_EXPECT_EQ(test, fill(test, 0, limit / 2), 2u);
	rxe_tx_follow(&fix.tx[0], other);
	rxe_tx_follow(&fix.tx[0], third);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[0]), limit);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), 0u);
	leave(0, 1);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[0]), limit);
	KUNIT_EXPECT_EQ(test, rxe_tx_room(fix.tx[1]), limit / 2);
	rxe_txq_put(other);
	rxe_txq_put(third);
}

/* All devices and paths by a netdev share its queues for a priority */
static void one_each(struct kunit *test)
{
	struct rxe_txq *same = rxe_txq_find(&ndevs[0], 0), *other = rxe_txq_find(&ndevs[1], 0);
	struct rxe_txq *urgent = rxe_txq_find(&ndevs[0], 5);

	KUNIT_EXPECT_PTR_EQ(test, same, fix.q);
	KUNIT_EXPECT_PTR_NE(test, other, fix.q);
	KUNIT_EXPECT_PTR_NE(test, urgent, fix.q);
	rxe_txq_put(same);
	rxe_txq_put(other);
	rxe_txq_put(urgent);
}

/* All former senders that still have skbs are found again, each with its own limit */
static void former(struct kunit *test)
{
	struct rxe_txq *other = rxe_txq_find(&ndevs[1], 0), *third = rxe_txq_find(&ndevs[2], 0);
	struct rxe_tx **tx = &fix.tx[0];
	int times = 3;

	KUNIT_ASSERT_TRUE(test, other && third);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS);
	rxe_tx_follow(tx, other);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS);
	rxe_tx_follow(tx, third);
	KUNIT_EXPECT_EQ(test, fill(test, 0, BYTES), SKBS);
	while (times--) {
		go_in_vain(test, 0, fix.q);
		go_in_vain(test, 0, other);
		go_in_vain(test, 0, third);
	}
	/* without skbs, only the latest one is kept */
	leave(0, 3 * SKBS);
	rxe_tx_follow(tx, fix.q);
	rxe_tx_follow(tx, other);
	KUNIT_EXPECT_PTR_EQ(test, (*tx)->last->q, fix.q);
	KUNIT_EXPECT_PTR_EQ(test, (*tx)->last->last->q, third);
	KUNIT_EXPECT_PTR_EQ(test, (*tx)->last->last->last, NULL);
	rxe_txq_put(other);
	rxe_txq_put(third);
}

/* Full queues of one priority, which may be paused, don't hold up a sender of another one */
static void other_priority(struct kunit *test)
{
	struct rxe_txq *urgent = rxe_txq_find(&ndevs[0], 5);

	KUNIT_ASSERT_NOT_NULL(test, urgent);
	rxe_tx_follow(&fix.tx[2], urgent);
	KUNIT_EXPECT_EQ(test, fill(test, 0, rxe_knob(txq_first_bytes)), 1u);
	KUNIT_EXPECT_EQ(test, fill(test, 1, BYTES), 0u);
	KUNIT_EXPECT_EQ(test, fill(test, 2, BYTES), SKBS);
	rxe_txq_put(urgent);
}

/* The time through an empty queue is the shortest recent one. Two longer ones replace it */
static void empty_queue(struct kunit *test)
{
	u64 memory = rxe_knob(txq_memory_ns);
	struct rxe_tx_time t = {};

	rxe_tx_time_add(&t, 50, 1);
	KUNIT_EXPECT_EQ(test, t.ns, 0ULL);
	rxe_tx_time_add(&t, 60, 1);
	KUNIT_EXPECT_EQ(test, t.ns, 50ULL);
	rxe_tx_time_add(&t, 20, 2);
	rxe_tx_time_add(&t, 30, 3);
	KUNIT_EXPECT_EQ(test, t.ns, 20ULL);
	rxe_tx_time_add(&t, NSEC_PER_SEC, 3 + memory);
	KUNIT_EXPECT_EQ(test, t.ns, 30ULL);
	rxe_tx_time_add(&t, 4 * NSEC_PER_SEC, 4 + 2 * memory);
	KUNIT_EXPECT_EQ(test, t.ns, 1ULL * NSEC_PER_SEC);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(own_limit),
	KUNIT_CASE(own_half),
	KUNIT_CASE(own_asks_again),
	KUNIT_CASE(passed_over),
	KUNIT_CASE(asks_again),
	KUNIT_CASE(last),
	KUNIT_CASE(cut),
	KUNIT_CASE(stuck),
	KUNIT_CASE(stuck_idle),
	KUNIT_CASE(stuck_own),
	KUNIT_CASE(own_keeps_limit),
	KUNIT_CASE(park),
	KUNIT_CASE(park_datagrams),
	KUNIT_CASE(other_netdev),
	KUNIT_CASE(moved),
	KUNIT_CASE(one_each),
	KUNIT_CASE(other_priority),
	KUNIT_CASE(former),
	KUNIT_CASE(empty_queue),
	{}
};

static struct kunit_suite suite = {
	.name = "net-tx",
	.init = tx_init,
	.exit = tx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
