// SPDX-License-Identifier: GPL-2.0
/*
 * Invariant CRC (section 7.8.1, A16.4.2, A17.3.3): CRC-32 over everything from
 * the L3 header to the last pad byte, with each field that a router may change
 * replaced by ones, behind eight bytes of ones in place of the LRH.
 *
 * Pure; any context.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <compat/crc32.h>
#include <rxe/wire.h>

/* The CRC state behind the eight bytes of ones */
#define RXE_ICRC_LRH_STATE	0xdebb20e3

/* Network headers and BTH, masked, contiguous: one CRC call for all */
struct icrc_head {
	u8	bytes[sizeof(struct ipv6hdr) + sizeof(struct udphdr) +
		      RXE_BTH_BYTES] __aligned(4);
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

/* FECN, BECN and the reserved bits beside them are masked */
static u32 put_bth_and_crc(struct icrc_head *head, const void *bth)
{
	u8 *b = head->bytes + head->len;

	memcpy(b, bth, RXE_BTH_BYTES);
	b[4] = 0xff;
	head->len += RXE_BTH_BYTES;
	return rxe_crc32(RXE_ICRC_LRH_STATE, head->bytes, head->len);
}

/**
 * rxe_icrc_start_v1 - ICRC state of a RoCE v1 packet behind its BTH
 * @grh: the GRH, 40 bytes
 * @bth: the BTH, 12 bytes
 *
 * Return: state for rxe_icrc_update().
 */
u32 rxe_icrc_start_v1(const void *grh, const void *bth)
{
	struct icrc_head head;

	put_ipv6(&head, grh);
	return put_bth_and_crc(&head, bth);
}

/**
 * rxe_icrc_start_ipv4 - ICRC state of a RoCE v2 packet over IPv4 behind its BTH
 * @iph: the IPv4 header, without options, as the packet has it on the wire
 * @udph: the UDP header, likewise
 * @bth: the BTH, 12 bytes
 *
 * Return: state for rxe_icrc_update().
 */
u32 rxe_icrc_start_ipv4(const void *iph, const void *udph, const void *bth)
{
	struct icrc_head head;

	put_ipv4(&head, iph);
	put_udp(&head, udph);
	return put_bth_and_crc(&head, bth);
}

/**
 * rxe_icrc_start_ipv6 - ICRC state of a RoCE v2 packet over IPv6 behind its BTH
 * @ip6h: the IPv6 header as the packet has it on the wire
 * @udph: the UDP header, likewise
 * @bth: the BTH, 12 bytes
 *
 * Return: state for rxe_icrc_update().
 */
u32 rxe_icrc_start_ipv6(const void *ip6h, const void *udph, const void *bth)
{
	struct icrc_head head;

	put_ipv6(&head, ip6h);
	put_udp(&head, udph);
	return put_bth_and_crc(&head, bth);
}

/**
 * rxe_icrc_update - continue behind the BTH
 * @state: from rxe_icrc_start_*() or rxe_icrc_update()
 * @data: extended headers, payload, pad
 * @len: bytes at @data
 *
 * Return: the new state.
 */
u32 rxe_icrc_update(u32 state, const void *data, size_t len)
{
	return rxe_crc32(state, data, len);
}

/**
 * rxe_icrc_finish - the ICRC as it stands on the wire
 * @state: behind the last pad byte
 *
 * Return: little-endian ICRC field.
 */
__le32 rxe_icrc_finish(u32 state)
{
	return cpu_to_le32(~state);
}
