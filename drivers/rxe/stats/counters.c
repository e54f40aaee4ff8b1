// SPDX-License-Identifier: GPL-2.0
/*
 * Counters as the RDMA core shows them: ports/1/hw_counters in sysfs and
 * `rdma statistic`.
 *
 * Context: process; the RDMA core holds the lock of @stats.
 */
#include <stats/counters.h>

/* In the order of enum rxe_counter, which is made from the same list; then the aliases */
#define RXE_COUNTER_DESC(e, n) { .name = #n },
static const struct rdma_stat_desc rxe_counter_descs[] = {
	RXE_COUNTERS(RXE_COUNTER_DESC)
	RXE_COUNTER_ALIASES(RXE_COUNTER_DESC)
};

/* The counter that each alias shows */
#define RXE_COUNTER_OF_ALIAS(e, n) RXE_CNT_##e,
static const u8 rxe_counter_of_alias[] = {
	RXE_COUNTER_ALIASES(RXE_COUNTER_OF_ALIAS)
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
	return rdma_alloc_hw_stats_struct(rxe_counter_descs, ARRAY_SIZE(rxe_counter_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * sum_counter - read a counter
 * @stats: counters of a device or a QP
 * @index: enum rxe_counter
 *
 * Context: any.
 *
 * Return: its value on all CPUs.
 */
static u64 sum_counter(const struct rxe_stats __percpu *stats, int index)
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
	return sum_counter(rxe->stats, index);
}

/**
 * rxe_stats_fill - read all counters, under all their names
 * @stats: counters of a device or a QP
 * @values: answer, in the order of the descriptions
 *
 * Context: any.
 *
 * Return: number of values.
 */
int rxe_stats_fill(const struct rxe_stats __percpu *stats, u64 *values)
{
	int i;

	for (i = 0; i < RXE_NUM_COUNTERS; i++)
		values[i] = sum_counter(stats, i);
	for (i = 0; i < ARRAY_SIZE(rxe_counter_of_alias); i++)
		values[RXE_NUM_COUNTERS + i] = values[rxe_counter_of_alias[i]];
	return RXE_NUM_COUNTERS + i;
}

/**
 * rxe_get_hw_stats - read the counters
 * @ibdev: the device
 * @stats: answer
 * @port: port number; 0 asks for counters of the device, which has none
 * @index: the requested counter; ignored, as all are read
 *
 * Return: number of counters, or -EINVAL.
 */
int rxe_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	if (!port || !stats)
		return -EINVAL;
	return rxe_stats_fill(to_rxe_dev(ibdev)->stats, stats->value);
}
