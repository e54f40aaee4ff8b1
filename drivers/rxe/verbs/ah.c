// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: the destinations of UD sends (section 11.2.2).
 *
 * User space puts the number of an AH into its work requests; the address itself
 * stays in the kernel. A kernel consumer passes the pointer.
 *
 * Context: create and destroy may be atomic for kernel consumers, whose AHs have no number and
 * aren't in the xarray. Lookups are RCU, in any context but NMI.
 */
#include <linux/slab.h>
#include <rdma/rdma_user_rxe.h>
#include <cc/cc.h>
#include <rxe/memory.h>
#include <rxe/verbs.h>

static struct rxe_ah *to_rxe_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct rxe_ah, ibah);
}

/**
 * rxe_ah_get - find the AH of a user's work request
 * @rxe: device
 * @num: AH number
 * @pd: of the QP
 *
 * Return: with a reference; NULL if there is no such AH in this PD.
 */
struct rxe_ah_ref *rxe_ah_get(struct rxe_dev *rxe, u32 num, struct ib_pd *pd)
{
	struct rxe_ah_ref *r;

	rcu_read_lock();
	r = xa_load(&rxe->ahs, num);
	if (r && (r->ibpd != pd || !kref_get_unless_zero(&r->ref)))
		r = NULL;
	rcu_read_unlock();
	return r;
}

/**
 * rxe_ah_hold - the AH of a kernel consumer's work request
 * @ibah: the AH
 *
 * Return: with a reference.
 */
struct rxe_ah_ref *rxe_ah_hold(struct ib_ah *ibah)
{
	struct rxe_ah_ref *r;

	rcu_read_lock();
	do {
		/* If no reference is left, rxe_modify_ah() is replacing the part: try again */
		r = rcu_dereference(to_rxe_ah(ibah)->r);
	} while (!kref_get_unless_zero(&r->ref));
	rcu_read_unlock();
	return r;
}

static struct rxe_ah_ref *ah_ref_create(struct ib_ah *ibah,
					const struct rdma_ah_attr *attr,
					gfp_t gfp)
{
	struct rxe_dev *rxe = to_rxe_dev(ibah->device);
	struct rxe_ah_ref *r = kzalloc(sizeof(*r), gfp);
	u16 sport;
	int err;

	if (!r)
		return ERR_PTR(-ENOMEM);
	kref_init(&r->ref);
	r->ibpd = ibah->pd;
	sport = rdma_flow_label_to_udp_sport(rdma_ah_read_grh(attr)->flow_label);
	err = rxe_path_init(rxe, &r->path, attr, sport,
			    READ_ONCE(rxe->tune.same_device),
			    rxe_cc_rows[READ_ONCE(rxe->tune.cc)]->ecn);
	if (err) {
		kfree(r);
		return ERR_PTR(err);
	}
	return r;
}

/* Give the AH a number and tell user space */
static int ah_assign_number(struct rxe_dev *rxe, struct rxe_ah *ah,
			    struct rxe_ah_ref *r, struct ib_udata *udata)
{
	struct rxe_create_ah_resp resp = {};
	int err;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	err = rxe_alloc_cyclic(&rxe->ahs, &ah->num, r, XA_LIMIT(1, U32_MAX), &rxe->next_ah);
	if (err)
		return err;
	resp.ah_num = ah->num;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		xa_erase(&rxe->ahs, ah->num);
	return err;
}

/**
 * rxe_create_ah - make an address handle [11.2.2]
 * @ibah: memory from the RDMA core
 * @attr: address; its source GID is resolved and held by the RDMA core
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0; -EINVAL for an address that is invalid with RoCE; -ENOMEM if there are
 * RXE_MAX_AH already, or memory is short.
 */
int rxe_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		  struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibah->device);
	struct rxe_ah *ah = to_rxe_ah(ibah);
	struct rxe_ah_ref *r;
	int err;

	if (!rxe_limit_get(&rxe->num_ah, RXE_MAX_AH, udata))
		return -ENOMEM;
	r = ah_ref_create(ibah, attr->ah_attr,
			  attr->flags & RDMA_CREATE_AH_SLEEPABLE ?
			  RXE_GFP_USER : GFP_ATOMIC);
	if (IS_ERR(r)) {
		err = PTR_ERR(r);
		goto err_limit;
	}
	if (udata)
		rxe_path_unprivileged(rxe, &r->path, rdma_ah_read_grh(attr->ah_attr));
	ah->num = 0;
	err = udata ? ah_assign_number(rxe, ah, r, udata) : 0;
	if (err)
		goto err_ref;
	rcu_assign_pointer(ah->r, r);
	return 0;

err_ref:
	rxe_ah_put(r);
err_limit:
	atomic_dec(&rxe->num_ah);
	return err;
}

/**
 * rxe_modify_ah - change the address
 * @ibah: the AH of a kernel consumer, without a number: a process can't modify an AH
 * @attr: new address; its source GID is held by the RDMA core
 *
 * Sends that are posted keep the old address.
 *
 * Return: 0 or an error as of rxe_create_ah(), in which case nothing changed.
 */
int rxe_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct rxe_ah *ah = to_rxe_ah(ibah);
	struct rxe_ah_ref *r, *old;

	r = ah_ref_create(ibah, attr, RXE_GFP_USER);
	if (IS_ERR(r))
		return PTR_ERR(r);
	old = rcu_replace_pointer(ah->r, r, true);
	rxe_ah_put(old);
	return 0;
}

/**
 * rxe_query_ah - query the address
 * @ibah: the AH
 * @attr: out: the address
 *
 * Return: 0.
 */
int rxe_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct rxe_ah_ref *r = rcu_dereference_protected(to_rxe_ah(ibah)->r, true);
	const struct rxe_path *path = &r->path;

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	memcpy(attr->roce.dmac, path->dmac, ETH_ALEN);
	rdma_ah_set_sl(attr, path->sl);
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, (union ib_gid *)&path->dgid, path->flow_label,
			path->sgid_attr->index, path->hop_limit,
			path->traffic_class);
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	return 0;
}

/**
 * rxe_destroy_ah - free an address handle
 * @ibah: the RDMA core frees its memory
 * @flags: enum rdma_destroy_ah_flags
 *
 * Sends with a reference keep the address: a kernel consumer's once posted, a process's once
 * imported.
 *
 * Return: 0.
 */
int rxe_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct rxe_dev *rxe = to_rxe_dev(ibah->device);
	struct rxe_ah *ah = to_rxe_ah(ibah);

	if (ah->num)
		xa_erase(&rxe->ahs, ah->num);
	rxe_ah_put(rcu_dereference_protected(ah->r, true));
	atomic_dec(&rxe->num_ah);
	return 0;
}
