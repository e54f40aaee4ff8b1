// SPDX-License-Identifier: GPL-2.0
/*
 * Importing work requests. The process can change its ring at any time. Work requests are
 * therefore copied to memory that only the kernel can change.
 *
 * Each field is read once. Only the copy is checked and used. If the process writes
 * garbage, its own QP gets an error completion. Kernel consumers post struct
 * rxe_swqe, which is checked on posting.
 *
 * Context: bottom halves off; sq.lock for sends, recv_task for receives.
 */
#include <ring/opcode.h>
#include <rxe/constants.h>
#include <rxe/ring.h>
#include <rxe/wire.h>

static void import_ud(const struct rxe_send_wr *wr, struct rxe_swqe *wqe)
{
	wqe->remote_qpn = READ_ONCE(wr->wr.ud.remote_qpn) & RXE_QPN_MASK;
	wqe->remote_qkey = READ_ONCE(wr->wr.ud.remote_qkey);
	wqe->ah_num = READ_ONCE(wr->wr.ud.ah_num);
}

/* [A19.4.1]. The provider puts the length into struct rxe_dma_info, and 0 into @wr */
static void import_flush(const struct rxe_flush_wr *wr, struct rxe_swqe *wqe)
{
	u32 type = READ_ONCE(wr->type), level = READ_ONCE(wr->level);

	wqe->raddr = READ_ONCE(wr->remote_addr);
	wqe->rkey = READ_ONCE(wr->rkey);
	wqe->feth = (type & RXE_FETH_TYPE_MASK) |
		    (level & RXE_FETH_LEVEL_MASK) << RXE_FETH_LEVEL_SHIFT;
}

static void import_bind(const struct rxe_send_wr *wr, struct rxe_swqe *wqe)
{
	wqe->raddr = READ_ONCE(wr->wr.mw.addr);
	wqe->bind_len = READ_ONCE(wr->wr.mw.length);
	wqe->mr_lkey = READ_ONCE(wr->wr.mw.mr_lkey);
	wqe->rkey = READ_ONCE(wr->wr.mw.mw_rkey);
	wqe->new_rkey = READ_ONCE(wr->wr.mw.rkey);
	wqe->access = READ_ONCE(wr->wr.mw.access);
}

static void import_atomic(const struct rxe_send_wr *wr, struct rxe_swqe *wqe)
{
	wqe->raddr = READ_ONCE(wr->wr.atomic.remote_addr);
	wqe->rkey = READ_ONCE(wr->wr.atomic.rkey);
	rxe_wr_set_operands(wqe, READ_ONCE(wr->wr.atomic.compare_add),
			    READ_ONCE(wr->wr.atomic.swap));
}

/* Return: false if this kind isn't known here. A SEND doesn't use raddr and rkey */
static bool import_rc(const struct rxe_send_wr *wr, struct rxe_swqe *wqe)
{
	if (rxe_wr_type(wqe)->inv) {
		wqe->rkey = (__force u32)wqe->imm;	/* a union in struct rxe_send_wr */
		return true;
	}
	switch (rxe_wr_type(wqe)->kind) {
	case RXE_WR_DATA:
	case RXE_WR_READ:
	case RXE_WR_ATOMIC_WRITE:
		wqe->raddr = READ_ONCE(wr->wr.rdma.remote_addr);
		wqe->rkey = READ_ONCE(wr->wr.rdma.rkey);
		return true;
	case RXE_WR_ATOMIC:
		import_atomic(wr, wqe);
		return true;
	case RXE_WR_FLUSH:
		import_flush((const struct rxe_flush_wr *)&wr->wr, wqe);
		return true;
	case RXE_WR_LOCAL:
		import_bind(wr, wqe);
		return wqe->opcode == IB_WR_BIND_MW;
	default:
		return false;
	}
}

/* Return: as import_rc() */
static bool import_params(const struct rxe_wr_rules *rules, const struct rxe_send_wr *wr,
			  struct rxe_swqe *wqe)
{
	if (!rules->datagram)
		return import_rc(wr, wqe);
	import_ud(wr, wqe);
	return true;
}

/* Copy the SGEs. Return: the copy's total length */
static u64 import_sges(const struct rxe_wr_rules *rules,
		       const struct rxe_sge *src, struct rxe_swqe *wqe)
{
	u32 i, num = min(wqe->num_sge, rules->max_sge);
	u64 length = 0;

	for (i = 0; i < num; i++) {
		wqe->sge[i].addr = READ_ONCE(src[i].addr);
		wqe->sge[i].length = READ_ONCE(src[i].length);
		wqe->sge[i].lkey = READ_ONCE(src[i].lkey);
		length += wqe->sge[i].length;
	}
	return length;
}

/* Return: bytes of payload */
static u64 import_data(const struct rxe_wr_rules *rules,
		       const struct rxe_dma_info *dma, struct rxe_swqe *wqe)
{
	u8 kind = rxe_wr_type(wqe)->kind;
	u64 length;

	if (kind == RXE_WR_ATOMIC_WRITE)
		wqe->flags |= IB_SEND_INLINE;	/* implied by the provider */
	if (kind == RXE_WR_FLUSH || kind == RXE_WR_LOCAL) {
		if (kind == RXE_WR_FLUSH)
			wqe->flush_len = READ_ONCE(dma->length);
		wqe->num_sge = 0;
		return 0;
	}
	if (!(wqe->flags & IB_SEND_INLINE))
		return import_sges(rules, dma->sge, wqe);
	wqe->num_sge = 0;	/* ignore the process's number */
	length = READ_ONCE(dma->length);
	memcpy(wqe->data, dma->inline_data,
	       min_t(u64, length, rules->max_inline));
	return length;
}

/**
 * rxe_import_flushed - copy only the fields that a completion needs
 * @elem: struct rxe_send_wqe in shared memory, not imported before
 * @wqe: the copy
 */
void rxe_import_flushed(const void *elem, struct rxe_swqe *wqe)
{
	const struct rxe_send_wqe *shared = elem;

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = READ_ONCE(shared->wr.wr_id);
	wqe->opcode = rxe_wr_opcode(READ_ONCE(shared->wr.opcode));
}

/**
 * rxe_import_send - copy and check a user's send work request
 * @rules: of the queue
 * @elem: struct rxe_send_wqe in shared memory
 * @wqe: the copy; its @status says whether it may be sent. For a datagram, only the
 *	number of the address handle is set: the caller looks it up
 *
 * If the kind of work request isn't offered, only the fields for its completion are valid.
 */
void rxe_import_send(const struct rxe_wr_rules *rules, const void *elem,
		     struct rxe_swqe *wqe)
{
	const struct rxe_send_wqe *shared = elem;
	const struct rxe_send_wr *wr = &shared->wr;
	u32 opcode = READ_ONCE(wr->opcode);
	u32 flags = READ_ONCE(wr->send_flags);
	u32 num_sge = READ_ONCE(shared->dma.num_sge);

	wqe->wr_id = READ_ONCE(wr->wr_id);
	wqe->opcode = rxe_wr_opcode(opcode);
	wqe->flags = flags & RXE_WR_DATA_FLAGS;
	wqe->imm = READ_ONCE(wr->ex.imm_data);
	wqe->num_sge = min_t(u32, num_sge, RXE_MAX_SGE + 1);
	wqe->started = false;
	wqe->ah = NULL;
	if (!rxe_wr_offered(rules, opcode, flags) || !import_params(rules, wr, wqe)) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		wqe->length = 0;
		return;
	}
	wqe->status = rxe_wr_check(rules, wqe, import_data(rules, &shared->dma, wqe));
}

/**
 * rxe_import_recv - copy and check a receive work request
 * @max_sge: SGEs that it may have
 * @elem: struct rxe_recv_wqe in shared memory
 * @wqe: out: the copy. A work request with more SGEs is corrupt: its copy has no SGE and room
 *	for 0 bytes
 */
void rxe_import_recv(u32 max_sge, const void *elem, struct rxe_rwqe *wqe)
{
	const struct rxe_recv_wqe *shared = elem;
	u32 num = READ_ONCE(shared->dma.num_sge), i;

	wqe->wr_id = READ_ONCE(shared->wr_id);
	wqe->num_sge = num <= max_sge ? num : 0;
	wqe->length = 0;
	wqe->valid = true;
	for (i = 0; i < wqe->num_sge; i++) {
		wqe->sge[i].addr = READ_ONCE(shared->dma.sge[i].addr);
		wqe->sge[i].length = READ_ONCE(shared->dma.sge[i].length);
		wqe->sge[i].lkey = READ_ONCE(shared->dma.sge[i].lkey);
		wqe->length += wqe->sge[i].length;
	}
}
