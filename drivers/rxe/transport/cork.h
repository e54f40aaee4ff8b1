/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Corks (cork.c): small messages that a process posts in a row wait for one another.
 */
#ifndef RXE_TRANSPORT_CORK_H
#define RXE_TRANSPORT_CORK_H

#include <linux/hrtimer.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

struct rxe_qp;

/*
 * The rule, with the knobs of rxe/knobs.h: after cork_row doorbells, each within
 * cork_gap_ns of the one before, messages of at most cork_bytes wait until there are
 * cork_msgs, or cork_ns have passed. cork_stream of them at once are a stream, which is
 * likely to go on. With cork_most the worker is behind, and the poster sends them
 * itself. After cork_vain waits in a row that gathered less than cork_few, the next
 * cork_skip messages don't wait.
 */

/**
 * struct rxe_cork - does a process post without waiting for anything?
 * @timer: when what is corked has waited long enough
 * @work: sends it
 * @armed: the timer is going to
 * @working: a worker sends, or is about to
 * @last: the last doorbell
 * @polled: what rxe_cork_fits() was told then
 * @asked: likewise
 * @row: doorbells since it last looked for an answer, up to cork_row
 * @stream: many messages came together the last time; the next row is shorter by
 *	one
 * @vain: corks in a row that gathered few, up to cork_vain; above: so many
 *	more messages don't wait
 */
struct rxe_cork {
	struct hrtimer		timer;
	struct work_struct	work;
	atomic_t		armed;
	bool			working;
	ktime_t			last;
	u32			polled;
	u32			asked;
	u32			row;
	bool			stream;
	u32			vain;
};

void rxe_sq_kick(struct rxe_qp *qp);
void rxe_doorbell(struct rxe_qp *qp);
void rxe_cork_late(struct rxe_cork *cork, u32 gathered);
bool rxe_cork_fits(struct rxe_cork *cork, u32 polled, bool more, u32 asked,
		   ktime_t now);
void rxe_cork_init(struct rxe_qp *qp);
void rxe_cork_reset(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_CORK_H */
