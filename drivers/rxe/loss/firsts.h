/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does only the first packet of each train arrive? A verdict only; the caller has the
 * lock, or is alone.
 */
#ifndef RXE_LOSS_FIRSTS_H
#define RXE_LOSS_FIRSTS_H

#include <linux/types.h>

/**
 * struct rxe_firsts - how often was the second packet of a train the next one missing?
 * @from: the first packet that was sent again the last time
 * @npkts: packets that were sent then
 * @score: how often that was so, less how often it wasn't
 */
struct rxe_firsts {
	u32	from;
	u32	npkts;
	u32	score;
};

bool rxe_firsts_again(struct rxe_firsts *firsts, u32 from, u32 npkts);
void rxe_firsts_new(struct rxe_firsts *firsts, u32 from, u32 npkts);

#endif /* RXE_LOSS_FIRSTS_H */
