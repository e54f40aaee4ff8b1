/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saved replies to atomics, for duplicate requests (replay.c).
 */
#ifndef RXE_QUEUE_REPLAY_H
#define RXE_QUEUE_REPLAY_H

#include <linux/types.h>

struct rxe_replay_entry;

/**
 * struct rxe_replay - the latest replies
 * @entries: the replies
 * @num: places in @entries
 * @next: the place to use next
 */
struct rxe_replay {
	struct rxe_replay_entry	*entries;
	u32			num;
	u32			next;
};

int rxe_replay_init(struct rxe_replay *replay, u32 num);
void rxe_replay_free(struct rxe_replay *replay);
void rxe_replay_reset(struct rxe_replay *replay);
void rxe_replay_keep(struct rxe_replay *replay, u64 seq, u64 orig);
void rxe_replay_move(struct rxe_replay *replay, const struct rxe_replay *old);
bool rxe_replay_find(const struct rxe_replay *replay, u64 seq, u64 *orig);

#endif /* RXE_QUEUE_REPLAY_H */
