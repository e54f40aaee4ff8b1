/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that the test sends as the peer of an RC queue pair (fake.h), packets that the QP sends
 * back, and its completions. PSNs of requests to the QP are around FAKE_RQ_PSN, those of answers
 * to it around FAKE_SQ_PSN.
 */
#ifndef RXE_KUNIT_PEER_H
#define RXE_KUNIT_PEER_H

#include "fake.h"

/* A request that asks for an ACK. The second one has a RETH, or an AtomicETH */
void peer_request(struct kunit *test, u8 opcode, u32 psn, const void *data, u32 len);
void peer_rdma(struct kunit *test, u8 opcode, u32 psn, u32 off, u32 dma_len, const void *data,
	       u32 len);

/* The FETH of a FLUSH, and the access flags that the QP and the region need for it */
#define PEER_FETH(type, level)	((type) | (level) << RXE_FETH_LEVEL_SHIFT)
void peer_allow_flush(struct kunit *test, int qp, int key);

/*
 * Messages of one byte: functions that post a dozen receive work requests, send message @n, and
 * expect that exactly the messages @first to @last have arrived
 */
#define PEER_BYTE(n)	(u8)(0x40 + (n))
void peer_post_bytes(struct kunit *test);
void peer_byte(struct kunit *test, u32 n);
void peer_expect_bytes(struct kunit *test, u32 first, u32 last);

/* The next packet that the QP sent must be this answer */
void peer_expect_ack(struct kunit *test, u32 psn, u32 msn);
void peer_expect_nak(struct kunit *test, u32 psn, u8 syndrome);

/* An answer to the QP: an ACK, a NAK, or a response with data */
void peer_answer(struct kunit *test, u32 psn, u8 syndrome);
void peer_ack(struct kunit *test, u32 psn);
void peer_respond(struct kunit *test, u8 opcode, u32 psn, const void *data, u32 len);

/* A NAK for one lost packet, on a path without trains */
void peer_nak_alone(struct kunit *test, u32 psn);

/* Posts one SEND, and takes its packets */
void peer_take_send(struct kunit *test, u64 wr_id, u32 len);

/* The next completion of a send, or that there is none */
void peer_expect_done(struct kunit *test, u64 wr_id);
void peer_expect_failed(struct kunit *test, u64 wr_id, enum ib_wc_status status);
void peer_expect_not_done(struct kunit *test);

void peer_expect_counted(struct kunit *test, enum rxe_counter which, u64 times);

/* Losses that the QP has detected by a NAK, and by an answer behind a missing one */
void peer_expect_losses(struct kunit *test, u64 naks, u64 implied);

#endif /* RXE_KUNIT_PEER_H */
