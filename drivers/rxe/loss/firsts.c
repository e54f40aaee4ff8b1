// SPDX-License-Identifier: GPL-2.0
/*
 * Trains of which only the first packet arrives.
 *
 * Theory. A netdev that segments UDP makes the IPv4 IDs of a train's packets. They must
 * count up by one, since the ICRC covers them. If all are the first one's, the peer
 * drops all packets but the first, and then what is missing moves on by exactly one
 * packet with each train that is sent again, however long that is.
 *
 * So where packets are sent again, the step from the last such place is judged, if
 * several packets had been sent there:
 *
 *   0      nothing is known; the answer may be late
 *   1      + RXE_FIRSTS_FOR
 *   else   - RXE_FIRSTS_AGAINST: more than the first did arrive. Or else, a peer like us
 *	    has filled the gap up to the first packet of the next train, which it
 *	    has kept: trains of less than five packets may not be found out.
 *
 * Statistics. At a random loss of p, the step is 1 if the second packet gets lost and
 * the first doesn't: less often than p. The score is a random walk, up by 2 with
 * probability p and down by 1 otherwise. It gets to 24 from 0 before it is back with a
 * probability below x^-24, where p x^3 - x + 1 - p = 0:
 *
 *   p      x       x^-24
 *   1 %    9.46    4e-24
 *   5 %    3.89    7e-15
 *   10 %   2.54    2e-10
 *   20 %   1.56    2e-5
 *
 * per loss. Trains that a queue drops as a whole give steps of 0 and of their length,
 * and so does a peer that goes back to what is missing (go-back-N): it is the same p.
 * What isn't lost but not ready (RNR) steps by one, too, and mustn't be told of; nor
 * must READ requests and atomics, which are sent again one by one whatever got lost.
 *
 * Pure; any context.
 */
#include <linux/minmax.h>
#include <loss/firsts.h>
#include <rxe/psn.h>

/**
 * rxe_firsts_again - packets are sent again
 * @firsts: what is known of the connection; zeroed for a new one
 * @from: the first that is missing
 * @npkts: how many are sent, in trains
 *
 * Return: true if it's enough to say that only the first of each train arrives; then
 * all begins anew.
 */
bool rxe_firsts_again(struct rxe_firsts *firsts, u32 from, u32 npkts)
{
	s32 step = rxe_psn_diff(from, firsts->from);

	if (firsts->npkts > 1 && step == 1)
		firsts->score += RXE_FIRSTS_FOR;
	else if (firsts->npkts > 1 && step)
		firsts->score -= min_t(u32, firsts->score, RXE_FIRSTS_AGAINST);
	firsts->from = from;
	firsts->npkts = npkts;
	if (firsts->score < RXE_FIRSTS_ENOUGH)
		return false;
	*firsts = (struct rxe_firsts){};
	return true;
}
