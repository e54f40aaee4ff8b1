// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN, the notification point: when to send a CNP (annex A17.9). Marks come in bursts,
 * and a sender reacts at most once per control period. So a QP sends at most one CNP in
 * np_min_time_between_cnps.
 *
 * Context: recv_task, the only user of struct rxe_np.
 */
#include <linux/time64.h>
#include <cc/np.h>
#include <rxe/knobs.h>

/**
 * rxe_np_due - is a CNP due for a marked packet?
 * @np: the notification point
 * @now: the time, ns, not 0
 *
 * Return: true if the caller should send one; @now is noted as its time.
 */
bool rxe_np_due(struct rxe_np *np, u64 now)
{
	u64 least = rxe_knob(np_min_time_between_cnps) * NSEC_PER_USEC;

	if (np->told && now - np->told < least)
		return false;
	np->told = now;
	return true;
}
