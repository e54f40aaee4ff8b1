// SPDX-License-Identifier: GPL-2.0
/*
 * When to send a CNP. Marks come in bursts, and a sender reacts once to each of its
 * control periods. So there is one CNP per QP and np_min_time_between_cnps.
 *
 * Pure; any context.
 */
#include <linux/time64.h>
#include <cc/np.h>
#include <rxe/knobs.h>

/**
 * rxe_np_due - a packet was marked: should the sender be told?
 * @np: the notification point
 * @now: the time, ns, not 0
 *
 * Return: true if so; it counts as told then.
 */
bool rxe_np_due(struct rxe_np *np, u64 now)
{
	u64 least = rxe_knob(np_min_time_between_cnps) * NSEC_PER_USEC;

	if (np->told && now - np->told < least)
		return false;
	np->told = now;
	return true;
}
