/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that are fixed when the module is built. The file rdma_rxe/knobs in debugfs
 * shows them. Numbers that may change at run time are in rxe/knobs.h.
 */
#ifndef RXE_CONSTANTS_H
#define RXE_CONSTANTS_H

#include <linux/sizes.h>
#include <asm/page.h>

/* name, value, description with its unit */
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
#define CONSTANT(name, value, what) RXE_##name = (value),
	RXE_CONSTANTS(CONSTANT)
#undef CONSTANT
};

#endif /* RXE_CONSTANTS_H */
