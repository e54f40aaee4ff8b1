// SPDX-License-Identifier: GPL-2.0
/*
 * loss/firsts.c: a netdev that spoils all but the first packet of a train is detected soon.
 * Random loss never leads to a wrong detection. The suite simulates sender, netdev and peer,
 * PSN by PSN.
 */
#include <loss/firsts.h>
#include <rxe/knobs.h>
#include <rxe/psn.h>
#include "../util.h"

#define SPAN	256u		/* PSNs that the peer remembers */
#define PSN	0xffff00u	/* close to the wrap-around */

/**
 * struct game - a connection
 * @firsts: what is tested
 * @rnd: decides which packets get lost
 * @spoilt: the netdev spoils all but the first packet of a train
 * @keeps: the peer keeps packets that come too early
 * @train: packets per train
 * @window: packets in flight
 * @loss: lost packets per ten thousand
 * @has: packets that the peer has, by PSN
 * @una: the first that it lacks
 * @top: one after the last that was sent
 */
struct game {
	struct rxe_firsts	firsts;
	struct rnd_state	rnd;
	bool			spoilt;
	bool			keeps;
	u32			train;
	u32			window;
	u32			loss;
	bool			has[SPAN];
	u32			una;
	u32			top;
};

static bool *place(struct game *g, u32 psn)
{
	return &g->has[psn % SPAN];
}

static void begin(struct game *g)
{
	g->rnd = rnd_init(7);
	g->una = PSN;
	g->top = PSN;
	g->firsts = (struct rxe_firsts){};
	memset(g->has, 0, sizeof(g->has));
}

/* A packet, the n-th of its train, leaves */
static void send(struct game *g, u32 psn, u32 n)
{
	bool lost = rnd_below(&g->rnd, 10000) < g->loss;

	if (rxe_psn_diff(psn, g->top) >= 0)
		g->top = rxe_psn_add(psn, 1);
	if (lost || (g->spoilt && n) || (!g->keeps && psn != g->una) ||
	    rxe_psn_diff(psn, g->una) < 0)
		return;
	*place(g, psn) = true;
	while (*place(g, g->una)) {
		*place(g, g->una) = false;
		g->una = rxe_psn_add(g->una, 1);
	}
}

static void send_trains(struct game *g, u32 from, u32 end)
{
	u32 psn, n = 0;

	for (psn = from; psn != end; psn = rxe_psn_add(psn, 1))
		send(g, psn, n++ % g->train);
}

/*
 * Send new packets up to the window, then the missing ones again: everything if the peer
 * keeps nothing, else one train.
 *
 * Return: true if the problem was detected.
 */
static bool one_round(struct game *g)
{
	u32 end, from = g->una;

	send_trains(g, g->top, rxe_psn_add(g->una, g->window));
	if (g->una == g->top)
		return false;
	from = g->una;
	end = g->top;
	if (g->keeps && rxe_psn_diff(end, from) > (s32)g->train)
		end = rxe_psn_add(from, g->train);
	if (rxe_firsts_again(&g->firsts, from, rxe_psn_diff(end, from)))
		return true;
	send_trains(g, from, end);
	return false;
}

/* Return: rounds until the problem was detected; @most if it wasn't */
static u32 play(struct game *g, u32 most)
{
	u32 i;

	begin(g);
	for (i = 0; i < most && !one_round(g); i++)
		;
	return i;
}

/* The problem is detected with trains of any length, both kinds of peers, and random loss */
static void spoilt(struct kunit *test)
{
	struct game *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, g);
	g->spoilt = true;
	for (g->loss = 0; g->loss <= 500; g->loss += 500)
		for (g->keeps = false;; g->keeps = true) {
			for (g->train = 3; g->train <= 64; g->train++) {
				g->window = 3 * g->train;
				KUNIT_EXPECT_LE(test, play(g, 1000), 100u);
			}
			if (g->keeps)
				break;
		}
}

/*
 * Nothing is detected in 100,000 rounds with trains of any length, if 1 or 5 % of packets are lost
 */
static void random_loss(struct kunit *test)
{
	static const u32 loss[] = { 100, 500 };
	struct game *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	u32 i, keeps;

	KUNIT_ASSERT_NOT_NULL(test, g);
	for (i = 0; i < ARRAY_SIZE(loss); i++)
		for (keeps = 0; keeps < 2; keeps++)
			for (g->train = 2; g->train <= 64; g->train *= 2) {
				g->loss = loss[i];
				g->keeps = keeps;
				g->window = 2 * g->train;
				KUNIT_EXPECT_EQ(test, play(g, 100000), 100000u);
			}
}

/* firsts_enough steps by one are enough, and no fewer */
static void steps(struct kunit *test)
{
	const u32 enough = rxe_knob(firsts_enough);
	struct rxe_firsts firsts = {};
	u32 i;

	for (i = 0; i < enough; i++)
		KUNIT_EXPECT_FALSE(test, rxe_firsts_again(&firsts,
							  rxe_psn_add(PSN + 250, i), 9));
	KUNIT_EXPECT_TRUE(test, rxe_firsts_again(&firsts, rxe_psn_add(PSN + 250, i), 9));
	KUNIT_EXPECT_EQ(test, firsts.score, 0u);
}

/* Single packets don't change the score, nor does a resending from the same PSN */
static void says_nothing(struct kunit *test)
{
	struct rxe_firsts firsts = {};
	u32 i;

	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_FALSE(test, rxe_firsts_again(&firsts, PSN + i, 1));
	KUNIT_EXPECT_EQ(test, firsts.score, 0u);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_FALSE(test, rxe_firsts_again(&firsts, PSN, 9));
	KUNIT_EXPECT_EQ(test, firsts.score, 0u);
}

/* A large step, or a step back, reduces the score; a small step doesn't change it */
static void speaks_against(struct kunit *test)
{
	struct rxe_firsts firsts = { .from = PSN, .npkts = 9, .score = 5 };

	rxe_firsts_again(&firsts, PSN + 2, 9);
	rxe_firsts_again(&firsts, PSN + 6, 9);
	KUNIT_EXPECT_EQ(test, firsts.score, 5u);
	rxe_firsts_again(&firsts, PSN + 11, 9);
	KUNIT_EXPECT_EQ(test, firsts.score, 4u);
	rxe_firsts_again(&firsts, PSN + 100, 9);
	KUNIT_EXPECT_EQ(test, firsts.score, 3u);
	rxe_firsts_again(&firsts, PSN + 99, 9);
	KUNIT_EXPECT_EQ(test, firsts.score, 2u);
	firsts.score = 0;
	rxe_firsts_again(&firsts, PSN, 9);
	KUNIT_EXPECT_EQ(test, firsts.score, 0u);
}

/* READs of two packets, a window of one: the second packet is requested each time, or rarely */
static void reads(struct kunit *test)
{
	struct rxe_firsts firsts = { .from = PSN, .npkts = 2, .score = 1 };
	struct rnd_state rnd = rnd_init(8);
	u32 psn = PSN, i, told = 0;

	for (i = 0; i < 2 * rxe_knob(firsts_enough) && !told; i++) {
		rxe_firsts_new(&firsts, psn, 2);
		told = rxe_firsts_again(&firsts, rxe_psn_add(psn, 1), 1);
		psn = rxe_psn_add(psn, 2);
	}
	KUNIT_EXPECT_EQ(test, told, 1u);
	for (i = 0; i < 1000000; i++) {
		rxe_firsts_new(&firsts, psn, 2);
		if (!rnd_below(&rnd, 20))
			KUNIT_ASSERT_FALSE(test, rxe_firsts_again(&firsts,
								  rxe_psn_add(psn, 1), 1));
		psn = rxe_psn_add(psn, 2);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(spoilt),
	KUNIT_CASE(random_loss),
	KUNIT_CASE(steps),
	KUNIT_CASE(says_nothing),
	KUNIT_CASE(speaks_against),
	KUNIT_CASE(reads),
	{}
};

static struct kunit_suite suite = {
	.name = "loss-firsts",
	.test_cases = cases,
};

kunit_test_suite(suite);
