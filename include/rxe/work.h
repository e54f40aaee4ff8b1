/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The workqueue for rare events (work.c).
 */
#ifndef RXE_WORK_H
#define RXE_WORK_H

struct workqueue_struct;

extern struct workqueue_struct *rxe_wq;

#endif /* RXE_WORK_H */
