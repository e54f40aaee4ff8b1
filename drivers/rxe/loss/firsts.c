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
 *   0          nothing is known; the answer may be late
 *   1          + 1
 *   2 to 4     nothing is known: a peer like us has filled the gap up to the first packet
 *              of the next train, which it has kept, and trains may be short (READ
 *              responses and WRITEs begin with one of two packets)
 *   else       - 1: more than the first did arrive
 *
 * Statistics. At a random loss of p, the step is k with a probability of p (1 - p)^k: that
 * of k packets that arrive and one that doesn't. The score is a random walk, up with
 * p (1 - p) and down with (1 - p)^5. It gets from 0 to 7 with a probability of about x^-7,
 * where x is the ratio of the two:
 *
 *   p      x       x^-7
 *   1 %    96      1e-14
 *   5 %    16      3e-9
 *   10 %   6.6     2e-6
 *
 * per loss. That is for a peer that goes back to what is missing (go-back-N). One that
 * keeps what follows lacks the second packet of what is sent again only if that got lost
 * twice: p is the square there. Trains that a queue drops as a whole give steps of 0 and
 * of their length.
 *
 * A peer whose window is down to a packet or two asks for less than a train again. So
 * once there is a suspicion, what the first answer to each READ comes to is judged, too:
 * + 1 if its second packet is asked for next, - 1 if the next READ is.
 *
 * What isn't lost but not ready (RNR) steps by one, too, and mustn't be told of; nor
 * must READ requests and atomics, which are sent again one by one whatever got lost.
 *
 * Pure; any context.
 */
#include <loss/firsts.h>
#include <rxe/knobs.h>
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
		firsts->score++;
	else if (firsts->npkts > 1 && firsts->score &&
		 (step < 0 || step > rxe_knob(firsts_near)))
		firsts->score--;
	firsts->from = from;
	firsts->npkts = npkts;
	if (firsts->score < rxe_knob(firsts_enough))
		return false;
	*firsts = (struct rxe_firsts){};
	return true;
}

/**
 * rxe_firsts_new - a READ is answered for the first time
 * @firsts: what is known of the connection; there is a suspicion (score)
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
