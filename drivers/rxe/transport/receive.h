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

/* What to do with a train */
enum rxe_fate {
	RXE_USED_UP,
	RXE_GOES_ON,		/* continue it when the READ before is served, or a page is there */
	RXE_TOO_EARLY,		/* a packet before it is missing; keep it */
	RXE_REFUSED,		/* a packet before it is missing; drop it */
};

/* packet.c */
enum rxe_fate rxe_receive_train(struct rxe_qp *qp, struct rxe_inq *in,
				struct sk_buff *skb);

/* notify.c */
bool rxe_notice(struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt);

/* rcv.c */
bool rxe_receiver(struct rxe_qp *qp);
bool rxe_receiver_end(struct rxe_qp *qp);
void rxe_page_came(void *owner);

#endif /* RXE_TRANSPORT_RECEIVE_H */
