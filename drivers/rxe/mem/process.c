// SPDX-License-Identifier: GPL-2.0
/*
 * Processes whose memory isn't pinned: what their regions share.
 *
 * A fault may sleep for ever in the memory of a process (FUSE). So each process has a
 * workqueue of its own: the faults of others don't wait for it, and it occupies
 * RXE_ODP_WORKERS workers at most.
 */
#include <linux/hashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <mem/odp.h>
#include <rxe/constants.h>
#include <rxe/memory.h>

static DEFINE_MUTEX(table_lock);	/* the table, and rxe_process.users */
static DEFINE_HASHTABLE(table, RXE_PROCESS_HASH_BITS);
static atomic_t num_processes = ATOMIC_INIT(0);

static struct rxe_process *find_process(struct mm_struct *mm)
{
	struct rxe_process *process;

	hash_for_each_possible(table, process, node, (unsigned long)mm) {
		if (process->mm == mm)
			return process;
	}
	return NULL;
}

static struct rxe_process *add_process(struct mm_struct *mm)
{
	struct rxe_process *process = kzalloc(sizeof(*process), RXE_GFP_USER);

	if (!process)
		return NULL;
	process->wq = alloc_workqueue("rdma_rxe_odp", WQ_UNBOUND, RXE_ODP_WORKERS);
	if (!process->wq) {
		kfree(process);
		return NULL;
	}
	mmgrab(mm);
	process->mm = mm;
	hash_add(table, &process->node, (unsigned long)mm);
	atomic_inc(&num_processes);
	return process;
}

/**
 * rxe_process_get - find the calling process, or add it
 *
 * Context: process.
 *
 * Return: the process, for rxe_process_put(); NULL if memory is short.
 */
struct rxe_process *rxe_process_get(void)
{
	struct rxe_process *process;

	mutex_lock(&table_lock);
	process = find_process(current->mm) ?: add_process(current->mm);
	if (process)
		process->users++;
	mutex_unlock(&table_lock);
	return process;
}

static void free_process(struct rxe_process *process)
{
	destroy_workqueue(process->wq);
	mmdrop(process->mm);
	kfree(process);
	if (atomic_dec_and_test(&num_processes))
		wake_up_var(&num_processes);
}

/**
 * rxe_process_put - undo rxe_process_get()
 * @process: the process
 *
 * The last call waits for works that have given back their struct rxe_odp, and still run.
 *
 * Context: process, but no work of @process.
 */
void rxe_process_put(struct rxe_process *process)
{
	bool last;

	mutex_lock(&table_lock);
	last = !--process->users;
	if (last)
		hash_del(&process->node);
	mutex_unlock(&table_lock);
	if (last)
		free_process(process);
}

/**
 * rxe_process_wait - wait until all processes are gone
 *
 * Context: process; no new ones come.
 */
void rxe_process_wait(void)
{
	wait_var_event(&num_processes, !atomic_read(&num_processes));
}
