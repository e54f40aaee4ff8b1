/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All tunable numbers, in one table for all devices. The file rdma_rxe/knobs in debugfs
 * shows them; those of RXE_KNOBS can be set there. Limits that programs see are in
 * rxe/dev.h, the switches of a device in struct rxe_tune.
 */
#ifndef RXE_KNOBS_H
#define RXE_KNOBS_H

#include <linux/compiler.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <asm/page.h>

/*
 * Congestion control by ECN, under the names that mlx5 has for them. Beside knobs, each
 * has a file in cc_params.
 */
#define RXE_CC_KNOBS(KNOB)							\
	KNOB(np_min_time_between_cnps, 50, 0, 1000000,				\
	     "us between two CNPs to a queue pair")				\
	KNOB(np_cnp_dscp, 48, 0, 63, "DSCP of CNPs")				\
	KNOB(np_cnp_prio, 6, 0, 7, "priority of CNPs")				\
	KNOB(rp_clamp_tgt_rate, 1, 0, 1,					\
	     "1: each CNP sets the target to the rate, 0: the first in a row")	\
	KNOB(rp_clamp_tgt_rate_ati, 1, 0, 1,					\
	     "0: and only if the byte counter raised the rate")		\
	KNOB(rp_time_reset, 5000, 1, 131071, "us between increases by time")	\
	KNOB(rp_byte_reset, 10000000, 64, 32000000, "bytes between increases")	\
	KNOB(rp_threshold, 5, 1, 31, "increases that are fast recovery")	\
	KNOB(rp_ai_rate, 5, 1, 100000, "Mb/s of an additive increase")		\
	KNOB(rp_hai_rate, 50, 1, 100000, "Mb/s of a hyper increase")		\
	KNOB(rp_max_rate, 0, 0, 400000, "Mb/s at which pacing ends; 0: LINE_RATE") \
	KNOB(rp_min_rate, 1, 1, 100000, "Mb/s that are left of the rate")	\
	KNOB(rp_rate_to_set_on_first_cnp, 0, 0, 400000,			\
	     "Mb/s that a first CNP finds; 0: what was measured")		\
	KNOB(rp_min_dec_fac, 50, 0, 100, "% that a CNP leaves of the rate")	\
	KNOB(rp_gd, 11, 0, 15, "a CNP takes alpha / 2^rp_gd of the rate")	\
	KNOB(rp_dce_tcp_g, 960, 0, 1024, "1 - g, in units of 1/1024")		\
	KNOB(rp_dce_tcp_rtt, 1100, 1, 131071, "us between updates of alpha")	\
	KNOB(rp_rate_reduce_monitor_period, 1000, 0, 131071, "us between cuts")	\
	KNOB(rp_initial_alpha_value, 1023, 0, 1023, "alpha at the first CNP, / 1024")

/*
 * Numbers that may change at any time. The suffix is the unit: _ns, _ms or _bytes; a
 * name without one is a count.
 *
 *   name  default  minimum  maximum  description
 */
#define RXE_KNOBS(KNOB)								\
	/* congestion control: cc/window.c */					\
	KNOB(window_first, 64, 1, 1024,					\
	     "packets that a new connection may have in flight")		\
	KNOB(window_max, 16384, 1024, 16384,				\
	     "packets that a connection may have in flight")			\
	KNOB(window_calm, 128, 1, 1024,					\
	     "packets that delay leaves of the window, on a path without loss")	\
	KNOB(window_lossy, 16, 1, 1024,					\
	     "packets that delay leaves of the window, on a lossy path")	\
	KNOB(window_queue_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that is no sign of congestion")			\
	RXE_CC_KNOBS(KNOB)							\
	KNOB(pace_ns, 100 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a train is worth at a limited rate")			\
	KNOB(pace_late_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "time of its rate that a sender may catch up with")		\
	KNOB(swift_target_ns, 250 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "queueing delay that swift aims at")				\
	KNOB(swift_path_ns, NSEC_PER_SEC, 0, NSEC_PER_SEC,			\
	     "round trip without a queue that swift believes at most")		\
	KNOB(swift_flows_ns, NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "the same beside it, for a window of one packet")			\
	KNOB(swift_ai, 1024, 1, SZ_64K,					\
	     "increase of swift's window in a round trip, packets / 1024")	\
	KNOB(swift_beta, 820, 1, 1024,						\
	     "decrease by the part of a round trip that is too long, / 1024")	\
	KNOB(swift_mdf, 512, 1, 1000,						\
	     "largest decrease of swift's window, / 1024")			\
	/* loss recovery: loss/, transport/gap.c, transport/timer.c */		\
	KNOB(silence_ns, 300 * NSEC_PER_MSEC, NSEC_PER_MSEC,		\
	     10ULL * NSEC_PER_SEC,						\
	     "silence that is a loss on a path without known loss")		\
	KNOB(patience_ns, NSEC_PER_SEC, NSEC_PER_MSEC, 100ULL * NSEC_PER_SEC, \
	     "age at which a missing response is lost rather than late")	\
	KNOB(rto_max_ns, 4ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     100ULL * NSEC_PER_SEC,						\
	     "longest timeout that measured round trips lead to")		\
	KNOB(rtt_guess_ns, 500 * NSEC_PER_USEC, NSEC_PER_USEC, NSEC_PER_SEC, \
	     "round trip before one was measured, and least wait of a probe")	\
	KNOB(loss_memory_ns, 10ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     1000ULL * NSEC_PER_SEC,						\
	     "time that a path counts as lossy, and a round trip as extreme")	\
	KNOB(go_back, 8, 1, 255,						\
	     "losses after which all is sent again, to a peer that drops")	\
	KNOB(firsts_enough, 7, 1, 100,					\
	     "losses behind first packets that tell of a card that breaks trains") \
	KNOB(firsts_near, 4, 0, 100,					\
	     "packets between two such losses that a peer may have kept")	\
	KNOB(reorder_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "time that a packet may be late before it is asked for again")	\
	KNOB(reorder_max_ns, 16 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "the same, on a path that reorders")				\
	KNOB(timer_late_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,		\
	     "delay of a timer that tells of this host's CPU, not of the peer")	\
	/* the queues below: net/tx.c */					\
	KNOB(txq_first_bytes, SZ_64K, SZ_4K, SZ_16M,			\
	     "bytes that a new device may have in a netdev's queue")		\
	KNOB(txq_min_bytes, SZ_4K, SZ_4K, SZ_16M,				\
	     "least limit of bytes in a netdev's queue")			\
	KNOB(txq_max_bytes, SZ_16M, SZ_16M, SZ_1G,				\
	     "largest limit of bytes in a netdev's queue")			\
	KNOB(txq_sender_skbs, 40, 2, SZ_64K,					\
	     "packets or trains that a sender may have in a netdev's queue")	\
	KNOB(txq_ns, 2 * NSEC_PER_MSEC, 0, NSEC_PER_SEC,			\
	     "time that a netdev's queue is worth")				\
	KNOB(txq_period_ns, 10 * NSEC_PER_MSEC, NSEC_PER_MSEC, NSEC_PER_SEC, \
	     "time over which the rate of a netdev's queue is measured")	\
	KNOB(txq_memory_ns, 10ULL * NSEC_PER_SEC, NSEC_PER_MSEC,		\
	     1000ULL * NSEC_PER_SEC,						\
	     "time that the netdev's own delay is remembered")			\
	KNOB(txq_stuck_ns, 300 * NSEC_PER_MSEC, NSEC_PER_MSEC,		\
	     10ULL * NSEC_PER_SEC,						\
	     "time without a packet sent after which a queue is stuck")		\
	/* what waits to be taken in: queue/inq.c */			\
	KNOB(queue_free_bytes, SZ_128K, 0, SZ_16M,				\
	     "memory of received trains per QP outside of the device's limit")	\
	KNOB(queue_qp_bytes, SZ_16M, SZ_1M, SZ_1G,				\
	     "memory of received trains per QP")				\
	KNOB(queue_dev_bytes, SZ_64M, SZ_1M, SZ_1G,			\
	     "memory of received trains per device")				\
	KNOB(held_qp_bytes, SZ_4M, 0, SZ_1G,				\
	     "memory of packets that came too early, per QP")			\
	KNOB(held_dev_bytes, SZ_8M, 0, SZ_1G,				\
	     "memory of packets that came too early, per device")		\
	KNOB(inq_age_ms, 500, 10, 10000,					\
	     "age at which a received packet that waits is dropped")		\
	/* corks: doorbell/cork.c */						\
	KNOB(cork_ns, 20 * NSEC_PER_USEC, 0, NSEC_PER_SEC,			\
	     "time that a small message waits for more")			\
	KNOB(cork_gap_ns, 500 * NSEC_PER_USEC, 0, NSEC_PER_SEC,		\
	     "time between doorbells of a row")					\
	KNOB(cork_row, 2, 1, 255,						\
	     "doorbells in a row before the next message waits")		\
	KNOB(cork_bytes, SZ_8K, 0, SZ_1M,					\
	     "largest message that waits")					\
	KNOB(cork_msgs, 16, 1, 1024,					\
	     "messages that leave together without more waiting")		\
	KNOB(cork_stream, 8, 1, 1024,					\
	     "messages that are a stream, which is likely to go on")		\
	KNOB(cork_most, 64, 1, 1024,					\
	     "messages that wait before their poster sends them itself")	\
	KNOB(cork_few, 3, 1, 1024,						\
	     "messages that were worth waiting for")				\
	KNOB(cork_vain, 16, 1, 120,					\
	     "waits in vain in a row before there are none for a while")	\
	KNOB(cork_skip, 64, 1, 120,					\
	     "messages that don't wait then")					\
	KNOB(worker_bytes, SZ_32K, 0, SZ_1G,				\
	     "smallest message that a worker sends, by wire")			\
	KNOB(worker_local_bytes, SZ_256K, 0, SZ_1G,			\
	     "smallest message that a worker sends, to a peer on the device")

/* Numbers that are fixed when the module is built: name, value, description */
#define RXE_CONSTANTS(CONSTANT)							\
	CONSTANT(TASK_BUDGET, 60 * SZ_1K,					\
		 "bytes that a run of a task handles before others' turn")	\
	CONSTANT(TASK_TURNS, 16,						\
		 "runs that a process does before a worker goes on")		\
	CONSTANT(TASK_DEPTH, 4,							\
		 "tasks that may be entered on one stack")			\
	CONSTANT(TRAIN_COST, SZ_1K,						\
		 "bytes of the budget that a packet or train counts at least")	\
	CONSTANT(TRAIN_BYTES, SZ_64K - 1,					\
		 "bytes of a train with all its headers")			\
	CONSTANT(LINEAR_BYTES, 512,						\
		 "largest packet that is copied rather than put into a block")	\
	CONSTANT(BLOCK_ORDER, 3,						\
		 "pages of a block of recycled memory, as a power of two")	\
	CONSTANT(BLOCKS, 32,							\
		 "blocks per CPU")						\
	CONSTANT(BLOCK_PROBES, 4,						\
		 "blocks that are looked at for an idle one")			\
	CONSTANT(LOCAL_MTU, SZ_16K,						\
		 "bytes of a packet that doesn't leave the device")		\
	CONSTANT(LOCAL_FULL, SZ_32K,						\
		 "bytes of a READ response on the device before others' turn")	\
	CONSTANT(LOCAL_COST, SZ_512,						\
		 "bytes of the budget that a packet on the device costs")	\
	CONSTANT(PICK_BYTES, SZ_32K,						\
		 "bytes that the requester takes under the lock at a time")	\
	CONSTANT(PICK_PKTS, 4,							\
		 "packets that it takes at least")				\
	CONSTANT(PICK_TAIL, 4,							\
		 "packets beyond a train that go with it")			\
	CONSTANT(QUEUE_TRAINS, 1024,						\
		 "trains that wait to be taken in, per QP and kind")		\
	CONSTANT(RX_BATCH, 32,							\
		 "packets that wait for what follows in the same softirq")	\
	CONSTANT(RX_ROW, 2,							\
		 "messages of one packet in a row before the next ones wait")	\
	CONSTANT(RX_VAIN, 32,							\
		 "messages that don't wait after one did in vain")		\
	CONSTANT(FLUSH_MOST, 256,						\
		 "work requests that a run flushes")				\
	CONSTANT(FLUSH_MIN_MS, 1,						\
		 "first wait for a receive that is posted in ERR")		\
	CONSTANT(FLUSH_MAX_MS, 1000,						\
		 "longest wait for a receive that is posted in ERR")		\
	CONSTANT(COMPARE_BYTES, 128,						\
		 "bytes that are compared at a time of two packets of one PSN")	\
	CONSTANT(RING_SPARE_ORDER, 6,						\
		 "pages that a cgroup must have left for a ring, as a power of two") \
	CONSTANT(MEMORY_SPARE, 32,						\
		 "part of the machine's memory that stays for others, one in")	\
	CONSTANT(LINE_RATE, 40000,						\
		 "Mb/s from which on pacing isn't worth its cost")		\
	CONSTANT(ODP_BATCH, 64,							\
		 "pages that are faulted in at a time")				\
	CONSTANT(ODP_TRIES, 16,							\
		 "tries to fault in pages that are being taken back")		\
	CONSTANT(ODP_AHEAD, SZ_1M,						\
		 "bytes that a message faults in ahead")				\
	CONSTANT(ODP_WHOLE, SZ_1G >> PAGE_SHIFT,				\
		 "pages of a region that is watched as a whole")		\
	CONSTANT(ODP_CHUNK_ORDER, 9,						\
		 "pages that are watched together else, as a power of two")	\
	CONSTANT(ODP_PREFETCHES, 16,						\
		 "prefetches of a region that wait for a worker")		\
	CONSTANT(DEFAULT_HOPS, 64,						\
		 "TTL where the program asks for none")

enum {
#define KNOB(name, value, least, most, what) RXE_KNOB_##name,
	RXE_KNOBS(KNOB)
#undef KNOB
	RXE_NUM_KNOBS,
};

enum {
#define CONSTANT(name, value, what) RXE_##name = (value),
	RXE_CONSTANTS(CONSTANT)
#undef CONSTANT
};

extern u64 rxe_knobs[RXE_NUM_KNOBS];

/* The value of a knob; the next read may return another one */
#define rxe_knob(name)	READ_ONCE(rxe_knobs[RXE_KNOB_##name])

/* config/debugfs.c */
void rxe_debugfs_start(void);
void rxe_debugfs_stop(void);

#endif /* RXE_KNOBS_H */
