// SPDX-License-Identifier: GPL-2.0
/*
 * The workqueue for rare events: asynchronous events of QPs, CQs and SRQs, and receives that
 * a process posts in ERR.
 *
 * A process can cause many of these. The system's workqueues run a work on the CPU that queued
 * it, and the process chooses this CPU. This workqueue is unbound: the scheduler finds a CPU.
 * Exceptions: works that send (doorbell/cork.c), and works that sleep for long (mem/), have
 * workqueues of their own, since these here mustn't wait for them.
 *
 * Context: process.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/workqueue.h>
#include <rxe/work.h>
#include "work.h"

struct workqueue_struct *rxe_wq;

/**
 * rxe_work_start - create the workqueue, at module load
 *
 * Return: 0, or -ENOMEM.
 */
int __init rxe_work_start(void)
{
	rxe_wq = alloc_workqueue("rdma_rxe_events", WQ_UNBOUND, 0);
	return rxe_wq ? 0 : -ENOMEM;
}

/**
 * rxe_work_stop - undo rxe_work_start(), at module unload; no object is left
 */
void rxe_work_stop(void)
{
	destroy_workqueue(rxe_wq);
}
