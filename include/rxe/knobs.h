/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that may change at run time, for all devices together. The file rdma_rxe/knobs in
 * debugfs shows and sets them. Numbers that are fixed at build time, and limits that programs
 * see, are in rxe/constants.h. The settings of one device are in struct rxe_tune.
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
	     "1: each cut lowers the target rate; 0: only the first after an increase") \
	KNOB(rp_clamp_tgt_rate_ati, 1, 0, 1,					\
	     "with rp_clamp_tgt_rate 0: 1: increases by timer and bytes count; 0: only by bytes") \
	KNOB(rp_time_reset, 5000, 1, 131071, "us between increases of the rate by the timer") \
	KNOB(rp_byte_reset, 10000000, 64, 32000000,				\
	     "bytes sent between increases of the rate by bytes")		\
	KNOB(rp_threshold, 5, 1, 31,						\
	     "increases after a cut that only halve the way to the target")	\
	KNOB(rp_ai_rate, 5, 1, 100000,						\
	     "Mb/s that an additive increase adds to the target")		\
	KNOB(rp_hai_rate, 50, 1, 100000,					\
	     "Mb/s; the n-th hyper increase adds n times this to the target")	\
	KNOB(rp_max_rate, 0, 0, 400000, "Mb/s at which pacing ends; 0: LINE_RATE") \
	KNOB(rp_min_rate, 1, 1, 100000, "lowest rate, Mb/s")			\
	KNOB(rp_rate_to_set_on_first_cnp, 0, 0, 400000,				\
	     "rate before the first cut, Mb/s; 0: the measured one, or rp_max_rate") \
	KNOB(rp_min_dec_fac, 50, 0, 100, "least % of the rate that is left after a cut") \
	KNOB(rp_gd, 11, 0, 15, "a cut takes alpha / 2^rp_gd of the rate, alpha / 1024") \
	KNOB(rp_dce_tcp_g, 960, 0, 1024, "weight of the old alpha, 1 - g, / 1024") \
	KNOB(rp_dce_tcp_rtt, 1100, 1, 131071, "us between decays of alpha")	\
	KNOB(rp_rate_reduce_monitor_period, 1000, 0, 131071, "least us between cuts") \
	KNOB(rp_initial_alpha_value, 1023, 0, 1023, "alpha at the first CNP, / 1024")

/*
 * All numbers. The suffix of a name is the unit: _ns, _ms or _bytes. A name without a unit is
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
	     "packets; queueing delay shrinks a window no further, if nothing is lost") \
	KNOB(window_lossy, 16, 1, 1024,						\
	     "packets; queueing delay shrinks a window no further, on a path that loses packets") \
	KNOB(window_queue_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that is no sign of congestion")			\
	RXE_CC_KNOBS(KNOB)							\
	KNOB(pace_ns, 100 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "longest train at a limited rate, as time at that rate")		\
	KNOB(pace_late_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "a sender at a limited rate that is late may catch up so much")	\
	KNOB(swift_target_ns, 250 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that swift aims at")				\
	KNOB(swift_path_ns, NSEC_PER_SEC, 0, NSEC_PER_SEC,			\
	     "longest round trip that swift takes for one without a queue")	\
	KNOB(swift_flows_ns, NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "queueing delay that swift adds for a window of one packet")	\
	KNOB(swift_ai, 1024, 1, SZ_64K,						\
	     "packets / 1024 that swift adds to a window per round trip")	\
	KNOB(swift_beta, 820, 1, 1024,						\
	     "swift shrinks a window by so much of the excess delay, / 1024")	\
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
	     "longest timeout that is computed from round trips")		\
	KNOB(rtt_guess_ns, 500 * NSEC_PER_USEC, NSEC_PER_USEC, NSEC_PER_SEC,	\
	     "round trip assumed before one is measured; shortest wait for a probe") \
	KNOB(loss_memory_ns, 10ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     1000ULL * NSEC_PER_SEC,						\
	     "time after which losses and extreme round trips are forgotten")	\
	KNOB(go_back, 8, 1, 255,						\
	     "next losses that resend all, if the peer drops packets out of order") \
	KNOB(firsts_enough, 7, 1, 100,						\
	     "resendings one packet apart after which packets are sent singly")	\
	KNOB(firsts_near, 4, 0, 100,						\
	     "a resending that begins more packets after the last lowers that count") \
	KNOB(reorder_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a packet may be late before it is asked for again")	\
	KNOB(reorder_max_ns, 16 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "longest such time, on a path that reorders packets")		\
	KNOB(timer_late_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "lateness of a timer that means: this host's CPU is busy, no packet is lost") \
	/* queues of the stack and the netdev: net/txq.c */			\
	KNOB(txq_first_bytes, SZ_64K, SZ_4K, SZ_16M,				\
	     "bytes that a new device may have in a netdev's queue")		\
	KNOB(txq_min_bytes, SZ_4K, SZ_4K, SZ_16M,				\
	     "smallest limit of bytes in a netdev's queue")			\
	KNOB(txq_max_bytes, SZ_16M, SZ_16M, SZ_1G,				\
	     "largest limit of bytes in a netdev's queue")			\
	KNOB(txq_sender_skbs, 40, 2, SZ_64K,					\
	     "packets or trains that a sender may have in a netdev's queue")	\
	KNOB(txq_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "the limit of a netdev's queue is what it sends in this time")	\
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
	     "limit of the sum of queue_free_bytes of a device's QPs; each has an equal share") \
	KNOB(queue_qp_bytes, SZ_16M, SZ_1M, SZ_1G,				\
	     "memory of received trains per QP")				\
	KNOB(queue_dev_bytes, SZ_16M, SZ_1M, SZ_1G,				\
	     "memory of received trains per device; queues that wait: half")	\
	KNOB(held_qp_bytes, SZ_4M, 0, SZ_1G,					\
	     "memory of packets that came out of order, per QP")		\
	KNOB(held_dev_bytes, SZ_8M, 0, SZ_1G,					\
	     "memory of packets that came out of order, per device")		\
	KNOB(inq_age_ms, 500, 10, 10000,					\
	     "age at which a waiting received packet is dropped")		\
	KNOB(queue_age_ms, 10000, 10, 30000,					\
	     "age at which a received packet behind a READ in progress is dropped") \
	/* memory of rings and page tables: user/user.c */					\
	KNOB(user_ring_bytes, (u64)SZ_1G * (PAGE_SIZE / SZ_4K), 0, 1024ULL * SZ_1G, \
	     "memory of queues and page tables per user, at most 1/4 of all; 0: no limit") \
	/* on-demand paging: mem/process.c */					\
	KNOB(odp_processes, 2048, 2, SZ_1M,					\
	     "processes that may have on-demand paging; half of them, of one user") \
	/* corks: doorbell/cork.c */						\
	KNOB(cork_ns, 20 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a small message waits for more")			\
	KNOB(cork_gap_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "posts that are further apart don't make later messages wait")	\
	KNOB(cork_row, 2, 1, 255,						\
	     "messages posted without waiting for answers before one waits")	\
	KNOB(cork_bytes, SZ_8K, 0, SZ_1M,					\
	     "largest message that waits")					\
	KNOB(cork_msgs, 16, 1, 1024,						\
	     "number of waiting messages that are sent without further wait")	\
	KNOB(cork_stream, 8, 1, 1024,						\
	     "messages sent together after which the next ones wait sooner")	\
	KNOB(cork_most, 64, 1, 1024,						\
	     "number of waiting messages at which the poster sends them itself") \
	KNOB(cork_few, 3, 1, 1024,						\
	     "a wait that gathers fewer messages was useless")			\
	KNOB(cork_vain, 16, 1, 120,						\
	     "useless waits in a row after which messages don't wait for a while") \
	KNOB(cork_skip, 64, 1, 120,						\
	     "number of messages that don't wait then")				\
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
