// SPDX-License-Identifier: GPL-2.0
/*
 * Counters as the RDMA core shows them: ports/1/hw_counters in sysfs and
 * `rdma statistic`.
 *
 * Context: process; the RDMA core holds the lock of @stats.
 */
#include <rxe/dev.h>

/* In the order of enum rxe_counter, which is made from the same list */
#define RXE_COUNTER_DESC(e, n) { .name = #n },
static const struct rdma_stat_desc rxe_counter_descs[] = {
	RXE_COUNTERS(RXE_COUNTER_DESC)
};

/**
 * rxe_alloc_hw_port_stats - describe the counters
 * @ibdev: the device
 * @port: port number
 *
 * Return: freed by the RDMA core; NULL if memory is short.
 */
struct rdma_hw_stats *rxe_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	BUILD_BUG_ON(ARRAY_SIZE(rxe_counter_descs) != RXE_NUM_COUNTERS);
	return rdma_alloc_hw_stats_struct(rxe_counter_descs, RXE_NUM_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * rxe_stats_sum - read a counter
 * @stats: counters of a device or a QP
 * @index: enum rxe_counter
 *
 * Context: any.
 *
 * Return: its value on all CPUs.
 */
u64 rxe_stats_sum(const struct rxe_stats __percpu *stats, int index)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->cnt[index]);
	return sum;
}

/**
 * rxe_count_sum - read a counter of a device
 * @rxe: the device, without its QPs that are bound to counters of their own
 * @index: enum rxe_counter
 *
 * Context: any.
 *
 * Return: its value on all CPUs.
 */
u64 rxe_count_sum(const struct rxe_dev *rxe, int index)
{
	return rxe_stats_sum(rxe->stats, index);
}

/**
 * rxe_get_hw_stats - read the counters
 * @ibdev: the device
 * @stats: answer
 * @port: port number; 0 asks for counters of the device, of which there are none
 * @index: the one that is wanted; all are read
 *
 * Return: how many were read, or -EINVAL.
 */
int rxe_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	struct rxe_dev *rxe = to_rxe_dev(ibdev);
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < RXE_NUM_COUNTERS; i++)
		stats->value[i] = rxe_count_sum(rxe, i);
	return RXE_NUM_COUNTERS;
}
