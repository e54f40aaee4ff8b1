// SPDX-License-Identifier: GPL-2.0
/*
 * Detects paths on which only the first packet of each train arrives.
 *
 * Theory. A netdev that segments UDP makes the IPv4 IDs of a train's packets. They must count
 * up by one, since the ICRC covers them. If it gives all packets the first one's ID, the peer
 * drops all but the first. Then the first missing packet moves on by exactly one with each
 * train that is sent again. The train's length doesn't matter.
 *
 * So each time packets are sent again, the step from the previous resending is judged, if
 * that had several packets:
 *
 *   0          no change: the answer may be late
 *   1          score + 1
 *   2 to 4     no change. A peer like this driver has kept the first packet of the next
 *              train. The step fills the gap up to it. Also, trains may be short: READ
 *              responses and WRITEs begin with a train of two packets
 *   else       score - 1: more than the first packet arrived
 *
 * Statistics. At a random loss rate p, the step is k with probability p (1 - p)^k. Then k
 * packets arrive and the next doesn't. The score is a random walk, up with p (1 - p) and down
 * with (1 - p)^5. Let x be the ratio of down to up. The score gets from 0 to 7 with a
 * probability of about x^-7:
 *
 *   p      x       x^-7
 *   1 %    96      1e-14
 *   5 %    16      3e-9
 *   10 %   6.6     2e-6
 *
 * per loss. That is for a peer that drops what follows a loss (go-back-N). A peer that keeps
 * it lacks the second packet of a resending only if that was lost twice. So p is squared
 * there. A train that a queue drops as a whole gives a step of 0 or of its length.
 *
 * A peer whose window is down to a packet or two asks for less than a train again. So while
 * the score isn't 0, the first answer to each READ is judged as well. The score rises if the
 * peer then asks for the answer's second packet. It falls if the peer asks for the next READ.
 *
 * Callers must not report resendings after an RNR NAK, which also step by one, though
 * nothing was lost. Nor must they report READ requests and atomics, which are sent again
 * one by one, whatever was lost.
 *
 * Pure; any context.
 */
#include <loss/firsts.h>
#include <rxe/knobs.h>
#include <rxe/psn.h>

/**
 * rxe_firsts_again - judge a resending
 * @firsts: what is known of the connection
 * @from: the first missing packet
 * @npkts: how many are sent, in trains
 *
 * Return: true if only the first packet of each train arrives, by a high enough score;
 * @firsts is reset then.
 */
bool rxe_firsts_again(struct rxe_firsts *firsts, u32 from, u32 npkts)
{
	s32 step = rxe_psn_diff(from, firsts->from);

	if (firsts->npkts > 1 && step == 1)
		firsts->score++;
	else if (firsts->npkts > 1 && firsts->score &&
		 (step < 0 || step > rxe_knob(firsts_near)))
		firsts->score--;
	firsts->from = from;
	firsts->npkts = npkts;
	if (firsts->score < rxe_knob(firsts_enough))
		return false;
	rxe_firsts_reset(firsts);
	return true;
}

/**
 * rxe_firsts_new - judge the first answer to a READ
 * @firsts: what is known of the connection; only used if the score isn't 0
 * @from: the first packet
 * @npkts: how many are sent
 */
void rxe_firsts_new(struct rxe_firsts *firsts, u32 from, u32 npkts)
{
	if (firsts->npkts > 1 && firsts->score)
		firsts->score--;
	firsts->from = from;
	firsts->npkts = npkts;
}
