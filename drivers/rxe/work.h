/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Load and unload of the workqueues for rare events (work.c).
 */
#ifndef RXE_WORK_LOCAL_H
#define RXE_WORK_LOCAL_H

int rxe_work_start(void);
void rxe_work_stop(void);

#endif /* RXE_WORK_LOCAL_H */
