/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UDP tunnel sockets: the helpers take a struct socket before 7.2 and a struct
 * sock since. The compiler sees which from the prototype, so no probe is needed.
 *
 * skb_frags_readable(): since 6.12 an skb may have payload that no CPU can read.
 *
 * fib6_lookup(): exported since IPv6 can't be a module any more; before, <net/ipv6_stubs.h> has it.
 *
 * vlan_dev_priv(), nf_bridge_info_get(): a kernel without VLANs, or without netfilter on bridges,
 * has none.
 */
#ifndef RXE_COMPAT_NET_H
#define RXE_COMPAT_NET_H

#include <compat/have.h>
#include <linux/if_vlan.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/netfilter_bridge.h>
#include <linux/skbuff.h>
#include <net/ip6_fib.h>
#include <net/udp_tunnel.h>
#ifdef HAVE_IPV6_STUBS_H
#include <net/ipv6_stubs.h>
#endif

static inline bool rxe_skb_frags_readable(const struct sk_buff *skb)
{
#ifdef HAVE_SKB_FRAGS_READABLE
	return skb_frags_readable(skb);
#else
	return true;
#endif
}

static inline int rxe_fib6_lookup(struct net *net, int oif, struct flowi6 *fl6,
				  struct fib6_result *res, int flags)
{
#ifdef HAVE_IPV6_STUBS_H
	return ipv6_stub->fib6_lookup(net, oif, fl6, res, flags);
#elif IS_ENABLED(CONFIG_IPV6)
	return fib6_lookup(net, oif, fl6, res, flags);
#else
	return -EAFNOSUPPORT;
#endif
}

/* The netdev that a VLAN netdev is on, itself perhaps a VLAN */
static inline const struct net_device *rxe_vlan_get_below(const struct net_device *vlan)
{
#if IS_ENABLED(CONFIG_VLAN_8021Q)
	return vlan_dev_priv(vlan)->real_dev;
#else
	return NULL;
#endif
}

#define RXE_UDP_TUNNEL_TAKES_SK						\
	__builtin_types_compatible_p(typeof(udp_tunnel_sock_release),	\
				     void (struct sock *))

/* Untyped, so that it suits either prototype */
static inline void *rxe_udp_tunnel_get_arg(struct socket *sock)
{
	return RXE_UDP_TUNNEL_TAKES_SK ? (void *)sock->sk : (void *)sock;
}

static inline void rxe_setup_udp_tunnel_sock(struct net *net,
					     struct socket *sock,
					     struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, rxe_udp_tunnel_get_arg(sock), cfg);
}

static inline void rxe_udp_tunnel_sock_release(struct socket *sock)
{
	udp_tunnel_sock_release(rxe_udp_tunnel_get_arg(sock));
}

/* Largest fragment that a bridge with netfilter reassembled the packet from; 0: none */
static inline u16 rxe_bridge_frag_size(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_BRIDGE_NETFILTER)
	const struct nf_bridge_info *bridge = nf_bridge_info_get(skb);

	return bridge ? bridge->frag_max_size : 0;
#else
	return 0;
#endif
}

/* tcx_ingress: since 6.6, with CONFIG_NET_XGRESS; before, miniq_ingress */
static inline bool rxe_has_tc_ingress(const struct net_device *ndev)
{
#if defined(CONFIG_NET_XGRESS)
	return rcu_access_pointer(ndev->tcx_ingress);
#elif defined(CONFIG_NET_CLS_ACT)
	return rcu_access_pointer(ndev->miniq_ingress);
#else
	return false;
#endif
}

/* Does tc or netfilter look at what comes in by the netdev? */
static inline bool rxe_has_ingress_hook(const struct net_device *ndev)
{
#ifdef CONFIG_NETFILTER_INGRESS
	if (rcu_access_pointer(ndev->nf_hooks_ingress))
		return true;
#endif
	return rxe_has_tc_ingress(ndev);
}

#endif /* RXE_COMPAT_NET_H */
