// SPDX-License-Identifier: GPL-2.0
/*
 * The VLAN tags of a netdev (net/path.c). The netdevs here are never registered.
 */
#include <linux/if_vlan.h>
#include "../../drivers/rxe/net/internal.h"
#include "../util.h"

#define NETDEVS	4

static struct net_device *made[NETDEVS];
static int num;

static void vlan_setup(struct net_device *ndev)
{
	ndev->priv_flags |= IFF_802_1Q_VLAN;
}

static void plain_setup(struct net_device *ndev)
{
}

static struct net_device *make(struct kunit *test, void (*setup)(struct net_device *ndev))
{
	struct net_device *ndev = alloc_netdev(sizeof(struct vlan_dev_priv), "kunit%d",
					       NET_NAME_UNKNOWN, setup);

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	made[num++] = ndev;
	return ndev;
}

static struct net_device *vlan_on(struct kunit *test, struct net_device *below, u16 id, u16 proto)
{
	struct net_device *ndev = make(test, vlan_setup);
	struct vlan_dev_priv *vlan = vlan_dev_priv(ndev);

	vlan->vlan_id = id;
	vlan->vlan_proto = htons(proto);
	vlan->real_dev = below;
	return ndev;
}

static u32 tags(struct kunit *test, u16 outer, u16 outer_proto, u16 inner)
{
	struct net_device *ndev = make(test, plain_setup);
	u32 result;

	if (outer)
		ndev = vlan_on(test, ndev, outer, outer_proto);
	if (inner)
		ndev = vlan_on(test, ndev, inner, ETH_P_8021Q);
	result = rxe_netdev_get_vlan(ndev);
	while (num)
		free_netdev(made[--num]);
	return result;
}

static void one_tag(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tags(test, 0, 0, 0), RXE_NO_VLAN);
	KUNIT_EXPECT_EQ(test, tags(test, 0, 0, 5), 5u);
	KUNIT_EXPECT_EQ(test, tags(test, 4094, ETH_P_8021Q, 0), 4094u);
	KUNIT_EXPECT_NE(test, tags(test, 5, ETH_P_8021AD, 0), tags(test, 5, ETH_P_8021Q, 0));
}

/* The outer VLAN ID and its protocol distinguish tenants with the same inner VLAN ID */
static void two_tags(struct kunit *test)
{
	u32 first = tags(test, 10, ETH_P_8021AD, 5);

	KUNIT_EXPECT_EQ(test, first & VLAN_VID_MASK, 5u);
	KUNIT_EXPECT_EQ(test, tags(test, 10, ETH_P_8021AD, 5), first);
	KUNIT_EXPECT_NE(test, tags(test, 20, ETH_P_8021AD, 5), first);
	KUNIT_EXPECT_NE(test, tags(test, 10, ETH_P_8021Q, 5), first);
	KUNIT_EXPECT_NE(test, tags(test, 0, 0, 5), first);
	KUNIT_EXPECT_NE(test, tags(test, 5, ETH_P_8021AD, 10), first);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_tag),
	KUNIT_CASE(two_tags),
	{}
};

static struct kunit_suite suite = {
	.name = "net-path",
	.test_cases = cases,
};

kunit_test_suite(suite);
