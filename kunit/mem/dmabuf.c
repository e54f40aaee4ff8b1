// SPDX-License-Identifier: GPL-2.0
/*
 * mem/dmabuf.c: a region on a dma-buf whose exporter moves it. The exporter is the test's own. It
 * has two places for the buffer, and fills the place that the buffer left with a pattern. The
 * test thus sees bytes that are written to or read from the old place.
 */
#include <linux/dma-mapping.h>
#include <linux/fdtable.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>
#include <compat/dmabuf.h>
#include <mem/odp.h>
#include <rxe/odp.h>
#include "../peer.h"
#include "../util.h"

#define ORDER	2u
#define BYTES	((u32)PAGE_SIZE << ORDER)
#define OFFSET	1000u			/* offset of the region in the buffer */
#define LENGTH	(BYTES - 2 * OFFSET)
#define IOVA	0x7000000000ull
#define ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		 IB_ACCESS_REMOTE_ATOMIC)
#define LEFT	0xee			/* contents of the place that the buffer has left */
#define RQ_PSN(n)	rxe_psn_add(FAKE_RQ_PSN, n)
#define SQ_PSN(n)	rxe_psn_add(FAKE_SQ_PSN, n)
#define SECONDS		(5 * HZ)

/**
 * struct exporter - the buffer and its exporter
 * @buf: the buffer; the exporter has one reference
 * @page: the two places
 * @at: the place where the buffer is
 * @pins: pins: none by the driver. A kernel without CONFIG_DMABUF_MOVE_NOTIFY adds one for each
 *	mapping for DMA; the buffer moves nevertheless
 * @maps: mappings for DMA
 * @vmaps: mappings for the CPU
 * @begun: accesses by the CPU that have begun and not ended
 * @refuse: mappings fail with this error
 * @iomem: mappings for the CPU say that the memory isn't RAM
 * @moves: the exporter moves the buffer when it maps it for the CPU
 * @slow: at the next mapping, the contents come later: when the importer waits for them
 * @fence: for the contents
 * @lock: of @fence
 * @asked: the importer waits for @fence
 * @work: signals @fence
 * @released: the last reference to @buf is gone
 */
struct exporter {
	struct dma_buf		*buf;
	struct page		*page[2];
	u32			at;
	int			pins;
	int			maps;
	int			vmaps;
	int			begun;
	int			refuse;
	bool			iomem;
	bool			moves;
	bool			slow;
	struct dma_fence	fence;
	spinlock_t		lock;	/* fence */
	bool			asked;
	struct work_struct	work;
	struct completion	released;
};

static struct exporter ex;
static struct ib_mr *mr;

static u8 *place(u32 at)
{
	return page_address(ex.page[at]);
}

/* Return: a byte of the region, at the present place of the buffer */
static u8 *seen(u32 off)
{
	return place(ex.at) + OFFSET + off;
}

static const char *get_name(struct dma_fence *fence)
{
	return "kunit";
}

static bool ask(struct dma_fence *fence)
{
	WRITE_ONCE(ex.asked, true);
	schedule_work(&ex.work);
	return true;
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name	= get_name,
	.get_timeline_name	= get_name,
	.enable_signaling	= ask,
};

static void finish_move(struct work_struct *work)
{
	rnd_fill(place(ex.at), BYTES, 7);
	dma_fence_signal(&ex.fence);
}

static int pin(struct dma_buf_attachment *attach)
{
	ex.pins++;
	return 0;
}

static void unpin(struct dma_buf_attachment *attach)
{
	ex.pins--;
}

static struct sg_table *map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	/* Unmapping gives nothing back: the CPU has written */
	bool ok = !ex.refuse && dir == DMA_TO_DEVICE;
	struct sg_table *sgt = ok ? kzalloc(sizeof(*sgt), GFP_KERNEL) : NULL;

	if (!sgt)
		return ERR_PTR(ex.refuse ?: -ENOMEM);
	if (sg_alloc_table(sgt, 1, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	sg_set_page(sgt->sgl, ex.page[ex.at], BYTES, 0);
	if (dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC)) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(-EIO);
	}
	if (ex.slow && !dma_resv_reserve_fences(ex.buf->resv, 1))
		dma_resv_add_fence(ex.buf->resv, &ex.fence, DMA_RESV_USAGE_KERNEL);
	ex.slow = false;
	ex.maps++;
	return sgt;
}

static void unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		  enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
	ex.maps--;
}

static int vmap_buf(struct dma_buf *buf, struct iosys_map *map)
{
	if (ex.moves)
		rxe_dma_buf_will_move(ex.buf);	/* to a place that is the same */
	if (ex.iomem)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)place(ex.at));
	else
		iosys_map_set_vaddr(map, place(ex.at));
	ex.vmaps++;
	return 0;
}

static void vunmap_buf(struct dma_buf *buf, struct iosys_map *map)
{
	ex.vmaps--;
}

static int begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	ex.begun++;
	return 0;
}

static int end(struct dma_buf *buf, enum dma_data_direction dir)
{
	ex.begun--;
	return 0;
}

static void release(struct dma_buf *buf)
{
	complete(&ex.released);
}

static const struct dma_buf_ops movable = {
	.pin = pin, .unpin = unpin, .map_dma_buf = map, .unmap_dma_buf = unmap,
	.vmap = vmap_buf, .vunmap = vunmap_buf, .begin_cpu_access = begin,
	.end_cpu_access = end, .release = release,
};

static const struct dma_buf_ops fixed = {
	.map_dma_buf = map, .unmap_dma_buf = unmap, .vmap = vmap_buf, .vunmap = vunmap_buf,
	.begin_cpu_access = begin, .end_cpu_access = end, .release = release,
};

static void export(struct kunit *test, const struct dma_buf_ops *ops)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	init_completion(&ex.released);
	info.ops = ops;
	info.size = BYTES;
	info.flags = O_RDWR;
	info.priv = &ex;
	ex.buf = dma_buf_export(&info);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ex.buf));
}

/* Drop the exporter's reference. If it is the last one, the buffer is freed */
static void unexport(struct kunit *test)
{
	dma_buf_put(ex.buf);
	ex.buf = NULL;
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&ex.released, SECONDS), 0ul);
}

static struct ib_mr *reg(struct kunit *test, u64 offset, u64 length)
{
	struct ib_mr *ibmr;
	int fd;

	get_dma_buf(ex.buf);
	fd = dma_buf_fd(ex.buf, O_CLOEXEC);
	KUNIT_ASSERT_GE(test, fd, 0);
	ibmr = rxe_reg_dmabuf_mr(&fake(test)->pd, offset, length, IOVA, fd, ACCESS);
	close_fd(fd);
	return ibmr;
}

static void expect_used(struct kunit *test, int maps, int begun)
{
	KUNIT_EXPECT_TRUE(test, !ex.pins || ex.pins == maps);
	KUNIT_EXPECT_EQ(test, ex.maps, maps);
	KUNIT_EXPECT_EQ(test, ex.vmaps, maps);
	KUNIT_EXPECT_EQ(test, ex.begun, begun);
}

/* Map the region. The buffer has random contents */
static int start(struct kunit *test)
{
	u32 i;

	memset(&ex, 0, sizeof(ex));
	spin_lock_init(&ex.lock);
	INIT_WORK(&ex.work, finish_move);
	mr = NULL;
	fake_init(test);
	/* as device.c does it */
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(&fake(test)->rxe->ibdev.dev,
							   DMA_BIT_MASK(64)), 0);
	for (i = 0; i < 2; i++) {
		ex.page[i] = alloc_pages(GFP_KERNEL, ORDER);
		KUNIT_ASSERT_NOT_NULL(test, ex.page[i]);
		memset(place(i), LEFT, BYTES);
	}
	rnd_fill(place(0), BYTES, 1);
	export(test, &movable);
	mr = reg(test, OFFSET, LENGTH);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	expect_used(test, 1, 1);
	return 0;
}

static void deregister(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(mr))
		KUNIT_EXPECT_EQ(test, rxe_dereg_mr(mr, NULL), 0);
	mr = NULL;
	expect_used(test, 0, 0);
}

static void stop(struct kunit *test)
{
	u32 i;

	deregister(test);
	if (!IS_ERR_OR_NULL(ex.buf))
		unexport(test);
	fake_exit(test);
	for (i = 0; i < 2; i++) {
		if (!ex.page[i])
			continue;
		if (i != ex.at)	/* nothing was written to the place that was left */
			KUNIT_EXPECT_NULL(test, memchr_inv(place(i), LEFT, BYTES));
		__free_pages(ex.page[i], ORDER);
	}
}

/* Move the buffer to its other place. After the notification, the importer has no mapping */
static void move(struct kunit *test)
{
	dma_resv_lock(ex.buf->resv, NULL);
	rxe_dma_buf_will_move(ex.buf);
	KUNIT_EXPECT_EQ(test, ex.maps, 0);
	KUNIT_EXPECT_EQ(test, ex.vmaps, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(place(!ex.at), LEFT, BYTES));
	memcpy(place(!ex.at), place(ex.at), BYTES);
	memset(place(ex.at), LEFT, BYTES);
	ex.at = !ex.at;
	dma_resv_unlock(ex.buf->resv);
}

static void request(struct kunit *test, u8 opcode, u32 psn, u32 dma_len, const void *data,
		    u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode, .psn = psn, .ack_req = true, .va = IOVA, .rkey = mr->rkey,
		.dma_len = dma_len, .swap_add = 5,
	};

	fake_inject(test, &pkt, data, len);
}

static void expect_ack(struct kunit *test, u32 psn, u8 type)
{
	struct rxe_pkt pkt;

	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	KUNIT_ASSERT_EQ(test, (u32)pkt.opcode, (u32)IB_OPCODE_RC_ACKNOWLEDGE);
	KUNIT_ASSERT_EQ(test, pkt.psn, psn & RXE_PSN_MASK);
	KUNIT_ASSERT_EQ(test, (u32)(pkt.syndrome & RXE_AETH_TYPE_MASK), (u32)type);
}

/* Expect the response to a READ of @len bytes, from @psn on */
static void expect_read(struct kunit *test, u32 psn, u32 len, const u8 *data)
{
	u8 payload[FAKE_MTU];
	struct rxe_pkt pkt;
	u32 done;

	for (done = 0; done < len; done += pkt.payload_len, psn++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, payload));
		KUNIT_ASSERT_EQ(test, pkt.psn, psn & RXE_PSN_MASK);
		KUNIT_ASSERT_GT(test, pkt.payload_len, 0u);
		KUNIT_ASSERT_LE(test, done + pkt.payload_len, len);
		KUNIT_EXPECT_MEMEQ(test, payload, data + done, pkt.payload_len);
	}
}

/* A WRITE waits for the pages, and lands at the new place */
static void written(struct kunit *test)
{
	u8 data[200];
	u32 i;

	for (i = 0; i < 4; i++) {
		rnd_fill(data, sizeof(data), 100 + i);
		request(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, RQ_PSN(i), sizeof(data), data,
			sizeof(data));
		expect_ack(test, RQ_PSN(i), RXE_AETH_ACK);
		KUNIT_EXPECT_MEMEQ(test, seen(0), data, sizeof(data));
		expect_used(test, 1, 1);
		move(test);
		KUNIT_EXPECT_EQ(test, ex.maps, 0);
	}
}

/* The buffer moves during a WRITE of several packets, which goes on at the new place */
static void written_half(struct kunit *test)
{
	u8 data[2 * FAKE_MTU];

	rnd_fill(data, sizeof(data), 100);
	request(test, IB_OPCODE_RC_RDMA_WRITE_FIRST, RQ_PSN(0), sizeof(data), data, FAKE_MTU);
	expect_ack(test, RQ_PSN(0), RXE_AETH_ACK);
	move(test);
	request(test, IB_OPCODE_RC_RDMA_WRITE_LAST, RQ_PSN(1), 0, data + FAKE_MTU, FAKE_MTU);
	expect_ack(test, RQ_PSN(1), RXE_AETH_ACK);
	KUNIT_EXPECT_MEMEQ(test, seen(0), data, sizeof(data));
}

/* A READ and its duplicate get the bytes from the present place of the buffer */
static void read(struct kunit *test)
{
	u8 data[600];
	u32 i;

	rnd_fill(data, sizeof(data), 200);
	memcpy(seen(0), data, sizeof(data));
	for (i = 0; i < 3; i++) {
		move(test);
		request(test, IB_OPCODE_RC_RDMA_READ_REQUEST, RQ_PSN(0), sizeof(data), NULL, 0);
		expect_read(test, RQ_PSN(0), sizeof(data), data);
	}
	expect_used(test, 1, 1);
}

/* An atomic is executed once, at the new place */
static void atomic(struct kunit *test)
{
	u64 value = 1000;
	struct rxe_pkt pkt;
	u32 i;

	memcpy(seen(0), &value, sizeof(value));
	for (i = 0; i < 2; i++) {
		move(test);
		request(test, IB_OPCODE_RC_FETCH_ADD, RQ_PSN(0), 0, NULL, 0);
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
		KUNIT_EXPECT_EQ(test, (u32)pkt.opcode, (u32)IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE);
		KUNIT_EXPECT_EQ(test, pkt.atomic_orig, 1000ull);
	}
	memcpy(&value, seen(0), sizeof(value));
	KUNIT_EXPECT_EQ(test, value, 1005ull);
}

static void post_local(struct kunit *test, enum ib_wr_opcode opcode, u32 len)
{
	struct ib_sge sge = { .addr = IOVA, .length = len, .lkey = mr->lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = opcode, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1 },
		.remote_addr = 0x10000, .rkey = 0x1234,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(test, rxe_post_send(&fake(test)->qp->ibqp, &wr.wr, &bad), 0);
}

/* The QP sends data from the new place, also when it sends again */
static void sent(struct kunit *test)
{
	u8 data[200], payload[FAKE_MTU];
	struct rxe_pkt pkt;
	u32 i;

	rnd_fill(data, sizeof(data), 300);
	memcpy(seen(0), data, sizeof(data));
	move(test);
	post_local(test, IB_WR_RDMA_WRITE, sizeof(data));
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, payload));
		KUNIT_EXPECT_EQ(test, pkt.psn, SQ_PSN(0));
		KUNIT_EXPECT_MEMEQ(test, payload, data, sizeof(data));
		move(test);
		if (!i)
			peer_nak_alone(test, SQ_PSN(0));
	}
	peer_ack(test, SQ_PSN(0));
	peer_expect_done(test, 1);
}

/* The response to a READ is written to the present place of the buffer */
static void received(struct kunit *test)
{
	struct rxe_pkt pkt;
	struct ib_wc wc;
	u8 data[200];

	rnd_fill(data, sizeof(data), 400);
	post_local(test, IB_WR_RDMA_READ, sizeof(data));
	KUNIT_ASSERT_TRUE(test, fake_wait(test, &pkt, NULL));
	move(test);
	peer_respond(test, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, pkt.psn, data, sizeof(data));
	KUNIT_ASSERT_TRUE(test, fake_wait_completion(test, fake(test)->scq, &wc));
	KUNIT_EXPECT_EQ(test, (u32)wc.status, (u32)IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, seen(0), data, sizeof(data));
}

/* The contents come after the mapping: nothing is read before */
static void waits(struct kunit *test)
{
	dma_fence_init(&ex.fence, &fence_ops, &ex.lock, dma_fence_context_alloc(1), 1);
	move(test);
	ex.slow = true;
	request(test, IB_OPCODE_RC_RDMA_READ_REQUEST, RQ_PSN(0), 100, NULL, 0);
	expect_read(test, RQ_PSN(0), 100, seen(0));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(ex.asked));
	flush_work(&ex.work);
}

/* If the buffer can't be mapped again, that is an access error. All mappings are given back */
static void lost(struct kunit *test)
{
	u8 data[8] = {};

	move(test);
	ex.refuse = -ENODEV;
	request(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, RQ_PSN(0), sizeof(data), data, sizeof(data));
	expect_ack(test, RQ_PSN(0), RXE_AETH_NAK);
	KUNIT_EXPECT_EQ(test, (u32)fake_state(test), (u32)IB_QPS_ERR);
	expect_used(test, 0, 1);
}

/* The buffer has moved to memory that isn't RAM */
static void lost_ram(struct kunit *test)
{
	u8 data[8] = {};

	move(test);
	ex.iomem = true;
	request(test, IB_OPCODE_RC_RDMA_WRITE_ONLY, RQ_PSN(0), sizeof(data), data, sizeof(data));
	expect_ack(test, RQ_PSN(0), RXE_AETH_NAK);
	expect_used(test, 0, 1);
}

/* If the buffer can't be mapped, the registration is refused */
static void refused(struct kunit *test)
{
	deregister(test);
	ex.iomem = true;
	KUNIT_EXPECT_PTR_EQ(test, reg(test, OFFSET, LENGTH), ERR_PTR(-EOPNOTSUPP));
	expect_used(test, 0, 0);
	ex.iomem = false;
	ex.moves = true;
	KUNIT_EXPECT_PTR_EQ(test, reg(test, OFFSET, LENGTH), ERR_PTR(-EOPNOTSUPP));
	expect_used(test, 0, 0);
	ex.moves = false;
	ex.refuse = -ENODEV;
	KUNIT_EXPECT_PTR_EQ(test, reg(test, OFFSET, LENGTH), ERR_PTR(-ENODEV));
	expect_used(test, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, reg(test, OFFSET, BYTES), ERR_PTR(-EINVAL));
	expect_used(test, 0, 0);
}

/* The region is freed while the buffer isn't mapped. Later moves have no effect on it */
static void ends(struct kunit *test)
{
	move(test);
	deregister(test);
	move(test);
	unexport(test);
}

/* The whole buffer: the first and the last byte of the last page are present */
static void whole(struct kunit *test)
{
	struct rxe_mr *rmr;

	deregister(test);
	mr = reg(test, 0, BYTES);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	rmr = to_rxe_mr(mr);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(rmr->region.odp, 0, BYTES, true), BYTES);
	move(test);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(rmr->region.odp, 0, BYTES, false), 0);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(rmr->region.odp, BYTES - 1, 1, false), 0);
}

static int advise(struct kunit *test, u32 flags, u32 length)
{
	struct ib_sge sge = { .addr = IOVA, .length = length, .lkey = mr->lkey };

	return rxe_advise_mr(&fake(test)->pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, flags,
			     &sge, 1, NULL);
}

/* A prefetch maps the buffer again after a move, and does nothing if it hasn't moved */
static void prefetched(struct kunit *test)
{
	move(test);
	KUNIT_EXPECT_EQ(test, advise(test, 0, LENGTH), 0);
	expect_used(test, 1, 1);
	move(test);
	KUNIT_EXPECT_EQ(test, advise(test, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, 1), 0);
	expect_used(test, 1, 1);
	KUNIT_EXPECT_EQ(test, advise(test, 0, LENGTH + 1), -EFAULT);
	deregister(test);
	unexport(test);
	export(test, &fixed);
	mr = reg(test, OFFSET, LENGTH);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_FALSE(test, to_rxe_mr(mr)->key.paged);
	KUNIT_EXPECT_EQ(test, ex.vmaps, 1);
	KUNIT_EXPECT_EQ(test, advise(test, 0, LENGTH), -EINVAL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(written),
	KUNIT_CASE(written_half),
	KUNIT_CASE(read),
	KUNIT_CASE(atomic),
	KUNIT_CASE(sent),
	KUNIT_CASE(received),
	KUNIT_CASE(waits),
	KUNIT_CASE(lost),
	KUNIT_CASE(lost_ram),
	KUNIT_CASE(refused),
	KUNIT_CASE(ends),
	KUNIT_CASE(whole),
	KUNIT_CASE(prefetched),
	{}
};

static struct kunit_suite suite = {
	.name		= "mem-dmabuf",
	.init		= start,
	.exit		= stop,
	.test_cases	= cases,
};

kunit_test_suite(suite);
