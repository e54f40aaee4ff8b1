// SPDX-License-Identifier: GPL-2.0
/*
 * net/shaper.c: a queueing discipline that segments trains is found at the root and below it.
 * The netdev and its queueing disciplines are only read.
 */
#include <linux/netdevice.h>
#include <net/sch_generic.h>
#include "../../drivers/rxe/net/internal.h"
#include "../util.h"

static struct {
	struct net_device *ndev;
	struct Qdisc_ops shaper, other;
	struct Qdisc *root, *child;
} fix;

static int shaper_init(struct kunit *test)
{
	fix.ndev = alloc_netdev(0, "rxe%d", NET_NAME_UNKNOWN, ether_setup);
	fix.root = kunit_kzalloc(test, sizeof(*fix.root), GFP_KERNEL);
	fix.child = kunit_kzalloc(test, sizeof(*fix.child), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, fix.ndev && fix.root && fix.child);
	strscpy(fix.other.id, "fq_codel", sizeof(fix.other.id));
	fix.root->ops = &fix.other;
	fix.child->ops = &fix.other;
	rcu_assign_pointer(fix.ndev->qdisc, fix.root);
	hash_add_rcu(fix.ndev->qdisc_hash, &fix.child->hash, 1);
	return 0;
}

static void shaper_exit(struct kunit *test)
{
	if (!fix.ndev)
		return;
	hash_init(fix.ndev->qdisc_hash);
	RCU_INIT_POINTER(fix.ndev->qdisc, NULL);
	free_netdev(fix.ndev);
	fix.ndev = NULL;
}

static bool is_found(void)
{
	bool found;

	local_bh_disable();
	found = rxe_shaper_below(fix.ndev);
	local_bh_enable();
	return found;
}

static void places(struct kunit *test)
{
	strscpy(fix.shaper.id, "tbf", sizeof(fix.shaper.id));
	KUNIT_EXPECT_FALSE(test, is_found());
	fix.root->ops = &fix.shaper;
	KUNIT_EXPECT_TRUE(test, is_found());
	fix.root->ops = &fix.other;
	fix.child->ops = &fix.shaper;
	KUNIT_EXPECT_TRUE(test, is_found());
}

static void names(struct kunit *test)
{
	static const char * const segment[] = { "tbf", "cake", "taprio", "dualpi2" };
	static const char * const keep[] = { "tbf2", "htb", "netem", "fq", "mq", "noqueue" };
	u32 i;

	fix.child->ops = &fix.shaper;
	for (i = 0; i < ARRAY_SIZE(segment); i++) {
		strscpy(fix.shaper.id, segment[i], sizeof(fix.shaper.id));
		KUNIT_EXPECT_TRUE_MSG(test, is_found(), "%s", segment[i]);
	}
	for (i = 0; i < ARRAY_SIZE(keep); i++) {
		strscpy(fix.shaper.id, keep[i], sizeof(fix.shaper.id));
		KUNIT_EXPECT_FALSE_MSG(test, is_found(), "%s", keep[i]);
	}
}

/* With too many queueing disciplines to look at, a container's netdev counts as shaped */
static void many(struct kunit *test)
{
	struct Qdisc *leaves = kvcalloc(RXE_LOOK_QDISCS, sizeof(*leaves), GFP_KERNEL);
	struct user_namespace *users = kunit_kzalloc(test, sizeof(*users), GFP_KERNEL);
	struct net *net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, net);
	KUNIT_ASSERT_NOT_NULL(test, leaves);
	net->user_ns = users;
	for (i = 0; i < RXE_LOOK_QDISCS; i++) {
		leaves[i].ops = &fix.other;
		hash_add_rcu(fix.ndev->qdisc_hash, &leaves[i].hash, i);
		if (i < RXE_LOOK_QDISCS / 2)
			KUNIT_EXPECT_FALSE_MSG(test, is_found(), "%u", i);
	}
	KUNIT_EXPECT_FALSE(test, is_found());
	write_pnet(&fix.ndev->nd_net, net);
	KUNIT_EXPECT_TRUE(test, is_found());
	write_pnet(&fix.ndev->nd_net, &init_net);
	for (i = 0; i < RXE_LOOK_QDISCS; i++)
		hash_del_rcu(&leaves[i].hash);
	KUNIT_EXPECT_FALSE(test, is_found());
	kvfree(leaves);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(places),
	KUNIT_CASE(names),
	KUNIT_CASE(many),
	{}
};

static struct kunit_suite suite = {
	.name = "net-shaper",
	.init = shaper_init,
	.exit = shaper_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
