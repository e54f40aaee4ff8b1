// SPDX-License-Identifier: GPL-2.0
/*
 * Who may send to UDP port 4791. A RoCE peer knows this host by its address and
 * nothing else, so whoever sends to the port from there speaks for the driver's
 * queue pairs. In a namespace with a device only sockets that were opened with
 * CAP_NET_RAW may, which could forge packets anyway. A card couldn't see to that.
 *
 * A netfilter hook in LOCAL_OUT, the last one, looks at the socket that sends. The
 * driver sends without one, or with the one that keeps the port, where a VRF has
 * the hooks called again. The packets of tunnels, which it takes an administrator to
 * set up, have none. The kernel's other sockets have no opener, and so no right: some
 * send what unprivileged users tell them (AF_RXRPC). Packets that are forwarded don't
 * come by.
 *
 * Context: RCU read side, process or softirq.
 */
#include <linux/capability.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include "internal.h"

static bool rxe_guard_to_port(const struct sk_buff *skb, int off)
{
	struct udphdr buf;
	const struct udphdr *udp = skb_header_pointer(skb, off, sizeof(buf), &buf);

	return udp && udp->dest == htons(RXE_ROCE_UDP_PORT);
}

/* As for a raw socket, what counts is who opened it. */
static bool rxe_guard_may(struct net *net, struct sock *sk)
{
	const struct file *file;
	bool may;

	read_lock_bh(&sk->sk_callback_lock);
	file = sk->sk_socket ? sk->sk_socket->file : NULL;
	may = file && file_ns_capable(file, net->user_ns, CAP_NET_RAW);
	read_unlock_bh(&sk->sk_callback_lock);
	return may;
}

/* The device in whose name it is sent: by its address, or from its netdev */
static struct rxe_dev *rxe_guard_dev(const struct nf_hook_state *state,
				     const struct in6_addr *saddr)
{
	struct rxe_dev *rxe = rxe_net_find(state->net, state->out);
	struct net_device *owner;

	if (rxe)
		return rxe;
	owner = rxe_addr_owner(state->net, saddr);
	return owner ? rxe_net_find(state->net, owner) : NULL;
}

static unsigned int rxe_guard_verdict(const struct nf_hook_state *state,
				      const struct in6_addr *saddr)
{
	struct rxe_dev *rxe = rxe_guard_dev(state, saddr);

	if (!rxe || !READ_ONCE(rxe->tune.guard_port) ||
	    state->sk == rxe_net_sock(rxe, state->pf == NFPROTO_IPV6) ||
	    rxe_guard_may(state->net, state->sk))
		return NF_ACCEPT;
	rxe_drop(rxe, RXE_DROP_GUARD, 1);
	return NF_DROP;
}

static noinline unsigned int rxe_guard_ipv4(struct sk_buff *skb,
					    const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct in6_addr saddr;

	if (ip->protocol != IPPROTO_UDP ||
	    !rxe_guard_to_port(skb, ip_hdrlen(skb)))
		return NF_ACCEPT;
	ipv6_addr_set_v4mapped(ip->saddr, &saddr);
	return rxe_guard_verdict(state, &saddr);
}

/* A routing header takes no privilege, so look behind such */
static noinline unsigned int rxe_guard_ipv6(struct sk_buff *skb,
					    const struct nf_hook_state *state)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);
	unsigned int off = sizeof(*ip6);

	if (ip6->nexthdr != IPPROTO_UDP) {
		off = 0;
		if (!ipv6_ext_hdr(ip6->nexthdr) ||
		    ipv6_find_hdr(skb, &off, IPPROTO_UDP, NULL, NULL) < 0)
			return NF_ACCEPT;
	}
	if (!rxe_guard_to_port(skb, off))
		return NF_ACCEPT;
	return rxe_guard_verdict(state, &ip6->saddr);
}

/* The driver sends without a socket: for its packets this is to cost nothing */
static unsigned int rxe_guard_hook4(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	return state->sk ? rxe_guard_ipv4(skb, state) : NF_ACCEPT;
}

static unsigned int rxe_guard_hook6(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	return state->sk ? rxe_guard_ipv6(skb, state) : NF_ACCEPT;
}

static const struct nf_hook_ops rxe_guard_hooks[] = {
	{
		.hook		= rxe_guard_hook4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_LAST,
	}, {
		.hook		= rxe_guard_hook6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_LAST,
	},
};

/**
 * rxe_guard_open - watch over the port in a namespace
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
