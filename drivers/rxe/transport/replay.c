// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's memory of atomics [9.4.5]: a duplicate gets the reply that was given
 * before, and isn't executed again. It remembers as many as the peer may have under
 * way, its responder resources.
 *
 * A request is told by its sequence number, which counts PSNs and never wraps.
 *
 * Context: the receive task of the QP; init, free, reset: process, with that paused.
 */
#include <linux/slab.h>
#include <transport/replay.h>

/* @seq: sequence number of the request; @orig: what the memory held before */
struct rxe_replay_entry {
	u64	seq;
	u64	orig;
	bool	valid;
};

/**
 * rxe_replay_init - set up the memory of atomics
 * @replay: the memory
 * @num: replies, at least 1
 *
 * Return: 0, -ENOMEM.
 */
int rxe_replay_init(struct rxe_replay *replay, u32 num)
{
	*replay = (struct rxe_replay){ .num = num };
	replay->entries = kcalloc(num, sizeof(*replay->entries),
				  GFP_KERNEL_ACCOUNT);
	return replay->entries ? 0 : -ENOMEM;
}

/**
 * rxe_replay_free - free what rxe_replay_init() made, if anything
 * @replay: the memory
 */
void rxe_replay_free(struct rxe_replay *replay)
{
	kfree(replay->entries);
}

/**
 * rxe_replay_reset - forget all replies
 * @replay: the memory
 */
void rxe_replay_reset(struct rxe_replay *replay)
{
	if (replay->entries)
		memset(replay->entries, 0,
		       replay->num * sizeof(*replay->entries));
}

/**
 * rxe_replay_keep - remember the reply to an atomic, in the place of the oldest
 * @replay: the memory
 * @seq: of the request
 * @orig: what the memory held before
 */
void rxe_replay_keep(struct rxe_replay *replay, u64 seq, u64 orig)
{
	replay->entries[replay->next] = (struct rxe_replay_entry) {
		.seq = seq, .orig = orig, .valid = true,
	};
	replay->next = (replay->next + 1) % replay->num;
}

/**
 * rxe_replay_find - the reply that was given to an atomic
 * @replay: the memory
 * @seq: of the request
 * @orig: out: what the memory held before
 *
 * Return: false if it isn't remembered, or wasn't an atomic.
 */
bool rxe_replay_find(const struct rxe_replay *replay, u64 seq, u64 *orig)
{
	u32 i;

	for (i = 0; i < replay->num; i++) {
		const struct rxe_replay_entry *entry = &replay->entries[i];

		if (entry->valid && entry->seq == seq) {
			*orig = entry->orig;
			return true;
		}
	}
	return false;
}
