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
 * Corks: after RXE_CORK_ROW doorbells in a row, no more than RXE_CORK_GAP_NS
 * apart, messages of at most RXE_CORK_LEN bytes wait for RXE_CORK_MSGS of them,
 * or RXE_CORK_NS. RXE_CORK_STREAM of them are a stream, which is likely to go on.
 * If there are RXE_CORK_MOST the worker is behind, and the poster sends them itself.
 * After RXE_CORK_VAIN timers in a row for less than RXE_CORK_FEW, the next
 * RXE_CORK_SKIP don't wait.
 */
#define RXE_CORK_ROW		2
#define RXE_CORK_GAP_NS		(500 * NSEC_PER_USEC)
#define RXE_CORK_LEN		SZ_8K
#define RXE_CORK_MSGS		16
#define RXE_CORK_STREAM		8
#define RXE_CORK_MOST		64
#define RXE_CORK_FEW		3
#define RXE_CORK_VAIN		16
#define RXE_CORK_SKIP		64
#define RXE_CORK_NS		(20 * NSEC_PER_USEC)

/* So large must a message be for a worker to send it, to a peer on this device, too */
#define RXE_WORKER_LEN		SZ_32K
#define RXE_WORKER_LOCAL	SZ_256K

/**
 * struct rxe_cork - does a process post without waiting for anything?
 * @timer: when what is corked has waited long enough
 * @work: sends it
 * @armed: the timer is going to
 * @working: a worker sends, or is about to
 * @last: the last doorbell
 * @polled: what rxe_cork_fits() was told then
 * @asked: likewise
 * @row: doorbells since it last looked for an answer, up to RXE_CORK_ROW
 * @stream: many messages came together the last time; the next row is shorter by
 *	one
 * @vain: corks in a row that gathered few, up to RXE_CORK_VAIN; above: so many
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
