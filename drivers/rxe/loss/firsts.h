/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does only the first packet of each train arrive? Gives a verdict only; the caller has
 * the lock, or is the only user.
 */
#ifndef RXE_LOSS_FIRSTS_H
#define RXE_LOSS_FIRSTS_H

#include <linux/types.h>

/**
 * struct rxe_firsts - how often was a train's second packet the next missing one?
 * @from: the first packet of the last resending
 * @npkts: packets in the last resending
 * @score: how often it was the second packet, less how often another
 */
struct rxe_firsts {
	u32	from;
	u32	npkts;
	u32	score;
};

/* A new connection, or a new verdict: nothing is known */
static inline void rxe_firsts_reset(struct rxe_firsts *firsts)
{
	*firsts = (struct rxe_firsts){};
}

bool rxe_firsts_again(struct rxe_firsts *firsts, u32 from, u32 npkts);
void rxe_firsts_new(struct rxe_firsts *firsts, u32 from, u32 npkts);

#endif /* RXE_LOSS_FIRSTS_H */
