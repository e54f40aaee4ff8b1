// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's own attributes of objects, which `rdma resource show -dd` prints after those
 * of the RDMA core.
 *
 * Context: process. The RDMA core keeps the memory of an object while it is shown. But the
 * driver may have destroyed the object already: pointers in it must not be followed. A value
 * may be out of date.
 */
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <rxe/srq.h>
#include <rxe/transport.h>
#include "device.h"

static int put_qp(struct sk_buff *msg, struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 sends, in_flight, window, rate, rtt, held;
	int err;

	spin_lock_bh(&qp->sq.lock);
	sends = sq->q.head - sq->q.tail;
	in_flight = rxe_psn_diff(sq->flight.psn, sq->flight.una);
	window = sq->cc.window;
	rate = min_t(u64, div_u64(sq->cc.rate, 1000 / 8), U32_MAX);
	rtt = div_u64(sq->rtt.smooth, NSEC_PER_USEC);
	spin_unlock_bh(&qp->sq.lock);
	held = READ_ONCE(qp->requests.early.bytes) + READ_ONCE(qp->responses.early.bytes);
	err = rdma_nl_put_driver_u32(msg, "mtu", qp->mtu) ?:
	      rdma_nl_put_driver_u32(msg, "open_sends", sends) ?:
	      rdma_nl_put_driver_u32(msg, "early_bytes", held);
	if (err || !READ_ONCE(qp->path_valid))	/* the rest is only for connected QPs */
		return err;
	return rdma_nl_put_driver_u32(msg, "in_flight_pkts", in_flight) ?:
	       rdma_nl_put_driver_u32(msg, "window_pkts", window) ?:
	       rdma_nl_put_driver_u32(msg, "rate_kbps", rate) ?:
	       rdma_nl_put_driver_u32(msg, "rtt_us", rtt);
}

static int put_cq(struct sk_buff *msg, const struct rxe_cq *cq)
{
	return rdma_nl_put_driver_u32(msg, "cpu", cq->cpu) ?:
	       rdma_nl_put_driver_u32(msg, "overflow", READ_ONCE(cq->overflow)) ?:
	       rdma_nl_put_driver_u32(msg, "event_count", READ_ONCE(cq->count)) ?:
	       rdma_nl_put_driver_u32(msg, "event_us", READ_ONCE(cq->period_us));
}

static int put_mr(struct sk_buff *msg, struct rxe_mr *mr)
{
	return rdma_nl_put_driver_u32_hex(msg, "access", READ_ONCE(mr->key.access)) ?:
	       rdma_nl_put_driver_u32(msg, "valid", !!READ_ONCE(mr->key.value)) ?:
	       rdma_nl_put_driver_u32(msg, "windows", max(atomic_read(&mr->windows), 0));
}

static int put_srq(struct sk_buff *msg, struct rxe_srq *srq)
{
	return rdma_nl_put_driver_u32(msg, "limit", READ_ONCE(srq->shared.limit));
}

static struct nlattr *start_table(struct sk_buff *msg)
{
	return nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int end_table(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/**
 * rxe_fill_qp - describe a queue pair
 * @msg: netlink message
 * @ibqp: the object
 *
 * Return: 0; -EMSGSIZE if @msg is full.
 */
int rxe_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct nlattr *table = start_table(msg);

	return table ? end_table(msg, table, put_qp(msg, to_rxe_qp(ibqp))) : -EMSGSIZE;
}

/**
 * rxe_fill_cq - describe a completion queue
 * @msg: netlink message
 * @ibcq: the object
 *
 * Return: 0; -EMSGSIZE if @msg is full.
 */
int rxe_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct nlattr *table = start_table(msg);

	return table ? end_table(msg, table, put_cq(msg, to_rxe_cq(ibcq))) : -EMSGSIZE;
}

/**
 * rxe_fill_mr - describe a memory region
 * @msg: netlink message
 * @ibmr: the object
 *
 * Return: 0; -EMSGSIZE if @msg is full.
 */
int rxe_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct nlattr *table = start_table(msg);

	return table ? end_table(msg, table, put_mr(msg, to_rxe_mr(ibmr))) : -EMSGSIZE;
}

/**
 * rxe_fill_srq - describe a shared receive queue
 * @msg: netlink message
 * @ibsrq: the object
 *
 * Return: 0; -EMSGSIZE if @msg is full.
 */
int rxe_fill_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct nlattr *table = start_table(msg);

	return table ? end_table(msg, table, put_srq(msg, to_rxe_srq(ibsrq))) : -EMSGSIZE;
}
