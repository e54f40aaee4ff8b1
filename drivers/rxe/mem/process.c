// SPDX-License-Identifier: GPL-2.0
/*
 * Processes whose memory isn't pinned, with their workqueues and limits.
 *
 * A fault may sleep for ever in the memory of a process (FUSE). Each process therefore has a
 * workqueue of its own, so that the faults of other processes don't wait. It has at most
 * RXE_ODP_WORKERS workers, and RXE_ODP_PREFETCHERS more (up to Linux 6.8: in each NUMA node).
 *
 * A sleeping fault keeps its worker when the region ends and the process exits. A region may
 * outlive its process, too. RLIMIT_NPROC and cgroups don't count workers. The number of
 * processes is therefore limited. A process counts from its first region until its last work
 * has ended:
 *
 * - All processes: odp_processes. By default, their workers are less than two thirds of the
 *   smallest default of pid_max. Also, their stacks take at most 1/RXE_ODP_STACKS of all memory,
 *   which is a quarter of what the default of threads-max permits. The host can thus always fork.
 *   A real process needs far more memory than this limit demands.
 * - Processes of one user: half of this number, which leaves room for others. The user
 *   namespaces that a user has made, with all their IDs, count as the user.
 *
 * Each process has a reference to the module. Otherwise, unloading would remove all devices, and
 * then wait for a fault that sleeps.
 */
#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/pfn.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/thread_info.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

static DEFINE_MUTEX(table_lock);	/* the table, rxe_process.users, rxe_user.processes */
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

/* How many processes there may be; half of them, of one user */
static u64 get_max_processes(void)
{
	unsigned long stacks = (RXE_ODP_WORKERS + RXE_ODP_PREFETCHERS) * PFN_UP(THREAD_SIZE);

	return min_t(u64, rxe_knob(odp_processes), totalram_pages() / RXE_ODP_STACKS / stacks);
}

/* May the user have one more process? Context: table_lock held */
static bool may_add_process(struct ib_device *ibdev, const struct rxe_user *user)
{
	u32 all = atomic_read(&num_processes), own = user->processes;
	u64 most = get_max_processes();

	if (all < most && own < most / 2)
		return true;
	ibdev_warn_ratelimited(ibdev,
			       "user %u has on-demand paging in %u processes of at most %llu, all users in %u of %llu: end some, or what the page faults of exited ones wait for\n",
			       __kuid_val(user->uid), own, most / 2, all, most);
	return false;
}

static void free_workqueues(struct rxe_process *process)
{
	if (process->wq)
		destroy_workqueue(process->wq);
	if (process->prefetch_wq)
		destroy_workqueue(process->prefetch_wq);
}

static struct rxe_process *create_process(void)
{
	struct rxe_process *process = kzalloc(sizeof(*process), RXE_GFP_USER);

	if (!process)
		return NULL;
	mutex_init(&process->windows.grace);
	process->wq = alloc_workqueue("rdma_rxe_odp", WQ_UNBOUND, RXE_ODP_WORKERS);
	process->prefetch_wq = alloc_workqueue("rdma_rxe_prefetch", WQ_UNBOUND,
					       RXE_ODP_PREFETCHERS);
	if (!process->wq || !process->prefetch_wq) {
		free_workqueues(process);
		kfree(process);
		return NULL;
	}
	__module_get(THIS_MODULE);	/* the caller's open device has a reference */
	return process;
}

static struct rxe_process *add_process(struct ib_device *ibdev, struct mm_struct *mm)
{
	struct rxe_user *user = rxe_user_get_current();
	struct rxe_process *process = NULL;

	if (user && may_add_process(ibdev, user))
		process = create_process();
	if (!process) {
		rxe_user_put(user);
		return NULL;
	}
	mmgrab(mm);
	process->mm = mm;
	process->user = user;
	user->processes++;
	hash_add(table, &process->node, (unsigned long)mm);
	atomic_inc(&num_processes);
	return process;
}

/**
 * rxe_process_get - find the calling process, or add it
 * @ibdev: device that a warning names
 *
 * Context: process.
 *
 * Return: the process, for rxe_process_put(); NULL if memory is short, or if there are too
 * many processes.
 */
struct rxe_process *rxe_process_get(struct ib_device *ibdev)
{
	struct rxe_process *process;

	mutex_lock(&table_lock);
	process = find_process(current->mm) ?: add_process(ibdev, current->mm);
	if (process)
		process->users++;
	mutex_unlock(&table_lock);
	return process;
}

static void free_process(struct rxe_process *process)
{
	free_workqueues(process);
	mmdrop(process->mm);
	rxe_user_put(process->user);
	kfree(process);
	module_put(THIS_MODULE);
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
	if (last) {
		hash_del(&process->node);
		process->user->processes--;
	}
	mutex_unlock(&table_lock);
	if (last)
		free_process(process);
}

/**
 * rxe_process_wait - wait until the last process is gone
 *
 * Only for the end of free_process(): there are no references to the module any more.
 *
 * Context: process; no new ones come.
 */
void rxe_process_wait(void)
{
	wait_var_event(&num_processes, !atomic_read(&num_processes));
}
