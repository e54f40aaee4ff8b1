/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round trips: how long an answer takes. Pure arithmetic; the caller has the lock
 * and passes the time.
 */
#ifndef RXE_LOSS_RTT_H
#define RXE_LOSS_RTT_H

#include <linux/types.h>

/**
 * struct rxe_rtt - what is known of a path's round trips, in nanoseconds
 * @smooth: smoothed as SRTT of RFC 6298; 0: nothing was measured
 * @var: variation, as RTTVAR of RFC 6298
 * @min: shortest recent round trip, forgotten after loss_memory_ns
 * @min_at: when @min was measured
 * @max: longest recent round trip; after loss_memory_ns, @next takes its place
 * @max_at: when @max was set
 * @next: longest round trip since @max_at
 */
struct rxe_rtt {
	u64	smooth;
	u64	var;
	u64	min;
	u64	min_at;
	u64	max;
	u64	max_at;
	u64	next;
};

/* A new connection: nothing was measured */
static inline void rxe_rtt_reset(struct rxe_rtt *rtt)
{
	*rtt = (struct rxe_rtt){};
}

void rxe_rtt_add(struct rxe_rtt *rtt, u64 ns, u64 now);
void rxe_rtt_stall(struct rxe_rtt *rtt, u64 ns, u64 now);
u64 rxe_rtt_longest(const struct rxe_rtt *rtt, u64 now);
u64 rxe_rtt_most(const struct rxe_rtt *rtt);

#endif /* RXE_LOSS_RTT_H */
