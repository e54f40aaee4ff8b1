/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The notification point: the receiver tells the sender of ECN marks, by a congestion
 * notification packet (CNP).
 */
#ifndef RXE_CC_NP_H
#define RXE_CC_NP_H

#include <linux/types.h>

/**
 * struct rxe_np - the CNPs of a QP
 * @told: when the last one was sent, ns; 0: never
 */
struct rxe_np {
	u64	told;
};

bool rxe_np_due(struct rxe_np *np, u64 now);

#endif /* RXE_CC_NP_H */
