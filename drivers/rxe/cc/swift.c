// SPDX-License-Identifier: GPL-2.0
/*
 * Swift: the window follows the round trip time. Switches need no ECN.
 *
 * Theory (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in
 * the Datacenter", SIGCOMM 2020). The target is the round trip of the empty path plus a
 * short queue. With many flows, each window is small, and a fair share needs a longer
 * queue:
 *
 *   target	rtt_min + swift_target_ns +
 *		min(swift_flows_ns / sqrt(cwnd), swift_flows_ns)
 *		rtt_min counts up to swift_path_ns. A flow that begins while there is a
 *		queue measures the queue, too, and would aim higher than the others. The
 *		administrator may set swift_path_ns to the round trip of the network. In the
 *		paper, the whole target is configured.
 *   below it	cwnd += swift_ai / 1024 per round trip, if the window kept packets back
 *   above it	cwnd *= 1 - swift_beta / 1024 * (rtt - target) / rtt
 *   loss	cwnd *= 1 - swift_mdf / 1024
 *   timeout	cwnd = 1
 *
 * A decrease is at most by swift_mdf, except on a timeout. Decreases happen at most once
 * per round trip. A cwnd below 1 is a rate: one packet per rtt / cwnd. READ responses have no
 * round trips that could raise it again, so they don't obey it (transport/read.c).
 *
 * The paper takes a sample from each acknowledgment, and divides an increase by the window.
 * This driver times one packet per round trip, and doesn't divide.
 *
 * Context: as struct rxe_cc_ops.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>

#define CWND_BITS	16			/* fraction of cwnd */
#define ONE		BIT_ULL(CWND_BITS)	/* a cwnd of one packet */

/* Set cwnd within its bounds, and derive the allowance from it */
static void set_window(struct rxe_cc *cc, u64 cwnd)
{
	struct rxe_swift *s = &cc->swift;

	s->cwnd = clamp(cwnd, ONE / RXE_CWND_PARTS, rxe_knob(window_max) << CWND_BITS);
	cc->window = max(s->cwnd >> CWND_BITS, 1ULL);
	if (s->cwnd >= ONE || !s->rtt) {
		cc->rate = 0;
		cc->next = 0;
		return;
	}
	cc->rate = max(div64_u64((s->cwnd * s->mtu >> CWND_BITS) * NSEC_PER_SEC, s->rtt), 1ULL);
}

static void swift_init(struct rxe_cc *cc)
{
	set_window(cc, rxe_knob(window_first) << CWND_BITS);
}

static u64 get_target_ns(const struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	u64 most = rxe_knob(swift_flows_ns);
	u32 root = int_sqrt(cc->swift.cwnd);	/* of packets, in units of 2^-8 */

	return min(s->rtt_min, rxe_knob(swift_path_ns)) + rxe_knob(swift_target_ns) +
	       min(most, div64_u64(most << (CWND_BITS / 2), root));
}

static u64 decrease_cwnd(u64 cwnd, u64 part)
{
	return cwnd - (cwnd * min(part, rxe_knob(swift_mdf)) >> 10);
}

static void swift_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una)
{
	u64 target = get_target_ns(cc, s), cwnd = cc->swift.cwnd;

	cc->swift.rtt = min(s->rtt, rxe_knob(rto_max_ns));	/* a longer one was a stall */
	cc->swift.mtu = s->mtu;
	if (!rxe_cc_is_in_recovery(cc, una))
		cc->cut = false;
	else if (!cc->restart)
		return;
	if (s->rtt > target)
		cwnd = decrease_cwnd(cwnd, div64_u64(rxe_knob(swift_beta) *
						     (s->rtt - target), s->rtt));
	else if (s->limited || cwnd < ONE)
		cwnd += rxe_knob(swift_ai) << (CWND_BITS - 10);
	set_window(cc, cwnd);
}

static void reduce_cwnd(struct rxe_cc *cc, u32 top, u64 cwnd)
{
	/* After several timeouts, keep the cwnd from before the first one */
	cc->swift.before = max(cc->swift.cwnd, cc->cut ? cc->swift.before : 0);
	cc->recover = top;
	cc->cut = true;
	set_window(cc, cwnd);
}

static void swift_lost(struct rxe_cc *cc, u32 una, u32 top)
{
	if (rxe_cc_is_in_recovery(cc, una))
		return;
	cc->restart = false;
	reduce_cwnd(cc, top, decrease_cwnd(cc->swift.cwnd, 1024));
}

static void swift_timeout(struct rxe_cc *cc, u32 top)
{
	cc->restart = true;
	reduce_cwnd(cc, top, ONE);
}

static void swift_undo(struct rxe_cc *cc)
{
	if (cc->cut)
		set_window(cc, max(cc->swift.cwnd, cc->swift.before));
	cc->cut = false;
}

const struct rxe_cc_ops rxe_cc_swift = {
	.name		= "swift",
	.init		= swift_init,
	.acked		= swift_acked,
	.lost		= swift_lost,
	.timeout	= swift_timeout,
	.undo		= swift_undo,
};
