// SPDX-License-Identifier: GPL-2.0
/*
 * Dropped packets: the only function that counts them.
 */
#include <rxe/dev.h>

/**
 * rxe_drop - count dropped packets
 * @rxe: the device
 * @why: the reason; each has a counter
 * @npkts: number of packets
 *
 * The caller frees them. Context: any.
 */
void rxe_drop(struct rxe_dev *rxe, enum rxe_drop why, u32 npkts)
{
	this_cpu_add(rxe->stats->cnt[why], npkts);
}
