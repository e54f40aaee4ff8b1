/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that are fixed when the module is built. The file rdma_rxe/knobs in debugfs
 * shows them. Numbers that may change at run time are in rxe/knobs.h.
 *
 * The first are limits of a device. query_device reports those that have a place in its answer.
 * Each is enforced where the object is created.
 */
#ifndef RXE_CONSTANTS_H
#define RXE_CONSTANTS_H

#include <linux/sizes.h>
#include <asm/page.h>

/* name, value, description with its unit */
#define RXE_CONSTANTS(CONSTANT)							\
	CONSTANT(MAX_QP, 1 << 16,						\
		 "queue pairs of a device, of all processes")			\
	CONSTANT(MIN_QPN, 16,							\
		 "least number of a queue pair: 0 and 1 are SMI and GSI")	\
	CONSTANT(MAX_QP_WR, (1 << 16) - 1,					\
		 "work requests of a queue of a QP: 2^16 places, one is empty")	\
	CONSTANT(MAX_SGE, 32,							\
		 "scatter or gather entries of a work request")			\
	CONSTANT(MAX_INLINE, 512,						\
		 "inline data of a work request, bytes")			\
	CONSTANT(MAX_CQ, 1 << 16,						\
		 "completion queues of a device, of all processes")		\
	CONSTANT(MAX_CQE, (1 << 20) - 1,					\
		 "completions of a CQ: 2^20 places, one is empty")		\
	CONSTANT(MAX_SRQ, 1 << 16,						\
		 "shared receive queues of a device, of all processes")		\
	CONSTANT(MAX_SRQ_WR, (1 << 16) - 1,					\
		 "work requests of an SRQ, as of a QP: programs share its depth") \
	CONSTANT(MAX_MR, 1 << 20,						\
		 "memory regions of a device, of all processes")		\
	CONSTANT(MAX_MW, 1 << 20,						\
		 "memory windows of a device, of all processes")		\
	CONSTANT(MAX_FAST_PAGES, 1 << 10,					\
		 "pages of a fast registration")				\
	CONSTANT(MAX_PD, 1 << 16,						\
		 "protection domains of a device, of all processes")		\
	CONSTANT(MAX_AH, 1 << 20,						\
		 "address handles of a device, of all processes")		\
	CONSTANT(MAX_UCONTEXT, 1 << 16,						\
		 "open contexts of a device")					\
	CONSTANT(MAX_MCAST_GRP, 1 << 13,					\
		 "multicast groups of a device")				\
	CONSTANT(MAX_MCAST_QP_ATTACH, 128,					\
		 "queue pairs of a multicast group: copies of one packet")	\
	CONSTANT(MAX_TOTAL_MCAST_QP_ATTACH, 1 << 19,				\
		 "attachments to multicast groups of a device")			\
	CONSTANT(MAX_RD_ATOM, 128,						\
		 "READs and atomics in flight per direction of a QP")		\
	CONSTANT(PKEY_TBL_LEN, 1,						\
		 "P_Keys of a port")						\
	CONSTANT(GID_TBL_LEN, 1024,						\
		 "GIDs of a port")						\
	CONSTANT(CA_ACK_DELAY, 15,						\
		 "delay of an answer that peers allow for: 4.096 us * 2 to this power") \
	CONSTANT(TASK_BUDGET, 60 * SZ_1K,					\
		 "bytes that one run of a task handles")			\
	CONSTANT(TASK_TURNS, 16,						\
		 "runs of a task in one system call")				\
	CONSTANT(TASK_PASS, 64,							\
		 "tasks that one pass of a CPU's tasklet runs")			\
	CONSTANT(TASK_DEPTH, 4,							\
		 "tasks that may be entered on one stack")			\
	CONSTANT(TRAIN_COST, SZ_1K,						\
		 "least cost of a train, in bytes of a task's budget")		\
	CONSTANT(PKT_COST, 64,							\
		 "least cost of a packet, in bytes of a task's budget")		\
	CONSTANT(TRAIN_BYTES, SZ_64K - 1,					\
		 "largest train with all headers, bytes")			\
	CONSTANT(RECENT, 256,							\
		 "queue pairs, and keys, that are found without a search")	\
	CONSTANT(MAX_HEADROOM, SZ_1K,						\
		 "most room for headers below the BTH that a train makes itself, bytes") \
	CONSTANT(LINEAR_BYTES, 512,						\
		 "largest packet in the linear part of an skb, bytes")		\
	CONSTANT(BLOCK_ORDER, PAGE_SHIFT < 15 ? 15 - PAGE_SHIFT : 0,		\
		 "log2 of the pages of a block of recycled memory")		\
	CONSTANT(BLOCKS, 32,							\
		 "blocks per CPU")						\
	CONSTANT(BLOCK_PROBES, 4,						\
		 "blocks that a search for an idle one looks at")		\
	CONSTANT(LOCAL_MTU, SZ_16K,						\
		 "payload bytes of a packet to a peer on the device")		\
	CONSTANT(LOCAL_FULL, SZ_32K,						\
		 "bytes of a READ response to a peer on the device per run")	\
	CONSTANT(LOCAL_COST, SZ_512,						\
		 "cost of a packet to a peer on the device, in bytes of the budget") \
	CONSTANT(READ_STEP, SZ_64K,						\
		 "bytes of a READ response whose pages are asked for together")	\
	CONSTANT(PICK_BYTES, SZ_32K,						\
		 "bytes that the requester picks under the lock at a time")	\
	CONSTANT(PICK_PKTS, 4,							\
		 "packets that the requester may always pick at a time")	\
	CONSTANT(PICK_TAIL, 4,							\
		 "packets beyond a full train that are picked with it")		\
	CONSTANT(QUEUE_TRAINS, 1024,						\
		 "received trains in the queue of requests, or of responses, of a QP") \
	CONSTANT(RX_BATCH, 32,							\
		 "received packets that wait for the next one in the same softirq") \
	CONSTANT(RX_ROW, 2,							\
		 "single-packet messages in a row before the next ones wait")	\
	CONSTANT(RX_VAIN, 32,							\
		 "messages that don't wait after a vain wait")			\
	CONSTANT(MEMOPS_MOST, 64,						\
		 "local work requests that a run executes")			\
	CONSTANT(FLUSH_MOST, 256,						\
		 "work requests per queue that a run flushes")			\
	CONSTANT(FLUSH_LATE, 4096,						\
		 "receives posted in ERR that a later interval flushes")	\
	CONSTANT(FLUSH_MIN_MS, 1,						\
		 "first interval of looking for receives posted in ERR, ms")	\
	CONSTANT(FLUSH_MAX_MS, 1000,						\
		 "longest interval of looking for receives posted in ERR, ms")	\
	CONSTANT(FLUSH_ARMED, 16,						\
		 "queue pairs in ERR that a request for an event has flushed")	\
	CONSTANT(INQ_COPY, PAGE_SIZE > SZ_4K ? SZ_64K : SZ_8K,			\
		 "largest train that is copied when it may wait for long, bytes") \
	CONSTANT(INQ_CHECKS, 8,							\
		 "most checks of the age of all early packets in inq_age_ms")	\
	CONSTANT(COMPARE_BYTES, 128,						\
		 "bytes of two packets with one PSN that are compared at a time") \
	CONSTANT(RING_SPARE_PAGES, SZ_256K >> PAGE_SHIFT,			\
		 "pages that a cgroup must have left beside a ring")		\
	CONSTANT(FIRST_QPNS, 4096,						\
		 "numbers among which a device's first QP number is chosen")	\
	CONSTANT(MEMORY_SPARE, 32,						\
		 "part of all memory that objects leave available, one in so many") \
	CONSTANT(MEMORY_SPARE_BYTES, SZ_256M,					\
		 "bytes that they leave at most: huge pages count as memory in use") \
	CONSTANT(USER_PART, 4,							\
		 "part of all memory that a user's queues may have, one in so many") \
	CONSTANT(USER_HASH_BITS, 6,						\
		 "log2 of the lists of users")					\
	CONSTANT(LINE_RATE, 40000,						\
		 "rate above which pacing isn't worth its cost, Mb/s")		\
	CONSTANT(RATE_EVENTS, 256,						\
		 "due events of DCQCN, by time or by bytes, that one call handles") \
	CONSTANT(ASKED_LEAST, SZ_8K,						\
		 "bytes sent at an assumed rate: fewer say nothing about the path") \
	CONSTANT(NP_FLOWS, 8,							\
		 "flows of a QP whose CNPs are limited apart from one another")	\
	CONSTANT(CWND_PARTS, 256,						\
		 "smallest window of swift, a packet divided by this")		\
	CONSTANT(PROBES_ORDER, 16,						\
		 "doublings of the silence before a probe")			\
	CONSTANT(ODP_BATCH, 64,							\
		 "pages that are faulted in at a time")				\
	CONSTANT(ODP_TRIES, 16,							\
		 "tries to fault in pages that are taken back meanwhile")	\
	CONSTANT(ODP_AHEAD, SZ_1M,						\
		 "bytes of a message that are faulted in together")		\
	CONSTANT(ODP_WHOLE, SZ_1G >> PAGE_SHIFT,				\
		 "largest region with a single notifier, pages")		\
	CONSTANT(ODP_CHUNK_ORDER, 9,						\
		 "log2 of the pages per notifier of a larger region")		\
	CONSTANT(ODP_SWEEP, 1024,						\
		 "notifiers of a region before unused ones are removed")	\
	CONSTANT(ODP_WORKERS, 8,						\
		 "faults of a process at the same time")			\
	CONSTANT(ODP_PREFETCHERS, 2,						\
		 "prefetches of a process at the same time")			\
	CONSTANT(ODP_STACKS, 32,						\
		 "part of all memory that stacks for faults may take, one in so many") \
	CONSTANT(ODP_PREFETCHES, 64,						\
		 "prefetches of a process that may wait for a worker")		\
	CONSTANT(PERSIST_STEP, SZ_1M,						\
		 "bytes that a run of a persistent FLUSH writes back")		\
	CONSTANT(PROCESS_HASH_BITS, 6,						\
		 "log2 of the lists of processes whose memory isn't pinned")	\
	CONSTANT(MCAST_HASH_BITS, 9,						\
		 "log2 of the lists of multicast groups of a device")		\
	CONSTANT(UNREACH_SLOTS, 16,						\
		 "destinations of a namespace whose last ICMP error is kept")	\
	CONSTANT(UNREACH_SECS, 10,						\
		 "seconds after which an ICMP error isn't the reason of silence") \
	CONSTANT(LOOK_NETDEVS, 256,						\
		 "netdevs above and below that a look for captures or bridges reaches") \
	CONSTANT(LOOK_QDISCS, 1024,						\
		 "qdiscs and netdevs of a container that a look for shapers reaches") \
	CONSTANT(MADS, 128,							\
		 "MADs of RDMA_CM that a device remembers as sent before")	\
	CONSTANT(REFUSED_SECS, 6,						\
		 "seconds in which no MAD is sent again to a peer that refused one") \
	CONSTANT(ROUTE_LOCKS, 32,						\
		 "locks of the lists of paths with a route; a power of two")	\
	CONSTANT(ROUTE_LISTS, 32,						\
		 "lists per lock, by netdev; a power of two")			\
	CONSTANT(TX_WARN_SECONDS, 30,						\
		 "interval of warnings while unloading waits for packets, s")	\
	CONSTANT(TXQ_LISTS, 64,							\
		 "lists of netdevs' queues, by netdev; a power of two")		\
	CONSTANT(TCLASS_RULES, 32,						\
		 "traffic classes by addresses that a device may have")		\
	CONSTANT(DEFAULT_HOPS, 64,						\
		 "TTL if the program asks for none")

enum {
#define CONSTANT(name, value, what) RXE_##name = (value),
	RXE_CONSTANTS(CONSTANT)
#undef CONSTANT
};

#endif /* RXE_CONSTANTS_H */
