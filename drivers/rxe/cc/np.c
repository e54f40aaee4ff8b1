// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN, the notification point: when to send a CNP (annex A17.9). A flow gets at most one CNP
 * in np_min_time_between_cnps: marks come in bursts, and a sender reacts at most once per
 * control period. The flows of a datagram QP are told apart by a hash.
 *
 * Context: recv_task, the only user of struct rxe_np.
 */
#include <linux/time64.h>
#include <cc/np.h>
#include <rxe/knobs.h>

/**
 * rxe_np_due - is a CNP due for a marked packet?
 * @np: the notification point
 * @flow: hash of the packet's flow; any constant for a connection
 * @now: the time, ns, not 0
 *
 * Return: true if the caller should send one; @now is noted as its time.
 */
bool rxe_np_due(struct rxe_np *np, u32 flow, u64 now)
{
	u64 least = rxe_knob(np_min_time_between_cnps) * NSEC_PER_USEC;
	u64 *told = &np->told[flow % RXE_NP_FLOWS];

	if (*told && now - *told < least)
		return false;
	*told = now;
	return true;
}
