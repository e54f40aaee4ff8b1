// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE v2 (annex A17): UDP port 4791 over IPv4 and IPv6.
 *
 * Trains leave as one UDP GSO skb. They are received in a netfilter hook behind the
 * firewall's, since the UDP layer would split them. Packets that the hook leaves to the
 * stack are received one by one at the socket. The socket also reserves the port, and
 * lets GRO make trains of single packets (gro.c).
 *
 * Context: bottom halves off, but for the hooks; opening and closing is serialised by net.c.
 */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/neighbour.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include <compat/net.h>
#include "internal.h"
#include "proto.h"

/**
 * rxe_v2_push_udp - put a UDP header in front of a train
 * @skb: train
 * @path: where it goes
 */
void rxe_v2_push_udp(struct sk_buff *skb, const struct rxe_path *path)
{
	u32 len = skb->len + sizeof(struct udphdr);
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = htons(path->sport);
	udp->dest = htons(RXE_ROCE_UDP_PORT);
	udp->len = htons(len);
	udp->check = 0;		/* the ICRC protects better [A17.3.1.2] */
}

/* UDP checksum of the pseudo header; the stack or the netdev completes it later. */
static void rxe_v2_set_partial_csum(struct sk_buff *skb)
{
	struct udphdr *udp = udp_hdr(skb);
	u32 len = ntohs(udp->len);

	if (skb->protocol == htons(ETH_P_IP))
		udp->check = ~udp_v4_check(len, ip_hdr(skb)->saddr,
					   ip_hdr(skb)->daddr, 0);
	else
		udp->check = ~udp_v6_check(len, &ipv6_hdr(skb)->saddr,
					   &ipv6_hdr(skb)->daddr, 0);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
}

/* If memory is short, the packet leaves without a checksum */
static void rxe_v2_set_csum(struct sk_buff *skb)
{
	rxe_v2_set_partial_csum(skb);
	if (skb_checksum_help(skb)) {
		udp_hdr(skb)->check = 0;
		skb->ip_summed = CHECKSUM_NONE;
	}
}

/*
 * Trains need a checksum. A single packet gets one only if the netdev computes it:
 * CHECKSUM_PARTIAL shows a receiver on this host that the packet never left its memory.
 * Exception: while packets are captured, since the capture would show a wrong checksum.
 *
 * A MAD over IPv6 always has a checksum. A host without RoCE v2 answers it with an ICMP error,
 * from which RDMA_CM learns that it waits in vain (unreach.c). Without a checksum, such a host
 * drops it silently.
 */
static void rxe_v2_set_offloads(struct sk_buff *skb, const struct rxe_train *train,
				const struct net_device *ndev)
{
	if (train->npkts > 1) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = train->pkt;
		skb_shinfo(skb)->gso_segs = train->npkts;
	} else if (train->singly || !(ndev->features & NETIF_F_HW_CSUM)) {
		if (train->mad && skb->protocol == htons(ETH_P_IPV6))
			rxe_v2_set_csum(skb);
		return;
	}
	rxe_v2_set_partial_csum(skb);
}

/* Is a next hop's address known, so that packets won't wait for it? @neigh: may be an error */
static bool rxe_v2_is_known(const struct neighbour *neigh)
{
	return IS_ERR_OR_NULL(neigh) || READ_ONCE(neigh->nud_state) & NUD_VALID;
}

/*
 * By the destination, not by a packet: in an IPsec tunnel, the next hop of a packet isn't its own.
 * Return: with a reference, for rxe_v2_put_neigh(); perhaps NULL or an ERR_PTR.
 */
static struct neighbour *rxe_v2_find_neigh(const struct dst_entry *dst, const struct rxe_path *path)
{
	return dst_neigh_lookup(dst, rxe_gid_is_ipv4(&path->dgid) ? &path->dgid.raw[12] :
								     &path->dgid.raw[0]);
}

static void rxe_v2_put_neigh(struct neighbour *neigh)
{
	if (!IS_ERR_OR_NULL(neigh))
		neigh_release(neigh);
}

/*
 * If the next hop's address isn't known, the skb will wait for it, and is parked. An skb that is
 * dropped instead makes the stack ask for the address, too.
 *
 * Return: false if the skb must be dropped.
 */
static bool rxe_v2_may_wait(const struct dst_entry *dst, const struct rxe_path *path,
			    struct sk_buff *skb, bool datagram)
{
	struct neighbour *neigh = rxe_v2_find_neigh(dst, path);
	bool may = rxe_v2_is_known(neigh) || rxe_tx_park(skb, datagram);

	if (!may)
		neigh_event_send(neigh, NULL);
	rxe_v2_put_neigh(neigh);
	return may;
}

/**
 * rxe_path_is_resolved - is the address of a path's next hop known?
 * @path: path
 *
 * Until it is known, packets wait for it in the stack. If the next hop doesn't answer for some
 * seconds, the stack drops them.
 *
 * Context: bottom halves off.
 * Return: true if it is known, or not needed.
 */
bool rxe_path_is_resolved(struct rxe_path *path)
{
	struct neighbour *neigh;
	struct dst_entry *dst;
	bool known;

	if (path->same_dev || path->mcast || !rxe_l3(path->proto)->udp)
		return true;
	dst = rxe_route(path);
	if (IS_ERR(dst))
		return true;
	neigh = rxe_v2_find_neigh(dst, path);
	known = rxe_v2_is_known(neigh);
	rxe_v2_put_neigh(neigh);
	return known;
}

/*
 * The socket that local_out() is given. Usually that is none, so that the packets are nobody's for
 * netfilter and BPF.
 *
 * The packets of a QP have the size that both ends agreed on. A path MTU can't make them smaller,
 * and anybody can forge the ICMP error that it comes from. The stack doesn't apply it to packets
 * of a socket with IP_PMTUDISC_INTERFACE. For IPv6, it takes the socket from the skb, for IPv4 from
 * the caller. ACKs and CNPs have no socket, but are smaller than any path MTU.
 */
static struct sock *rxe_v2_get_sock(const struct sk_buff *skb, const struct rxe_path *path)
{
	/* Local members have their copies already; the socket has multicast loop off */
	if (path->mcast)
		return skb->sk;
	if (path->proto == RXE_ROCE_V2_IPV4 &&
	    unlikely(skb_rtable(skb)->rt_pmtu || dst_metric_raw(skb_dst(skb), RTAX_MTU)))
		return skb->sk;
	return NULL;
}

/**
 * rxe_v2_send - rxe_l3.send
 * @skb: train with its headers; consumed
 * @path: where it goes
 * @train: what it consists of
 *
 * Return: 0, 1 if it was dropped, or a negative error if there is no route.
 */
int rxe_v2_send(struct sk_buff *skb, struct rxe_path *path,
		const struct rxe_train *train)
{
	struct dst_entry *dst = skb_dst(skb);
	int err;

	if (!dst) {
		dst = rxe_route(path);
		if (IS_ERR(dst)) {
			kfree_skb(skb);
			return PTR_ERR(dst);
		}
		skb_dst_set_noref(skb, dst);
	}
	if (train->tx && unlikely(rxe_tx_is_loaded(train->tx, !train->sqpn)) && !path->mcast &&
	    !rxe_v2_may_wait(dst, path, skb, !train->sqpn)) {
		kfree_skb(skb);
		return 1;
	}
	rxe_v2_set_offloads(skb, train, dst->dev);
	/* skb->cb is 0 as it was allocated: the stack's options */
	err = rxe_l3(path->proto)->local_out(dev_net(dst->dev), rxe_v2_get_sock(skb, path), skb);
	return !!net_xmit_eval(err);
}

/* The receiving netdev: in a VRF, skb->dev is the VRF's at this point */
static struct net_device *rxe_v2_get_ingress(const struct sk_buff *skb, u8 proto)
{
	int slave = proto == RXE_ROCE_V2_IPV4 ? inet_sdif(skb) :
						inet6_sdif(skb);
	struct net_device *ndev = NULL;

	if (slave)
		ndev = dev_get_by_index_rcu(dev_net(skb->dev), slave);
	return ndev ?: skb->dev;
}

/* The netdev that has the destination address of a packet received on @ndev */
static struct net_device *rxe_v2_find_owner(struct net_device *ndev,
					    const struct sk_buff *skb, u8 proto)
{
	struct in6_addr addr;

	if (proto == RXE_ROCE_V2_IPV4) {
		if (ipv4_is_multicast(ip_hdr(skb)->daddr) || ipv4_is_lbcast(ip_hdr(skb)->daddr))
			return NULL;
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, &addr);
	} else {
		addr = ipv6_hdr(skb)->daddr;
		if (ipv6_addr_type(&addr) &
		    (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_MULTICAST))
			return NULL;
	}
	return rxe_addr_owner_at(ndev, &addr);
}

/*
 * May a packet for @owner's device come in by @ndev? Only by loopback or a VRF's netdev, which
 * this host itself sends to, and by another port of the host. The stack takes packets for each
 * address of the host on any netdev. But behind another netdev, for example a container's,
 * anybody may have the peer's address. An adapter, too, receives only from its own wire.
 */
static bool rxe_v2_leads_to(const struct net_device *ndev, const struct net_device *owner)
{
	return (ndev->flags & IFF_LOOPBACK) || netif_is_l3_master(ndev) ||
	       l3mdev_master_ifindex_rcu(ndev) == owner->ifindex ||
	       rxe_net_find(dev_net(ndev), ndev, RXE_ENABLE_NONE);
}

/*
 * The device that a packet is for, or NULL; *@by is set to the netdev that determines the
 * VLAN. Normally the receiving netdev decides. With several devices, or if that netdev has
 * none (loopback, a VRF's own), the destination address decides, within one routing domain.
 */
static struct rxe_dev *rxe_v2_find_dev(const struct sk_buff *skb, u8 proto,
				       struct net_device **by)
{
	struct net_device *ndev = rxe_v2_get_ingress(skb, proto), *owner;
	struct net *net = dev_net(ndev);
	struct rxe_dev *rxe = rxe_net_find(net, ndev, RXE_ENABLE_V2), *other = NULL;

	if (!rxe || !rxe_net_is_alone(rxe)) {
		owner = rxe_v2_find_owner(ndev, skb, proto);
		if (owner && owner != ndev && rxe_v2_leads_to(ndev, owner))
			other = rxe_net_find(net, owner, RXE_ENABLE_V2);
		if (other && ((ndev->flags & IFF_LOOPBACK) ||
			      netif_is_l3_master(ndev)))
			ndev = owner;
		rxe = other ?: rxe;
	}
	*by = ndev;
	return rxe;
}

/* Count a packet without a device at the device that has its address, if there is one */
static void rxe_v2_drop_stray(struct sk_buff *skb, u8 proto)
{
	struct net_device *owner = rxe_v2_find_owner(rxe_v2_get_ingress(skb, proto), skb, proto);
	struct rxe_dev *rxe = owner ? rxe_net_find(dev_net(owner), owner, RXE_ENABLE_V2) : NULL;

	if (rxe)
		rxe_drop(rxe, RXE_DROP_ADDR, rxe_count_segs(skb));
	kfree_skb(skb);
}

/**
 * rxe_v2_is_gso_ok - may an skb be taken in as a whole, without the stack?
 * @skb: the skb
 *
 * SKB_GSO_DODGY means a guest's GSO that nothing has checked yet.
 *
 * Return: true without GSO, or with UDP's; false if another protocol or a tunnel has segments.
 */
bool rxe_v2_is_gso_ok(const struct sk_buff *skb)
{
	const u32 may = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST | SKB_GSO_DODGY;
	u32 type = skb_shinfo(skb)->gso_type;

	return !skb_is_gso(skb) || ((type & SKB_GSO_UDP_L4) && !(type & ~may));
}

/* Do the length fields agree? The ICRC covers them. @l4 counts from skb->data. */
static bool rxe_v2_lengths_agree(const struct sk_buff *skb, u32 l4, u8 proto)
{
	u32 len = ntohs(udp_hdr(skb)->len);
	u32 l3 = rxe_l3(proto)->bytes - sizeof(struct udphdr);

	if (len != skb->len - l4 || skb_network_header_len(skb) != l3)
		return false;
	if (proto == RXE_ROCE_V2_IPV4)
		return ip_hdr(skb)->ihl == 5 &&
		       ntohs(ip_hdr(skb)->tot_len) == len + sizeof(struct iphdr);
	return ipv6_hdr(skb)->nexthdr == IPPROTO_UDP &&
	       ntohs(ipv6_hdr(skb)->payload_len) == len;
}

static void rxe_v2_drop_malformed(struct rxe_dev *rxe, struct sk_buff *skb)
{
	rxe_drop(rxe, RXE_DROP_MALFORMED, rxe_count_segs(skb));
	kfree_skb(skb);
}

/*
 * Did the packet come in fragments? The driver doesn't take reassembled packets, as an adapter
 * doesn't. A bridge whose packets pass netfilter may have reassembled them before the IP layer.
 */
static bool rxe_v2_was_fragmented(const struct sk_buff *skb, u8 proto)
{
	if (unlikely(rxe_bridge_frag_size(skb)))
		return true;
	return proto == RXE_ROCE_V2_IPV4 ? IPCB(skb)->frag_max_size : IP6CB(skb)->frag_max_size;
}

/*
 * Receive an skb for @rxe. @l4 is the offset of the UDP header from skb->data. The IP
 * and UDP headers are in the linear part, and rxe_v2_is_gso_ok() was true.
 */
static void rxe_v2_receive_skb(struct rxe_dev *rxe, struct sk_buff *skb, u32 l4,
			       u8 proto)
{
	u32 pkt = 0;

	if (rxe_v2_was_fragmented(skb, proto)) {
		rxe_v2_drop_malformed(rxe, skb);
		return;
	}
	if (!skb_is_gso(skb) && skb_has_frag_list(skb) && skb_linearize(skb)) {
		rxe_drop(rxe, RXE_DROP_MEMORY, 1);
		kfree_skb(skb);
		return;
	}
	if (rxe_v2_lengths_agree(skb, l4, proto))
		pkt = rxe_skb_pkt(skb, skb->len - l4 - sizeof(struct udphdr));
	if (pkt)
		rxe_rx_deliver(rxe, skb, l4 + sizeof(struct udphdr), proto, pkt);
	else
		rxe_v2_drop_malformed(rxe, skb);
}

/*
 * Must the stack handle the skb? Yes for any GSO but UDP's. Yes also for the first packet of a
 * tracked connection, which is confirmed behind this hook.
 */
static bool rxe_v2_must_leave(const struct sk_buff *skb)
{
	enum ip_conntrack_info info;
	struct nf_conn *ct = nf_ct_get(skb, &info);

	if (ct && info != IP_CT_UNTRACKED && !nf_ct_is_confirmed(ct))
		return true;
	return !rxe_v2_is_gso_ok(skb);
}

/*
 * The IPsec policy check, which the UDP layer would do before it gives a datagram
 * to a socket
 */
static bool rxe_v2_is_permitted(struct sk_buff *skb, u8 proto)
{
	if (proto == RXE_ROCE_V2_IPV4)
		return xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb);
	return xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb);
}

/* Is the packet for another namespace? ipvlan (mode l3s) routes it there before LOCAL_IN */
static bool rxe_v2_is_elsewhere(const struct sk_buff *skb)
{
	const struct dst_entry *dst = skb_dst(skb);

	return dst && !net_eq(dev_net(dst->dev), dev_net(skb->dev));
}

/* Context: bottom halves off */
static unsigned int rxe_v2_handle_skb(struct sk_buff *skb, u32 l4, u8 proto)
{
	struct net_device *by;
	struct rxe_dev *rxe;

	rxe = rxe_v2_find_dev(skb, proto, &by);
	if (!rxe)
		return NF_ACCEPT;
	if (!rxe_v2_is_permitted(skb, proto)) {
		rxe_drop(rxe, RXE_DROP_POLICY, rxe_count_segs(skb));
		return NF_DROP;
	}
	skb->dev = by;
	rxe_v2_receive_skb(rxe, skb, l4, proto);
	return NF_STOLEN;
}

/*
 * Hooks usually run in softirq. But the verdict of a program (NFQUEUE) sends a packet on to the
 * next hook in that program's system call, with bottom halves on.
 */
static unsigned int rxe_v2_run_hook(struct sk_buff *skb, u32 l4, u8 proto)
{
	unsigned int verdict;

	if (skb_network_offset(skb) || skb_transport_offset(skb) != l4 ||
	    !pskb_may_pull(skb, l4 + sizeof(struct udphdr)) ||
	    udp_hdr(skb)->dest != htons(RXE_ROCE_UDP_PORT) || rxe_v2_is_elsewhere(skb) ||
	    rxe_v2_must_leave(skb))
		return NF_ACCEPT;
	if (likely(in_softirq()))
		return rxe_v2_handle_skb(skb, l4, proto);
	local_bh_disable();
	verdict = rxe_v2_handle_skb(skb, l4, proto);
	local_bh_enable();
	return verdict;
}

static unsigned int rxe_v2_hook4(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (ip->protocol != IPPROTO_UDP || ip->ihl != 5)
		return NF_ACCEPT;
	return rxe_v2_run_hook(skb, sizeof(*ip), RXE_ROCE_V2_IPV4);
}

static unsigned int rxe_v2_hook6(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);

	if (ip6->nexthdr != IPPROTO_UDP)
		return NF_ACCEPT;
	return rxe_v2_run_hook(skb, sizeof(*ip6), RXE_ROCE_V2_IPV6);
}

static const struct nf_hook_ops rxe_v2_hooks[] = {
	{
		.hook		= rxe_v2_hook4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	}, {
		.hook		= rxe_v2_hook6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
};

/*
 * Receive a packet at the socket, on which nothing is ever queued. skb->data is at the UDP
 * header. A tunnel's GSO is refused: the UDP layer doesn't split it, and a tunnel header is in
 * the place of the BTH.
 */
static int rxe_v2_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	u8 proto = ip_hdr(skb)->version == 4 ? RXE_ROCE_V2_IPV4 :
					       RXE_ROCE_V2_IPV6;
	struct net_device *by;
	struct rxe_dev *rxe = rxe_v2_find_dev(skb, proto, &by);

	if (!rxe) {
		rxe_v2_drop_stray(skb, proto);
		return 0;
	}
	if (!pskb_may_pull(skb, sizeof(struct udphdr)) || !rxe_v2_is_gso_ok(skb)) {
		rxe_v2_drop_malformed(rxe, skb);
		return 0;
	}
	skb->dev = by;
	rxe_v2_receive_skb(rxe, skb, 0, proto);
	return 0;
}

static int rxe_v2_set_option(struct socket *sock, int level, int name, int value)
{
	return sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&value), sizeof(value));
}

/* Multicast loop is off on a tunnel's socket of IPv4. For path MTUs, see rxe_v2_get_sock() */
static int rxe_v2_set_options(struct socket *sock, int family)
{
	int err;

	if (family == AF_INET)
		return rxe_v2_set_option(sock, SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE);
	err = rxe_v2_set_option(sock, SOL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE);
	return err ?: rxe_v2_set_option(sock, SOL_IPV6, IPV6_MULTICAST_LOOP, 0);
}

static struct socket *rxe_v2_create_sock(struct net *net, int family)
{
	struct udp_port_cfg port = {
		.family		= family,
		.local_udp_port	= htons(RXE_ROCE_UDP_PORT),
		.ipv6_v6only	= family == AF_INET6,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type	= 1,
		.encap_rcv	= rxe_v2_encap_rcv,
		.encap_err_lookup = rxe_unreach_note,
		.gro_receive	= rxe_gro_receive,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &port, &sock);
	if (err == -EADDRINUSE)
		pr_err_ratelimited("rdma_rxe: UDP port %u is taken in this network namespace (ss -ulpn 'sport = :%u' shows by whom)\n",
				   RXE_ROCE_UDP_PORT, RXE_ROCE_UDP_PORT);
	if (err)
		return ERR_PTR(err);
	rxe_setup_udp_tunnel_sock(net, sock, &tunnel);
	err = rxe_v2_set_options(sock, family);
	if (err) {
		rxe_udp_tunnel_sock_release(sock);
		return ERR_PTR(err);
	}
	return sock;
}

static void rxe_v2_release_socks(struct rxe_netns *ns)
{
	rxe_net_release_socks(ns, RXE_ROCE_V2_IPV4, RXE_ROCE_V2_IPV6);
}

static int rxe_v2_create_socks(struct net *net, struct rxe_netns *ns)
{
	struct socket *sock = rxe_v2_create_sock(net, AF_INET);

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	ns->socks[RXE_ROCE_V2_IPV4] = sock;
	if (!ipv6_mod_enabled())
		return 0;
	sock = rxe_v2_create_sock(net, AF_INET6);
	if (IS_ERR(sock)) {
		rxe_v2_release_socks(ns);
		return PTR_ERR(sock);
	}
	ns->socks[RXE_ROCE_V2_IPV6] = sock;
	return 0;
}

/**
 * rxe_v2_open - begin to receive in a namespace: port and hooks
 * @net: namespace
 * @ns: where the sockets are kept
 *
 * Return: 0 or a negative error, after which nothing is open.
 */
int rxe_v2_open(struct net *net, struct rxe_netns *ns)
{
	int err = rxe_v2_create_socks(net, ns);

	if (err)
		return err;
	err = nf_register_net_hooks(net, rxe_v2_hooks,
				    ARRAY_SIZE(rxe_v2_hooks));
	if (err)
		rxe_v2_release_socks(ns);
	return err;
}

/**
 * rxe_v2_close - undo rxe_v2_open(); the caller waits for receivers
 * @net: namespace
 * @ns: where the sockets are
 */
void rxe_v2_close(struct net *net, struct rxe_netns *ns)
{
	nf_unregister_net_hooks(net, rxe_v2_hooks, ARRAY_SIZE(rxe_v2_hooks));
	rxe_v2_release_socks(ns);
}
