// SPDX-License-Identifier: GPL-2.0
/*
 * Swift: the window follows the round trip time. No switch needs to mark anything.
 *
 * Theory (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in
 * the Datacenter", SIGCOMM 2020). Round trips should take the target, the path's own time
 * and a little queue:
 *
 *   target	rtt_min + swift_target_ns + swift_flows_ns / sqrt(cwnd), the last one at most
 *		swift_flows_ns: many flows have small windows, and need more queue to share it
 *		The path's time is measured. A flow that comes to a queue that stands takes
 *		it for the path, aims higher, and starves those who know better. So
 *		rtt_min counts up to swift_path_ns, which the administrator may set to what
 *		the network takes; in the paper the whole target is configured.
 *   below it	cwnd += swift_ai / 1024 packets a round trip, if the window kept packets back
 *   above it	cwnd *= 1 - swift_beta / 1024 * (rtt - target) / rtt
 *   loss	cwnd *= 1 - swift_mdf / 1024; a timeout: the least
 *
 * A decrease is never more than by swift_mdf, and each happens once in a round trip. A
 * cwnd below one packet is a rate: a packet in rtt / cwnd. The measurements are those of
 * one packet in a round trip, so they needn't be divided by the window as in the paper,
 * where each acknowledgment is one.
 *
 * Pure; the caller has the lock.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>
#include <rxe/psn.h>

#define CWND_BITS	16
#define ONE		BIT_ULL(CWND_BITS)
#define CWND_LEAST	(ONE >> 8)

/* The allowance that cwnd means */
static void set_window(struct rxe_cc *cc, u64 cwnd)
{
	struct rxe_swift *s = &cc->swift;

	s->cwnd = clamp(cwnd, CWND_LEAST, rxe_knob(window_max) << CWND_BITS);
	cc->window = max_t(u32, s->cwnd >> CWND_BITS, 1);
	if (s->cwnd >= ONE || !s->rtt) {
		cc->rate = 0;
		return;
	}
	cc->rate = max(div64_u64((s->cwnd * s->mtu >> CWND_BITS) * NSEC_PER_SEC, s->rtt), 1ULL);
}

static void swift_init(struct rxe_cc *cc)
{
	set_window(cc, rxe_knob(window_first) << CWND_BITS);
}

static u64 target_ns(const struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	u64 most = rxe_knob(swift_flows_ns);
	u32 root = int_sqrt(cc->swift.cwnd);	/* of packets, in units of 2^-8 */

	return min(s->rtt_min, rxe_knob(swift_path_ns)) + rxe_knob(swift_target_ns) +
	       min(most, div_u64(most << (CWND_BITS / 2), root));
}

static u64 decreased(u64 cwnd, u64 part)
{
	return cwnd - (cwnd * min(part, rxe_knob(swift_mdf)) >> 10);
}

/* Is @una still among the packets that were in flight at the last loss? */
static bool in_recovery(const struct rxe_cc *cc, u32 una)
{
	return cc->cut && rxe_psn_diff(una, cc->recover) < 0;
}

static void swift_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una)
{
	u64 target = target_ns(cc, s), cwnd = cc->swift.cwnd;

	cc->swift.rtt = s->rtt;
	cc->swift.mtu = s->mtu;
	if (in_recovery(cc, una) && !cc->restart)
		return;
	cc->cut = false;
	if (s->rtt > target)
		cwnd = decreased(cwnd, div64_u64(rxe_knob(swift_beta) * (s->rtt - target), s->rtt));
	else if (s->limited || cwnd < ONE)
		cwnd += rxe_knob(swift_ai) << (CWND_BITS - 10);
	set_window(cc, cwnd);
}

static void reduce(struct rxe_cc *cc, u32 top, u64 cwnd)
{
	cc->swift.before = cc->swift.cwnd;
	cc->recover = top;
	cc->cut = true;
	set_window(cc, cwnd);
}

static void swift_lost(struct rxe_cc *cc, u32 una, u32 top)
{
	if (in_recovery(cc, una))
		return;
	cc->restart = false;
	reduce(cc, top, decreased(cc->swift.cwnd, 1024));
}

static void swift_timeout(struct rxe_cc *cc, u32 top)
{
	cc->restart = true;
	reduce(cc, top, ONE);
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
