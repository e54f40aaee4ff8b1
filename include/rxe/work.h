/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workqueues for rare events (work.c).
 */
#ifndef RXE_WORK_H
#define RXE_WORK_H

struct workqueue_struct;

extern struct workqueue_struct *rxe_wq;		/* asynchronous events */
extern struct workqueue_struct *rxe_flush_wq;	/* flushing of receives that are posted in ERR */

#endif /* RXE_WORK_H */
