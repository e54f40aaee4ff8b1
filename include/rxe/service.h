/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport services (section 9.2.1): everything that depends on the type of a QP. A QP
 * type without a row isn't supported.
 */
#ifndef RXE_SERVICE_H
#define RXE_SERVICE_H

#include <rdma/ib_verbs.h>

struct rxe_data;
struct rxe_pkt;
struct rxe_qp;
struct sk_buff;

/**
 * struct rxe_service - a row of the table
 * @opcode: the upper bits of its BTH opcodes
 * @wrs: its bits in the table of work requests, for QPs of processes
 * @kernel_wrs: the same for QPs of kernel consumers
 * @qkey: Q_Key of received datagrams; 0: that of the QP
 * @qpn: fixed QP number; 0: any number
 * @kernel_only: a kernel consumer's QP, on port 1 and without SRQ. It is destroyed before its CQ
 * @mads: datagrams are MADs, whose owner waits for answers, and handles SQE
 * @keep_short_recv: a receive work request that is too short for a datagram doesn't complete
 * @acked: requests are acknowledged, and the receive task completes the send queue.
 *	If false, the send task completes it
 * @datagram: each work request names its destination by an address handle, and each
 *	message is one packet. If false, the QP's path leads to its only peer
 * @send: a run of the send task. Return: true if the budget was spent
 * @due: may @send have something to do? Return: false if not. Context: recv_task
 * @take: takes in a verified packet, or a run of MIDDLE packets. Return: true if it
 *	came too early, and the caller may hold it. Context: recv_task
 * @take_local: takes in a packet of a peer on this device, which has entered recv_task; NULL
 *	for datagrams. A READ request is served at once, as far as possible. Return: false if
 *	the packet must be queued, since it waits (rxe_inq.parked)
 * @refuse: refuses a request that can't be executed; NULL for datagrams. @nak: AETH
 *	syndrome that says why; @wc_status: status of the receive work request in use, if
 *	any; 0: it doesn't complete, and @event is raised. Context: recv_task
 */
struct rxe_service {
	u8	opcode;
	u8	wrs;
	u8	kernel_wrs;
	u32	qkey;
	u8	qpn;
	bool	kernel_only;
	bool	mads;
	bool	keep_short_recv;
	bool	acked;
	bool	datagram;
	bool	(*send)(struct rxe_qp *qp);
	bool	(*due)(const struct rxe_qp *qp);
	bool	(*take)(struct rxe_qp *qp, struct sk_buff *skb,
			const struct rxe_pkt *pkt, struct rxe_data *data);
	bool	(*take_local)(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			      struct rxe_data *data);
	void	(*refuse)(struct rxe_qp *qp, u8 nak, u8 wc_status,
			  enum ib_event_type event);
};

const struct rxe_service *rxe_service_find(enum ib_qp_type type);

#endif /* RXE_SERVICE_H */
