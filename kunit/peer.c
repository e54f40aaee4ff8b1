// SPDX-License-Identifier: GPL-2.0
/*
 * See peer.h. This file has no test cases.
 */
#include "peer.h"

void peer_request(struct kunit *test, u8 opcode, u32 psn, const void *data, u32 len)
{
	struct rxe_pkt pkt = { .opcode = opcode, .psn = psn, .ack_req = true };

	fake_inject(test, &pkt, data, len);
}

void peer_rdma(struct kunit *test, u8 opcode, u32 psn, u32 off, u32 dma_len, const void *data,
	       u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.ack_req = true,
		.va = fake_addr(test, off),
		.rkey = fake(test)->mr->rkey,
		.dma_len = dma_len,
	};

	fake_inject(test, &pkt, data, len);
}

void peer_allow_flush(struct kunit *test, int qp, int key)
{
	fake(test)->qp->attr.qp_access_flags |= qp;
	to_rxe_mr(fake(test)->mr)->key.access |= key;
}

void peer_post_bytes(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 12; i++)
		fake_post_recv(test, i, i, 1);
}

void peer_byte(struct kunit *test, u32 n)
{
	u8 byte = PEER_BYTE(n);

	peer_request(test, IB_OPCODE_RC_SEND_ONLY, rxe_psn_add(FAKE_RQ_PSN, n), &byte, 1);
}

void peer_expect_bytes(struct kunit *test, u32 first, u32 last)
{
	for (; first <= last; first++) {
		fake_completion(test, fake(test)->rcq, first, IB_WC_SUCCESS, NULL);
		KUNIT_EXPECT_EQ(test, fake(test)->mem[first], PEER_BYTE(first));
	}
	fake_no_completion(test, fake(test)->rcq);
}

/* No ACK limits the sends of the other side [table 50] */
void peer_expect_ack(struct kunit *test, u32 psn, u32 msn)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.syndrome, RXE_AETH_ACK | RXE_AETH_CREDITS_NONE);
	KUNIT_ASSERT_EQ(test, pkt.msn, msn);
}

void peer_expect_nak(struct kunit *test, u32 psn, u8 syndrome)
{
	struct rxe_pkt pkt;

	fake_expect(test, IB_OPCODE_RC_ACKNOWLEDGE, psn, &pkt);
	KUNIT_ASSERT_EQ(test, pkt.syndrome, syndrome);
}

void peer_answer(struct kunit *test, u32 psn, u8 syndrome)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = psn,
		.syndrome = syndrome,
	};

	fake_inject(test, &pkt, NULL, 0);
}

void peer_ack(struct kunit *test, u32 psn)
{
	peer_answer(test, psn, RXE_AETH_ACK | RXE_AETH_CREDITS_NONE);
}

void peer_respond(struct kunit *test, u8 opcode, u32 psn, const void *data, u32 len)
{
	struct rxe_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.syndrome = RXE_AETH_ACK | RXE_AETH_CREDITS_NONE,
	};

	fake_inject(test, &pkt, data, len);
}

void peer_nak_alone(struct kunit *test, u32 psn)
{
	WRITE_ONCE(fake(test)->qp->sq.sender.out.train.alone, true);
	peer_answer(test, psn, RXE_NAK_PSN_SEQ);
}

void peer_take_send(struct kunit *test, u64 wr_id, u32 len)
{
	struct rxe_pkt pkt;
	u32 i;

	fake_send(test, wr_id, 0, len);
	for (i = 0; i < rxe_count_pkts(len, FAKE_MTU); i++)
		KUNIT_ASSERT_TRUE(test, fake_take(test, &pkt, NULL));
	fake_expect_nothing(test);
}

void peer_expect_done(struct kunit *test, u64 wr_id)
{
	fake_completion(test, fake(test)->scq, wr_id, IB_WC_SUCCESS, NULL);
}

void peer_expect_failed(struct kunit *test, u64 wr_id, enum ib_wc_status status)
{
	fake_completion(test, fake(test)->scq, wr_id, status, NULL);
}

void peer_expect_not_done(struct kunit *test)
{
	fake_no_completion(test, fake(test)->scq);
}

void peer_expect_counted(struct kunit *test, enum rxe_counter which, u64 times)
{
	KUNIT_EXPECT_EQ_MSG(test, fake_counter(test, which), times, "counter %u", which);
}

void peer_expect_losses(struct kunit *test, u64 naks, u64 implied)
{
	peer_expect_counted(test, RXE_CNT_NAK_SEQ, naks);
	peer_expect_counted(test, RXE_CNT_IMPLIED_NAK, implied);
	peer_expect_counted(test, RXE_CNT_RCVD_SEQ_ERR, naks + implied);
}
