// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the transport headers of one packet (chapter 9).
 *
 * Pure; any context. Whatever the bytes are, nothing beyond @avail is read.
 */
#include <compat/unaligned.h>
#include <wire/headers.h>

/* BTH [9.2] */
static void parse_bth(struct rxe_pkt *pkt, const u8 *h)
{
	pkt->opcode = h[0];
	pkt->solicited = h[1] & BIT(7);
	pkt->mig = h[1] & BIT(6);
	pkt->pad = (h[1] >> 4) & 3;
	pkt->pkey = get_unaligned_be16(h + 2);
	pkt->fecn = h[4] & BIT(7);
	pkt->becn = h[4] & BIT(6);
	pkt->qpn = get_unaligned_be24(h + 5);
	rxe_pkt_parse_psn(pkt, h);
}

/* Requests: DETH [9.3.2], FETH [A19.4.1], RETH [9.4.2], AtomicETH [9.4.5] */
static const u8 *parse_req(struct rxe_pkt *pkt, const u8 *h)
{
	if (pkt->flags & RXE_OP_DETH) {
		pkt->qkey = get_unaligned_be32(h);
		pkt->src_qpn = get_unaligned_be24(h + 5);
		h += RXE_DETH_BYTES;
	}
	if (pkt->flags & RXE_OP_FETH) {
		pkt->feth = get_unaligned_be32(h);
		h += RXE_FETH_BYTES;
	}
	if (pkt->flags & RXE_OP_RETH) {
		pkt->va = get_unaligned_be64(h);
		pkt->rkey = get_unaligned_be32(h + 8);
		pkt->dma_len = get_unaligned_be32(h + 12);
		h += RXE_RETH_BYTES;
	}
	if (pkt->flags & RXE_OP_ATOMIC_ETH) {
		pkt->va = get_unaligned_be64(h);
		pkt->rkey = get_unaligned_be32(h + 8);
		pkt->swap_add = get_unaligned_be64(h + 12);
		pkt->compare = get_unaligned_be64(h + 20);
		h += RXE_ATOMIC_ETH_BYTES;
	}
	return h;
}

/* Responses: AETH [9.7.5], AtomicAckETH [9.5.3] */
static const u8 *parse_resp(struct rxe_pkt *pkt, const u8 *h)
{
	if (pkt->flags & RXE_OP_AETH) {
		pkt->syndrome = h[0];
		pkt->msn = get_unaligned_be24(h + 1);
		h += RXE_AETH_BYTES;
	}
	if (pkt->flags & RXE_OP_ATOMIC_ACK) {
		pkt->atomic_orig = get_unaligned_be64(h);
		h += RXE_ATOMIC_ACK_BYTES;
	}
	return h;
}

/*
 * A response with data is an ACK. There are four NAK codes (RD has a fifth one). All
 * other syndromes are reserved [9.7.5.1.1].
 */
static bool is_aeth_ok(const struct rxe_pkt *pkt)
{
	switch (pkt->syndrome & RXE_AETH_TYPE_MASK) {
	case RXE_AETH_ACK:
		return true;
	case RXE_AETH_RNR_NAK:
		return pkt->opcode == IB_OPCODE_RC_ACKNOWLEDGE;
	case RXE_AETH_NAK:
		return pkt->opcode == IB_OPCODE_RC_ACKNOWLEDGE &&
		       pkt->syndrome <= RXE_NAK_REM_OP;
	default:
		return false;
	}
}

static void parse_tail(struct rxe_pkt *pkt, const u8 *h)
{
	if (pkt->flags & RXE_OP_IMMDT) {
		memcpy(&pkt->imm, h, RXE_IMMDT_BYTES);
		h += RXE_IMMDT_BYTES;
	}
	if (pkt->flags & RXE_OP_IETH)
		pkt->rkey = get_unaligned_be32(h);
}

/**
 * rxe_pkt_parse - parse a packet's headers
 * @pkt: where to put them; undefined if the packet is refused
 * @hdr: the packet from its BTH on
 * @avail: contiguous bytes at @hdr
 * @len: bytes of the whole packet, BTH to ICRC inclusive
 *
 * Refuses unknown opcodes, transport header versions other than 0, and reserved syndromes.
 * Refuses packets that are too short for their headers, pad and ICRC. Refuses payload where the
 * opcode has none, and lengths that are no multiple of four.
 *
 * Return: true if the packet is well-formed.
 */
bool rxe_pkt_parse(struct rxe_pkt *pkt, const void *hdr, u32 avail, u32 len)
{
	const struct rxe_opcode *op;
	const u8 *h = hdr;

	if (len < RXE_BTH_BYTES + RXE_ICRC_BYTES || avail < RXE_BTH_BYTES ||
	    len & 3)
		return false;
	op = &rxe_opcode[h[0]];
	if (!op->flags || h[1] & 0xf)
		return false;
	parse_bth(pkt, h);
	if (avail < op->hdr_len ||
	    len < op->hdr_len + pkt->pad + RXE_ICRC_BYTES)
		return false;
	pkt->flags = op->flags;
	pkt->hdr_len = op->hdr_len;
	pkt->payload_len = len - op->hdr_len - pkt->pad - RXE_ICRC_BYTES;
	if (!(op->flags & RXE_OP_PAYLOAD) && (pkt->payload_len || pkt->pad))
		return false;
	h = parse_req(pkt, h + RXE_BTH_BYTES);
	h = parse_resp(pkt, h);
	parse_tail(pkt, h);
	return !(op->flags & RXE_OP_AETH) || is_aeth_ok(pkt);
}
