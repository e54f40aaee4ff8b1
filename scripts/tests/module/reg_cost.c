// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of fast registration for a kernel consumer, with two queue pairs of one device.
 * The owner registers memory by a work request (REG_MR). The user invalidates it by a SEND, as a
 * storage target does at the end of an I/O. 16 registrations are in flight.
 *
 *   insmod reg_cost.ko device=rxe0 gid=1 size=65536 count=2000
 *
 * It measures while it is being loaded. Then /sys/module/reg_cost/parameters/ns has the time of one
 * registration with its invalidation. On a machine whose clock counts instructions, that is their
 * number.
 *
 * All completions are handled in softirq, as those of NVMe over Fabrics. The machine must have one
 * processor: there is no lock between the handlers.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define DEPTH		16
#define PATIENCE	(30 * HZ)

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device");

static uint gid;
module_param(gid, uint, 0444);
MODULE_PARM_DESC(gid, "index of the GID");

static uint size = 65536;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of a registration");

static uint count = 2000;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "registrations that are measured");

static uint ns;
module_param(ns, uint, 0444);
MODULE_PARM_DESC(ns, "result: nanoseconds a registration");

/* A registration in flight; receives are consumed in the order of the slots */
struct slot {
	struct ib_mr *mr;
	struct ib_cqe registered, used, invalidated;
};

static struct ib_device *dev;
static struct ib_pd *pd;
static struct ib_cq *cq;
static struct ib_qp *owner, *user;
static struct slot slots[DEPTH];
static struct scatterlist memory;
static void *buf;
static DECLARE_COMPLETION(over);
static unsigned int begun, done, warm;
static ktime_t start;
static int result = -ENODEV;
static int failure;

static void fail(int err, const char *what)
{
	pr_err("reg_cost: %s: %d\n", what, err);
	failure = err;
	complete(&over);
}

static bool completed(const struct ib_wc *wc, const char *what)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return true;
	if (!failure)
		fail(-EIO, what);
	return false;
}

static void post_receive(struct slot *slot)
{
	struct ib_recv_wr wr = { .wr_cqe = &slot->invalidated };
	int err = ib_post_recv(owner, &wr, NULL);

	if (err)
		fail(err, "receive");
}

static void post_registration(struct slot *slot)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_cqe = &slot->registered, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = slot->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int n, err;

	begun++;
	ib_update_fast_reg_key(slot->mr, ib_inc_rkey(slot->mr->rkey));
	wr.key = slot->mr->rkey;
	n = ib_map_mr_sg(slot->mr, &memory, 1, NULL, PAGE_SIZE);
	err = n == 1 ? ib_post_send(owner, &wr.wr, NULL) : -EINVAL;
	if (err)
		fail(err, "registration");
}

static void on_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *slot = container_of(wc->wr_cqe, struct slot, registered);
	struct ib_send_wr wr = {
		.wr_cqe = &slot->used, .opcode = IB_WR_SEND_WITH_INV,
		.send_flags = IB_SEND_SIGNALED, .ex.invalidate_rkey = slot->mr->rkey,
	};
	int err;

	if (!completed(wc, "registration"))
		return;
	err = ib_post_send(user, &wr, NULL);
	if (err)
		fail(err, "SEND with invalidate");
}

static void on_used(struct ib_cq *cq, struct ib_wc *wc)
{
	completed(wc, "SEND with invalidate");
}

static void on_invalidated(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *slot = container_of(wc->wr_cqe, struct slot, invalidated);

	if (!completed(wc, "receive"))
		return;
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE) || wc->ex.invalidate_rkey != slot->mr->rkey) {
		fail(-EIO, "not invalidated");
		return;
	}
	done++;
	if (done == warm)
		start = ktime_get();
	if (done == warm + count) {
		ns = div_u64(ktime_to_ns(ktime_sub(ktime_get(), start)), count);
		complete(&over);
	}
	if (begun < warm + count) {
		post_receive(slot);
		post_registration(slot);
	}
}

static struct ib_qp *create_qp(void)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 2 * DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ib_create_qp(pd, &init);
}

static int set_path(struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(dev, 1, gid);

	if (IS_ERR(attr))
		return PTR_ERR(attr);
	ah->type = rdma_ah_find_type(dev, 1);
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, NULL, 0, gid, 64, 0);
	rdma_ah_set_dgid_raw(ah, (void *)attr->gid.raw);
	rdma_read_gid_l2_fields(attr, NULL, ah->roce.dmac);
	rdma_put_gid_attr(attr);
	return 0;
}

static int connect_qp(struct ib_qp *qp, struct ib_qp *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1, .path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp_num, .min_rnr_timer = 12, .timeout = 18,
		.retry_cnt = 7, .rnr_retry = 7,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = set_path(&attr.ah_attr);
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				   IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MIN_RNR_TIMER |
				   IB_QP_MAX_DEST_RD_ATOMIC);
	attr.qp_state = IB_QPS_RTS;
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
	return err;
}

static int open_device(void)
{
	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(dev, NULL, 8 * DEPTH, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	buf = kzalloc(size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	sg_init_one(&memory, buf, size);
	return ib_dma_map_sg(dev, &memory, 1, DMA_BIDIRECTIONAL) == 1 ? 0 : -EIO;
}

static int connect(void)
{
	int err;

	owner = create_qp();
	if (IS_ERR(owner))
		return PTR_ERR(owner);
	user = create_qp();
	if (IS_ERR(user))
		return PTR_ERR(user);
	err = connect_qp(owner, user);
	return err ? err : connect_qp(user, owner);
}

static int create_slots(void)
{
	struct slot *slot;

	for (slot = slots; slot < slots + DEPTH; slot++) {
		slot->registered.done = on_registered;
		slot->used.done = on_used;
		slot->invalidated.done = on_invalidated;
		slot->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(size, PAGE_SIZE));
		if (IS_ERR(slot->mr))
			return PTR_ERR(slot->mr);
	}
	return 0;
}

static int measure(void)
{
	int i;

	warm = count / 8 + DEPTH;
	local_bh_disable();	/* all are posted before the first one completes */
	for (i = 0; i < DEPTH; i++) {
		post_receive(&slots[i]);
		post_registration(&slots[i]);
	}
	local_bh_enable();
	return wait_for_completion_timeout(&over, PATIENCE) ? failure : -ETIMEDOUT;
}

/* The CQ is destroyed when no completion can come any more. */
static void tear_down(void)
{
	int i;

	if (!IS_ERR_OR_NULL(user))
		ib_drain_qp(user);
	if (!IS_ERR_OR_NULL(owner))
		ib_drain_qp(owner);
	if (!IS_ERR_OR_NULL(user))
		ib_destroy_qp(user);
	if (!IS_ERR_OR_NULL(owner))
		ib_destroy_qp(owner);
	for (i = 0; i < DEPTH; i++)
		if (!IS_ERR_OR_NULL(slots[i].mr))
			ib_dereg_mr(slots[i].mr);
	if (buf)
		ib_dma_unmap_sg(dev, &memory, 1, DMA_BIDIRECTIONAL);
	kfree(buf);
	if (!IS_ERR_OR_NULL(cq))
		ib_free_cq(cq);
	if (!IS_ERR_OR_NULL(pd))
		ib_dealloc_pd(pd);
}

/* Called for each device, which isn't removed meanwhile */
static int reg_cost_add(struct ib_device *ibdev)
{
	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	dev = ibdev;
	result = open_device();
	if (!result)
		result = connect();
	if (!result)
		result = create_slots();
	if (!result)
		result = measure();
	tear_down();
	return result;
}

static struct ib_client client = {
	.name = "reg_cost",
	.add = reg_cost_add,
};

static int __init reg_cost_init(void)
{
	int err = ib_register_client(&client);

	if (err)
		return err;
	ib_unregister_client(&client);
	return result;
}

static void __exit reg_cost_exit(void)
{
}

module_init(reg_cost_init);
module_exit(reg_cost_exit);
MODULE_DESCRIPTION("Cost of fast registration");
MODULE_LICENSE("GPL");
