// SPDX-License-Identifier: GPL-2.0
/*
 * Why a peer doesn't answer: the ICMP errors that came for packets of RoCE v2 to it.
 *
 * Anybody can forge an ICMP error: an error changes neither a queue pair nor a route. The stack
 * learns path MTUs from such errors, but doesn't apply them to the driver's packets (rocev2.c). The
 * last error for a destination is kept. The log names it when a queue pair has used up its
 * retries. Errors are kept by namespace, in a small table. If another destination takes over a
 * place, only a line in the log is lost, or a MAD is sent once more.
 *
 * Exception: MADs of the GSI. RDMA_CM asks 15 times for a connection, for more than a minute. If
 * the peer has no RoCE v2, its first answer is an ICMP error, as for TCP's SYN to a closed port.
 * No MAD is then sent again to that peer, unless the error is forged (qp/mad.c).
 *
 * Context: any; rxe_netns.unreach_lock, under which no other lock is taken.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/icmp.h>
#include <linux/jhash.h>
#include <net/dst.h>
#include <net/netns/generic.h>
#include <net/udp.h>
#include <rdma/ib_mad.h>
#include <compat/unaligned.h>
#include "internal.h"
#include "proto.h"

static const char *const icmp_unreach_text[] = {
	[ICMP_NET_UNREACH]	= "network unreachable",
	[ICMP_HOST_UNREACH]	= "host unreachable",
	[ICMP_PROT_UNREACH]	= "protocol unreachable",
	[ICMP_PORT_UNREACH]	= "port unreachable: the peer has no RoCE v2",
	[ICMP_FRAG_NEEDED]	= "a packet is too big for the path",
	[ICMP_NET_ANO]		= "network prohibited",
	[ICMP_HOST_ANO]		= "host prohibited",
	[ICMP_PKT_FILTERED]	= "a firewall rejects it",
};

static const char *const icmpv6_unreach_text[] = {
	[ICMPV6_NOROUTE]	= "no route to the destination",
	[ICMPV6_ADM_PROHIBITED]	= "a firewall rejects it",
	[ICMPV6_ADDR_UNREACH]	= "address unreachable",
	[ICMPV6_PORT_UNREACH]	= "port unreachable: the peer has no RoCE v2",
	[ICMPV6_POLICY_FAIL]	= "a policy rejects it",
	[ICMPV6_REJECT_ROUTE]	= "the route rejects it",
};

static const char *get_icmp_text(const struct rxe_unreach *it)
{
	const char *text = NULL;

	if (it->type == ICMP_DEST_UNREACH && it->code < ARRAY_SIZE(icmp_unreach_text))
		text = icmp_unreach_text[it->code];
	else if (it->type == ICMP_TIME_EXCEEDED)
		text = "the TTL ran out";
	return text ?: "undeliverable";
}

static const char *get_icmpv6_text(const struct rxe_unreach *it)
{
	const char *text = NULL;

	if (it->type == ICMPV6_DEST_UNREACH &&
	    it->code < ARRAY_SIZE(icmpv6_unreach_text))
		text = icmpv6_unreach_text[it->code];
	else if (it->type == ICMPV6_PKT_TOOBIG)
		text = "a packet is too big for the path";
	else if (it->type == ICMPV6_TIME_EXCEED)
		text = "the hop limit ran out";
	return text ?: "undeliverable";
}

static struct rxe_unreach *find_unreach_slot(struct rxe_netns *ns, const struct in6_addr *dst)
{
	return &ns->unreach[jhash(dst, sizeof(*dst), 0) % RXE_UNREACH_SLOTS];
}

/*
 * The ICMP header that the skb began with. For IPv4 and IPv6, it has 8 bytes with type and
 * code in the same places. The enclosed packet follows.
 */
static const struct icmphdr *find_icmp_header(const struct sk_buff *skb)
{
	const void *enclosed = skb_network_header(skb);

	if (enclosed - sizeof(struct icmphdr) < (const void *)skb->head)
		return NULL;
	return enclosed - sizeof(struct icmphdr);
}

/* The destination of the enclosed packet, which the UDP layer has checked */
static void get_enclosed_dst(const struct sk_buff *skb, bool v6, struct in6_addr *dst)
{
	if (v6)
		*dst = ipv6_hdr(skb)->daddr;
	else
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, dst);
}

/*
 * Does the error say that a packet was dropped on its way? Redirects are no errors. Those of
 * IPv6 enclose the packet in an option, whose header is where an ICMP header is elsewhere: its
 * type is that of ICMPV6_PARAMPROB.
 */
static bool icmp_is_drop(const struct icmphdr *icmp, bool v6)
{
	if (v6)
		return icmp->type == ICMPV6_DEST_UNREACH || icmp->type == ICMPV6_PKT_TOOBIG ||
		       icmp->type == ICMPV6_TIME_EXCEED;
	return icmp->type == ICMP_DEST_UNREACH || icmp->type == ICMP_TIME_EXCEEDED;
}

/* Does the peer itself refuse, for good? TCP's rule for a connection that isn't established */
static bool icmp_is_refusal(const struct icmphdr *icmp, bool v6)
{
	int err;

	if (v6)
		return icmp->type == ICMPV6_DEST_UNREACH &&
		       icmpv6_err_convert(icmp->type, icmp->code, &err);
	return icmp->type == ICMP_DEST_UNREACH && icmp->code <= NR_ICMP_UNREACH &&
	       icmp_err_convert[icmp->code].fatal;
}

/*
 * The enclosed MAD, if the packet is the GSI's and there is enough of it. @buf: room for the
 * headers. Return: NULL if it isn't.
 */
static const struct ib_mad_hdr *find_enclosed_mad(const struct sk_buff *skb, void *buf)
{
	u32 len = rxe_opcode[IB_OPCODE_UD_SEND_ONLY].hdr_len;
	struct rxe_pkt pkt;
	const void *hdr;

	hdr = skb_header_pointer(skb, skb_transport_offset(skb) + sizeof(struct udphdr),
				 len + sizeof(struct ib_mad_hdr), buf);
	if (!hdr || !rxe_pkt_parse(&pkt, hdr, len, len + RXE_ICRC_BYTES) ||
	    pkt.opcode != IB_OPCODE_UD_SEND_ONLY || pkt.src_qpn != be32_to_cpu(IB_QP1))
		return NULL;
	return hdr + len;
}

static void keep_mad(struct rxe_unreach *slot, const struct in6_addr *dst,
		     const struct ib_mad_hdr *mad)
{
	struct rxe_mad_id *id = &slot->refused_mad;

	memcpy(&id->dgid, dst, sizeof(id->dgid));
	id->tid = get_unaligned(&mad->tid);
	id->attr_id = get_unaligned(&mad->attr_id);
}

/**
 * rxe_unreach_note - note an ICMP error for a UDP packet to port 4791
 * @sk: the socket that keeps the port
 * @skb: its network header is that of the enclosed packet, which ICMP's precedes
 *
 * Context: softirq.
 * Return: -ENOENT, so that no socket is told.
 */
int rxe_unreach_note(struct sock *sk, struct sk_buff *skb)
{
	struct rxe_netns *ns = net_generic(sock_net(sk), rxe_net_id);
	const struct icmphdr *icmp = find_icmp_header(skb);
	u8 buf[RXE_MAX_HDR_BYTES + sizeof(struct ib_mad_hdr)];
	bool v6 = sk->sk_family == AF_INET6;
	const struct ib_mad_hdr *mad = NULL;
	struct rxe_unreach *slot;
	struct in6_addr dst;
	unsigned long flags;

	if (!icmp || !icmp_is_drop(icmp, v6))
		return -ENOENT;
	get_enclosed_dst(skb, v6, &dst);
	if (icmp_is_refusal(icmp, v6))
		mad = find_enclosed_mad(skb, buf);
	spin_lock_irqsave(&ns->unreach_lock, flags);
	slot = find_unreach_slot(ns, &dst);
	/* Errors for other packets to that destination don't revoke the refusal */
	if (mad || !ipv6_addr_equal(&slot->dst, &dst)) {
		slot->refused = mad;
		slot->refused_when = jiffies;
		if (mad)
			keep_mad(slot, &dst, mad);
	}
	slot->dst = dst;
	slot->when = jiffies;
	slot->type = icmp->type;
	slot->code = icmp->code;
	slot->known = true;
	spin_unlock_irqrestore(&ns->unreach_lock, flags);
	return -ENOENT;
}

static bool find_unreach(const struct rxe_dev *rxe, const struct rxe_path *path,
			 struct rxe_unreach *found)
{
	const struct in6_addr *dst = (const struct in6_addr *)&path->dgid;
	struct rxe_netns *ns;
	unsigned long flags;
	bool known;

	rcu_read_lock();
	ns = READ_ONCE(rxe->netns);
	if (!ns) {
		rcu_read_unlock();
		return false;
	}
	spin_lock_irqsave(&ns->unreach_lock, flags);
	*found = *find_unreach_slot(ns, dst);
	spin_unlock_irqrestore(&ns->unreach_lock, flags);
	rcu_read_unlock();
	known = found->known && ipv6_addr_equal(&found->dst, dst);
	return known && time_before(jiffies, found->when + RXE_UNREACH_SECS * HZ);
}

/* What the error says. Return: as scnprintf() */
static int describe_unreach(const struct rxe_unreach *it, u8 proto, char *why, size_t size)
{
	return scnprintf(why, size, "ICMP said %u s ago: %s (type %u, code %u)",
			 jiffies_to_msecs(jiffies - it->when) / 1000,
			 proto == RXE_ROCE_V2_IPV6 ? get_icmpv6_text(it) : get_icmp_text(it),
			 it->type, it->code);
}

/**
 * rxe_unreach_refused - has a peer refused a MAD lately?
 * @rxe: device
 * @path: to the peer
 * @mad: out: the MAD; the refusal may be forged, unless this MAD was sent
 * @why: out: text for the log
 * @size: of @why
 *
 * A refusal counts for RXE_REFUSED_SECS only, longer than RDMA_CM waits for an answer by default.
 *
 * Context: any.
 * Return: true if so; otherwise the out parameters aren't set.
 */
bool rxe_unreach_refused(const struct rxe_dev *rxe, const struct rxe_path *path,
			 struct rxe_mad_id *mad, char *why, size_t size)
{
	struct rxe_unreach it;

	if (path->same_dev || !rxe_l3(path->proto)->udp || !find_unreach(rxe, path, &it) ||
	    !it.refused || time_after_eq(jiffies, it.refused_when + RXE_REFUSED_SECS * HZ))
		return false;
	*mad = it.refused_mad;
	describe_unreach(&it, path->proto, why, size);
	return true;
}

static bool port_has_link(const struct rxe_path *path)
{
	const struct net_device *ndev;
	bool up;

	rcu_read_lock();
	ndev = rxe_path_get_ndev(path);
	up = ndev && netif_running(ndev) && netif_carrier_ok(ndev);
	rcu_read_unlock();
	return up;
}

/**
 * rxe_unreach_why - why a peer may not answer
 * @rxe: device
 * @path: to the peer
 * @why: out: text for the log
 * @size: of @why
 *
 * Context: bottom halves off.
 */
void rxe_unreach_why(struct rxe_dev *rxe, struct rxe_path *path, char *why, size_t size)
{
	bool udp = rxe_l3(path->proto)->udp;
	struct dst_entry *dst = NULL;
	struct rxe_unreach it;

	if (path->same_dev) {
		strscpy(why, "the queue pair there isn't ready", size);
		return;
	}
	if (!port_has_link(path)) {
		strscpy(why, "the netdev is down", size);
		return;
	}
	if (udp)
		dst = rxe_route(path);
	if (IS_ERR(dst))
		scnprintf(why, size, "no route (%pe)", dst);
	else if (udp && find_unreach(rxe, path, &it))
		describe_unreach(&it, path->proto, why, size);
	else
		strscpy(why, "packets or answers are lost, or the queue pair there isn't ready",
			size);
}
