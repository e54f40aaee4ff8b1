/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waiting and output of the programs that measure the cost of a message. On a
 * machine whose clock counts instructions, nanoseconds are instructions.
 */
#ifndef COST_H
#define COST_H

#include <sched.h>
#include "verbs_util.h"

#define COST_PATIENCE	4	/* polls without a completion before the program sleeps */

static unsigned int cost_yields, cost_sleeps;
static bool cost_busy;		/* poll without sched_yield() and sleep */
static bool cost_without_idle;	/* don't count the time that the processor was idle */

/* Polls. After a poll in vain it yields the processor. After COST_PATIENCE of them it sleeps. */
static UNUSED void cost_wait(int (*poll_all)(void), void (*sleep_for_event)(void))
{
	static unsigned int vain;

	if (poll_all() || cost_busy) {
		vain = 0;
	} else if (vain++ < COST_PATIENCE) {
		cost_yields++;
		sched_yield();
	} else {
		sleep_for_event();
	}
}

/* The idle time is read before the measured time begins. */
static UNUSED uint64_t cost_start(void)
{
	uint64_t idle = cost_without_idle ? idle_ns() : 0;

	cost_yields = cost_sleeps = 0;
	return now_ns() - idle;
}

/* Prints the nanoseconds per message, and how often per message the program yielded and slept. */
static UNUSED void cost_stop(uint64_t start, unsigned int count)
{
	uint64_t ns = now_ns() - start, idle = cost_without_idle ? idle_ns() : 0;

	printf("%.0f %.2f %.2f\n", (double)(ns - idle) / count, (double)cost_yields / count,
	       (double)cost_sleeps / count);
}

#endif
