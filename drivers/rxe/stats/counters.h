/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums of counters, and their second names; private to stats/.
 */
#ifndef RXE_STATS_COUNTERS_H
#define RXE_STATS_COUNTERS_H

#include <rxe/dev.h>

/* Second names, by which mlx5 calls the same counters: X(enumerator suffix, sysfs name) */
#define RXE_COUNTER_ALIASES(X) \
	X(OUT_OF_SEQ_REQ, out_of_sequence) \
	X(RETRY_EXCEEDED, req_transport_retries_exceeded) \
	X(RNR_EXCEEDED, req_rnr_retries_exceeded) \
	X(NEVER, roce_slow_restart) \
	X(NEVER, roce_slow_restart_cnps)

int rxe_stats_fill(const struct rxe_stats __percpu *stats, u64 *values);
u64 rxe_count_sum(const struct rxe_dev *rxe, int index);

#endif /* RXE_STATS_COUNTERS_H */
