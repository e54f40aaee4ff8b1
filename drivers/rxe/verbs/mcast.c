// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which QPs are attached to which group (section 11.3).
 *
 * A group exists while a QP is attached to it. It is identified by its MGID alone. Members get
 * its packets from any RoCE version, and from any VLAN of the device.
 *
 * Context: attach and detach may sleep and are serialised by rxe_mcast.lock. Lookups are
 * in RCU.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <rxe/dev.h>
#include <rxe/mcast.h>
#include <rxe/memory.h>
#include <rxe/path.h>

static u32 hash_mgid(const struct rxe_mcast *mcast, const union ib_gid *mgid)
{
	return jhash(mgid, sizeof(*mgid), mcast->seed);
}

/**
 * rxe_mcast_init - set up the table of groups, empty
 * @mcast: the table of a new device
 */
void rxe_mcast_init(struct rxe_mcast *mcast)
{
	mutex_init(&mcast->lock);
	hash_init(mcast->grps);
	mcast->seed = get_random_u32();
}

/**
 * rxe_mcast_find - find a group by its address
 * @rxe: device
 * @mgid: address
 *
 * Context: RCU read side, until whose end the group stays valid; or rxe_mcast.lock held.
 * Return: the group, or NULL if no QP is attached to it.
 */
struct rxe_mcast_grp *rxe_mcast_find(struct rxe_dev *rxe, const union ib_gid *mgid)
{
	struct rxe_mcast *mcast = &rxe->mcast;
	struct rxe_mcast_grp *grp;

	hash_for_each_possible_rcu(mcast->grps, grp, node, hash_mgid(mcast, mgid),
				   lockdep_is_held(&mcast->lock)) {
		if (rxe_gid_equal(&grp->mgid, mgid))
			return grp;
	}
	return NULL;
}

/* Packets come in from here on, and find no member yet */
static struct rxe_mcast_grp *create_grp(struct rxe_dev *rxe, const union ib_gid *mgid)
{
	struct rxe_mcast *mcast = &rxe->mcast;
	struct rxe_mcast_grp *grp;
	int err;

	if (mcast->num_grps >= RXE_MAX_MCAST_GRP || !rxe_has_memory_left(0))
		return ERR_PTR(-ENOMEM);
	grp = kzalloc(sizeof(*grp), RXE_GFP_USER);
	if (!grp)
		return ERR_PTR(-ENOMEM);
	grp->mgid = *mgid;
	INIT_LIST_HEAD(&grp->members);
	err = rxe_join(rxe, &grp->join, mgid);
	if (err) {
		kfree(grp);
		return ERR_PTR(err);
	}
	hash_add_rcu(mcast->grps, &grp->node, hash_mgid(mcast, mgid));
	mcast->num_grps++;
	return grp;
}

/* Free a group if it has no members left */
static void end_grp(struct rxe_dev *rxe, struct rxe_mcast_grp *grp)
{
	struct rxe_mcast *mcast = &rxe->mcast;

	if (grp->num_members)
		return;
	mcast->num_grps--;
	hash_del_rcu(&grp->node);
	rxe_leave(&grp->join);
	kfree_rcu(grp, rcu);
}

static struct rxe_mcast_member *find_member(struct rxe_mcast_grp *grp, u32 qpn)
{
	struct rxe_mcast_member *member;

	list_for_each_entry(member, &grp->members, list) {
		if (member->qpn == qpn)
			return member;
	}
	return NULL;
}

static struct rxe_mcast_member *add_member(struct rxe_mcast_grp *grp, u32 qpn)
{
	struct rxe_mcast_member *member;

	if (grp->num_members >= RXE_MAX_MCAST_QP_ATTACH)
		return NULL;
	member = kzalloc(sizeof(*member), RXE_GFP_USER);
	if (!member)
		return NULL;
	member->qpn = qpn;
	list_add_tail_rcu(&member->list, &grp->members);
	grp->num_members++;
	return member;
}

static void del_member(struct rxe_mcast_grp *grp, struct rxe_mcast_member *member)
{
	list_del_rcu(&member->list);
	kfree_rcu(member, rcu);
	grp->num_members--;
}

static int attach_qp(struct rxe_dev *rxe, u32 qpn, const union ib_gid *mgid)
{
	struct rxe_mcast_grp *grp = rxe_mcast_find(rxe, mgid);
	struct rxe_mcast_member *member;

	if (rxe->mcast.num_attached >= RXE_MAX_TOTAL_MCAST_QP_ATTACH)
		return -ENOMEM;
	if (!grp)
		grp = create_grp(rxe, mgid);
	if (IS_ERR(grp))
		return PTR_ERR(grp);
	member = find_member(grp, qpn) ?: add_member(grp, qpn);
	if (!member) {
		end_grp(rxe, grp);
		return -ENOMEM;
	}
	member->attached++;
	rxe->mcast.num_attached++;
	return 0;
}

/**
 * rxe_attach_mcast - make a QP a member of a group [11.3.1]
 * @ibqp: UD QP, as the RDMA core has checked
 * @mgid: the group's multicast address
 * @lid: has no meaning with RoCE
 *
 * A QP that is attached twice gets one copy of a packet, and is a member until it has been
 * detached twice. The RDMA core counts one group with two LIDs as two groups.
 *
 * Return: 0; -ENOMEM if the group has RXE_MAX_MCAST_QP_ATTACH members, the device
 * RXE_MAX_MCAST_GRP groups or RXE_MAX_TOTAL_MCAST_QP_ATTACH attachments, or memory is
 * short.
 */
int rxe_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	struct rxe_dev *rxe = to_rxe_dev(ibqp->device);
	int err;

	mutex_lock(&rxe->mcast.lock);
	err = attach_qp(rxe, ibqp->qp_num, mgid);
	mutex_unlock(&rxe->mcast.lock);
	return err;
}

static int detach_qp(struct rxe_dev *rxe, u32 qpn, const union ib_gid *mgid)
{
	struct rxe_mcast_grp *grp = rxe_mcast_find(rxe, mgid);
	struct rxe_mcast_member *member = grp ? find_member(grp, qpn) : NULL;

	if (!member)
		return -EINVAL;
	rxe->mcast.num_attached--;
	if (!--member->attached) {
		del_member(grp, member);
		end_grp(rxe, grp);
	}
	return 0;
}

/**
 * rxe_detach_mcast - undo rxe_attach_mcast() [11.3.2]
 * @ibqp: QP
 * @mgid: the group's address
 * @lid: has no meaning with RoCE
 *
 * The RDMA core doesn't destroy a QP that is attached.
 *
 * Return: 0, or -EINVAL if the QP isn't a member.
 */
int rxe_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	struct rxe_dev *rxe = to_rxe_dev(ibqp->device);
	int err;

	mutex_lock(&rxe->mcast.lock);
	err = detach_qp(rxe, ibqp->qp_num, mgid);
	mutex_unlock(&rxe->mcast.lock);
	return err;
}
