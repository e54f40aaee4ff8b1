// SPDX-License-Identifier: GPL-2.0
/*
 * Users: what the processes of one user may have together.
 *
 * The memory cgroup limits a process's rings only if it has a limit. By default, a user's
 * processes have none, and rings are neither swapped nor counted against RLIMIT_MEMLOCK. So the
 * rings of a user have a budget (user_ring_bytes), which is charged when a ring is made. The same
 * budget holds for the tables of pages that aren't pinned: a process can have large ones without
 * any memory (mem/chunk.c), or several for one dma-buf.
 *
 * The user is the real one of the process that makes the ring or the region. The user namespaces
 * that a user has made, with all their IDs, count as the user: otherwise each ID would have a
 * budget. A process with CAP_SYS_RESOURCE isn't charged. The charge keeps its user. So it doesn't
 * matter who frees the memory, or whether the process has changed its user meanwhile.
 *
 * A user is in the table while anything holds a reference.
 *
 * Context: process.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>
#include <rdma/ib_verbs.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>
#include <user/user.h>

static DEFINE_SPINLOCK(users_lock);	/* the table, rxe_user.refs and .bytes */
static DEFINE_HASHTABLE(users, RXE_USER_HASH_BITS);

static struct rxe_user *lookup_user(kuid_t uid)
{
	struct rxe_user *user;

	hash_for_each_possible(users, user, node, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

/* The user with one more reference; if there is none: @new, which may be NULL */
static struct rxe_user *hold_user(kuid_t uid, struct rxe_user *new)
{
	struct rxe_user *user;

	spin_lock(&users_lock);
	user = lookup_user(uid);
	if (!user && new) {
		user = new;
		user->uid = uid;
		hash_add(users, &user->node, __kuid_val(uid));
	}
	if (user)
		user->refs++;
	spin_unlock(&users_lock);
	return user;
}

/**
 * rxe_user_get - find a user, or add it
 * @uid: the user
 *
 * Return: the user, for rxe_user_put(); NULL if memory is short.
 */
struct rxe_user *rxe_user_get(kuid_t uid)
{
	struct rxe_user *user = hold_user(uid, NULL), *new;

	if (user)
		return user;
	new = kzalloc(sizeof(*new), RXE_GFP_USER);
	if (!new)
		return NULL;
	user = hold_user(uid, new);
	if (user != new)	/* another thread was faster */
		kfree(new);
	return user;
}

/* The calling process's user; in a user namespace: the user who made the outermost one */
static kuid_t find_owner(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/**
 * rxe_user_get_current - find or add the calling process's user
 *
 * Return: the user, for rxe_user_put(); NULL if memory is short.
 */
struct rxe_user *rxe_user_get_current(void)
{
	return rxe_user_get(find_owner());
}

/**
 * rxe_user_get_payer - the user whom memory for the calling process is charged to
 *
 * Return: the user, for rxe_user_put(); NULL if the process isn't charged;
 * ERR_PTR(-ENOMEM) if memory is short.
 */
struct rxe_user *rxe_user_get_payer(void)
{
	/* Not audited: without the capability, most rings are within the budget */
	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE))
		return NULL;
	return rxe_user_get_current() ?: ERR_PTR(-ENOMEM);
}

/**
 * rxe_user_put - undo rxe_user_get() and the like
 * @user: the user, who has nothing of the caller's any more; NULL is ignored
 */
void rxe_user_put(struct rxe_user *user)
{
	bool last;

	if (!user)
		return;
	spin_lock(&users_lock);
	last = !--user->refs;
	if (last)
		hash_del(&user->node);
	spin_unlock(&users_lock);
	if (last)
		kfree(user);
}

/* Bytes that the rings and tables of a user may have */
static u64 get_budget(void)
{
	u64 part = (u64)(totalram_pages() / RXE_USER_PART) << PAGE_SHIFT;
	u64 bytes = rxe_knob(user_ring_bytes);

	return bytes ? min(bytes, part) : U64_MAX;
}

/**
 * rxe_user_charge - charge memory of a ring, or of a table of pages
 * @user: who pays; NULL: nobody, without a limit
 * @ibdev: device that a warning names
 * @bytes: size of the memory
 *
 * Return: 0; -ENOMEM if the user's memory would exceed the budget, and nothing was charged.
 */
int rxe_user_charge(struct rxe_user *user, struct ib_device *ibdev, u64 bytes)
{
	u64 most = get_budget(), have;
	bool fits;

	if (!user)
		return 0;
	spin_lock(&users_lock);
	have = user->bytes;
	fits = have <= most && bytes <= most - have;
	if (fits)
		user->bytes += bytes;
	spin_unlock(&users_lock);
	if (fits)
		return 0;
	ibdev_warn_ratelimited(ibdev,
			       "queues and page tables of user %u have %llu bytes, and %llu more exceed %llu: destroy some, or raise user_ring_bytes in rdma_rxe/knobs of debugfs (at most a quarter of memory; 0: no limit)\n",
			       __kuid_val(user->uid), have, bytes, most);
	return -ENOMEM;
}

/**
 * rxe_user_uncharge - undo rxe_user_charge()
 * @user: who was charged, or NULL
 * @bytes: size of the memory; the sum, after several charges
 */
void rxe_user_uncharge(struct rxe_user *user, u64 bytes)
{
	if (!user)
		return;
	spin_lock(&users_lock);
	user->bytes -= bytes;
	spin_unlock(&users_lock);
}
