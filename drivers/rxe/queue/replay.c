// SPDX-License-Identifier: GPL-2.0
/*
 * Saved replies to atomics [9.4.5]: a duplicate gets the reply of the first request, and
 * isn't executed again. As many replies are kept as the peer may have atomics in flight
 * (responder resources).
 *
 * A request is identified by its sequence number, which counts PSNs and never wraps.
 *
 * Context: the receive task of the QP; init, free, reset: process, that task paused.
 */
#include <linux/slab.h>
#include <queue/replay.h>
#include <rxe/memory.h>

/* @seq: sequence number of the request; @orig: the memory's former value */
struct rxe_replay_entry {
	u64	seq;
	u64	orig;
	bool	valid;
};

/**
 * rxe_replay_init - set up the saved replies
 * @replay: the replies
 * @num: number of replies to keep, at least 1
 *
 * Return: 0, -ENOMEM.
 */
int rxe_replay_init(struct rxe_replay *replay, u32 num)
{
	*replay = (struct rxe_replay){ .num = num };
	replay->entries = kcalloc(num, sizeof(*replay->entries),
				  RXE_GFP_USER);
	return replay->entries ? 0 : -ENOMEM;
}

/**
 * rxe_replay_free - free the memory of saved replies, if any
 * @replay: the replies
 */
void rxe_replay_free(struct rxe_replay *replay)
{
	kfree(replay->entries);
}

/**
 * rxe_replay_reset - forget all replies
 * @replay: the replies
 */
void rxe_replay_reset(struct rxe_replay *replay)
{
	if (replay->entries)
		memset(replay->entries, 0,
		       replay->num * sizeof(*replay->entries));
}

/**
 * rxe_replay_keep - save the reply to an atomic in place of the oldest reply
 * @replay: the replies
 * @seq: sequence number of the request
 * @orig: the memory's former value
 */
void rxe_replay_keep(struct rxe_replay *replay, u64 seq, u64 orig)
{
	replay->entries[replay->next] = (struct rxe_replay_entry) {
		.seq = seq, .orig = orig, .valid = true,
	};
	replay->next = (replay->next + 1) % replay->num;
}

/**
 * rxe_replay_move - take over replies that were saved before
 * @replay: the replies, none yet
 * @old: the earlier replies; the newest of them are taken over, as many as fit
 */
void rxe_replay_move(struct rxe_replay *replay, const struct rxe_replay *old)
{
	const struct rxe_replay_entry *entry;
	u32 i;

	for (i = 0; i < old->num; i++) {	/* from the oldest on */
		entry = &old->entries[(old->next + i) % old->num];
		if (entry->valid)
			rxe_replay_keep(replay, entry->seq, entry->orig);
	}
}

/**
 * rxe_replay_find - find the saved reply to an atomic
 * @replay: the replies
 * @seq: sequence number of the request
 * @orig: out: the memory's former value
 *
 * Return: false if no reply is saved, or the request wasn't an atomic.
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
