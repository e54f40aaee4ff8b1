/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of verbs_err: the device, a pair of queue pairs, checks that end a case, and
 * the list of cases.
 */
#ifndef VERBS_ERR_H
#define VERBS_ERR_H

#include "verbs_case.h"

#define BUF_LEN		(64 << 10)
#define DEPTH		64

/* Side a is at place[0], side b at place[1]: the same device, or another one behind a wire */
extern struct ibv_device_attr dev;		/* of side a */
extern struct ibv_port_attr port;
extern bool hold_pairs;			/* until stdin ends: others look at them */

#define REFUSED(obj, ...) do { \
	CHECK(!(obj), "accepted " __VA_ARGS__); \
	CHECK(errno, "no errno for " __VA_ARGS__); } while (0)

#define W IBV_WR_RDMA_WRITE
#define R IBV_WR_RDMA_READ
#define A IBV_WR_ATOMIC_FETCH_AND_ADD
#define REM_ACC IBV_WC_REM_ACCESS_ERR
#define ADDR(p, off) ((uintptr_t)(p)->dst + (off))

/* Two connected RC queue pairs, a buffer and an MR on each side. */
struct pair {
	struct ibv_pd *pd, *pd2;	/* of side a; no queue pair is in pd2 */
	struct ibv_pd *pd_b, *pd2_b;	/* of side b; the same ones on one device */
	struct ibv_comp_channel *chan, *chan_b;
	struct ibv_cq *ca, *cb;
	struct ibv_qp *a, *b;
	struct rc_attr ra, rb;
	uint8_t *src, *dst;
	struct ibv_mr *src_mr, *dst_mr;
};

struct pair *pair_make(void);
struct pair *pair_make_of(enum ibv_qp_type type);
void pair_connect(struct pair *p);
struct pair *pair_up(void);
bool pair_free(struct pair *p);

struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type);
int qp_to_sqd(struct ibv_qp *qp);
bool wait_event(enum ibv_event_type type, int ms);
bool expect_qp_event(struct ibv_qp *qp, enum ibv_event_type want);
bool wait_cq_event(struct pair *p, int ms);

struct ibv_sge sge_of(const void *p, uint32_t len, uint32_t lkey);
struct ibv_send_wr wr_of(enum ibv_wr_opcode op, struct ibv_sge *sge, int n);
struct ibv_send_wr remote_wr(enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t addr,
			     uint32_t rkey);
int post_one(struct ibv_qp *qp, struct ibv_send_wr *wr);
void post_n(struct pair *p, int first, int n, bool signalled);
int recv_one(struct ibv_qp *qp, uint64_t id, void *buf, uint32_t len, uint32_t lkey);

bool expect_status(struct ibv_cq *cq, enum ibv_wc_status want, enum ibv_wc_status or);
bool expect_flush(struct ibv_cq *cq, uint64_t first, int n);
bool refused_or(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
		uint32_t rkey, enum ibv_wc_status want, enum ibv_wc_status or);
bool refused(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey,
	     enum ibv_wc_status want);

/* In the order in which they run: "read_depth_1" is c_read_depth_1(), called read-depth-1 */
#define CASES(X) \
	X(write_bad_rkey) X(read_bad_rkey) X(atomic_bad_rkey) X(write_stale_rkey) \
	X(write_deregistered) X(write_no_access) X(read_no_access) X(atomic_no_access) \
	X(write_qp_no_access) X(read_qp_no_access) X(atomic_qp_no_access) X(write_one_past) \
	X(write_one_past_long) X(read_one_past) X(write_one_before) X(atomic_past) \
	X(write_wraps) X(read_wraps) X(write_other_pd) X(read_other_pd) X(atomic_other_pd) \
	X(atomic_unaligned) X(responder_event) X(write_zero) X(read_zero) X(send_bad_lkey) \
	X(write_bad_lkey) X(send_lkey_past) X(send_other_pd) X(read_into_readonly) \
	X(atomic_into_readonly) X(recv_too_long) X(recv_too_long_multi) X(recv_bad_lkey) \
	X(recv_readonly) X(recv_exact_fit) X(rnr_0) X(rnr_3) X(rnr_write_imm) X(rnr_7) \
	X(dead_peer_7) X(dead_peer_0) X(dead_peer_read) X(dead_peer_no_timer) X(peer_in_init) \
	X(wrong_source_qp) X(mtu_mismatch) X(uc_bad_rkey) X(flush_sends) \
	X(flush_unsignalled) X(flush_recvs) \
	X(flush_posted_in_error) X(flush_after_error) X(reset_and_reuse) X(sqd_drain) \
	X(sqd_idle) X(sqd_new_address) X(switched_off_between) X(switched_on_between) X(cq_full) \
	X(cq_overrun_ignored) X(cq_timestamps) X(notify_moderated) X(notify_solicited) X(notify_once) X(notify_error) X(read_depth_1) X(read_depth_1_of_16) \
	X(read_depth_16) X(read_depth_fence) X(read_depth_most) X(ud_send) X(ud_reply) X(ud_wrong_qkey) \
	X(ud_controlled_qkey) X(ud_oversize) X(ud_full_mtu) X(ud_no_recv) X(ud_bad_opcode) \
	X(ah_bad_gid_index) X(ah_no_grh) X(modify_transitions) X(modify_missing_attr) \
	X(modify_bad_values) X(modify_bad_port) X(modify_cur_state) X(query_qp) \
	X(post_before_rts) X(limit_qp) X(limit_cq) X(limit_mr) X(limit_post) X(limit_wrs) X(limit_sges) \
	X(limit_sges_read) X(limit_inline) X(limit_msg) X(limit_cqe) X(limit_mr_size) X(busy_objects) \
	X(rereg_mr) X(post_refused_forgotten) X(post_sqd_kept) X(write_imm_bad_rkey) \
	X(inline_read) X(inline_atomic) X(flags_unknown) X(flags_harmless) X(flush_recv_late) \
	X(flush_recv_notify) X(flush_many) X(resize_load) X(rereg_load) X(rereg_load_move) X(rereg_pd) \
	X(mr_empty) X(mr_empty_one_past) X(mr_empty_rereg) \
	X(mr_zero_based) X(mr_zero_based_one_past) X(mr_zero_based_by_va) X(mr_zero_based_lkey) \
	X(mr_zero_based_rereg) X(mr_huge_pages) \
	X(mw_type1) X(mw_type2) X(mw_one_before) X(mw_one_past) X(mw_no_access) X(mw_unbound) \
	X(mw_zero_based) X(mw_anew) X(mw_unbind) X(mw_dealloc_bound) X(mw_other_qp) \
	X(mw_type2_twice) X(mw_bind_no_right) X(mw_bind_no_write) X(mw_bind_past) \
	X(mw_bind_other_pd) X(mw_invalidate) X(mw_invalidate_type1) X(mw_invalidate_mr) \
	X(mw_invalidate_remote) X(mw_invalidate_remote_mr) X(mw_invalidate_remote_stale) \
	X(mw_as_lkey) X(mw_bind_flushed) X(mw_bind_ud) X(mw_rounds) \
	X(mw_rounds_type1) X(mw_limit) \
	X(uc_mw_type1) X(uc_mw_type2) X(uc_mw_twice) X(uc_mw_no_write) X(uc_mw_other_qp) \
	X(uc_send_inv)

#define DECLARE(n) bool c_ ## n(void);
CASES(DECLARE)
#undef DECLARE

#endif
