// SPDX-License-Identifier: GPL-2.0
/*
 * Workqueues for rare events: asynchronous events of QPs, CQs and SRQs, and receives that
 * a process posts in ERR.
 *
 * A process can cause many of these. The system's workqueues run a work on the CPU that queued
 * it, and the process chooses this CPU. These workqueues are unbound: the scheduler finds a CPU.
 * Flushing has its own workqueue, which uses at most half of the CPUs: it takes as long as there
 * are receives to flush, and events mustn't wait for it. Works that send (doorbell/cork.c), and
 * works that sleep for long (mem/), have workqueues of their own as well.
 *
 * Context: process.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/workqueue.h>
#include <rxe/work.h>
#include "work.h"

struct workqueue_struct *rxe_wq;
struct workqueue_struct *rxe_flush_wq;

/**
 * rxe_work_start - create the workqueues, at module load
 *
 * Return: 0, or -ENOMEM.
 */
int __init rxe_work_start(void)
{
	rxe_wq = alloc_workqueue("rdma_rxe_events", WQ_UNBOUND, 0);
	if (!rxe_wq)
		return -ENOMEM;
	rxe_flush_wq = alloc_workqueue("rdma_rxe_flush", WQ_UNBOUND,
				       DIV_ROUND_UP(num_possible_cpus(), 2));
	if (rxe_flush_wq)
		return 0;
	destroy_workqueue(rxe_wq);
	return -ENOMEM;
}

/**
 * rxe_work_stop - undo rxe_work_start(), at module unload; no object is left
 */
void rxe_work_stop(void)
{
	destroy_workqueue(rxe_flush_wq);
	destroy_workqueue(rxe_wq);
}
