/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: keys on memory of a process that isn't pinned.
 *
 * A page is present or it isn't. The tasks of a QP use present pages only. For others
 * they ask a struct rxe_fault, and go on when that has been to the process's memory,
 * which may sleep.
 */
#ifndef RXE_ODP_H
#define RXE_ODP_H

#include <linux/workqueue.h>
#include <rxe/mem.h>

struct uverbs_attr_bundle;

/**
 * struct rxe_fault - the page that one side of a QP waits for
 * @ref: one for the QP, one for the work
 * @lock: protects @owner
 * @wake: called with @owner when the fault is done; bottom halves off
 * @owner: who waits; NULL: nobody any more
 * @busy: the work has it; otherwise the owner
 * @work: goes to the process's memory
 * @since: jiffies when it was asked for
 * @odp: the memory
 * @addr: the page's address in the process
 * @len: bytes that are worth faulting in, from @addr on
 * @write: to be written
 * @err: it failed; the next that asks for the same learns it
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

/* Is a page being faulted in? @fault may be NULL */
static inline bool rxe_fault_busy(const struct rxe_fault *fault)
{
	/* pairs with the work's release: what it found is known, too */
	return fault && smp_load_acquire(&fault->busy);
}

/**
 * rxe_key_ready - are the bytes of a key present?
 * @key: from rxe_key_get(), still held
 * @write: they are to be written
 * @va: first byte
 * @len: bytes, at least 1, in the key's range
 * @rest: bytes, at least @len, that will be needed soon
 * @fault: who asks; NULL: nobody who could wait
 *
 * What is present stays so until the reference to the key's memory is given back.
 *
 * Return: 0; -EAGAIN if not: the owner of @fault is woken when it should ask again;
 * -EFAULT if the process doesn't have the memory, or not for that.
 */
static inline int rxe_key_ready(const struct rxe_key *key, bool write, u64 va, u64 len,
				u64 rest, struct rxe_fault *fault)
{
	if (likely(!key->paged))
		return 0;
	return rxe_fault_pages(fault, key, write, va, len, rest);
}

#endif /* RXE_ODP_H */
