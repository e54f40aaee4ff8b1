/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format: headers and ICRC.
 *
 * Pure functions on bytes: no device, no locks, any context. Received bytes are
 * untrusted until rxe_pkt_parse() has accepted them.
 *
 * InfiniBand Architecture specification, volume 1, chapter 9, and annexes A16
 * (RoCE v1), A17 (RoCE v2) and A19 (FLUSH, ATOMIC WRITE).
 */
#ifndef RXE_WIRE_H
#define RXE_WIRE_H

#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <rdma/ib_pack.h>
#include <compat/unaligned.h>
#include <rxe/opcode.h>
#include <rxe/psn.h>

#define RXE_QPN_MASK		0xffffffu
#define RXE_MSN_MASK		0xffffffu

#define RXE_OPCODE_CNP		(IB_OPCODE_CNP | 0x01)	/* [A17.9.3] */

#define RXE_MAX_MSG		SZ_2G

/* Lengths of the headers (chapter 9) and of the ICRC */
#define RXE_BTH_BYTES		12
#define RXE_ATOMIC_ETH_BYTES	28
#define RXE_ICRC_BYTES		4
#define RXE_GRH_BYTES		40

/* The longest stack of transport headers: BTH and AtomicETH */
#define RXE_MAX_HDR_BYTES	(RXE_BTH_BYTES + RXE_ATOMIC_ETH_BYTES)

/**
 * struct rxe_pkt - the headers of one packet in host order
 * @flags: enum rxe_op_flags of @opcode
 * @psn: packet sequence number, 24 bits
 * @qpn: destination QP, 24 bits
 * @va: RETH or AtomicETH virtual address
 * @rkey: RETH or AtomicETH R_Key, or the IETH's R_Key to invalidate
 * @dma_len: RETH DMA length, bytes
 * @swap_add: AtomicETH swap (or add) data
 * @compare: AtomicETH compare data
 * @atomic_orig: AtomicAckETH original remote data
 * @msn: AETH message sequence number, 24 bits
 * @qkey: DETH Q_Key
 * @src_qpn: DETH source QP, 24 bits
 * @feth: FETH: placement types and selectivity level, see enum rxe_feth
 * @imm: immediate data, kept in wire order as the verbs do
 * @pkey: partition key
 * @opcode: BTH opcode, enum ib_pack.h names
 * @syndrome: AETH syndrome
 * @pad: pad count, 0 to 3
 * @hdr_len: bytes of headers
 * @solicited: SE bit
 * @ack_req: A bit
 * @fecn: FECN bit
 * @becn: BECN bit
 * @mig: MigReq bit
 * @payload_len: bytes of payload without pad and ICRC
 * @more: number of MIDDLE packets that follow this MIDDLE packet and are taken in
 *	with it
 */
struct rxe_pkt {
	u32	flags;
	u32	psn;
	u32	qpn;
	u64	va;
	u32	rkey;
	u32	dma_len;
	union {
		u64	swap_add;
		u64	atomic_orig;
	};
	u64	compare;
	u32	msn;
	u32	qkey;
	u32	src_qpn;
	u32	feth;
	__be32	imm;
	u16	pkey;
	u8	opcode;
	u8	syndrome;
	u8	pad;
	u8	hdr_len;
	bool	solicited;
	bool	ack_req;
	bool	fecn;
	bool	becn;
	bool	mig;
	u32	payload_len;
	u32	more;
};

/* FETH [A19.4.1]. The values are those of enum ib_placement_type and ib_selectivity_level */
enum rxe_feth {
	RXE_FETH_TYPE_MASK	= 0xf,
	RXE_FETH_LEVEL_SHIFT	= 4,
	RXE_FETH_LEVEL_MASK	= 0x3,
};

/* AETH syndromes [9.7.5.1.1] */
enum rxe_aeth {
	RXE_AETH_TYPE_MASK	= 0xe0,
	RXE_AETH_ACK		= 0x00,
	RXE_AETH_RNR_NAK	= 0x20,
	RXE_AETH_NAK		= 0x60,
	RXE_AETH_VALUE_MASK	= 0x1f,
	/* credits that mean "not flow controlled" [table 50] */
	RXE_AETH_CREDITS_NONE	= 0x1f,

	RXE_NAK_PSN_SEQ		= 0x60,
	RXE_NAK_INV_REQ		= 0x61,
	RXE_NAK_REM_ACCESS	= 0x62,
	RXE_NAK_REM_OP		= 0x63,
};

/**
 * rxe_count_pkts - packets that a message takes
 * @len: message length in bytes
 * @mtu: path MTU in bytes, a power of two
 *
 * Return: at least 1, since a message of 0 bytes is one packet.
 */
static inline u32 rxe_count_pkts(u32 len, u32 mtu)
{
	return len ? ((len - 1) >> ilog2(mtu)) + 1 : 1;
}

/**
 * rxe_pad - pad bytes that bring a payload to a multiple of four
 * @len: payload length in bytes
 *
 * Return: 0 to 3.
 */
static inline u32 rxe_pad(u32 len)
{
	return -len & 3;
}

/**
 * rxe_pkt_get_bytes - bytes from BTH to ICRC inclusive
 * @opcode: BTH opcode
 * @payload: payload bytes
 *
 * Return: bytes, pad included.
 */
static inline u32 rxe_pkt_get_bytes(u8 opcode, u32 payload)
{
	return rxe_opcode[opcode].hdr_len + payload + rxe_pad(payload) +
	       RXE_ICRC_BYTES;
}

/**
 * rxe_opcode_type - which transport service an opcode belongs to
 * @opcode: BTH opcode
 *
 * Return: IB_OPCODE_RC, IB_OPCODE_UD, ...
 */
static inline u8 rxe_opcode_type(u8 opcode)
{
	return opcode & 0xe0;
}

/**
 * rxe_pkt_parse_psn - parse a packet with the same headers as the packet before it
 * @pkt: the headers of the packet before; PSN and AckReq are updated
 * @hdr: BTH; its first eight bytes are the same
 */
static inline void rxe_pkt_parse_psn(struct rxe_pkt *pkt, const void *hdr)
{
	u32 word = get_unaligned_be32(hdr + 8);

	pkt->more = 0;
	pkt->ack_req = word >> 31;
	pkt->psn = word & RXE_PSN_MASK;
}

bool rxe_pkt_parse(struct rxe_pkt *pkt, const void *hdr, u32 avail, u32 len);
void *rxe_pkt_build(const struct rxe_pkt *pkt, void *hdr);

/*
 * ICRC [7.8.1] [A17.3.3]. To compute it, start with the network headers; rxe_icrc_put() does the
 * rest. To check it, let rxe_icrc_bth() count byte 4 of the BTH as ones. Then update the state
 * with all bytes from the BTH on, ICRC included.
 */
u32 rxe_icrc_start_v1(const void *grh);
u32 rxe_icrc_start_ipv4(const void *iph, const void *udph);
u32 rxe_icrc_start_ipv6(const void *ip6h, const void *udph);
u32 rxe_icrc_ip_id(u32 state, u16 from, u16 to);
u32 rxe_icrc_bth(u32 state, u8 bth4);
u32 rxe_icrc_update(u32 state, const void *data, size_t len);
void rxe_icrc_put(u32 state, void *pkt, size_t len);
bool rxe_icrc_good(u32 state);

#endif /* RXE_WIRE_H */
