/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The notification point: a receiver reports ECN marks to the sender by congestion
 * notification packets (CNPs).
 */
#ifndef RXE_CC_NP_H
#define RXE_CC_NP_H

#include <linux/types.h>
#include <rxe/constants.h>

/**
 * struct rxe_np - the CNPs that a QP sends
 * @told: time of the last CNP by the flow's hash, ns; 0: there was none
 */
struct rxe_np {
	u64	told[RXE_NP_FLOWS];
};

/* A new connection: no CNP was sent */
static inline void rxe_np_reset(struct rxe_np *np)
{
	*np = (struct rxe_np){};
}

bool rxe_np_due(struct rxe_np *np, u32 flow, u64 now);

#endif /* RXE_CC_NP_H */
