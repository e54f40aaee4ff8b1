// SPDX-License-Identifier: GPL-2.0
/*
 * Build the transport headers of one packet (chapter 9): the inverse of
 * parse.c, by the same table.
 *
 * Pure; any context.
 */
#include <compat/unaligned.h>
#include <wire/headers.h>

static void build_bth(const struct rxe_pkt *pkt, u8 *h)
{
	h[0] = pkt->opcode;
	h[1] = (pkt->solicited ? BIT(7) : 0) | (pkt->mig ? BIT(6) : 0) |
	       pkt->pad << 4;
	put_unaligned_be16(pkt->pkey, h + 2);
	h[4] = (pkt->fecn ? BIT(7) : 0) | (pkt->becn ? BIT(6) : 0);
	put_unaligned_be24(pkt->qpn, h + 5);
	h[8] = pkt->ack_req ? BIT(7) : 0;
	put_unaligned_be24(pkt->psn, h + 9);
}

static u8 *build_req(const struct rxe_pkt *pkt, u32 flags, u8 *h)
{
	if (flags & RXE_OP_DETH) {
		put_unaligned_be32(pkt->qkey, h);
		put_unaligned_be32(pkt->src_qpn, h + 4);
		h += RXE_DETH_BYTES;
	}
	if (flags & RXE_OP_FETH) {
		put_unaligned_be32(pkt->feth, h);
		h += RXE_FETH_BYTES;
	}
	if (flags & RXE_OP_RETH) {
		put_unaligned_be64(pkt->va, h);
		put_unaligned_be32(pkt->rkey, h + 8);
		put_unaligned_be32(pkt->dma_len, h + 12);
		h += RXE_RETH_BYTES;
	}
	if (flags & RXE_OP_ATOMIC_ETH) {
		put_unaligned_be64(pkt->va, h);
		put_unaligned_be32(pkt->rkey, h + 8);
		put_unaligned_be64(pkt->swap_add, h + 12);
		put_unaligned_be64(pkt->compare, h + 20);
		h += RXE_ATOMIC_ETH_BYTES;
	}
	return h;
}

static u8 *build_resp(const struct rxe_pkt *pkt, u32 flags, u8 *h)
{
	if (flags & RXE_OP_AETH) {
		h[0] = pkt->syndrome;
		put_unaligned_be24(pkt->msn, h + 1);
		h += RXE_AETH_BYTES;
	}
	if (flags & RXE_OP_ATOMIC_ACK) {
		put_unaligned_be64(pkt->atomic_orig, h);
		h += RXE_ATOMIC_ACK_BYTES;
	}
	return h;
}

/**
 * rxe_pkt_build - write a packet's headers
 * @pkt: fields that the opcode needs; @pkt->opcode must be in the table
 * @hdr: room for rxe_opcode[@pkt->opcode].hdr_len bytes
 *
 * Return: where the payload goes.
 */
void *rxe_pkt_build(const struct rxe_pkt *pkt, void *hdr)
{
	u32 flags = rxe_opcode[pkt->opcode].flags;
	u8 *h = hdr;

	build_bth(pkt, h);
	h = build_req(pkt, flags, h + RXE_BTH_BYTES);
	h = build_resp(pkt, flags, h);
	if (flags & RXE_OP_IMMDT) {
		memcpy(h, &pkt->imm, RXE_IMMDT_BYTES);
		h += RXE_IMMDT_BYTES;
	}
	if (flags & RXE_OP_IETH) {
		put_unaligned_be32(pkt->rkey, h);
		h += RXE_IETH_BYTES;
	}
	if (unlikely(flags & RXE_OP_CNP)) {
		memset(h, 0, RXE_CNP_BYTES);
		h += RXE_CNP_BYTES;
	}
	return h;
}
