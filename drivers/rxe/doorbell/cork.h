/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Corks: small messages that a process posts in a row wait for one another. cork.c has the
 * theory.
 */
#ifndef RXE_DOORBELL_CORK_H
#define RXE_DOORBELL_CORK_H

#include <linux/sizes.h>
#include <linux/ktime.h>
#include <linux/time64.h>

struct rxe_qp;

/**
 * struct rxe_cork - the cork of a QP
 * @last: time of the last doorbell
 * @armed: messages wait for rxe_qp_slow.cork_timer
 * @polled: argument of rxe_cork_fits() at the last doorbell
 * @asked: argument of rxe_cork_fits() at the last doorbell
 * @row: doorbells since the process last waited for an answer, up to cork_row
 * @vain: up to cork_vain: corks in a row that gathered few messages. Above cork_vain: the
 *	excess is the number of messages that don't wait
 * @working: a worker is sending or queued
 * @stream: the last messages were a stream; the next row is shorter by one
 */
struct rxe_cork {
	ktime_t			last;
	atomic_t		armed;
	u32			polled;
	u32			asked;
	u32			row;
	u32			vain;
	bool			working;
	bool			stream;
};

void rxe_sq_kick(struct rxe_qp *qp);
void rxe_doorbell(struct rxe_qp *qp);
void rxe_cork_late(struct rxe_cork *cork, u32 gathered);
bool rxe_cork_fits(struct rxe_cork *cork, u32 polled, bool more, u32 asked,
		   ktime_t now);
bool rxe_cork_has_worker(u32 works, u32 cpus);
bool rxe_cork_needs_worker(const struct rxe_cork *cork, u32 pending, bool large, bool other);
int rxe_cork_start(void);
void rxe_cork_stop(void);
void rxe_cork_init(struct rxe_qp *qp);
void rxe_cork_reset(struct rxe_qp *qp);

#endif /* RXE_DOORBELL_CORK_H */
