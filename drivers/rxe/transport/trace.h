/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of congestion control: events/rxe/ in tracefs. While one is off, it costs a jump
 * that isn't taken.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rxe

#if !defined(RXE_TRANSPORT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RXE_TRANSPORT_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rxe/transport.h>

/* Packets with an ECN mark came; @told: the sender gets a CNP for them */
TRACE_EVENT(rxe_mark,
	    TP_PROTO(const struct rxe_qp *qp, u32 npkts, bool told),
	    TP_ARGS(qp, npkts, told),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(u32, npkts)
			     __field(bool, told)),
	    TP_fast_assign(strscpy(__entry->dev, qp->rxe->ibdev.name, IB_DEVICE_NAME_MAX);
			   __entry->qpn = rxe_qp_num(qp);
			   __entry->npkts = npkts;
			   __entry->told = told;),
	    TP_printk("%s qpn %u packets %u cnp %d",
		      __entry->dev, __entry->qpn, __entry->npkts, __entry->told));

/* A CNP came, or a packet with a BECN; @handled: it reached the algorithm */
TRACE_EVENT(rxe_cnp,
	    TP_PROTO(const struct rxe_qp *qp, bool handled),
	    TP_ARGS(qp, handled),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(bool, handled)),
	    TP_fast_assign(strscpy(__entry->dev, qp->rxe->ibdev.name, IB_DEVICE_NAME_MAX);
			   __entry->qpn = rxe_qp_num(qp);
			   __entry->handled = handled;),
	    TP_printk("%s qpn %u handled %d", __entry->dev, __entry->qpn, __entry->handled));

/* The allowance was @rate (bytes/s, 0: no limit) and @window (packets), and has changed */
DECLARE_EVENT_CLASS(rxe_allowance,
		    TP_PROTO(const struct rxe_qp *qp, u64 rate, u32 window),
		    TP_ARGS(qp, rate, window),
		    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
				     __field(u32, qpn)
				     __field(u32, window_from)
				     __field(u32, window)
				     __field(u64, rate_from)
				     __field(u64, rate)),
		    TP_fast_assign(strscpy(__entry->dev, qp->rxe->ibdev.name, IB_DEVICE_NAME_MAX);
				   __entry->qpn = rxe_qp_num(qp);
				   __entry->window_from = window;
				   __entry->window = qp->sq.cc.window;
				   __entry->rate_from = rate;
				   __entry->rate = qp->sq.cc.rate;),
		    TP_printk("%s qpn %u rate %llu to %llu B/s window %u to %u packets",
			      __entry->dev, __entry->qpn, __entry->rate_from, __entry->rate,
			      __entry->window_from, __entry->window));

DEFINE_EVENT(rxe_allowance, rxe_cut,
	     TP_PROTO(const struct rxe_qp *qp, u64 rate, u32 window),
	     TP_ARGS(qp, rate, window));

DEFINE_EVENT(rxe_allowance, rxe_increase,
	     TP_PROTO(const struct rxe_qp *qp, u64 rate, u32 window),
	     TP_ARGS(qp, rate, window));

#endif /* RXE_TRANSPORT_TRACE_H */

/* Found by -I of drivers/rxe (Kbuild), since the module isn't in the kernel's tree */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
