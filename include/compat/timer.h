/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hrtimer_setup(): from 6.13 on; before it, hrtimer_init() and an assignment.
 */
#ifndef RXE_COMPAT_TIMER_H
#define RXE_COMPAT_TIMER_H

#include <linux/hrtimer.h>
#include <compat/have.h>

static inline void
rxe_hrtimer_setup(struct hrtimer *timer,
		  enum hrtimer_restart (*fn)(struct hrtimer *timer),
		  clockid_t clock, enum hrtimer_mode mode)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fn, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
#endif
}

#endif /* RXE_COMPAT_TIMER_H */
