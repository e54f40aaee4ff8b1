/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: keys on memory of a process that isn't pinned.
 *
 * The tasks of a QP may use a page only while it is present. If a page isn't present, the task
 * hands a struct rxe_fault to a worker and stops. The worker, which may sleep, makes the page
 * present and wakes the task.
 */
#ifndef RXE_ODP_H
#define RXE_ODP_H

#include <rxe/mem.h>

struct uverbs_attr_bundle;

struct rxe_fault;

/**
 * struct rxe_pager - has missing pages made present for one task and direction of a QP
 * @fault: the page fault; NULL until the first fault, since most QPs never have any
 * @owner: the task, argument of rxe_fault_set_wake()'s function
 *
 * Context: only the task uses it.
 */
struct rxe_pager {
	struct rxe_fault	*fault;
	void			*owner;
};

/* odp.c: module load and unload */
int rxe_odp_start(void);
void rxe_odp_stop(void);

/* fault.c */
void rxe_fault_set_wake(void (*wake)(void *owner));
void rxe_pager_init(struct rxe_pager *pager, void *owner);
void rxe_pager_reset(struct rxe_pager *pager);
bool rxe_pager_is_late(const struct rxe_pager *pager, u32 ms);
bool rxe_fault_is_busy(const struct rxe_fault *fault);
int rxe_fault_pages(struct rxe_pager *pager, const struct rxe_key *key, bool write,
		    u64 va, u64 len, u64 rest);

/* prefetch.c */
int rxe_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  struct ib_sge *sge, u32 num_sge, struct uverbs_attr_bundle *attrs);

/* Does a worker have the fault? Until then, the task needn't try again */
static inline bool rxe_pager_is_busy(const struct rxe_pager *pager)
{
	return unlikely(pager->fault) && rxe_fault_is_busy(pager->fault);
}

/**
 * rxe_key_prepare - make sure that the bytes of a key are present
 * @key: from rxe_key_get(), still held
 * @write: the bytes are to be written
 * @va: first byte
 * @len: bytes, at least 1, in the key's range
 * @rest: bytes that will be needed soon, including @len
 * @pager: the task's; NULL: the caller can't wait
 *
 * Present bytes may be used until the reference to the key's memory is dropped.
 *
 * Context: bottom halves off.
 *
 * Return: 0 if all bytes are present. -EAGAIN if not: the owner of @pager is woken when it
 * should call this again. -EFAULT if the process doesn't have the memory or lacks the
 * permission, or if bytes are missing and @pager is NULL.
 */
static inline int rxe_key_prepare(const struct rxe_key *key, bool write, u64 va, u64 len,
				  u64 rest, struct rxe_pager *pager)
{
	if (likely(!key->paged))
		return 0;
	return rxe_fault_pages(pager, key, write, va, len, rest);
}

/* How many of @len bytes to ask for at a time: missing pages are made present in steps */
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
 * @pager: as rxe_key_prepare()
 * @key: in and out: as rxe_key_keep()
 *
 * Context: bottom halves off.
 *
 * Return: 0; -EACCES as rxe_key_get(); -EAGAIN (not yet) or -EFAULT as rxe_key_prepare().
 */
static inline int rxe_key_use(struct ib_pd *pd, const struct ib_qp *remote, u32 value,
			      int access, u64 va, u64 len, u64 rest,
			      struct rxe_pager *pager, struct rxe_key **key)
{
	const int writes = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_ATOMIC;
	int err = rxe_key_keep(pd, remote, value, access, va, len, key);

	return err ?: rxe_key_prepare(*key, access & writes, va, len, rest, pager);
}

#endif /* RXE_ODP_H */
