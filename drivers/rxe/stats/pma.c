// SPDX-License-Identifier: GPL-2.0
/*
 * The performance management agent (section 16.1): counters of the port by MAD.
 * Peers ask the GSI for them. The RDMA core also turns reads of ports/1/counters in sysfs into
 * MADs.
 *
 * Counters can't be reset, since other readers would see wrong values.
 *
 * Context: process, or the work that handles received MADs.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <stats/counters.h>

#define PMA_PORT	1		/* the only port */
#define PMA_ALL_PORTS	0xff		/* PortSelect: all ports */

/* A counter of @bits bits doesn't wrap around: it stays at its greatest value [16.1.3.5] */
static u64 pma_cap_count(u64 value, u32 bits)
{
	return min(value, BIT_ULL(bits) - 1);
}

/* A counter of bytes, in units of four bytes */
static u64 pma_get_words(const struct rxe_dev *rxe, enum rxe_counter bytes)
{
	return rxe_count_sum(rxe, bytes) / 4;
}

/* Received packets with an error, or without a buffer */
static u64 pma_count_rcv_errors(const struct rxe_dev *rxe)
{
	return rxe_count_sum(rxe, RXE_CNT_DROP_ICRC) +
	       rxe_count_sum(rxe, RXE_CNT_DROP_MALFORMED) +
	       rxe_count_sum(rxe, RXE_CNT_DROP_QUEUE) +
	       rxe_count_sum(rxe, RXE_CNT_DROP_MEMORY);
}

static u64 pma_count_xmit_discards(const struct rxe_dev *rxe)
{
	return rxe_count_sum(rxe, RXE_CNT_DROP_TX) +
	       rxe_count_sum(rxe, RXE_CNT_DROP_TX_MEM);
}

static void pma_fill_class_port_info(void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = IB_MGMT_BASE_VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT | IB_PMA_CLASS_CAP_EXT_WIDTH;
}

static void pma_fill_port_counters(const struct rxe_dev *rxe, void *data)
{
	struct ib_pma_portcounters *cnt = data;

	cnt->link_downed_counter = pma_cap_count(rxe_count_sum(rxe, RXE_CNT_LINK_DOWNED), 8);
	cnt->port_rcv_errors = cpu_to_be16(pma_cap_count(pma_count_rcv_errors(rxe), 16));
	cnt->port_xmit_discards = cpu_to_be16(pma_cap_count(pma_count_xmit_discards(rxe), 16));
	cnt->port_xmit_data =
		cpu_to_be32(pma_cap_count(pma_get_words(rxe, RXE_CNT_SENT_BYTES), 32));
	cnt->port_rcv_data = cpu_to_be32(pma_cap_count(pma_get_words(rxe, RXE_CNT_RCVD_BYTES), 32));
	cnt->port_xmit_packets =
		cpu_to_be32(pma_cap_count(rxe_count_sum(rxe, RXE_CNT_SENT_PKTS), 32));
	cnt->port_rcv_packets =
		cpu_to_be32(pma_cap_count(rxe_count_sum(rxe, RXE_CNT_RCVD_PKTS), 32));
}

static void pma_fill_port_counters_ext(const struct rxe_dev *rxe, void *data)
{
	struct ib_pma_portcounters_ext *cnt = data;
	u64 sent_mcast = rxe_count_sum(rxe, RXE_CNT_SENT_MCAST);
	u64 rcvd_mcast = rxe_count_sum(rxe, RXE_CNT_RCVD_MCAST);
	u64 sent = rxe_count_sum(rxe, RXE_CNT_SENT_PKTS);
	u64 rcvd = rxe_count_sum(rxe, RXE_CNT_RCVD_PKTS);

	cnt->port_xmit_data = cpu_to_be64(pma_get_words(rxe, RXE_CNT_SENT_BYTES));
	cnt->port_rcv_data = cpu_to_be64(pma_get_words(rxe, RXE_CNT_RCVD_BYTES));
	cnt->port_xmit_packets = cpu_to_be64(sent);
	cnt->port_rcv_packets = cpu_to_be64(rcvd);
	cnt->port_unicast_xmit_packets = cpu_to_be64(sent - sent_mcast);
	cnt->port_unicast_rcv_packets = cpu_to_be64(rcvd - rcvd_mcast);
	cnt->port_multicast_xmit_packets = cpu_to_be64(sent_mcast);
	cnt->port_multicast_rcv_packets = cpu_to_be64(rcvd_mcast);
}

/* Does the request name the only port? */
static bool pma_is_port_named(const struct ib_pma_mad *in)
{
	const struct ib_pma_portcounters *cnt = (const void *)in->data;

	return cnt->port_select == PMA_PORT || cnt->port_select == PMA_ALL_PORTS;
}

/* Return: status of the answer [13.4.7] */
static u16 pma_get_attr(const struct rxe_dev *rxe, const struct ib_pma_mad *in,
			struct ib_pma_mad *out)
{
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		pma_fill_class_port_info(out->data);
		return 0;
	}
	if (in->mad_hdr.attr_id != IB_PMA_PORT_COUNTERS &&
	    in->mad_hdr.attr_id != IB_PMA_PORT_COUNTERS_EXT)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	if (!pma_is_port_named(in))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	memcpy(out->data, in->data, offsetof(struct ib_pma_portcounters, symbol_error_counter));
	if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
		pma_fill_port_counters(rxe, out->data);
	else
		pma_fill_port_counters_ext(rxe, out->data);
	return 0;
}

static u16 pma_answer_request(const struct rxe_dev *rxe, const struct ib_pma_mad *in,
			      struct ib_pma_mad *out)
{
	if (in->mad_hdr.class_version != IB_MGMT_BASE_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	return pma_get_attr(rxe, in, out);
}

/**
 * rxe_process_mad - ib_device_ops.process_mad [13.5.2]
 * @ibdev: the device
 * @flags: enum ib_process_mad_flags; of no effect
 * @port: port number
 * @in_wc: completion of the received MAD; NULL for a local request
 * @in_grh: its GRH
 * @in_mad: the MAD
 * @out_mad: the answer
 * @out_size: in and out: bytes of the answer
 * @out_pkey_index: not used
 *
 * Return: IB_MAD_RESULT_SUCCESS, with IB_MAD_RESULT_REPLY if there is an answer; MADs of
 * other classes are left to the RDMA core.
 */
int rxe_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
		    const struct ib_grh *in_grh, const struct ib_mad *in_mad,
		    struct ib_mad *out_mad, size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_pma_mad *in = (const struct ib_pma_mad *)in_mad;
	struct ib_pma_mad *out = (struct ib_pma_mad *)out_mad;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (in->mad_hdr.method != IB_MGMT_METHOD_GET &&
	     in->mad_hdr.method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(pma_answer_request(to_rxe_dev(ibdev), in, out));
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
