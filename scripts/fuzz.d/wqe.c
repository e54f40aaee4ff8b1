// SPDX-License-Identifier: GPL-2.0
/*
 * The code that reads rings: <rxe/ring.h> and ring/wqe.c. A process can change its rings at any
 * time. An input is the limits of a QP, what the process writes to an index between two reads of
 * it, and a work request.
 *
 * - Whatever the indices are, elements lie within the ring.
 * - Only READ_ONCE() and memcpy() read a work request. They read each byte once at most, and
 *   none after its end. Any other access hits poisoned memory.
 * - The copy has what was read. If it may be sent or received, it is within all limits.
 */
#include <sanitizer/asan_interface.h>
#include <rxe/constants.h>
#include <rxe/ring.h>
#include <rxe/service.h>
#include <rxe/wire.h>
#include <rxe/wr.h>
#include "fuzz.h"

static const u32 max_msg_rc = RXE_MAX_MSG;

/*
 * Memory that a process shares: @mem is poisoned, @bytes has its contents, and @seen tells which
 * bytes have been read
 */
static struct shared {
	u8 *mem;
	u8 *bytes;
	u8 *seen;
	size_t len;
} shared;

static struct input indices;

static void share_bytes(struct input *in, size_t len)
{
	shared.bytes = alloc_exact(NULL, len);
	take_bytes(in, shared.bytes, len);
	shared.mem = alloc_exact(NULL, len);
	shared.seen = calloc(len, 1);
	shared.len = len;
	CHECK(shared.seen);
	__asan_poison_memory_region(shared.mem, len);
}

static void unshare_bytes(void)
{
	__asan_unpoison_memory_region(shared.mem, shared.len);
	free(shared.mem);
	free(shared.bytes);
	free(shared.seen);
	memset(&shared, 0, sizeof(shared));
}

void copy_shared(void *dst, const void *src, size_t len)
{
	size_t off = (const u8 *)src - shared.mem, i;

	if (!shared.mem || (const u8 *)src < shared.mem || off >= shared.len) {
		memcpy(dst, src, len);
		return;
	}
	CHECK(len <= shared.len - off);
	for (i = off; i < off + len; i++) {
		CHECK(!shared.seen[i]);		/* read for the first time */
		shared.seen[i] = 1;
	}
	memcpy(dst, shared.bytes + off, len);
}

/* The process changes the index between two reads */
u32 read_shared_index(const u32 *index)
{
	*(u32 *)index += take_u32(&indices);
	return *index;
}

static void check_elem(const struct rxe_ring *ring, const void *elem)
{
	size_t off = (const u8 *)elem - ring->buf->data;

	CHECK((const u8 *)elem >= ring->buf->data);
	CHECK(off >> ring->shift <= ring->mask);
	CHECK(!(off & (BIT(ring->shift) - 1)));
}

static void fuzz_ring(struct input *in)
{
	struct rxe_ring ring = {
		.mask = BIT(take_u8(in) % 6 + 1) - 1,
		.shift = take_u8(in) % 4 + 3,
	};
	const void *elem;
	u32 i, pending;

	ring.index = take_u8(in) & ring.mask;
	ring.buf = calloc(1, sizeof(*ring.buf) +
			  (size_t)(ring.mask + 1) * (1 << ring.shift));
	CHECK(ring.buf);
	take_bytes(in, &ring.buf->producer_index, 4);
	take_bytes(in, &ring.buf->consumer_index, 4);
	for (i = 0; i < 8; i++) {
		elem = rxe_ring_get_head(&ring);
		if (elem) {
			check_elem(&ring, elem);
			i & 1 ? rxe_ring_pop(&ring) : rxe_ring_advance(&ring);
		}
		pending = rxe_ring_count_pending(&ring);
		CHECK(pending <= rxe_ring_get_capacity(&ring));
		if (pending)
			check_elem(&ring, rxe_ring_peek(&ring, pending - 1));
		elem = rxe_ring_get_space(&ring);
		if (elem) {
			check_elem(&ring, elem);
			rxe_ring_advance(&ring);
			rxe_ring_publish(&ring);
		}
		rxe_ring_release(&ring, ring.index - pending);
		CHECK(ring.index <= ring.mask);
	}
	free(ring.buf);
}

static const struct rxe_send_wqe *get_posted(void)
{
	return (const struct rxe_send_wqe *)shared.bytes;
}

/* Return: bytes of all SGEs */
static u64 check_sges(const struct ib_sge *sge, const struct rxe_dma_info *dma, u32 num)
{
	struct rxe_sge want;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < num; i++) {
		memcpy(&want, (const u8 *)dma->sge + i * sizeof(want),
		       sizeof(want));
		CHECK(sge[i].addr == want.addr && sge[i].lkey == want.lkey);
		CHECK(sge[i].length == want.length);
		sum += sge[i].length;
	}
	return sum;
}

/* The SGEs of an atomic may have room for more than its 8 bytes */
static void check_length(const struct rxe_swqe *wqe, u64 sum)
{
	if (rxe_wr_type(wqe)->kind == RXE_WR_ATOMIC)
		CHECK(wqe->length == sizeof(u64) && sum >= sizeof(u64));
	else
		CHECK(wqe->length == sum);
}

static void check_operands(const struct rxe_swqe *wqe, const struct rxe_send_wr *wr)
{
	if (wqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		CHECK(wqe->swap_add == wr->wr.atomic.compare_add);
	} else {
		CHECK(wqe->compare == wr->wr.atomic.compare_add);
		CHECK(wqe->swap_add == wr->wr.atomic.swap);
	}
}

static void check_flush(const struct rxe_swqe *wqe)
{
	const struct rxe_flush_wr *wr = (const void *)&get_posted()->wr.wr;

	CHECK(wqe->raddr == wr->remote_addr && wqe->rkey == wr->rkey);
	CHECK(wqe->flush_len == get_posted()->dma.length);
	CHECK(wqe->feth == ((wr->type & 0xf) | (wr->level & 0x3) << 4));
}

static void check_bind(const struct rxe_swqe *wqe)
{
	const struct rxe_send_wr *wr = &get_posted()->wr;

	CHECK(wqe->raddr == wr->wr.mw.addr && wqe->bind_len == wr->wr.mw.length);
	CHECK(wqe->mr_lkey == wr->wr.mw.mr_lkey && wqe->rkey == wr->wr.mw.mw_rkey);
	CHECK(wqe->new_rkey == wr->wr.mw.rkey && wqe->access == (int)wr->wr.mw.access);
}

static void check_remote(const struct rxe_wr_rules *rules, const struct rxe_swqe *wqe)
{
	const struct rxe_send_wr *wr = &get_posted()->wr;

	if (rules->datagram) {
		CHECK(wqe->ah_num == wr->wr.ud.ah_num);
		CHECK(wqe->remote_qpn == (wr->wr.ud.remote_qpn & 0xffffff));
		CHECK(wqe->remote_qkey == wr->wr.ud.remote_qkey);
	} else if (rxe_wr_type(wqe)->kind == RXE_WR_ATOMIC) {
		CHECK(wqe->length == sizeof(u64));
		CHECK(wqe->raddr == wr->wr.atomic.remote_addr);
		CHECK(wqe->rkey == wr->wr.atomic.rkey);
		check_operands(wqe, wr);
	} else if (wqe->opcode == IB_WR_FLUSH) {
		check_flush(wqe);
	} else if (wqe->opcode == IB_WR_BIND_MW) {
		check_bind(wqe);
	} else if (wqe->opcode == IB_WR_LOCAL_INV || wqe->opcode == IB_WR_SEND_WITH_INV) {
		CHECK(wqe->rkey == wr->ex.invalidate_rkey);
	} else {
		CHECK(wqe->raddr == wr->wr.rdma.remote_addr);
		CHECK(wqe->rkey == wr->wr.rdma.rkey);
	}
}

/* May this service send it? Section 10.8.2.1 */
static bool is_allowed(const struct rxe_wr_rules *rules, u8 opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		return true;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_LOCAL_INV:
	case IB_WR_BIND_MW:
		return !rules->datagram;
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_FLUSH:
	case IB_WR_ATOMIC_WRITE:
	case IB_WR_SEND_WITH_INV:
		return rules->services & RXE_WR_FOR_RC;
	default:
		return false;
	}
}

static void check_sendable(const struct rxe_wr_rules *rules, const struct rxe_swqe *wqe)
{
	const struct rxe_dma_info *dma = &get_posted()->dma;

	CHECK(wqe->opcode == get_posted()->wr.opcode && is_allowed(rules, wqe->opcode));
	CHECK(wqe->wr_id == get_posted()->wr.wr_id);
	CHECK(wqe->imm == get_posted()->wr.ex.imm_data);
	CHECK(!(get_posted()->wr.send_flags & ~0xf));	/* only known flags */
	CHECK(wqe->length <= *rules->max_msg);
	CHECK(rxe_wr_type(wqe)->kind != RXE_WR_ATOMIC_WRITE || wqe->length == sizeof(u64));
	check_remote(rules, wqe);
	if (wqe->opcode == IB_WR_FLUSH || rxe_is_local(wqe)) {
		CHECK(!(wqe->flags & IB_SEND_INLINE));
		CHECK(!wqe->length && !wqe->num_sge);
	} else if (wqe->flags & IB_SEND_INLINE) {
		CHECK(!rxe_is_rd_atomic(wqe) || wqe->opcode == IB_WR_ATOMIC_WRITE);
		CHECK(wqe->length <= rules->max_inline && !wqe->num_sge);
		CHECK(!memcmp(wqe->data, dma->inline_data, wqe->length));
	} else {
		CHECK(wqe->num_sge == dma->num_sge);
		CHECK(wqe->num_sge <= rules->max_sge);
		check_length(wqe, check_sges(wqe->sge, dma, wqe->num_sge));
	}
}

static void fuzz_send(const struct rxe_wr_rules *rules, struct input *in)
{
	size_t data = rules->max_sge * sizeof(struct ib_sge);
	struct rxe_swqe *wqe;

	if (data < rules->max_inline)
		data = rules->max_inline;
	wqe = alloc_exact(NULL, sizeof(*wqe) + data);
	memset(wqe, 0xa5, sizeof(*wqe) + data);
	share_bytes(in, sizeof(struct rxe_send_wqe) + data);
	rxe_import_send(rules, shared.mem, wqe);
	CHECK(!wqe->ah);
	CHECK(!wqe->started);
	if (wqe->status == IB_WC_SUCCESS)
		check_sendable(rules, wqe);
	else
		CHECK(wqe->status == IB_WC_LOC_QP_OP_ERR ||
		      wqe->status == IB_WC_LOC_LEN_ERR);
	CHECK(wqe->opcode <= RXE_WR_NONE);
	unshare_bytes();
	free(wqe);
}

static void fuzz_flushed(struct input *in)
{
	struct rxe_swqe wqe;

	memset(&wqe, 0xa5, sizeof(wqe));
	share_bytes(in, sizeof(struct rxe_send_wqe));
	rxe_import_flushed(shared.mem, &wqe);
	CHECK(wqe.opcode <= RXE_WR_NONE && !wqe.ah);
	unshare_bytes();
}

static void fuzz_recv(u32 max_sge, struct input *in)
{
	size_t sges = max_sge * sizeof(struct ib_sge);
	struct rxe_rwqe wqe = { .sge = alloc_exact(NULL, sges) };
	const struct rxe_recv_wqe *elem;
	bool good;

	share_bytes(in, sizeof(struct rxe_recv_wqe) + sges);
	elem = (const void *)shared.bytes;
	good = elem->dma.num_sge <= max_sge;
	rxe_import_recv(max_sge, shared.mem, &wqe);
	CHECK(wqe.wr_id == elem->wr_id && wqe.valid);
	CHECK(wqe.num_sge == (good ? elem->dma.num_sge : 0));
	CHECK(check_sges(wqe.sge, &elem->dma, wqe.num_sge) == wqe.length);
	unshare_bytes();
	free_exact(wqe.sge, sges);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 how = take_u8(&in), sges = take_u8(&in) % (RXE_MAX_SGE + 1);
	u32 mtu = 256 << how % 5;
	struct rxe_wr_rules rules = {
		.services = how & 0x40 ? RXE_WR_FOR_UD :
			    (how & 0x08 ? RXE_WR_FOR_UC : RXE_WR_FOR_RC) | RXE_WR_FOR_PROCESS,
		.datagram = how & 0x40,
		.max_sge = sges,
		.max_inline = take_u8(&in) * 4 % (RXE_MAX_INLINE + 1),
		.max_msg = how & 0x40 ? &mtu : &max_msg_rc,
	};

	indices = in;
	if (how & 0x80)
		fuzz_ring(&in);
	else if (how & 0x10)
		fuzz_flushed(&in);
	else if (how & 0x20)
		fuzz_recv(sges, &in);
	else
		fuzz_send(&rules, &in);
	return 0;
}
