// SPDX-License-Identifier: GPL-2.0
/*
 * Invariant CRC (section 7.8.1, annexes A16 and A17): CRC-32 from the L3 header to the last
 * pad byte. Each field that a router may change counts as ones. Eight bytes of ones in front
 * take the place of the LRH.
 *
 * Pure; any context.
 */
#include <linux/bitops.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <compat/crc32.h>
#include <compat/unaligned.h>
#include <rxe/wire.h>

/* The CRC state behind the eight bytes of ones */
#define RXE_ICRC_LRH_STATE	0xdebb20e3

/* The CRC state behind any CRC, inverted, little-endian */
#define RXE_ICRC_RESIDUE	0xdebb20e3

/*
 * Theory. A CRC is linear: the change of the state by a bit of the message doesn't depend on the
 * other bits. A train's network headers thus need one pass, not one per packet. The BTH needs no
 * masked copy: its byte 4 (FECN, BECN and reserved bits), which counts as ones, is corrected
 * in the state.
 *
 * The change by each bit of the IPv4 ID in the state behind the UDP header:
 */
static const u32 id_bit[16] = {
	0x9b73ead4, 0xed96d3e9, 0x005ca193, 0x00b94326,
	0x0172864c, 0x02e50c98, 0x05ca1930, 0x0b943260,
	0x81256527, 0xd93bcc0f, 0x69069e5f, 0xd20d3cbe,
	0x7f6b7f3d, 0xfed6fe7a, 0x26dcfab5, 0x4db9f56a,
};

/* The change of the state before the BTH that equals flipping one bit of the BTH's byte 4 */
static const u32 bth4_bit[8] = {
	0xdb710641, 0x6d930ac3, 0xdb261586, 0x6d3d2d4d,
	0xda7a5a9a, 0x6f85b375, 0xdf0b66ea, 0x6567cb95,
};

/* The change of the state before the BTH that equals flipping all bits of the BTH's byte 4 */
#define RXE_ICRC_BTH4_ONES	0x0f6a70d9

/* The change of the state by the bits that are set in @bits */
static u32 sum_changes(const u32 *bit, u32 bits)
{
	u32 change = 0;

	for (; bits; bits &= bits - 1)
		change ^= bit[__ffs(bits)];
	return change;
}

/* Network headers, masked, contiguous: one CRC call for all */
struct icrc_head {
	u8	bytes[sizeof(struct ipv6hdr) + sizeof(struct udphdr)] __aligned(4);
	u32	len;
};

static void put_ipv4(struct icrc_head *head, const void *iph)
{
	struct iphdr *ip = (struct iphdr *)head->bytes;

	memcpy(ip, iph, sizeof(*ip));
	ip->tos = 0xff;
	ip->ttl = 0xff;
	ip->check = (__force __sum16)0xffff;
	head->len = sizeof(*ip);
}

/* IPv6 header and GRH are alike: traffic class, flow label, hop limit */
static void put_ipv6(struct icrc_head *head, const void *ip6h)
{
	struct ipv6hdr *ip6 = (struct ipv6hdr *)head->bytes;

	memcpy(ip6, ip6h, sizeof(*ip6));
	*(__be32 *)ip6 |= cpu_to_be32(0x0fffffff);
	ip6->hop_limit = 0xff;
	head->len = sizeof(*ip6);
}

static void put_udp(struct icrc_head *head, const void *udph)
{
	struct udphdr *udp = (struct udphdr *)(head->bytes + head->len);

	memcpy(udp, udph, sizeof(*udp));
	udp->check = (__force __sum16)0xffff;
	head->len += sizeof(*udp);
}

static u32 compute_head_crc(const struct icrc_head *head)
{
	return rxe_crc32(RXE_ICRC_LRH_STATE, head->bytes, head->len);
}

/**
 * rxe_icrc_start_v1 - ICRC state of a RoCE v1 packet before its BTH [A16.4.2]
 * @grh: the GRH, 40 bytes
 *
 * Return: state for rxe_icrc_bth().
 */
u32 rxe_icrc_start_v1(const void *grh)
{
	struct icrc_head head;

	put_ipv6(&head, grh);
	return compute_head_crc(&head);
}

/**
 * rxe_icrc_start_ipv4 - ICRC state of a RoCE v2 packet over IPv4 before its BTH [A17.3.3]
 * @iph: the IPv4 header, without options, as the packet has it on the wire
 * @udph: the UDP header, likewise
 *
 * Return: state for rxe_icrc_ip_id() or rxe_icrc_bth().
 */
u32 rxe_icrc_start_ipv4(const void *iph, const void *udph)
{
	struct icrc_head head;

	put_ipv4(&head, iph);
	put_udp(&head, udph);
	return compute_head_crc(&head);
}

/**
 * rxe_icrc_start_ipv6 - ICRC state of a RoCE v2 packet over IPv6 before its BTH [A17.3.3]
 * @ip6h: the IPv6 header as the packet has it on the wire
 * @udph: the UDP header, likewise
 *
 * Return: state for rxe_icrc_bth().
 */
u32 rxe_icrc_start_ipv6(const void *ip6h, const void *udph)
{
	struct icrc_head head;

	put_ipv6(&head, ip6h);
	put_udp(&head, udph);
	return compute_head_crc(&head);
}

/**
 * rxe_icrc_ip_id - the state of a packet that differs in its IPv4 ID only
 * @state: from rxe_icrc_start_ipv4()
 * @from: the ID for which @state was computed
 * @to: the packet's ID
 *
 * Return: state for rxe_icrc_bth().
 */
u32 rxe_icrc_ip_id(u32 state, u16 from, u16 to)
{
	return state ^ sum_changes(id_bit, from ^ to);
}

/**
 * rxe_icrc_bth - make byte 4 of the BTH count as ones
 * @state: before the BTH
 * @bth4: byte 4 of the BTH, as it stands on the wire
 *
 * Return: state for rxe_icrc_update(), which continues with the BTH.
 */
u32 rxe_icrc_bth(u32 state, u8 bth4)
{
	return state ^ RXE_ICRC_BTH4_ONES ^ sum_changes(bth4_bit, bth4);
}

/**
 * rxe_icrc_update - continue with the packet
 * @state: from rxe_icrc_bth() or rxe_icrc_update()
 * @data: BTH, extended headers, payload, pad
 * @len: bytes at @data
 *
 * Return: the new state.
 */
u32 rxe_icrc_update(u32 state, const void *data, size_t len)
{
	return rxe_crc32(state, data, len);
}

/**
 * rxe_icrc_put - put the ICRC behind a packet [7.8.1]
 * @state: behind its network headers
 * @pkt: from its BTH on, contiguous, with room for the ICRC
 * @len: bytes at @pkt, ICRC not included
 */
void rxe_icrc_put(u32 state, void *pkt, size_t len)
{
	state = rxe_icrc_bth(state, ((const u8 *)pkt)[4]);
	put_unaligned_le32(~rxe_crc32_with_room(state, pkt, len), pkt + len);
}

/**
 * rxe_icrc_good - does the ICRC hold?
 * @state: behind the ICRC itself
 *
 * A CRC that is continued over its own inverse always ends in the same state.
 *
 * Return: true if it does.
 */
bool rxe_icrc_good(u32 state)
{
	return state == RXE_ICRC_RESIDUE;
}
