/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the processes of one user have together, where that has a limit (user/user.c).
 */
#ifndef RXE_USER_H
#define RXE_USER_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct ib_device;

/**
 * struct rxe_user - a user whose processes have something that is limited
 * @node: in the table of users
 * @uid: the user; owner of the outermost user namespace for processes in one
 * @refs: references; like @node, protected by the table's lock
 * @bytes: memory of rings and of page tables that was charged to the user; protected by the
 *	table's lock
 * @processes: processes with on-demand paging; protected by the lock of mem/process.c
 */
struct rxe_user {
	struct hlist_node	node;
	kuid_t			uid;
	u32			refs;
	u64			bytes;
	u32			processes;
};

struct rxe_user *rxe_user_get_current(void);
struct rxe_user *rxe_user_get_payer(void);
void rxe_user_put(struct rxe_user *user);
int rxe_user_charge(struct rxe_user *user, struct ib_device *ibdev, u64 bytes);
void rxe_user_uncharge(struct rxe_user *user, u64 bytes);

#endif /* RXE_USER_H */
