// SPDX-License-Identifier: GPL-2.0
/*
 * The packets of a received train: each is verified, then handed to the completer or
 * the responder. MIDDLE packets that continue another one are taken in together with it.
 *
 * Nothing in a packet is trusted before its ICRC was checked, except for the choice of
 * the queue.
 *
 * Context: recv_task; bottom halves off.
 */
#include <transport/common.h>

/*
 * The current packet of a train. It has @len bytes, BTH to ICRC, at offset @off of the
 * train. It is in the skb @frame, which starts at offset @begin. @run bytes of it are
 * contiguous, at @at. @num packets are taken in together, this one included.
 *
 * The first eight bytes of its BTH describe a packet without further headers, except for
 * its PSN. If they equal those of the packet before, that packet's checks hold for this
 * packet, too.
 */
struct packet {
	struct sk_buff		*skb;
	struct sk_buff		*frame;
	u32			begin;
	u32			off;
	u32			len;
	u32			num;
	u32			run;
	const void		*at;
	u8			bth[8];	/* start of the last packet's BTH */
	u32			good_len; /* the last packet's length; 0: don't compare */
	struct rxe_l3_icrc	l3_icrc;
	struct rxe_pkt		pkt;
};

/* Check the ICRC of the packet, or of the @n-th packet behind it, contiguous at @at */
static __always_inline bool is_icrc_ok(struct packet *p, u32 n, const void *at)
{
	u32 state;

	if (rxe_rx(p->skb)->trusted || rxe_rx(p->skb)->held)
		return true;
	state = rxe_rx_icrc_start(&p->l3_icrc, p->skb,
				  p->off / rxe_rx(p->skb)->pkt + n, p->len);
	state = rxe_icrc_bth(state, p->bth[4]);
	if (n || p->run >= p->len)
		state = rxe_icrc_update(state, at, p->len);
	else if (!rxe_skb_icrc(p->frame, p->off - p->begin, p->len, &state))
		return false;
	return rxe_icrc_good(state);
}

/* The same partition, and not both limited members [10.9.1.1] */
static bool is_pkey_ok(u16 pkey)
{
	return (pkey & 0x7fff) == (RXE_PKEY & 0x7fff);
}

/* Parse a packet whose headers equal those of the last good one, but for the PSN */
static bool parse_like_last(struct packet *p)
{
	if (p->len != p->good_len || p->run < RXE_BTH_BYTES ||
	    memcmp(p->bth, p->at, sizeof(p->bth)))
		return false;
	rxe_pkt_parse_psn(&p->pkt, p->at);
	return true;
}

static u32 get_dest_qpn(const struct rxe_qp *qp, struct sk_buff *skb)
{
	return rxe_rx(skb)->mcast ? IB_MULTICAST_QPN : rxe_qp_num(qp);
}

/* Are QP, service and queue those that net/ has read, and was the address of a datagram checked? */
static bool is_for_qp(const struct rxe_qp *qp, struct sk_buff *skb, const struct rxe_pkt *pkt)
{
	struct rxe_rx *rx = rxe_rx(skb);

	return pkt->qpn == get_dest_qpn(qp, skb) &&
	       (rxe_opcode_type(pkt->opcode) == qp->service->opcode || (pkt->flags & RXE_OP_CNP)) &&
	       !(pkt->flags & RXE_OP_RESPONSE) != rx->response &&
	       (!(pkt->flags & (RXE_OP_DETH | RXE_OP_CNP)) || rx->addressed || rx->same_dev);
}

/*
 * An skb's pages may change at any time. Headers are therefore copied before they are
 * checked. What net/ has read in them is checked again.
 */
static __always_inline bool parse_headers(struct rxe_qp *qp, struct packet *p)
{
	struct rxe_pkt *pkt = &p->pkt;
	u8 hdr[RXE_MAX_HDR_BYTES] __uninitialized;
	u32 avail = min_t(u32, p->len, sizeof(hdr));

	p->good_len = 0;
	if (p->run >= sizeof(hdr))
		memcpy(hdr, p->at, sizeof(hdr));
	else if (p->run >= avail)
		memcpy(hdr, p->at, avail);
	else if (skb_copy_bits(p->frame, p->off - p->begin, hdr, avail))
		return false;
	if (!rxe_pkt_parse(pkt, hdr, avail, p->len) || !is_for_qp(qp, p->skb, pkt))
		return false;
	memcpy(p->bth, hdr, sizeof(p->bth));
	if (pkt->hdr_len == RXE_BTH_BYTES)
		p->good_len = p->len;
	return true;
}

/*
 * A train that GRO made has each packet in an skb, the first in the train's own.
 * Return: false if the packet isn't there.
 */
static noinline bool find_frame(struct packet *p)
{
	u32 pkt = rxe_rx(p->skb)->pkt;

	for (; p->frame && p->off - p->begin >= pkt; p->begin += pkt)
		p->frame = p->frame == p->skb ?
			   skb_shinfo(p->skb)->frag_list : p->frame->next;
	return p->frame && p->off - p->begin + p->len <=
			   (p->frame == p->skb ? skb_pagelen(p->skb) :
						 p->frame->len);
}

/* Inlined for rxe_take_train(), which calls it per packet; keep_early() is rare */
static __always_inline bool check_packet(struct rxe_qp *qp, struct packet *p)
{
	if (skb_has_frag_list(p->skb) && !find_frame(p)) {
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
		return false;
	}
	p->at = rxe_skb_run(p->frame, p->off - p->begin, &p->run);
	if (!parse_like_last(p) && !parse_headers(qp, p)) {
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
		return false;
	}
	if (!is_icrc_ok(p, 0, p->at)) {
		rxe_drop(qp->rxe, RXE_DROP_ICRC, 1);
		return false;
	}
	if (!is_pkey_ok(p->pkt.pkey)) {
		rxe_drop(qp->rxe, RXE_DROP_PKEY, 1);
		return false;
	}
	return true;
}

/* Is the next packet, at @bth, a MIDDLE packet that only continues the data? */
static bool continues_data(struct packet *p, const void *bth)
{
	struct rxe_pkt next;

	if (memcmp(p->bth, bth, sizeof(p->bth)))
		return false;
	rxe_pkt_parse_psn(&next, bth);
	if (next.psn != rxe_psn_add(p->pkt.psn, p->num) ||
	    !is_icrc_ok(p, p->num, bth))
		return false;
	p->pkt.ack_req |= next.ack_req;
	return true;
}

/* Take MIDDLE packets that follow in the same contiguous memory */
static void take_contiguous(struct packet *p, u32 most)
{
	const void *bth = p->at + p->len;

	for (most = min(most, p->run / p->len); p->num < most; p->num++) {
		if (!continues_data(p, bth))
			break;
		bth += p->len;
	}
}

/* Take MIDDLE packets in the next skbs of a GRO train, if those are linear */
static void take_frames(struct packet *p, u32 most)
{
	const struct sk_buff *frame = p->frame->next;

	for (; p->num < most && frame; p->num++) {
		if (frame->len != p->len || frame->data_len ||
		    !continues_data(p, frame->data))
			break;
		frame = frame->next;
	}
}

/* Take as many MIDDLE packets together with this one as possible */
static void take_middles(struct rxe_qp *qp, struct packet *p)
{
	u32 most;

	if (p->run < p->len)
		return;
	most = p->pkt.flags & RXE_OP_RESPONSE ?
	       rxe_complete_most(qp, &p->pkt) : rxe_respond_most(qp, &p->pkt);
	/* Packets of a held train beyond its end weren't verified */
	most = min(most, (rxe_rx(p->skb)->end - p->off) / p->len);
	if (p->frame == p->skb)
		take_contiguous(p, most);
	else
		take_frames(p, most);
	p->pkt.more = p->num - 1;
}

/* The payload of a packet, and of the MIDDLE packets taken in with it */
static __always_inline struct rxe_data get_payload(const struct packet *p)
{
	u32 hdr_len = p->pkt.hdr_len;
	struct rxe_data data = {
		.skb = p->frame,
		.off = p->off - p->begin + hdr_len,
	};

	if (p->run <= hdr_len)
		return data;
	data.at = p->at + hdr_len;
	data.run = p->run - hdr_len;
	data.off += data.run;
	if (p->num > 1) {
		data.chunk = p->pkt.payload_len;
		data.gap = p->frame == p->skb ? p->len - data.chunk : 0;
		data.run = data.chunk;
	}
	return data;
}

/* Does the packet report congestion: by an ECN mark, a BECN bit, or as a CNP? */
static __always_inline bool reports_congestion(const struct packet *p)
{
	return unlikely(rxe_rx(p->skb)->ce | p->pkt.becn ||
			(p->pkt.flags & RXE_OP_CNP));
}

/* A packet that has waited is looked at again, but its report counts only once */
static bool notice_once(struct rxe_qp *qp, struct packet *p)
{
	struct rxe_rx *rx = rxe_rx(p->skb);

	if (rx->noticed)
		return false;
	rx->noticed = true;
	return rxe_notice(qp, p->skb, &p->pkt);
}

static bool give_pkt(struct rxe_qp *qp, struct packet *p)
{
	struct rxe_data data = get_payload(p);

	return qp->service->take(qp, p->skb, &p->pkt, &data);
}

/* Return: true if the packet came too early */
static bool receive_pkt(struct rxe_qp *qp, struct packet *p)
{
	if (reports_congestion(p) && notice_once(qp, p))
		return false;
	if (rxe_is_middle(qp, &p->pkt))
		take_middles(qp, p);
	return give_pkt(qp, p);
}

/* On the same-device path, the skb names the sending QP and its netdev */
static bool is_from_local_peer(const struct rxe_qp *qp, const struct rxe_rx *rx)
{
	return rx->sqpn == qp->attr.dest_qp_num &&
	       rx->ndev == rxe_path_get_ndev(&qp->path);
}

/*
 * A connected QP accepts packets only from its peer's addresses [9.6.1.5]. If the peer is on
 * this device, a packet from outside is forged. Earlier checks of the sender's address may
 * have let it pass.
 */
static bool is_from_peer(struct rxe_qp *qp, struct sk_buff *skb)
{
	const struct rxe_rx *rx = rxe_rx(skb);

	if (qp->service->datagram)
		return true;
	if (rx->same_dev != qp->path.same_dev)
		return false;
	if (rx->same_dev && !is_from_local_peer(qp, rx))
		return false;
	return rxe_rx_is_from(skb, &qp->path);
}

/* May the packet be held, and does it have the PSN that continues the held ones? */
static bool may_keep_early(struct rxe_qp *qp, const struct packet *p, u32 psn)
{
	if (p->pkt.psn != psn)
		return false;
	if (p->pkt.flags & RXE_OP_RESPONSE)
		return rxe_complete_early_ok(qp, &p->pkt);
	return rxe_respond_early_ok(qp, &p->pkt);
}

/* Count that the rest of a train came too early and isn't held */
static enum rxe_fate refuse_early(struct rxe_qp *qp, struct rxe_inq *in, struct sk_buff *skb)
{
	u32 num = rxe_rx_count_left(skb);

	rxe_drop(qp->rxe, RXE_DROP_EARLY, num);
	if (in == &qp->requests && !rxe_rx(skb)->held)
		rxe_count_add(qp, OUT_OF_SEQ_REQ, num);
	return RXE_REFUSED;
}

/*
 * Hold a packet that came too early, and the packets behind it in its train. All checks
 * that are possible now come first: a held packet should be one that will be executed.
 * A train from another UDP source port isn't from the peer. Packets that don't continue
 * the row of PSNs are queued as a train of their own.
 */
static noinline enum rxe_fate keep_early(struct rxe_qp *qp, struct rxe_inq *in,
					 struct packet *p)
{
	struct rxe_rx *rx = rxe_rx(p->skb);
	u32 end = rx->end, num = 0;

	if (rx->held || rxe_rx_sport(p->skb) != in->sport)
		return refuse_early(qp, in, p->skb);
	rx->psn = p->pkt.psn;
	while (may_keep_early(qp, p, rxe_psn_add(rx->psn, num))) {
		num++;
		p->off += p->len;
		rx->end = p->off;
		if (p->off >= end)
			break;
		p->len = min(rx->pkt, end - p->off);
		if (!check_packet(qp, p)) {
			p->off += p->len;
			break;
		}
	}
	if (!num)
		return refuse_early(qp, in, p->skb);
	if (in == &qp->requests)
		rxe_count_add(qp, OUT_OF_SEQ_REQ, num);
	if (p->off < end)
		rxe_inq_rest(qp->rxe, in, p->skb, p->off);
	return RXE_TOO_EARLY;
}

/**
 * rxe_take_train - take in the packets of a train
 * @qp: the QP
 * @in: the queue that it is in
 * @skb: the train; continues at rxe_rx.done
 *
 * Return: what to do with the train.
 */
enum rxe_fate rxe_take_train(struct rxe_qp *qp, struct rxe_inq *in, struct sk_buff *skb)
{
	struct rxe_rx *rx = rxe_rx(skb);
	bool serving = qp->rq.read.active;
	struct packet p __uninitialized;

	if (!is_from_peer(qp, skb)) {
		rxe_drop(qp->rxe, RXE_DROP_ADDR, rxe_rx_count_left(skb));
		return RXE_USED_UP;
	}
	p.skb = skb;
	p.frame = skb;
	p.begin = 0;
	p.good_len = 0;
	p.l3_icrc.len = 0;
	qp->rq.reply.batch = rx->npkts;
	qp->rq.read.sent_then = rx->psn;
	if (unlikely(rx->held))
		qp->slow->ended.at = 0;	/* the train came before, so it measures no round trip */
	while (rx->done < rx->end) {
		p.off = rx->done;
		p.len = min(rx->pkt, skb->len - p.off);
		p.num = 1;
		if (!rxe_qp_can_receive(qp)) {
			rxe_drop(qp->rxe, RXE_DROP_QP_STATE, rxe_rx_count_left(skb));
			return RXE_USED_UP;
		}
		if (check_packet(qp, &p) && receive_pkt(qp, &p))
			return keep_early(qp, in, &p);
		if (unlikely(in->parked))
			return RXE_GOES_ON;
		rx->done += p.num * p.len;
		if (unlikely(rx->noticed))
			rx->noticed = false;
		if (qp->rq.read.active && !serving)
			return rx->done == rx->end ? RXE_USED_UP : RXE_GOES_ON;
	}
	return RXE_USED_UP;
}
