/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: keys on memory of a process that isn't pinned.
 *
 * The tasks of a QP may use a page only while it is present. If it isn't, the task hands
 * a struct rxe_fault to a worker and stops. The worker, which may sleep, makes the page
 * present and wakes the task.
 */
#ifndef RXE_ODP_H
#define RXE_ODP_H

#include <linux/workqueue.h>
#include <rxe/mem.h>

struct uverbs_attr_bundle;

/**
 * struct rxe_fault - the page fault of one task and direction of a QP
 * @ref: one for the QP, one for the work while it runs
 * @lock: protects @owner
 * @wake: called with @owner when the work is done; bottom halves off, @lock held
 * @owner: the task that waits; NULL: the QP no longer needs the fault
 * @busy: the members below belong to the work; otherwise they belong to the task
 * @work: makes the pages present; process context
 * @since: jiffies of the request
 * @odp: the memory, with a reference; NULL: there is no request
 * @addr: address of the first missing byte in the process
 * @len: bytes to make present from @addr on, at least 1
 * @write: the pages are to be written
 * @err: error of the last request, 0 or negative; reported to the next request if that
 *	is for the same page
 */
struct rxe_fault {
	struct kref		ref;
	spinlock_t		lock;	/* owner */
	void			(*wake)(void *owner);
	void			*owner;
	bool			busy;
	struct work_struct	work;
	unsigned long		since;
	struct rxe_odp		*odp;
	u64			addr;
	u64			len;
	bool			write;
	int			err;
};

/* odp.c: module load and unload */
int rxe_odp_start(void);
void rxe_odp_stop(void);

/* fault.c */
struct rxe_fault *rxe_fault_create(void (*wake)(void *owner), void *owner, gfp_t gfp);
void rxe_fault_free(struct rxe_fault *fault);
void rxe_fault_reset(struct rxe_fault **fault);
int rxe_fault_pages(struct rxe_fault *fault, const struct rxe_key *key, bool write,
		    u64 va, u64 len, u64 rest);

/* prefetch.c */
int rxe_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  struct ib_sge *sge, u32 num_sge, struct uverbs_attr_bundle *attrs);

/* Does a worker have the fault? @fault may be NULL */
static inline bool rxe_fault_is_busy(const struct rxe_fault *fault)
{
	/* Pairs with get_fault_pages(): its results are visible */
	return fault && smp_load_acquire(&fault->busy);
}

/**
 * rxe_key_prepare - make sure that the bytes of a key are present
 * @key: from rxe_key_get(), still held
 * @write: they are to be written
 * @va: first byte
 * @len: bytes, at least 1, in the key's range
 * @rest: bytes that will be needed soon, including @len
 * @fault: fault of the task; NULL: the caller can't wait
 *
 * Present bytes may be used until the reference to the key's memory is given back.
 *
 * Context: bottom halves off.
 *
 * Return: 0 if they are. -EAGAIN if not: the owner of @fault is woken when it should call
 * this again. -EFAULT if the process doesn't have the memory or lacks the permission, or if
 * bytes are missing and @fault is NULL.
 */
static inline int rxe_key_prepare(const struct rxe_key *key, bool write, u64 va, u64 len,
				  u64 rest, struct rxe_fault *fault)
{
	if (likely(!key->paged))
		return 0;
	return rxe_fault_pages(fault, key, write, va, len, rest);
}

/* How many of @len bytes to ask for at a time: pages that aren't present come in steps */
static inline u32 rxe_key_step(const struct rxe_key *key, u32 len)
{
	return key->paged ? min_t(u32, len, RXE_READ_STEP) : len;
}

/**
 * rxe_key_use - find memory by a key and have its bytes present
 * @pd: as rxe_key_get()
 * @remote: as rxe_key_get()
 * @value: L_Key or R_Key
 * @access: enum ib_access_flags that are needed
 * @va: first byte
 * @len: bytes, at least 1
 * @rest: bytes that will be needed soon, including @len
 * @fault: as rxe_key_prepare()
 * @key: in and out: as rxe_key_keep()
 *
 * Context: bottom halves off.
 *
 * Return: 0; -EACCES as rxe_key_get(); -EAGAIN (not now) or -EFAULT as rxe_key_prepare().
 */
static inline int rxe_key_use(struct ib_pd *pd, const struct ib_qp *remote, u32 value,
			      int access, u64 va, u64 len, u64 rest,
			      struct rxe_fault *fault, struct rxe_key **key)
{
	const int writes = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_ATOMIC;
	int err = rxe_key_keep(pd, remote, value, access, va, len, key);

	return err ?: rxe_key_prepare(*key, access & writes, va, len, rest, fault);
}

#endif /* RXE_ODP_H */
