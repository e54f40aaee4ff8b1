/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory management, for on-demand paging: interval notifiers, which a kernel without
 * CONFIG_MMU_NOTIFIER lacks, and get_user_pages_remote(), whose arguments differ.
 */
#ifndef RXE_COMPAT_MMU_H
#define RXE_COMPAT_MMU_H

#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <rdma/ib_verbs.h>
#include <compat/have.h>

#ifdef HAVE_MMU_INTERVAL_NOTIFIER
#define RXE_ODP_ACCESS	IB_ACCESS_ON_DEMAND
#else
/* On-demand paging isn't offered, so none of these functions is called */
#define RXE_ODP_ACCESS	0

struct mmu_interval_notifier {
};

struct mmu_interval_notifier_ops {
	bool (*invalidate)(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range, unsigned long seq);
};

static inline int mmu_interval_notifier_insert(struct mmu_interval_notifier *notifier,
					       struct mm_struct *mm, unsigned long start,
					       unsigned long length,
					       const struct mmu_interval_notifier_ops *ops)
{
	return -EOPNOTSUPP;
}

static inline void mmu_interval_notifier_remove(struct mmu_interval_notifier *notifier)
{
}

static inline unsigned long mmu_interval_read_begin(struct mmu_interval_notifier *notifier)
{
	return 0;
}

static inline void mmu_interval_set_seq(struct mmu_interval_notifier *notifier,
					unsigned long seq)
{
}
#endif

/* Context: mmap_lock held for reading. It may be released; *@locked is 0 then. */
static inline long rxe_get_pages_remote(struct mm_struct *mm, unsigned long start,
					unsigned long num, unsigned int flags,
					struct page **pages, int *locked)
{
#ifdef HAVE_GUP_REMOTE_VMAS
	return get_user_pages_remote(mm, start, num, flags, pages, NULL, locked);
#else
	return get_user_pages_remote(mm, start, num, flags, pages, locked);
#endif
}

#endif /* RXE_COMPAT_MMU_H */
