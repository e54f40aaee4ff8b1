// SPDX-License-Identifier: GPL-2.0
/*
 * Outgoing requests or responses of a connected QP, collected in a train. The train is sent
 * when it is full, when the next packet doesn't fit into it, or when the run of the task ends.
 *
 * Context: the task that owns the struct rxe_out; bottom halves off from the
 * first packet until the train has left.
 */
#include <transport/common.h>

/**
 * rxe_out_xmit - send the train
 * @qp: the QP
 * @out: its requests or responses; there is a train
 */
void rxe_out_xmit(struct rxe_qp *qp, struct rxe_out *out)
{
	out->train.l3_icrc = &out->l3_icrc;
	out->train.sqpn = rxe_qp_num(qp);
	if (rxe_train_xmit(qp->rxe, &qp->path, &out->train))
		rxe_count(qp, SEND_ERR);
	out->train.npkts = 0;
	out->trains++;
}

/**
 * rxe_out_begin - send the train and start the next one
 * @qp: the QP
 * @out: its requests or responses
 * @len: bytes, BTH to ICRC
 * @hint: packets that may leave in one train from here, this one included
 *
 * Return: as rxe_train_push(); NULL if memory is short.
 */
void *rxe_out_begin(struct rxe_qp *qp, struct rxe_out *out, u32 len, u32 hint)
{
	rxe_out_flush(qp, out);
	return rxe_train_start(qp->rxe, &qp->path, &out->train, len, hint);
}

/**
 * rxe_out_again - note that lost packets are sent again
 * @qp: the QP
 * @out: its requests or responses
 * @psn: PSN of the first
 * @npkts: their number
 *
 * If repeatedly only the first packet of a train arrives, no more trains are sent to
 * this peer. The cause is a netdev that doesn't increment the IPv4 ID, which the ICRC
 * covers. IPv6 has no ID.
 *
 * Context: recv_task.
 */
void rxe_out_again(struct rxe_qp *qp, struct rxe_out *out, u32 psn, u32 npkts)
{
	struct rxe_path *path = &qp->path;
	const char *netdev = qp->rxe->ndev->name;

	if (!rxe_path_has_ids(path) || !rxe_qp_uses_wire(qp) || path->alone ||
	    READ_ONCE(out->train.alone) ||
	    !rxe_firsts_again(&out->firsts, psn, npkts))
		return;
	WRITE_ONCE(path->alone, true);
	rxe_count(qp, TRAINS_OFF);
	ibdev_warn_ratelimited(&qp->rxe->ibdev,
			       "QP %u: of each train only the first packet arrives, so no more are sent. Does %s count up IPv4 IDs? If not: ethtool -K %s tx-udp-segmentation off\n",
			       rxe_qp_num(qp), netdev, netdev);
}
