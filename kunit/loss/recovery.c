// SPDX-License-Identifier: GPL-2.0
/*
 * loss/recovery.c: the timeout within its bounds, and the verdict on each hint in each
 * state. Time is a number here.
 */
#include <loss/recovery.h>
#include <rxe/knobs.h>
#include <rxe/psn.h>
#include "../util.h"

#define MS	((u64)NSEC_PER_MSEC)
#define T	(100 * MS)		/* the QP's timeout, in most cases */
#define NOW	((u64)(100 * NSEC_PER_SEC))
#define PSN	0xfffffeu		/* close to the wrap-around */
#define BURST	16u

/* The state of a case */
struct game {
	struct rxe_recovery	rec;
	struct rxe_rtt		rtt;
	struct rxe_retry_limit	limit;
	struct rxe_loss_facts	facts;
};

/* Round trips of 1 ms were measured, something is in flight since NOW */
static void begin(struct game *g)
{
	*g = (struct game) {
		.rtt	= { .smooth = MS, .var = MS / 4, .min = MS,
			    .min_at = NOW, .max = MS, .max_at = NOW },
		.limit	= { .timeout = T, .retry_cnt = 2 },
		.facts	= { .una = PSN, .rest = 100, .burst = BURST,
			    .missing = 3 },
	};
	rxe_recovery_reset(&g->rec, PSN);
	g->rec.since = NOW;
}

static struct rxe_loss_verdict hint(struct game *g, enum rxe_loss_hint hint,
				    u64 after)
{
	return rxe_recovery_event(&g->rec, &g->rtt, &g->limit, &g->facts, hint,
				  NOW + after);
}

/* The packets up to @end are sent again */
static void resend(struct game *g, u32 end, u64 left_at, u64 now)
{
	rxe_recovery_resent(&g->rec, g->facts.una, end, left_at, now);
	rxe_recovery_leaves(&g->rec, now);
}

static void make_lossy(struct game *g)
{
	g->rec.lossy_until = NOW + rxe_knob(loss_memory_ns);
}

static u64 rto(const struct game *g)
{
	return rxe_rto_ns(&g->rec, &g->rtt, &g->limit, NOW);
}

static void rto_never(struct kunit *test)
{
	struct game g;

	begin(&g);
	g.limit.timeout = 0;
	KUNIT_EXPECT_EQ(test, rto(&g), 0ull);
	make_lossy(&g);
	KUNIT_EXPECT_EQ(test, rto(&g), 0ull);
}

/* At least the timeout, at most four times as long [9.7.6.1.3] */
static void rto_bounds(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(9);
	struct game g;
	u32 i;

	begin(&g);
	make_lossy(&g);
	for (i = 0; i < 31 * 1000; i++) {
		g.limit.timeout = 4096ull << (1 + i % 31);
		g.rtt.smooth = 1 + (rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 40)));
		g.rtt.var = rnd_u64(&rnd) >> (24 + rnd_below(&rnd, 40));
		g.rtt.max = 0;
		KUNIT_ASSERT_GE(test, rto(&g), g.limit.timeout);
		KUNIT_ASSERT_LE(test, rto(&g), 4 * g.limit.timeout);
	}
}

/* No round trip was measured: patience_ns, or the timeout if that is longer */
static void rto_without_sample(struct kunit *test)
{
	struct game g;
	u32 i;

	begin(&g);
	g.rtt = (struct rxe_rtt){};
	for (i = 1; i < 32; i++) {
		g.limit.timeout = 4096ull << i;
		KUNIT_EXPECT_EQ(test, rto(&g),
				max(1000 * MS, g.limit.timeout));
	}
}

/* No recent loss: patience_ns. After a retry: four times the timeout, at most patience_ns */
static void rto_patient(struct kunit *test)
{
	struct game g;

	begin(&g);
	KUNIT_EXPECT_EQ(test, rto(&g), 1000 * MS);
	make_lossy(&g);
	KUNIT_EXPECT_EQ(test, rto(&g), T);
	g.rec.retries = 1;
	KUNIT_EXPECT_EQ(test, rto(&g), 4 * T);
	g.limit.timeout = 500 * MS;
	KUNIT_EXPECT_EQ(test, rto(&g), 1000 * MS);
	g.limit.timeout = 2000 * MS;
	KUNIT_EXPECT_EQ(test, rto(&g), 2000 * MS);
}

/* A recent stall makes the timeout longer, up to rto_max_ns */
static void rto_follows_stalls(struct kunit *test)
{
	struct game g;

	begin(&g);
	g.rtt.max = 700 * MS;
	KUNIT_EXPECT_EQ(test, rto(&g), 1400 * MS);
	g.rtt.max = 60000 * MS;
	KUNIT_EXPECT_EQ(test, rto(&g), 4000 * MS);
	g.rtt.max_at = NOW - (rxe_knob(loss_memory_ns) + 1);
	KUNIT_EXPECT_EQ(test, rto(&g), 1000 * MS);
}

/*
 * The table: the verdict on a hint in a state. @after: ms since the last progress. @resent: ms
 * since the oldest packet was sent again; 0: it wasn't sent again.
 */
static const struct row {
	const char		*name;
	enum rxe_loss_hint	hint;
	u32			after;
	bool			lossy;
	u8			retries;
	u8			go_back;
	u32			resent;
	u32			rest;
	bool			rd_atomic;
	u32			queued;
	enum rxe_loss_act	act;
	u32			npkts;
	bool			timeout;
} table[] = {
	/* a NAK: a train, or all if that is less, once a round trip */
	{ "nak", RXE_LOSS_NAK, 1, false, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_RESEND, BURST, false },
	{ "nak, little in flight", RXE_LOSS_NAK, 1, false, 0, 0, 0, 3, false, 0,
	  RXE_LOSS_REWIND, 0, false },
	{ "nak, just resent", RXE_LOSS_NAK, 5, true, 0, 0, 1, 100, false, 0,
	  RXE_LOSS_WAIT, 0, false },
	{ "nak, resent long ago", RXE_LOSS_NAK, 50, true, 0, 0, 40, 100, false, 0,
	  RXE_LOSS_RESEND, BURST, false },
	{ "nak, peer drops", RXE_LOSS_NAK, 1, true, 0, 4, 0, 100, false, 0,
	  RXE_LOSS_REWIND, 0, false },
	{ "nak, no progress", RXE_LOSS_NAK, 500, true, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_RESEND, BURST, false },
	{ "nak, no progress for the last time", RXE_LOSS_NAK, 500, true, 2, 0, 0, 100,
	  false, 0, RXE_LOSS_FAIL, 0, false },
	{ "nak for a long read", RXE_LOSS_NAK, 1, false, 0, 0, 0, 100, true, 0,
	  RXE_LOSS_RESEND, 100, false },
	{ "nak for an atomic, which shared a train", RXE_LOSS_NAK, 1, false, 0, 0, 0, 1,
	  true, 0, RXE_LOSS_REWIND, 0, false },
	/* a gap: what is missing */
	{ "gap", RXE_LOSS_GAP, 1, false, 0, 0, 0, 100, true, 0,
	  RXE_LOSS_RESEND, 3, false },
	{ "gap, just asked again", RXE_LOSS_GAP, 5, true, 0, 0, 1, 100, true, 0,
	  RXE_LOSS_WAIT, 0, false },
	{ "gap for the last time", RXE_LOSS_GAP, 500, true, 2, 0, 0, 100, true, 0,
	  RXE_LOSS_FAIL, 0, false },
	/* silence: a probe in time, a retry after it */
	{ "probe", RXE_LOSS_SILENCE, 350, false, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_RESEND, BURST, false },
	{ "probe, lossy", RXE_LOSS_SILENCE, 10, true, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_RESEND, BURST, false },
	{ "probe, little in flight", RXE_LOSS_SILENCE, 10, true, 0, 0, 0, 3, false, 0,
	  RXE_LOSS_REWIND, 0, false },
	{ "timeout", RXE_LOSS_SILENCE, 1000, false, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_REWIND, 0, true },
	{ "timeout, lossy", RXE_LOSS_SILENCE, 100, true, 0, 0, 0, 100, false, 0,
	  RXE_LOSS_REWIND, 0, true },
	{ "last timeout", RXE_LOSS_SILENCE, 400, true, 2, 0, 0, 100, false, 0,
	  RXE_LOSS_FAIL, 0, true },
	/* still in this host's queues: nothing is sent */
	{ "queued", RXE_LOSS_SILENCE, 10, true, 0, 0, 0, 100, false, 1,
	  RXE_LOSS_WAIT, 0, false },
	{ "stuck", RXE_LOSS_SILENCE, 1000, false, 0, 0, 0, 100, false, 1,
	  RXE_LOSS_WAIT, 0, true },
	{ "stuck for the last time", RXE_LOSS_SILENCE, 400, false, 2, 0, 0, 100, false,
	  1, RXE_LOSS_FAIL, 0, true },
};

static void play_row(struct kunit *test, const struct row *row)
{
	struct rxe_loss_verdict verdict;
	struct game g;

	begin(&g);
	if (row->lossy)
		make_lossy(&g);
	if (row->resent)
		resend(&g, rxe_psn_add(PSN, 4), NOW, NOW + (row->after - row->resent) * MS);
	g.rec.retries = row->retries;
	g.rec.go_back = row->go_back;
	g.facts.rest = row->rest;
	g.facts.rd_atomic = row->rd_atomic;
	g.facts.queued = row->queued;
	verdict = hint(&g, row->hint, row->after * MS);
	KUNIT_EXPECT_EQ_MSG(test, verdict.act, row->act, "%s", row->name);
	KUNIT_EXPECT_EQ_MSG(test, verdict.timeout, row->timeout, "%s", row->name);
	if (row->act == RXE_LOSS_RESEND)
		KUNIT_EXPECT_EQ_MSG(test, verdict.npkts, row->npkts, "%s",
				    row->name);
}

static void verdicts(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		play_row(test, &table[i]);
}

/* The peer requests the packets behind the resent ones: it drops early packets */
static void peer_drops(struct kunit *test)
{
	struct game g;
	u32 i;

	begin(&g);
	resend(&g, rxe_psn_add(PSN, 4), NOW, NOW);
	g.facts.una = rxe_psn_add(PSN, 4);
	for (i = 0; i < rxe_knob(go_back); i++)
		KUNIT_EXPECT_EQ(test, hint(&g, RXE_LOSS_NAK, 10 * MS).act,
				RXE_LOSS_REWIND);
	g.facts.una = rxe_psn_add(PSN, 20);
	hint(&g, RXE_LOSS_NAK, 10 * MS);
	KUNIT_EXPECT_EQ(test, hint(&g, RXE_LOSS_NAK, 10 * MS).act,
			RXE_LOSS_RESEND);
}

/*
 * While losses are only guessed from silence, a READ behind a probed one may be late, too: its
 * silence isn't a second loss
 */
static void peer_is_slow(struct kunit *test)
{
	struct game g;

	begin(&g);
	hint(&g, RXE_LOSS_SILENCE, 350 * MS);
	resend(&g, rxe_psn_add(PSN, 4), NOW, NOW + 350 * MS);
	g.facts.una = rxe_psn_add(PSN, 4);
	g.facts.rd_atomic = true;
	rxe_recovery_wait_anew(&g.rec, NOW + 400 * MS);
	KUNIT_EXPECT_EQ(test, hint(&g, RXE_LOSS_SILENCE, 450 * MS).act, RXE_LOSS_RESEND);
	KUNIT_EXPECT_EQ(test, g.rec.go_back, 0);
}

/* While the host's queue drains, silence is neither a loss nor a retry */
static void queue_drains(struct kunit *test)
{
	struct rxe_loss_verdict verdict;
	struct game g;
	u32 i;

	begin(&g);
	g.facts.queued = 5;
	for (i = 1; i < 50; i++) {
		g.facts.drained = i;
		verdict = hint(&g, RXE_LOSS_SILENCE, 300 * i * MS);
		KUNIT_ASSERT_EQ(test, verdict.act, RXE_LOSS_WAIT);
		KUNIT_ASSERT_FALSE(test, verdict.timeout);
	}
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW));
}

/* A CPU that is busy for less than patience_ns doesn't make the queue stuck */
static void queue_pauses(struct kunit *test)
{
	struct rxe_loss_verdict verdict;
	struct game g;
	u64 ms;

	begin(&g);
	g.facts.queued = 5;
	g.facts.drained = 1;
	hint(&g, RXE_LOSS_SILENCE, MS);
	for (ms = 2; ms < 1000; ms++) {
		verdict = hint(&g, RXE_LOSS_SILENCE, ms * MS);
		KUNIT_ASSERT_EQ(test, verdict.act, RXE_LOSS_WAIT);
		KUNIT_ASSERT_FALSE(test, verdict.timeout);
	}
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
}

/* A stuck queue makes the QP fail after all its retries */
static void queue_stuck(struct kunit *test)
{
	enum rxe_loss_act act = RXE_LOSS_WAIT;
	struct game g;
	u64 ms;

	begin(&g);
	g.facts.queued = 5;
	for (ms = 1; act == RXE_LOSS_WAIT && ms < 10000; ms++)
		act = hint(&g, RXE_LOSS_SILENCE, ms * MS).act;
	KUNIT_EXPECT_EQ(test, act, RXE_LOSS_FAIL);
	KUNIT_EXPECT_GE(test, ms, 1000 + 2 * 4 * T / MS);
	KUNIT_EXPECT_LE(test, ms, 1000 + 2 * 4 * T / MS + 10);
}

/* A queue that was empty and gets stuck isn't stuck before patience_ns, however much left before */
static void queue_fills_anew(struct kunit *test)
{
	struct game g;
	u64 ms;

	begin(&g);
	make_lossy(&g);
	g.facts.drained = 1;
	resend(&g, rxe_psn_add(PSN, 1), NOW, NOW);
	KUNIT_EXPECT_NE(test, hint(&g, RXE_LOSS_SILENCE, 10 * MS).act, RXE_LOSS_WAIT);
	g.facts.queued = 5;
	for (ms = 11; ms < 1010; ms++)
		KUNIT_ASSERT_FALSE(test, hint(&g, RXE_LOSS_SILENCE, ms * MS).timeout);
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
	while (!hint(&g, RXE_LOSS_SILENCE, ms * MS).timeout)
		ms++;
	KUNIT_EXPECT_LE(test, ms, 1010 + T / MS);
}

/*
 * A neighbour that doesn't answer: the stack keeps packets to it while it asks for the address,
 * and then drops them. The next packet makes it ask again.
 */
struct neighbour_queue {
	u32	sent;
	u32	queued;
	u64	until;
};

static void enqueue(struct neighbour_queue *q, u64 now, struct rnd_state *rnd)
{
	if (!q->queued)
		q->until = now + (3000 + rnd_below(rnd, 100)) * MS;
	q->sent++;
	q->queued++;
}

/* The time goes from @from to @to. A program posts a packet every @every ns; 0: none */
static void pass_time(struct neighbour_queue *q, u64 from, u64 to, u64 every,
		      struct rnd_state *rnd)
{
	u64 at, step = every ?: 50 * MS;

	for (at = from; at < to; at += step) {
		if (q->queued && at >= q->until)
			q->queued = 0;
		if (every)
			enqueue(q, at, rnd);
	}
	if (q->queued && to >= q->until)
		q->queued = 0;
}

/* Return: how long it takes until the QP fails; at most an hour */
static u64 outlive(struct game *g, u64 every, struct rnd_state *rnd)
{
	struct neighbour_queue q = {};
	u64 at = 0, wait;

	enqueue(&q, 0, rnd);
	while (at < 3600 * 1000 * MS) {
		wait = rxe_recovery_wait_ns(&g->rec, &g->rtt, &g->limit, NOW + at);
		pass_time(&q, at, at + wait, every, rnd);
		at += wait;
		g->facts.queued = q.queued;
		g->facts.drained = q.sent - q.queued;
		switch (hint(g, RXE_LOSS_SILENCE, at).act) {
		case RXE_LOSS_FAIL:
			return at;
		case RXE_LOSS_WAIT:
			break;
		default:
			resend(g, rxe_psn_add(PSN, 1), NOW, NOW + at);
			enqueue(&q, at, rnd);
		}
	}
	return at;
}

/*
 * The peer's host is dead: what the stack drops is no progress. The QP fails after its timeout and
 * seven retries, also while a program posts more
 */
static void neighbour_dead(struct kunit *test)
{
	struct rnd_state rnd = rnd_init(11);
	u64 most, took, every;
	struct game g;
	u32 i, t;

	for (i = 0; i < 300; i++) {
		t = 8 + i % 16;
		begin(&g);
		g.limit = (struct rxe_retry_limit){ .timeout = 4096ull << t, .retry_cnt = 7 };
		g.rtt.smooth = 1 + rnd_below(&rnd, 20 * MS);
		g.facts.unresolved = i / 16 % 3 != 0;
		every = i / 16 % 3 == 2 ? (1 + rnd_below(&rnd, 2000)) * MS : 0;
		/* restarts of the timeout, if only the queue tells that packets were dropped */
		most = (g.facts.unresolved ? 8 : 12) * rto(&g);
		took = outlive(&g, every, &rnd);
		KUNIT_EXPECT_LE_MSG(test, took, most, "timeout %u, round %u", t, i);
	}
}

/* @why every 100 ms, in vain. Return: ms until the QP fails; 0: it didn't in 100 s */
static u64 hint_in_vain(struct game *g, enum rxe_loss_hint why)
{
	u64 ms;

	for (ms = 100; ms < 100 * 1000; ms += 100) {
		if (hint(g, why, ms * MS).act == RXE_LOSS_FAIL)
			return ms;
		resend(g, rxe_psn_add(PSN, 1), NOW, NOW + ms * MS);
	}
	return 0;
}

/*
 * Timeout 0 only switches the timer off [9.7.6.1.3]: NAKs and missing responses use up retries,
 * one per patience_ns or twice the longest round trip. Silence never does
 */
static void no_timeout(struct kunit *test)
{
	static const enum rxe_loss_hint hints[] = { RXE_LOSS_NAK, RXE_LOSS_GAP };
	u32 i, cnt;
	struct game g;

	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		for (cnt = 0; cnt < 8; cnt++) {
			begin(&g);
			g.limit = (struct rxe_retry_limit){ .retry_cnt = cnt };
			KUNIT_EXPECT_EQ(test, hint_in_vain(&g, hints[i]), cnt ? 1000 * (cnt + 1) :
										100ull);
		}
		begin(&g);
		g.limit = (struct rxe_retry_limit){ .retry_cnt = 1 };
		g.rtt.max = 700 * MS;
		KUNIT_EXPECT_EQ(test, hint_in_vain(&g, hints[i]), 2 * 1400ull);
	}
	begin(&g);
	g.limit = (struct rxe_retry_limit){ .retry_cnt = 0 };
	KUNIT_EXPECT_EQ(test, hint_in_vain(&g, RXE_LOSS_SILENCE), 0ull);
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
}

/* A peer that answers further and further packets is alive */
static void peer_alive(struct kunit *test)
{
	struct game g;
	u32 i;

	begin(&g);
	for (i = 1; i < 20; i++) {
		rxe_recovery_note_heard(&g.rec, rxe_psn_add(PSN, i));
		KUNIT_ASSERT_EQ(test,
				hint(&g, RXE_LOSS_SILENCE, i * 1000 * MS).act,
				RXE_LOSS_REWIND);
	}
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
}

/* Hints, one per timeout, each after the answer to @psn. Return: how many until the QP fails */
static u32 hear_again(struct game *g, enum rxe_loss_hint why, u32 psn)
{
	u32 n;

	for (n = 1; n < 100; n++) {
		rxe_recovery_note_heard(&g->rec, psn);
		if (hint(g, why, n * 1000 * MS).act == RXE_LOSS_FAIL)
			break;
		rxe_recovery_resent(&g->rec, PSN, rxe_psn_add(PSN, 1), NOW, NOW + n * 1000 * MS);
		rxe_recovery_leaves(&g->rec, NOW + n * 1000 * MS);
	}
	return n;
}

/* The answer that comes again isn't new: the first packet of a READ response is always lost */
static void peer_repeats(struct kunit *test)
{
	static const enum rxe_loss_hint hints[] = { RXE_LOSS_GAP, RXE_LOSS_SILENCE };
	struct game g;
	u32 i, cnt;

	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		for (cnt = 0; cnt < 8; cnt += 7) {
			begin(&g);
			g.limit.retry_cnt = cnt;
			/* the first one is new */
			KUNIT_EXPECT_EQ(test, hear_again(&g, hints[i], rxe_psn_add(PSN, 3)),
					cnt + 2);
		}
	}
}

/* However far the PSNs have moved on, the next answer behind the oldest packet is new */
static void peer_gets_on(struct kunit *test)
{
	struct game g;
	u32 i, una = PSN;

	begin(&g);
	rxe_recovery_note_heard(&g.rec, rxe_psn_add(una, 100));
	for (i = 0; i < 5; i++) {
		una = rxe_psn_add(una, 1 << 22);
		rxe_recovery_note_progress(&g.rec, una);
		KUNIT_EXPECT_FALSE(test, g.rec.heard);
		rxe_recovery_note_heard(&g.rec, una);
		KUNIT_EXPECT_FALSE(test, g.rec.heard);
		rxe_recovery_note_heard(&g.rec, rxe_psn_add(una, 1));
		KUNIT_EXPECT_TRUE(test, g.rec.heard);
	}
}

/* Probes come at longer and longer intervals, up to the timeout */
static void backs_off(struct kunit *test)
{
	u64 at = 0, wait, last = 0;
	struct game g;
	u32 i;

	begin(&g);
	make_lossy(&g);
	g.limit.timeout = 2000 * MS;
	for (i = 0; i < 8; i++) {
		wait = rxe_recovery_wait_ns(&g.rec, &g.rtt, &g.limit,
					    NOW + at);
		KUNIT_ASSERT_GE(test, wait, 2 * last);
		KUNIT_ASSERT_LE(test, at + wait, 2000 * MS);
		at += wait;
		last = wait;
		hint(&g, RXE_LOSS_SILENCE, at);
	}
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
}

/* Without a timeout, probes never end, and their intervals never become shorter */
static void backs_off_for_ever(struct kunit *test)
{
	u64 wait, last = 0;
	struct game g;
	u32 i;

	begin(&g);
	make_lossy(&g);
	g.limit.timeout = 0;
	for (i = 0; i < 600; i++) {
		g.facts.queued = i < 300;
		wait = rxe_recovery_wait_ns(&g.rec, &g.rtt, &g.limit, NOW);
		KUNIT_ASSERT_GE(test, wait, last);
		last = wait;
		hint(&g, RXE_LOSS_SILENCE, 0);
	}
	KUNIT_EXPECT_EQ(test, last, rxe_rtt_most(&g.rtt) << RXE_PROBES_ORDER);
}

/* After a failover, a healthy connection doesn't wait for silence_ns */
static void suspects(struct kunit *test)
{
	struct game g;
	u64 wait;

	begin(&g);
	wait = rxe_recovery_wait_ns(&g.rec, &g.rtt, &g.limit, NOW);
	KUNIT_EXPECT_EQ(test, wait, rxe_knob(silence_ns));
	rxe_recovery_suspect(&g.rec, NOW);
	wait = rxe_recovery_wait_ns(&g.rec, &g.rtt, &g.limit, NOW);
	KUNIT_EXPECT_EQ(test, wait, rxe_rtt_most(&g.rtt));
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);

	/* a probe after a failover isn't a retry, however long the wait was before */
	begin(&g);
	g.limit.retry_cnt = 0;
	rxe_recovery_suspect(&g.rec, NOW + 250 * MS);
	KUNIT_EXPECT_NE(test, hint(&g, RXE_LOSS_SILENCE, 252 * MS).act,
			RXE_LOSS_FAIL);
	KUNIT_EXPECT_EQ(test, g.rec.retries, 0);
}

static void resend_by_silence(struct game *g)
{
	hint(g, RXE_LOSS_SILENCE, 350 * MS);
	resend(g, rxe_psn_add(PSN, BURST), NOW, NOW + 350 * MS);
}

/* A probe doesn't shorten the timeout, whether it is answered or not: only a NAK does */
static void probe_is_patient(struct kunit *test)
{
	struct game g;

	begin(&g);
	resend_by_silence(&g);
	KUNIT_EXPECT_EQ(test, rxe_rto_ns(&g.rec, &g.rtt, &g.limit, NOW + 351 * MS), 1000 * MS);
	KUNIT_EXPECT_FALSE(test, hint(&g, RXE_LOSS_SILENCE, 999 * MS).timeout);
	KUNIT_EXPECT_TRUE(test, hint(&g, RXE_LOSS_SILENCE, 1000 * MS).timeout);

	begin(&g);
	resend_by_silence(&g);
	rxe_recovery_wait_anew(&g.rec, NOW + 352 * MS);
	KUNIT_EXPECT_EQ(test, rxe_rto_ns(&g.rec, &g.rtt, &g.limit, NOW + 353 * MS), 1000 * MS);

	/* a NAK has shown a loss before */
	begin(&g);
	hint(&g, RXE_LOSS_NAK, 10 * MS);
	resend(&g, rxe_psn_add(PSN, BURST), NOW, NOW + 10 * MS);
	hint(&g, RXE_LOSS_SILENCE, 40 * MS);
	resend(&g, rxe_psn_add(PSN, BURST), NOW, NOW + 40 * MS);
	KUNIT_EXPECT_EQ(test, rxe_rto_ns(&g.rec, &g.rtt, &g.limit, NOW + 41 * MS), T);
}

/* An answer comes while the resending waits for its turn: nothing was lost */
static void needless_unsent(struct kunit *test)
{
	struct game g;

	begin(&g);
	hint(&g, RXE_LOSS_SILENCE, 350 * MS);
	rxe_recovery_resent(&g.rec, PSN, rxe_psn_add(PSN, BURST), NOW, NOW + 350 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_too_soon(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						       NOW + 350 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						      NOW + 900 * MS));
	KUNIT_EXPECT_FALSE(test, g.rec.in_doubt);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW + 900 * MS));
	KUNIT_EXPECT_EQ(test, g.rtt.max, 900 * MS);
	KUNIT_EXPECT_EQ(test, g.rtt.smooth, MS);
}

/* The answer may be one to a first resending, while a second one waits for its turn */
static void needless_unsent_again(struct kunit *test)
{
	struct game g;

	begin(&g);
	resend_by_silence(&g);
	hint(&g, RXE_LOSS_SILENCE, 360 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						       NOW + 400 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + 400 * MS));

	/* the peer asked for more than one packet */
	begin(&g);
	hint(&g, RXE_LOSS_GAP, MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						       NOW + 2 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + 2 * MS));

	/* a second answer to an earlier resending says nothing about the next one */
	begin(&g);
	resend_by_silence(&g);
	rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1), NOW + 360 * MS);
	g.facts.una = rxe_psn_add(PSN, 50);
	hint(&g, RXE_LOSS_NAK, 400 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN, true, NOW + 401 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + 401 * MS));
}

/* The timeout of a retry begins when its packets leave */
static void retry_leaves_late(struct kunit *test)
{
	struct game g;

	begin(&g);
	KUNIT_EXPECT_TRUE(test, hint(&g, RXE_LOSS_SILENCE, 1000 * MS).timeout);
	rxe_recovery_resent(&g.rec, PSN, rxe_psn_add(PSN, BURST), NOW, NOW + 1000 * MS);
	rxe_recovery_leaves(&g.rec, NOW + 1390 * MS);
	KUNIT_EXPECT_FALSE(test, hint(&g, RXE_LOSS_SILENCE, 1780 * MS).timeout);
	/* a probe isn't a retry */
	rxe_recovery_resent(&g.rec, PSN, rxe_psn_add(PSN, BURST), NOW, NOW + 1780 * MS);
	rxe_recovery_leaves(&g.rec, NOW + 1780 * MS);
	KUNIT_EXPECT_TRUE(test, hint(&g, RXE_LOSS_SILENCE, 1790 * MS).timeout);
	KUNIT_EXPECT_EQ(test, g.rec.retries, 2);
}

/* An answer comes too soon after a resending: nothing was lost, and the wait grows */
static void needless_too_soon(struct kunit *test)
{
	struct game g;

	begin(&g);
	resend_by_silence(&g);
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + 350 * MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt, PSN,
						       NOW + 350 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_answered(&g.rec, &g.rtt,
						      rxe_psn_add(PSN, 1),
						      NOW + 350 * MS + 1000));
	KUNIT_EXPECT_FALSE(test, g.rec.in_doubt);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW + 351 * MS));
	KUNIT_EXPECT_GE(test, g.rtt.max, 350 * MS);
	KUNIT_EXPECT_GE(test, rto(&g), 700 * MS);
}

/* A READ response that isn't a first packet is no answer to a request that was sent again */
static void needless_continued(struct kunit *test)
{
	struct game g;

	begin(&g);
	g.facts.rd_atomic = true;
	resend_by_silence(&g);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_continued(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
							NOW + 450 * MS));
	KUNIT_EXPECT_TRUE(test, g.rec.in_doubt);
	KUNIT_EXPECT_TRUE(test, rxe_recovery_continued(&g.rec, &g.rtt, PSN, NOW + 450 * MS));
	KUNIT_EXPECT_FALSE(test, g.rec.in_doubt);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW + 450 * MS));
	KUNIT_EXPECT_EQ(test, g.rtt.max, 450 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_continued(&g.rec, &g.rtt, PSN, NOW + 450 * MS));

	/* the peer had asked for it */
	begin(&g);
	hint(&g, RXE_LOSS_GAP, MS);
	resend(&g, rxe_psn_add(PSN, 3), NOW, NOW + MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_continued(&g.rec, &g.rtt, PSN, NOW + 2 * MS));
}

/* How long the peer was silent counts like a round trip, unless something was sent again */
static void silence_learnt(struct kunit *test)
{
	struct game g;

	begin(&g);
	rxe_recovery_heard_at(&g.rec, &g.rtt, NOW + 290 * MS);
	KUNIT_EXPECT_EQ(test, rxe_rtt_longest(&g.rtt, NOW + 290 * MS), 290 * MS);
	KUNIT_EXPECT_EQ(test, g.rtt.smooth, MS);
	KUNIT_EXPECT_EQ(test, g.rtt.min, MS);
	/* so the next probe waits for twice as long */
	rxe_recovery_wait_anew(&g.rec, NOW);
	KUNIT_EXPECT_EQ(test, rxe_recovery_wait_ns(&g.rec, &g.rtt, &g.limit, NOW), 580 * MS);

	begin(&g);
	resend_by_silence(&g);
	rxe_recovery_heard_at(&g.rec, &g.rtt, NOW + 400 * MS);
	KUNIT_EXPECT_EQ(test, g.rtt.max, MS);
}

/* The time since a resending is no round trip if the answer is to the first transmission */
static void too_soon(struct kunit *test)
{
	struct game g;

	begin(&g);
	hint(&g, RXE_LOSS_NAK, 10 * MS);
	resend(&g, rxe_psn_add(PSN, 1), NOW, NOW + 10 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_too_soon(&g.rec, &g.rtt, PSN, NOW + 10 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_too_soon(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						      NOW + 10 * MS + 1000));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_too_soon(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						       NOW + 10 * MS + g.rtt.min));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
						       NOW + 10 * MS + 1000));
}

/* The answer comes twice: the peer got both transmissions */
static void needless_doubled(struct kunit *test)
{
	struct game g;

	begin(&g);
	resend_by_silence(&g);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						      true, NOW + 355 * MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt,
						       rxe_psn_add(PSN, 1),
						       NOW + 360 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						     true, NOW + 362 * MS));
	KUNIT_EXPECT_EQ(test, g.rtt.max, 360 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW + 362 * MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						      true, NOW + 363 * MS));
}

/* A second answer to a later packet shows nothing: the peer may have held that packet */
static void doubled_behind(struct kunit *test)
{
	struct game g;

	begin(&g);
	resend_by_silence(&g);
	rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
			      NOW + 360 * MS);
	KUNIT_EXPECT_FALSE(test, rxe_recovery_doubled(&g.rec, &g.rtt,
						      rxe_psn_add(PSN, 1),
						      true, NOW + 362 * MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						      false, NOW + 362 * MS));
	resend(&g, rxe_psn_add(PSN, 1), NOW, NOW + 350 * MS);
	rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1),
			      NOW + 360 * MS);
	KUNIT_EXPECT_TRUE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						     false, NOW + 362 * MS));
}

/* On a path that reorders, a packet that a NAK requested may only have been late */
static void needless_nak(struct kunit *test)
{
	struct game g;

	begin(&g);
	hint(&g, RXE_LOSS_NAK, MS);
	resend(&g, rxe_psn_add(PSN, BURST), NOW, NOW + MS);
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_answered(&g.rec, &g.rtt,
						       rxe_psn_add(PSN, 1),
						       NOW + 3 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_doubled(&g.rec, &g.rtt, PSN,
						     true, NOW + 4 * MS));
	KUNIT_EXPECT_FALSE(test, rxe_recovery_is_lossy(&g.rec, NOW + 4 * MS));
}

/* If one packet was only late, an earlier loss of another one still counts */
static void needless_after_loss(struct kunit *test)
{
	struct game g;

	begin(&g);
	hint(&g, RXE_LOSS_NAK, MS);
	resend(&g, rxe_psn_add(PSN, BURST), NOW, NOW + MS);
	rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 1), NOW + 3 * MS);
	g.facts.una = rxe_psn_add(PSN, 50);
	hint(&g, RXE_LOSS_NAK, 100 * MS);
	resend(&g, rxe_psn_add(PSN, 51), NOW + 99 * MS, NOW + 100 * MS);
	rxe_recovery_answered(&g.rec, &g.rtt, rxe_psn_add(PSN, 51),
			      NOW + 103 * MS);
	KUNIT_EXPECT_TRUE(test, rxe_recovery_doubled(&g.rec, &g.rtt,
						     g.facts.una, true,
						     NOW + 104 * MS));
	KUNIT_EXPECT_TRUE(test, rxe_recovery_is_lossy(&g.rec, NOW + 104 * MS));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rto_never),
	KUNIT_CASE(rto_bounds),
	KUNIT_CASE(rto_without_sample),
	KUNIT_CASE(rto_patient),
	KUNIT_CASE(rto_follows_stalls),
	KUNIT_CASE(verdicts),
	KUNIT_CASE(peer_drops),
	KUNIT_CASE(peer_is_slow),
	KUNIT_CASE(queue_drains),
	KUNIT_CASE(queue_pauses),
	KUNIT_CASE(queue_stuck),
	KUNIT_CASE(queue_fills_anew),
	KUNIT_CASE(neighbour_dead),
	KUNIT_CASE(no_timeout),
	KUNIT_CASE(peer_alive),
	KUNIT_CASE(peer_repeats),
	KUNIT_CASE(peer_gets_on),
	KUNIT_CASE(backs_off),
	KUNIT_CASE(backs_off_for_ever),
	KUNIT_CASE(suspects),
	KUNIT_CASE(probe_is_patient),
	KUNIT_CASE(needless_unsent),
	KUNIT_CASE(needless_unsent_again),
	KUNIT_CASE(retry_leaves_late),
	KUNIT_CASE(needless_too_soon),
	KUNIT_CASE(needless_continued),
	KUNIT_CASE(silence_learnt),
	KUNIT_CASE(too_soon),
	KUNIT_CASE(needless_doubled),
	KUNIT_CASE(doubled_behind),
	KUNIT_CASE(needless_nak),
	KUNIT_CASE(needless_after_loss),
	{}
};

static struct kunit_suite suite = {
	.name = "loss-recovery",
	.test_cases = cases,
};

kunit_test_suite(suite);
