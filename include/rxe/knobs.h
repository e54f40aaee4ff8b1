/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that may change at run time, for all devices together. The file rdma_rxe/knobs in
 * debugfs shows and sets them. Related numbers are elsewhere. Those fixed at build time are in
 * rxe/constants.h, and limits that programs see in rxe/dev.h. The settings of one device are
 * in struct rxe_tune.
 */
#ifndef RXE_KNOBS_H
#define RXE_KNOBS_H

#include <linux/compiler.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <rxe/constants.h>

/*
 * Congestion control by ECN, under the names of mlx5. Each also has a file in the folder
 * cc_params of debugfs (config/debugfs.c).
 */
#define RXE_CC_KNOBS(KNOB)							\
	KNOB(np_min_time_between_cnps, 50, 0, 1000000,				\
	     "us between two CNPs for a flow")					\
	KNOB(np_cnp_dscp, 48, 0, 63, "DSCP of CNPs")				\
	KNOB(np_cnp_prio, 6, 0, 7, "priority of CNPs")				\
	KNOB(rp_clamp_tgt_rate, 1, 0, 1,					\
	     "1: each cut sets the target rate; 0: only one after an increase")	\
	KNOB(rp_clamp_tgt_rate_ati, 1, 0, 1,					\
	     "1: an increase by time counts for that; 0: only one by bytes")	\
	KNOB(rp_time_reset, 5000, 1, 131071, "us between increases by time")	\
	KNOB(rp_byte_reset, 10000000, 64, 32000000, "bytes between increases by bytes") \
	KNOB(rp_threshold, 5, 1, 31, "increases of fast recovery after a cut")	\
	KNOB(rp_ai_rate, 5, 1, 100000, "Mb/s of an additive increase")		\
	KNOB(rp_hai_rate, 50, 1, 100000, "Mb/s of a hyper increase")		\
	KNOB(rp_max_rate, 0, 0, 400000, "Mb/s at which pacing ends; 0: LINE_RATE") \
	KNOB(rp_min_rate, 1, 1, 100000, "lowest rate, Mb/s")			\
	KNOB(rp_rate_to_set_on_first_cnp, 0, 0, 400000,				\
	     "rate before the first cut, Mb/s; 0: the measured one, or rp_max_rate") \
	KNOB(rp_min_dec_fac, 50, 0, 100, "% of the rate that a cut leaves at least") \
	KNOB(rp_gd, 11, 0, 15, "a cut takes alpha / 2^rp_gd of the rate, alpha / 1024") \
	KNOB(rp_dce_tcp_g, 960, 0, 1024, "weight of the old alpha, 1 - g, / 1024") \
	KNOB(rp_dce_tcp_rtt, 1100, 1, 131071, "us between decays of alpha")	\
	KNOB(rp_rate_reduce_monitor_period, 1000, 0, 131071, "least us between cuts") \
	KNOB(rp_initial_alpha_value, 1023, 0, 1023, "alpha at the first CNP, / 1024")

/*
 * All numbers. The suffix of a name is the unit: _ns, _ms or _bytes. A name without one is
 * a count, unless the description says otherwise.
 *
 *   name  default  minimum  maximum  description
 */
#define RXE_KNOBS(KNOB)								\
	/* congestion control: cc/window.c */					\
	KNOB(window_first, 64, 1, 1024,						\
	     "packets that a new connection may have in flight")		\
	KNOB(window_max, 16384, 1024, 16384,					\
	     "packets that a connection may have in flight")			\
	KNOB(window_calm, 128, 1, 1024,						\
	     "least window that delay leads to on a path without loss, packets") \
	KNOB(window_lossy, 16, 1, 1024,						\
	     "least window that delay leads to on a lossy path, packets")	\
	KNOB(window_queue_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that is no sign of congestion")			\
	RXE_CC_KNOBS(KNOB)							\
	KNOB(pace_ns, 100 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "longest train at a limited rate, as time at that rate")		\
	KNOB(pace_late_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "delay that a sender at a limited rate may make up for")		\
	KNOB(swift_target_ns, 250 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that swift aims at")				\
	KNOB(swift_path_ns, NSEC_PER_SEC, 0, NSEC_PER_SEC,			\
	     "longest round trip that swift takes for one without a queue")		\
	KNOB(swift_flows_ns, NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "queueing delay that swift adds for a window of one packet")	\
	KNOB(swift_ai, 1024, 1, SZ_64K,						\
	     "increase of swift's window in a round trip, packets / 1024")	\
	KNOB(swift_beta, 820, 1, 1024,						\
	     "decrease of swift's window per excess part of a round trip, / 1024") \
	KNOB(swift_mdf, 512, 1, 1000,						\
	     "largest decrease of swift's window, / 1024")			\
	/* loss recovery: loss/, transport/gap.c, transport/timer.c */		\
	KNOB(silence_ns, 300 * NSEC_PER_MSEC, NSEC_PER_MSEC,			\
	     10ULL * NSEC_PER_SEC,						\
	     "silence after which a path without recent loss is probed")	\
	KNOB(patience_ns, NSEC_PER_SEC, NSEC_PER_MSEC, 100ULL * NSEC_PER_SEC,	\
	     "time after which a missing response counts as lost, not late")	\
	KNOB(rto_max_ns, 4ULL * NSEC_PER_SEC, NSEC_PER_MSEC,			\
	     100ULL * NSEC_PER_SEC,						\
	     "longest timeout that the longest round trip leads to")		\
	KNOB(rtt_guess_ns, 500 * NSEC_PER_USEC, NSEC_PER_USEC, NSEC_PER_SEC,	\
	     "round trip assumed before one is measured; shortest wait for a probe") \
	KNOB(loss_memory_ns, 10ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     1000ULL * NSEC_PER_SEC,						\
	     "time that a loss, and the shortest and longest round trip, count") \
	KNOB(go_back, 8, 1, 255,						\
	     "further losses that send all again to a peer that drops early packets") \
	KNOB(firsts_enough, 7, 1, 100,						\
	     "score at which only first packets of trains seem to arrive")	\
	KNOB(firsts_near, 4, 0, 100,						\
	     "largest step between resendings that leaves the score, packets")	\
	KNOB(reorder_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a packet may be late before it is asked for again")	\
	KNOB(reorder_max_ns, 16 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "the same, on a path that reorders")				\
	KNOB(timer_late_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "lateness of a timer that shows a busy CPU of this host")		\
	/* queues of the stack and the netdev: net/tx.c */			\
	KNOB(txq_first_bytes, SZ_64K, SZ_4K, SZ_16M,				\
	     "bytes that a new device may have in a netdev's queue")		\
	KNOB(txq_min_bytes, SZ_4K, SZ_4K, SZ_16M,				\
	     "smallest limit of bytes in a netdev's queue")			\
	KNOB(txq_max_bytes, SZ_16M, SZ_16M, SZ_1G,				\
	     "largest limit of bytes in a netdev's queue")			\
	KNOB(txq_sender_skbs, 40, 2, SZ_64K,					\
	     "packets or trains that a sender may have in a netdev's queue")	\
	KNOB(txq_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "time in which the netdev empties a queue at the limit")		\
	KNOB(txq_period_ns, 10 * NSEC_PER_MSEC, NSEC_PER_MSEC, NSEC_PER_SEC,	\
	     "time over which the rate of a netdev's queue is measured")	\
	KNOB(txq_memory_ns, 10ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     1000ULL * NSEC_PER_SEC,						\
	     "time that the netdev's own delay is remembered")			\
	KNOB(txq_stuck_ns, 300 * NSEC_PER_MSEC, NSEC_PER_MSEC,			\
	     10ULL * NSEC_PER_SEC,						\
	     "time without progress after which a queue counts as stuck")	\
	KNOB(txq_force, 64, 1, SZ_1K,						\
	     "senders per millisecond that send once while the queue is stuck")	\
	/* received trains: queue/inq.c, queue/early.c */			\
	KNOB(queue_free_bytes, SZ_128K, 0, SZ_16M,				\
	     "memory of received trains per QP outside of the device's limit")	\
	KNOB(queue_free_dev_bytes, SZ_4M, 0, SZ_1G,				\
	     "the most that this can be for all QPs of a device; each has the same part") \
	KNOB(queue_qp_bytes, SZ_16M, SZ_1M, SZ_1G,				\
	     "memory of received trains per QP")				\
	KNOB(queue_dev_bytes, SZ_16M, SZ_1M, SZ_1G,				\
	     "memory of received trains per device")				\
	KNOB(held_qp_bytes, SZ_4M, 0, SZ_1G,					\
	     "memory of packets that came out of order, per QP")		\
	KNOB(held_dev_bytes, SZ_8M, 0, SZ_1G,					\
	     "memory of packets that came out of order, per device")		\
	KNOB(inq_age_ms, 500, 10, 10000,					\
	     "age at which a waiting received packet is dropped")		\
	KNOB(queue_age_ms, 10000, 10, 30000,					\
	     "the same, if it waits behind a READ that makes progress")		\
	/* on-demand paging: mem/process.c */					\
	KNOB(odp_processes, 2048, 2, SZ_1M,					\
	     "processes that may have on-demand paging; half of them, of one user") \
	/* corks: doorbell/cork.c */						\
	KNOB(cork_ns, 20 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a small message waits for more")			\
	KNOB(cork_gap_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "longest time between doorbells of a row")				\
	KNOB(cork_row, 2, 1, 255,						\
	     "doorbells in a row before the next message waits")		\
	KNOB(cork_bytes, SZ_8K, 0, SZ_1M,					\
	     "largest message that waits")					\
	KNOB(cork_msgs, 16, 1, 1024,						\
	     "waiting messages that end the wait")				\
	KNOB(cork_stream, 8, 1, 1024,						\
	     "messages sent together that count as a stream")			\
	KNOB(cork_most, 64, 1, 1024,						\
	     "waiting messages that the poster sends itself")			\
	KNOB(cork_few, 3, 1, 1024,						\
	     "messages that make a wait worthwhile")				\
	KNOB(cork_vain, 16, 1, 120,						\
	     "consecutive vain waits after which messages don't wait")		\
	KNOB(cork_skip, 64, 1, 120,						\
	     "messages that don't wait after that")				\
	KNOB(worker_bytes, SZ_32K, 0, SZ_1G,					\
	     "smallest message that a worker sends by wire")			\
	KNOB(worker_local_bytes, SZ_256K, 0, SZ_1G,				\
	     "smallest message that a worker sends to a peer on the device")

enum {
#define KNOB(name, value, least, most, what) RXE_KNOB_##name,
	RXE_KNOBS(KNOB)
#undef KNOB
	RXE_NUM_KNOBS,
};

extern u64 rxe_knobs[RXE_NUM_KNOBS];

/* The value of a knob; the next read may return another one */
#define rxe_knob(name)	READ_ONCE(rxe_knobs[RXE_KNOB_##name])

/* config/debugfs.c */
void rxe_debugfs_start(void);
void rxe_debugfs_stop(void);

#endif /* RXE_KNOBS_H */
