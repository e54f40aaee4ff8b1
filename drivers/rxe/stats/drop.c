// SPDX-License-Identifier: GPL-2.0
/*
 * The one place where dropped packets are told of.
 */
#include <rxe/dev.h>

/**
 * rxe_drop - packets are dropped
 * @rxe: the device
 * @why: the reason, which has a counter of its own
 * @npkts: how many
 *
 * Freeing them is left to the caller. Context: any.
 */
void rxe_drop(struct rxe_dev *rxe, enum rxe_drop why, u32 npkts)
{
	this_cpu_add(rxe->stats->cnt[why], npkts);
}
