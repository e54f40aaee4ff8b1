/* SPDX-License-Identifier: GPL-2.0 */
/* Events of congestion control in any order. */
#ifndef RXE_KUNIT_CC_EVENTS_H
#define RXE_KUNIT_CC_EVENTS_H

#include <cc/cc.h>
#include "../util.h"

/* In 3 of @kinds cases, plays a loss of @psn, a timeout or an undo. Return: false in the others */
static inline bool play_loss(struct rnd_state *rnd, struct rxe_cc *cc, u32 psn, u32 kinds)
{
	switch (rnd_below(rnd, kinds)) {
	case 0:
		cc->ops->lost(cc, psn, rnd_below(rnd, 1 << 24));
		return true;
	case 1:
		cc->ops->timeout(cc, rnd_below(rnd, 1 << 24));
		return true;
	case 2:
		cc->ops->undo(cc);
		return true;
	default:
		return false;
	}
}

#endif /* RXE_KUNIT_CC_EVENTS_H */
