// SPDX-License-Identifier: GPL-2.0
/*
 * The traffic class, TTL and priority of paths. Programs ask for values; settings of the
 * administrator override them.
 *
 * A device may have one traffic class for all paths (global), and rules by source and
 * destination address. The global class comes first, then the first matching rule with
 * both addresses, then the first matching rule with one. The syntax is that of mlx5.
 *
 * The ICRC covers none of these fields, so they may change while packets are sent.
 *
 * With RoCE v2, the two low bits of the traffic class are the ECN field, and belong to
 * congestion control (rxe_path.tos). RoCE v1 has no ECN: the program sets all eight bits of the
 * GRH's traffic class, as in the base specification.
 *
 * Context: readers are in RCU. A writer holds rxe_tclass_lock and replaces the whole table.
 */
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>
#include "internal.h"
#include "proto.h"

/**
 * struct rxe_subnet - a range of addresses
 * @addr: IPv6 address, or IPv4-mapped address
 * @bits: length of the prefix, 0 to 128; of an IPv4 address, 96 to 128
 * @set: false: any address
 */
struct rxe_subnet {
	struct in6_addr	addr;
	u8		bits;
	bool		set;
};

/**
 * struct rxe_tclass_rule - a traffic class for some paths
 * @src: source addresses
 * @dst: destination addresses
 * @tclass: the traffic class
 */
struct rxe_tclass_rule {
	struct rxe_subnet	src;
	struct rxe_subnet	dst;
	u8			tclass;
};

/**
 * struct rxe_tclass - the administrator's traffic classes of a device
 * @rcu: frees the struct after the last reader
 * @global: traffic class of all paths, 0 to 255; -1: none
 * @n: number of rules
 * @rules: the rules, in the order in which they were added
 */
struct rxe_tclass {
	struct rcu_head		rcu;
	int			global;
	u32			n;
	struct rxe_tclass_rule	rules[RXE_TCLASS_RULES];
};

static DEFINE_MUTEX(rxe_tclass_lock);

static bool rxe_subnet_has(const struct rxe_subnet *net, const union ib_gid *gid)
{
	return !net->set || ipv6_prefix_equal(&net->addr,
					      (const struct in6_addr *)gid, net->bits);
}

/* The administrator's traffic class for a path, or -1 */
static int rxe_tclass_find(const struct rxe_tclass *all, const struct rxe_path *path)
{
	int found = -1;
	u32 i;

	if (!all || all->global >= 0)
		return all ? all->global : -1;
	for (i = 0; i < all->n; i++) {
		const struct rxe_tclass_rule *rule = &all->rules[i];

		if (!rxe_subnet_has(&rule->src, &path->sgid) ||
		    !rxe_subnet_has(&rule->dst, &path->dgid))
			continue;
		if (rule->src.set && rule->dst.set)
			return rule->tclass;
		if (found < 0)
			found = rule->tclass;
	}
	return found;
}

/**
 * rxe_ecn_is_on - is congestion notification on for a priority?
 * @rxe: device
 * @priority: the priority; 7 stands for all above it, too
 *
 * Return: true if so.
 */
bool rxe_ecn_is_on(const struct rxe_dev *rxe, u8 priority)
{
	return READ_ONCE(rxe->tune.ecn_priorities) & BIT(min_t(u8, priority, 7));
}

/*
 * The driver sets the two ECN bits, whatever the class says. Otherwise, all packets of a program
 * that asks for class 107 would look as if a switch had marked them. Multicast isn't ECN-capable:
 * no receiver answers its marks.
 */
static u8 rxe_path_get_tos(const struct rxe_dev *rxe, const struct rxe_path *path)
{
	u8 tos = path->traffic_class & ~INET_ECN_MASK;

	if (path->ecn && !path->mcast && rxe_ecn_is_on(rxe, path->priority))
		tos |= INET_ECN_ECT_0;
	return tos;
}

/**
 * rxe_path_class - set traffic class, TTL and priority of a path
 * @rxe: device
 * @path: path whose addresses, SL and max_priority are set
 * @grh: traffic class and hop limit that the program asks for
 *
 * The priority is the SL. Exception: if the SL is 0, or the administrator has set the traffic
 * class, it is the upper three bits of the traffic class. RDMA_CM has a type of service, but no
 * SL. The route is looked up again, since it may depend on the traffic class.
 *
 * Context: any; nothing is sent on the path meanwhile.
 */
void rxe_path_class(const struct rxe_dev *rxe, struct rxe_path *path,
		    const struct ib_global_route *grh)
{
	u8 ttl = path->mcast ? 0 : READ_ONCE(rxe->ttl);
	u8 priority;
	int tclass;

	rcu_read_lock();
	tclass = rxe_tclass_find(rcu_dereference(rxe->tclass), path);
	rcu_read_unlock();
	path->traffic_class = tclass < 0 ? grh->traffic_class : tclass;
	priority = path->traffic_class >> 5;
	if (path->sl && tclass < 0)
		priority = path->sl;
	path->priority = min(priority, path->max_priority);
	path->tos = rxe_path_get_tos(rxe, path);
	path->hop_limit = ttl ?: grh->hop_limit ?:
			  path->mcast ? 1 : RXE_DEFAULT_HOPS;
	rxe_route_drop(path);
}

/**
 * rxe_rx_priority - the priority that a received train carries
 * @skb: received train
 *
 * It is what the VLAN's ingress map made of the tag, or else the upper three bits of the
 * traffic class. An SL that neither of them carries doesn't leave its host.
 *
 * Return: up to RXE_MAX_SL; 0 also if the train carries none.
 */
u8 rxe_rx_priority(struct sk_buff *skb)
{
	u32 priority = skb->priority & 0xf;

	priority = priority ?: rxe_l3_get_tclass(rxe_rx_l3(skb), rxe_rx(skb)->proto) >> 5;
	return min_t(u32, priority, RXE_MAX_SL);
}

/* Parse an address with an optional prefix length, as 1.1.1.0/24 or 2001:db8::1 */
static bool rxe_subnet_parse(struct rxe_subnet *net, char *text)
{
	char *addr = strsep(&text, "/");
	u8 most = 128, bits;
	const char *end;
	__be32 v4;

	if (in4_pton(addr, -1, (u8 *)&v4, -1, &end) && !*end) {
		ipv6_addr_set_v4mapped(v4, &net->addr);
		most = 32;
	} else if (!in6_pton(addr, -1, net->addr.s6_addr, -1, &end) || *end) {
		return false;
	}
	bits = most;
	if (text && (kstrtou8(text, 10, &bits) || bits > most))
		return false;
	net->bits = 128 - most + bits;
	if (ipv6_addr_v4mapped(&net->addr) && net->bits < 96)
		return false;	/* ::ffff:1.1.1.1/64 is no range of IPv4 addresses */
	net->set = true;
	return true;
}

/* Parse a number from -1 to 255 */
static bool rxe_tclass_parse_number(int *tclass, const char *text)
{
	return !kstrtoint(text, 0, tclass) && *tclass >= -1 && *tclass <= U8_MAX;
}

/* Parse one of tclass=16, src_ip=1.1.1.2, dst_ip=1.1.1.0/24; each may occur once */
static bool rxe_tclass_parse_field(struct rxe_tclass_rule *rule, int *tclass, char *field)
{
	char *name = strsep(&field, "=");

	if (!field)
		return false;
	if (!strcmp(name, "tclass"))
		return *tclass == INT_MAX && rxe_tclass_parse_number(tclass, field);
	if (!strcmp(name, "src_ip"))
		return !rule->src.set && rxe_subnet_parse(&rule->src, field);
	if (!strcmp(name, "dst_ip"))
		return !rule->dst.set && rxe_subnet_parse(&rule->dst, field);
	return false;
}

/* Parse the global form (a number), or the fields of a rule. Return: false on errors */
static bool rxe_tclass_parse(struct rxe_tclass_rule *rule, int *tclass, char *text)
{
	char *field;

	*tclass = INT_MAX;
	if (!strchr(text, '='))
		return rxe_tclass_parse_number(tclass, text);
	while ((field = strsep(&text, ",")))
		if (!rxe_tclass_parse_field(rule, tclass, field))
			return false;
	return *tclass != INT_MAX;
}

static bool rxe_subnet_is_same(const struct rxe_subnet *a, const struct rxe_subnet *b)
{
	return a->set == b->set && a->bits == b->bits &&
	       ipv6_addr_equal(&a->addr, &b->addr);
}

static struct rxe_tclass_rule *rxe_tclass_find_same(struct rxe_tclass *all,
						    const struct rxe_tclass_rule *rule)
{
	u32 i;

	for (i = 0; i < all->n; i++)
		if (rxe_subnet_is_same(&all->rules[i].src, &rule->src) &&
		    rxe_subnet_is_same(&all->rules[i].dst, &rule->dst))
			return &all->rules[i];
	return NULL;
}

/* Add or replace a rule or the global class, or remove it if @tclass is -1 */
static int rxe_tclass_change(struct rxe_tclass *all, struct rxe_tclass_rule *rule,
			     int tclass)
{
	struct rxe_tclass_rule *old = rxe_tclass_find_same(all, rule);

	if (!rule->src.set && !rule->dst.set) {
		all->global = tclass;
		return 0;
	}
	if (tclass < 0) {
		if (!old)
			return -ENOENT;
		all->n--;
		memmove(old, old + 1, (&all->rules[all->n] - old) * sizeof(*old));
		return 0;
	}
	if (!old && all->n == RXE_TCLASS_RULES)
		return -ENOSPC;
	rule->tclass = tclass;
	*(old ?: &all->rules[all->n++]) = *rule;
	return 0;
}

/* Allocate a copy of the table; @old may be NULL */
static struct rxe_tclass *rxe_tclass_copy(const struct rxe_tclass *old)
{
	struct rxe_tclass *new = kzalloc(sizeof(*new), GFP_KERNEL);

	if (new && old)
		*new = *old;
	else if (new)
		new->global = -1;
	return new;
}

static int rxe_tclass_replace(struct rxe_dev *rxe, struct rxe_tclass_rule *rule,
			      int tclass)
{
	struct rxe_tclass *old, *new;
	int err;

	old = rcu_dereference_protected(rxe->tclass,
					lockdep_is_held(&rxe_tclass_lock));
	new = rxe_tclass_copy(old);
	if (!new)
		return -ENOMEM;
	err = rxe_tclass_change(new, rule, tclass);
	if (err) {
		kfree(new);
		return err;
	}
	rcu_assign_pointer(rxe->tclass, new);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

/**
 * rxe_tclass_set - change a device's traffic classes
 * @rxe: device
 * @text: "N" for all paths, or "tclass=N[,src_ip=A[/L]][,dst_ip=B[/L]]"; N is 0 to 255,
 *	or -1 to remove; parsing modifies the string
 *
 * On errors nothing has changed, and the log says why.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL for other text; -ENOENT if there is no such rule to remove;
 * -ENOSPC if there are RXE_TCLASS_RULES; -ENOMEM.
 */
int rxe_tclass_set(struct rxe_dev *rxe, char *text)
{
	struct rxe_tclass_rule rule = {};
	int tclass, err;

	if (!rxe_tclass_parse(&rule, &tclass, text)) {
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "traffic_class: write \"N\" or \"tclass=N,src_ip=A/LEN,dst_ip=B/LEN\", N from 0 to 255, or -1 to remove\n");
		return -EINVAL;
	}
	mutex_lock(&rxe_tclass_lock);
	err = rxe_tclass_replace(rxe, &rule, tclass);
	mutex_unlock(&rxe_tclass_lock);
	if (err == -ENOENT)
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "traffic_class: there is no such rule to remove\n");
	else if (err == -ENOSPC)
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "traffic_class: no more than %d rules\n",
				       RXE_TCLASS_RULES);
	return err;
}

static int rxe_subnet_show(const struct rxe_subnet *net, const char *name, char *buf,
			   int at)
{
	bool v4 = ipv6_addr_v4mapped(&net->addr);
	u8 bits = v4 ? net->bits - 96 : net->bits;

	if (!net->set)
		return 0;
	if (v4)
		return sysfs_emit_at(buf, at, ",%s=%pI4/%u", name,
				     &net->addr.s6_addr32[3], bits);
	return sysfs_emit_at(buf, at, ",%s=%pI6c/%u", name, &net->addr, bits);
}

static int rxe_rule_show(const struct rxe_tclass_rule *rule, char *buf, int at)
{
	int first = at;

	at += sysfs_emit_at(buf, at, "tclass=%u", rule->tclass);
	at += rxe_subnet_show(&rule->src, "src_ip", buf, at);
	at += rxe_subnet_show(&rule->dst, "dst_ip", buf, at);
	at += sysfs_emit_at(buf, at, "\n");
	return at - first;
}

/**
 * rxe_tclass_show - print a device's traffic classes
 * @rxe: device
 * @buf: sysfs buffer of PAGE_SIZE
 *
 * Return: bytes written.
 */
int rxe_tclass_show(struct rxe_dev *rxe, char *buf)
{
	const struct rxe_tclass *all;
	int at = 0;
	u32 i;

	rcu_read_lock();
	all = rcu_dereference(rxe->tclass);
	if (all && all->global >= 0)
		at = sysfs_emit(buf, "Global tclass=%d\n", all->global);
	for (i = 0; all && i < all->n; i++)
		at += rxe_rule_show(&all->rules[i], buf, at);
	rcu_read_unlock();
	return at;
}

/**
 * rxe_tclass_move - give a device's traffic classes to another one
 * @to: device that isn't registered yet
 * @from: device that is no longer registered
 */
void rxe_tclass_move(struct rxe_dev *to, struct rxe_dev *from)
{
	RCU_INIT_POINTER(to->tclass,
			 rcu_replace_pointer(from->tclass, NULL, true));
}

/**
 * rxe_tclass_free - free a device's traffic classes
 * @rxe: device without readers
 */
void rxe_tclass_free(struct rxe_dev *rxe)
{
	kfree(rcu_dereference_protected(rxe->tclass, true));
}
