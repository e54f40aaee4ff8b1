// SPDX-License-Identifier: GPL-2.0
/*
 * The guard: which sockets may send to UDP port 4791. Only sockets opened with CAP_NET_RAW may,
 * by the netdev or from the addresses of a device with RoCE v2. A RoCE peer identifies this host
 * by its address only. Without the guard, any process could forge packets of queue pairs.
 * CAP_NET_RAW allows forging packets anyway.
 *
 * The same rule holds for packets that this host sends to a device of its own, from any source:
 * with IPV6_FREEBIND, any process may send with any source, also that of a remote peer.
 *
 * The last netfilter hook in LOCAL_OUT checks the sending socket. The driver sends without one.
 * Exceptions: a VRF calls the hooks again, or the route has an MTU of its own (rxe_v2_get_sock()).
 * Then the driver's packets have the socket that keeps the port. Packets of some UDP tunnels (FOU,
 * GUE) have no socket, but only an administrator sets up tunnels. Kernel sockets have no opener and
 * may not send: some send what unprivileged users tell them (AF_RXRPC). The sockets of other UDP
 * tunnels (VXLAN, Geneve, WireGuard) can't be told from them.
 *
 * Forwarded packets have no socket. Most have the address of another host, and are let
 * through. With masquerading (containers, guests), they leave with an address of this host.
 * A hook in POST_ROUTING, behind that of NAT, drops these. It also judges packets with a socket
 * once more: NAT may have given them the address of a device.
 *
 * Context: RCU read side, process or softirq.
 */
#include <linux/capability.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include "internal.h"
#include "proto.h"

/*
 * Before the connection is confirmed, which is last: a dropped packet must leave no connection
 * by which a flow table would let later packets pass
 */
#define RXE_GUARD_BEHIND_NAT	(NF_IP_PRI_CONNTRACK_CONFIRM - 1)

/* Addresses of a packet, IPv4 in its mapped form */
struct rxe_guard_addrs {
	struct in6_addr	src;
	struct in6_addr	dst;
};

static bool rxe_guard_is_to_port(const struct sk_buff *skb, int off)
{
	struct udphdr buf;
	const struct udphdr *udp = skb_header_pointer(skb, off, sizeof(buf), &buf);

	return udp && udp->dest == htons(RXE_ROCE_UDP_PORT);
}

/* As for a raw socket, the rights of the process that opened it count. */
static bool rxe_guard_may_send(struct net *net, struct sock *sk)
{
	const struct file *file;
	bool may;

	read_lock_bh(&sk->sk_callback_lock);
	file = sk->sk_socket ? sk->sk_socket->file : NULL;
	may = file && file_ns_capable(file, net->user_ns, CAP_NET_RAW);
	read_unlock_bh(&sk->sk_callback_lock);
	return may;
}

static struct rxe_dev *rxe_guard_find_owner(const struct nf_hook_state *state,
					    const struct net_device *owner)
{
	return owner ? rxe_net_find(state->net, owner, RXE_ENABLE_V2) : NULL;
}

/*
 * The device that the packet claims to be from: that of the netdev, or of the source address.
 * Else the device of this host that it is for: such packets leave by loopback, or by a VRF.
 */
static struct rxe_dev *rxe_guard_find_dev(const struct nf_hook_state *state,
					  const struct rxe_guard_addrs *addrs)
{
	struct rxe_dev *rxe = rxe_net_find(state->net, state->out, RXE_ENABLE_V2);

	if (!rxe)
		rxe = rxe_guard_find_owner(state, rxe_addr_owner(state->net, &addrs->src));
	if (!rxe && ((state->out->flags & IFF_LOOPBACK) || netif_is_l3_master(state->out)))
		rxe = rxe_guard_find_owner(state, rxe_addr_owner_at(state->out, &addrs->dst));
	return rxe;
}

static unsigned int rxe_guard_judge_sent(const struct sk_buff *skb,
					 const struct nf_hook_state *state,
					 const struct rxe_guard_addrs *addrs)
{
	u8 proto = state->pf == NFPROTO_IPV6 ? RXE_ROCE_V2_IPV6 : RXE_ROCE_V2_IPV4;
	struct rxe_dev *rxe = rxe_guard_find_dev(state, addrs);

	if (!rxe || !READ_ONCE(rxe->tune.guard_port) ||
	    state->sk == rxe_net_sock(rxe, proto) ||
	    rxe_guard_may_send(state->net, state->sk))
		return NF_ACCEPT;
	rxe_drop(rxe, RXE_DROP_GUARD, rxe_count_segs(skb));
	return NF_DROP;
}

/* A forwarded packet must not have an address of a device, whoever sent it */
static unsigned int rxe_guard_judge_forwarded(const struct sk_buff *skb,
					      const struct nf_hook_state *state,
					      const struct rxe_guard_addrs *addrs)
{
	struct net_device *owner = rxe_addr_owner_at(state->out, &addrs->src);
	struct rxe_dev *rxe = rxe_guard_find_owner(state, owner);

	if (!rxe || !READ_ONCE(rxe->tune.guard_port))
		return NF_ACCEPT;
	rxe_drop(rxe, RXE_DROP_GUARD, rxe_count_segs(skb));
	return NF_DROP;
}

/* Is the packet for the port? If so, @addrs is set */
static bool rxe_guard_parse_ipv4(const struct sk_buff *skb, struct rxe_guard_addrs *addrs)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (ip->protocol != IPPROTO_UDP || !rxe_guard_is_to_port(skb, ip_hdrlen(skb)))
		return false;
	ipv6_addr_set_v4mapped(ip->saddr, &addrs->src);
	ipv6_addr_set_v4mapped(ip->daddr, &addrs->dst);
	return true;
}

/* Any user may add a routing header, so look behind extension headers */
static bool rxe_guard_parse_ipv6(const struct sk_buff *skb, struct rxe_guard_addrs *addrs)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);
	unsigned int off = sizeof(*ip6);

	if (ip6->nexthdr != IPPROTO_UDP) {
		off = 0;
		if (!ipv6_ext_hdr(ip6->nexthdr) ||
		    ipv6_find_hdr(skb, &off, IPPROTO_UDP, NULL, NULL) < 0)
			return false;
	}
	if (!rxe_guard_is_to_port(skb, off))
		return false;
	addrs->src = ip6->saddr;
	addrs->dst = ip6->daddr;
	return true;
}

static noinline unsigned int rxe_guard_judge(const struct sk_buff *skb,
					     const struct nf_hook_state *state)
{
	struct rxe_guard_addrs addrs;
	bool to_port = state->pf == NFPROTO_IPV6 ? rxe_guard_parse_ipv6(skb, &addrs) :
						   rxe_guard_parse_ipv4(skb, &addrs);

	if (!to_port)
		return NF_ACCEPT;
	return state->sk ? rxe_guard_judge_sent(skb, state, &addrs) :
			   rxe_guard_judge_forwarded(skb, state, &addrs);
}

/* The driver usually sends without a socket; the check must cost its packets nothing. */
static unsigned int rxe_guard_hook_sent(void *priv, struct sk_buff *skb,
					const struct nf_hook_state *state)
{
	return state->sk ? rxe_guard_judge(skb, state) : NF_ACCEPT;
}

/*
 * A packet with a socket is judged again: since LOCAL_OUT, NAT may have changed its source, and a
 * rule its route. Another packet that came in by a netdev is forwarded (or IPVS has sent it on) or,
 * with br_netfilter, bridged. Bridged packets have only a fake route, and may be from this host's
 * own device, on the other end of a veth.
 */
static unsigned int rxe_guard_hook_routed(void *priv, struct sk_buff *skb,
					  const struct nf_hook_state *state)
{
	const struct dst_entry *dst;

	if (state->sk)
		return rxe_guard_judge(skb, state);
	if (!skb->skb_iif)
		return NF_ACCEPT;
	dst = skb_dst(skb);
	return dst && !(dst->flags & DST_FAKE_RTABLE) ? rxe_guard_judge(skb, state) : NF_ACCEPT;
}

static const struct nf_hook_ops rxe_guard_hooks[] = {
	{
		.hook		= rxe_guard_hook_sent,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_LAST,
	}, {
		.hook		= rxe_guard_hook_sent,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_LAST,
	}, {
		.hook		= rxe_guard_hook_routed,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_POST_ROUTING,
		.priority	= RXE_GUARD_BEHIND_NAT,
	}, {
		.hook		= rxe_guard_hook_routed,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_POST_ROUTING,
		.priority	= RXE_GUARD_BEHIND_NAT,
	},
};

/**
 * rxe_guard_open - guard the port in a namespace
 * @net: namespace
 *
 * Return: 0 or a negative error.
 */
int rxe_guard_open(struct net *net)
{
	return nf_register_net_hooks(net, rxe_guard_hooks,
				     ARRAY_SIZE(rxe_guard_hooks));
}

/**
 * rxe_guard_close - undo rxe_guard_open()
 * @net: namespace
 */
void rxe_guard_close(struct net *net)
{
	nf_unregister_net_hooks(net, rxe_guard_hooks,
				ARRAY_SIZE(rxe_guard_hooks));
}
