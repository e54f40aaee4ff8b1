/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receiving: trains from net/ to the receive task (rcv.c), and each packet from there to
 * the service (packet.c).
 */
#ifndef RXE_TRANSPORT_RECEIVE_H
#define RXE_TRANSPORT_RECEIVE_H

#include <linux/types.h>

struct rxe_dev;
struct rxe_inq;
struct rxe_pkt;
struct rxe_qp;
struct sk_buff;

/**
 * enum rxe_fate - what to do with a train
 * @RXE_USED_UP: free it: all packets have been taken in or dropped
 * @RXE_GOES_ON: keep it at the head of the queue: the next packet waits until a READ has
 *	been served or a page is present
 * @RXE_TOO_EARLY: hold it: a packet before it is missing
 * @RXE_REFUSED: drop it: a packet before it is missing, and it can't be held
 */
enum rxe_fate {
	RXE_USED_UP,
	RXE_GOES_ON,
	RXE_TOO_EARLY,
	RXE_REFUSED,
};

/* packet.c */
enum rxe_fate rxe_take_train(struct rxe_qp *qp, struct rxe_inq *in, struct sk_buff *skb);

/* notify.c */
bool rxe_notice(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt);

/* rcv.c */
bool rxe_recv_run(struct rxe_qp *qp);
bool rxe_recv_end(struct rxe_qp *qp);
void rxe_page_came(void *owner);

/* rcv.c: struct rxe_net_ops */
void rxe_demux(struct rxe_dev *rxe, struct sk_buff *skb);
void rxe_sent(void *owner);

#endif /* RXE_TRANSPORT_RECEIVE_H */
