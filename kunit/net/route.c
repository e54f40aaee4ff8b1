// SPDX-License-Identifier: GPL-2.0
/*
 * Which paths drop their cached route when a netdev leaves its namespace (net/route.c), and
 * whether the next hop of a route is known (net/rocev2.c). The paths here belong to no QP, AH or
 * device. A netdev is only compared.
 */
#include <linux/poison.h>
#include <net/dst_metadata.h>
#include <net/neighbour.h>
#include "../../drivers/rxe/net/internal.h"
#include "../util.h"

#define PATHS	(4 * RXE_ROUTE_LOCKS)
#define NETDEVS	(2 * RXE_ROUTE_LISTS)	/* several in a list */

static struct {
	struct net_device *ndev;	/* NETDEVS */
	struct rxe_path *path;		/* PATHS */
} fix;

static int route_init(struct kunit *test)
{
	fix.ndev = kvcalloc(NETDEVS, sizeof(*fix.ndev), GFP_KERNEL);
	fix.path = kvcalloc(PATHS, sizeof(*fix.path), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, fix.ndev && fix.path);
	return 0;
}

static void route_exit(struct kunit *test)
{
	int i;

	for (i = 0; fix.path && i < PATHS; i++)
		rxe_path_destroy(&fix.path[i]);
	kvfree(fix.path);
	kvfree(fix.ndev);
}

/* Give the path a route, to which it has the only reference. */
static void keep(struct kunit *test, struct rxe_path *path, int ndev)
{
	struct metadata_dst *md = metadata_dst_alloc(0, METADATA_IP_TUNNEL, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, md);
	local_bh_disable();
	rxe_route_keep(path, &md->dst, 0, &fix.ndev[ndev]);
	local_bh_enable();
}

static bool has_route(const struct rxe_path *path)
{
	return rcu_access_pointer(path->dst);
}

/* All paths by the netdev that leaves drop their route, and no others */
static void by_netdev(struct kunit *test)
{
	int i, gone;

	for (i = 0; i < PATHS; i++)
		keep(test, &fix.path[i], i % NETDEVS);
	for (gone = 0; gone < NETDEVS; gone++) {
		rxe_routes_forget(&fix.ndev[gone]);
		for (i = 0; i < PATHS; i++)
			KUNIT_ASSERT_EQ(test, has_route(&fix.path[i]), i % NETDEVS > gone);
	}
}

/* The netdev of the last lookup counts */
static void by_the_last(struct kunit *test)
{
	keep(test, fix.path, 0);
	keep(test, fix.path, 1);
	rxe_routes_forget(&fix.ndev[0]);
	KUNIT_EXPECT_TRUE(test, has_route(fix.path));
	rxe_routes_forget(&fix.ndev[1]);
	KUNIT_EXPECT_FALSE(test, has_route(fix.path));
}

/* The netdev is up again in another namespace, and leaves that, too */
static void twice(struct kunit *test)
{
	keep(test, fix.path, 0);
	rxe_routes_forget(&fix.ndev[0]);
	KUNIT_EXPECT_FALSE(test, has_route(fix.path));
	keep(test, fix.path, 0);
	rxe_routes_forget(&fix.ndev[0]);
	KUNIT_EXPECT_FALSE(test, has_route(fix.path));
}

/* The memory of a destroyed path isn't accessed any more, also if its route was dropped before */
static void destroyed(struct kunit *test)
{
	int i;

	for (i = 0; i < 3; i++)
		keep(test, &fix.path[i], i == 1);
	rxe_routes_forget(&fix.ndev[1]);
	for (i = 0; i < 2; i++) {
		rxe_path_destroy(&fix.path[i]);
		memset(&fix.path[i], POISON_FREE, sizeof(fix.path[i]));
	}
	rxe_routes_forget(&fix.ndev[0]);
	KUNIT_EXPECT_FALSE(test, has_route(&fix.path[2]));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_NULL(test, memchr_inv(&fix.path[i], POISON_FREE, sizeof(fix.path[i])));
		memset(&fix.path[i], 0, sizeof(fix.path[i]));
	}
}

/* The next hop of the path's route. Each lookup takes a reference */
static struct neighbour hop;
static const void *hop_daddr;

static struct neighbour *find_hop(const struct dst_entry *dst, struct sk_buff *skb,
				  const void *daddr)
{
	refcount_inc(&hop.refcnt);
	hop_daddr = daddr;
	return &hop;
}

static bool is_resolved(struct rxe_path *path, u8 nud_state)
{
	bool resolved;

	WRITE_ONCE(hop.nud_state, nud_state);
	local_bh_disable();
	resolved = rxe_path_is_resolved(path);
	local_bh_enable();
	return resolved;
}

/* Packets wait only for a next hop whose address isn't known. RoCE v1 has the address itself */
static void resolved(struct kunit *test)
{
	static struct dst_ops ops;
	struct rxe_path *path = fix.path;
	struct dst_ops *own;
	struct dst_entry *dst;

	keep(test, path, 0);
	dst = rcu_dereference_protected(path->dst, 1);
	own = dst->ops;
	ops = *own;
	ops.neigh_lookup = find_hop;
	dst->ops = &ops;
	refcount_set(&hop.refcnt, 1);
	path->proto = RXE_ROCE_V2_IPV6;
	path->dgid.raw[0] = 0xfd;
	KUNIT_EXPECT_FALSE(test, is_resolved(path, NUD_NONE));
	KUNIT_EXPECT_FALSE(test, is_resolved(path, NUD_INCOMPLETE));
	KUNIT_EXPECT_FALSE(test, is_resolved(path, NUD_FAILED));
	KUNIT_EXPECT_PTR_EQ(test, hop_daddr, (const void *)&path->dgid.raw[0]);
	KUNIT_EXPECT_TRUE(test, is_resolved(path, NUD_STALE));
	KUNIT_EXPECT_TRUE(test, is_resolved(path, NUD_REACHABLE));
	KUNIT_EXPECT_TRUE(test, is_resolved(path, NUD_PERMANENT));
	path->proto = RXE_ROCE_V2_IPV4;
	ipv6_addr_set_v4mapped(htonl(0xc0000201), (struct in6_addr *)&path->dgid);
	KUNIT_EXPECT_FALSE(test, is_resolved(path, NUD_FAILED));
	KUNIT_EXPECT_PTR_EQ(test, hop_daddr, (const void *)&path->dgid.raw[12]);
	KUNIT_EXPECT_EQ(test, refcount_read(&hop.refcnt), 1u);
	path->proto = RXE_ROCE_V1;
	KUNIT_EXPECT_TRUE(test, is_resolved(path, NUD_FAILED));
	dst->ops = own;	/* it is freed later, perhaps without this module */
}

static struct kunit_case cases[] = {
	KUNIT_CASE(by_netdev),
	KUNIT_CASE(by_the_last),
	KUNIT_CASE(twice),
	KUNIT_CASE(destroyed),
	KUNIT_CASE(resolved),
	{}
};

static struct kunit_suite suite = {
	.name = "net-route",
	.init = route_init,
	.exit = route_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
