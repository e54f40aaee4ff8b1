// SPDX-License-Identifier: GPL-2.0
/*
 * Counts completions with an error, by status. These functions are called before the
 * completion: a consumer that sees it finds it counted. Success costs nothing.
 *
 * Context: as for rxe_count() of a QP.
 */
#include <transport/common.h>

/**
 * rxe_count_send_error - count the completion of a send work request with an error
 * @qp: the QP
 * @status: enum ib_wc_status, but not success
 */
void rxe_count_send_error(struct rxe_qp *qp, u8 status)
{
	rxe_count(qp, SEND_WC_ERR);
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		rxe_count(qp, SEND_WC_FLUSH);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		rxe_count(qp, SEND_WC_INV_REQ);
		break;
	case IB_WC_REM_ACCESS_ERR:
		rxe_count(qp, SEND_WC_ACCESS);
		break;
	}
}

/**
 * rxe_count_recv_error - count the completion of a receive work request with an error
 * @qp: the QP
 * @status: enum ib_wc_status, but not success
 */
void rxe_count_recv_error(struct rxe_qp *qp, u8 status)
{
	rxe_count(qp, RECV_WC_ERR);
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		rxe_count(qp, RECV_WC_FLUSH);
		break;
	case IB_WC_LOC_LEN_ERR:
		rxe_count(qp, RECV_WC_LEN);
		break;
	}
}
