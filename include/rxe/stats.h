/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: per CPU, lockless, summed when read (hw_counters in sysfs, `rdma
 * statistic`). Monitoring tools already know these names from the distribution's
 * module and from mlx5.
 */
#ifndef RXE_STATS_H
#define RXE_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/* Reasons for a drop: X(enumerator suffix, sysfs name) */
#define RXE_DROPS(X) \
	X(DROP_ICRC, rx_icrc_encapsulated) \
	X(DROP_MALFORMED, rx_drop_malformed) \
	X(DROP_NO_QP, rx_drop_no_qp) \
	X(DROP_QP_STATE, rx_drop_qp_state) \
	X(DROP_ADDR, rx_drop_address) \
	X(DROP_PKEY, rx_drop_pkey) \
	X(DROP_QKEY, rx_drop_qkey) \
	X(DROP_PSN, rx_drop_psn) \
	X(DROP_EARLY, rx_drop_early) \
	X(DROP_QUEUE, rx_drop_queue_full) \
	X(DROP_AGE, rx_drop_age) \
	X(DROP_NO_RECV, rx_drop_no_recv_wqe) \
	X(DROP_REFUSED, rx_drop_refused) \
	X(DROP_REST, rx_drop_rest_of_message) \
	X(DROP_POLICY, rx_drop_policy) \
	X(DROP_MEMORY, rx_drop_memory) \
	X(DROP_TX, tx_drop) \
	X(DROP_TX_MEM, tx_drop_no_memory) \
	X(DROP_GUARD, tx_drop_unprivileged)

/*
 * All counters: X(enumerator suffix, sysfs name). No code increments RXE_CNT_NEVER: its names
 * exist for the programs that read them.
 */
#define RXE_COUNTERS(X) \
	X(SENT_PKTS, sent_pkts) \
	X(RCVD_PKTS, rcvd_pkts) \
	X(SENT_BYTES, sent_bytes) \
	X(RCVD_BYTES, rcvd_bytes) \
	X(SENT_MCAST, multicast_xmit_packets) \
	X(RCVD_MCAST, multicast_rcv_packets) \
	X(DUP_REQ, duplicate_request) \
	X(OUT_OF_SEQ_REQ, out_of_seq_request) \
	X(RCVD_RNR, rcvd_rnr_err) \
	X(SENT_RNR, send_rnr_err) \
	X(RCVD_SEQ_ERR, rcvd_seq_err) \
	X(NEVER, ack_deferred) \
	X(RETRY_EXCEEDED, retry_exceeded_err) \
	X(RNR_EXCEEDED, retry_rnr_exceeded_err) \
	X(COMP_RETRY, completer_retry_err) \
	X(SEND_ERR, send_err) \
	X(LINK_DOWNED, link_downed) \
	X(RDMA_SENDS, rdma_sends) \
	X(RDMA_RECVS, rdma_recvs) \
	X(RX_WRITE_REQ, rx_write_requests) \
	X(RX_READ_REQ, rx_read_requests) \
	X(RX_ATOMIC_REQ, rx_atomic_requests) \
	X(ACK_TIMEOUT, local_ack_timeout_err) \
	X(OUT_OF_BUFFER, out_of_buffer) \
	X(HELD_DIFFERS, rx_held_differs) \
	X(TRAINS_OFF, tx_trains_off) \
	X(NP_MARKED, np_ecn_marked_roce_packets) \
	X(NP_CNP_SENT, np_cnp_sent) \
	X(RP_CNP_HANDLED, rp_cnp_handled) \
	X(RP_CNP_IGNORED, rp_cnp_ignored) \
	X(RNR_RETRY, rnr_nak_retry_err) \
	X(NAK_SEQ, packet_seq_err) \
	X(IMPLIED_NAK, implied_nak_seq_err) \
	X(PROBE, roce_adp_retrans) \
	X(SEND_WC_ERR, req_cqe_error) \
	X(SEND_WC_FLUSH, req_cqe_flush_error) \
	X(SEND_WC_INV_REQ, req_remote_invalid_request) \
	X(SEND_WC_ACCESS, req_remote_access_errors) \
	X(RECV_WC_ERR, resp_cqe_error) \
	X(RECV_WC_FLUSH, resp_cqe_flush_error) \
	X(RECV_WC_LEN, resp_local_length_error) \
	X(REFUSED_ACCESS, resp_remote_access_errors) \
	RXE_DROPS(X)

#define RXE_COUNTER_ENUM(e, n) RXE_CNT_##e,
enum rxe_counter {
	RXE_COUNTERS(RXE_COUNTER_ENUM)
	RXE_NUM_COUNTERS
};

#undef RXE_COUNTER_ENUM

#define RXE_DROP_ENUM(e, n) RXE_##e = RXE_CNT_##e,
enum rxe_drop {
	RXE_DROPS(RXE_DROP_ENUM)
};

#undef RXE_DROP_ENUM

struct rxe_stats {
	u64 cnt[RXE_NUM_COUNTERS];
};

/*
 * Add @n to counter RXE_CNT_@c. @of is a device, in any context, or a QP, with bottom halves
 * off. A QP counts for its device, or for the counter to which `rdma statistic` has bound it.
 */
#define rxe_count_add(of, c, n) \
	this_cpu_add(READ_ONCE((of)->stats)->cnt[RXE_CNT_##c], n)
#define rxe_count(of, c)	rxe_count_add(of, c, 1)

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;
struct rdma_hw_stats;
struct rxe_dev;

void rxe_drop(struct rxe_dev *rxe, enum rxe_drop why, u32 npkts);

/* ib_device_ops */
struct rdma_hw_stats *rxe_alloc_hw_port_stats(struct ib_device *ibdev,
					      u32 port);
int rxe_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);

int rxe_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
		    const struct ib_grh *in_grh, const struct ib_mad *in_mad,
		    struct ib_mad *out_mad, size_t *out_size, u16 *out_pkey_index);

#endif /* RXE_STATS_H */
