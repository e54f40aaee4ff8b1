// SPDX-License-Identifier: GPL-2.0
/*
 * Loss recovery and congestion control (loss/, cc/) of a connection, on a path with any
 * behaviour. An input is some knobs, a timeout, a retry limit, an algorithm, and then
 * events: time passes, packets are sent and acknowledged, the timer fires, NAKs and
 * CNPs come, answers come twice.
 *
 * - A verdict names an action. To resend means one packet at least, and no more than the facts
 *   allow.
 * - A connection fails only when its retries are used up.
 * - The timer is always armed, unless the QP has no timeout and waits for ever.
 * - A window is 1 to window_max packets. The patience for a gap is reorder_ns to reorder_max_ns.
 * - A sender with a rate may send something from cc.next on.
 */
#include <cc/cc.h>
#include <cc/np.h>
#include <config/config.h>
#include <loss/firsts.h>
#include <loss/gap.h>
#include <loss/recovery.h>
#include "fuzz.h"

/* Later than any machine's uptime: 250 years, in ns */
#define TIME_MOST	(31557600ULL * 250 * NSEC_PER_SEC)

struct conn {
	struct rxe_recovery rec;
	struct rxe_rtt rtt;
	struct rxe_retry_limit limit;
	struct rxe_firsts firsts;
	struct rxe_gap gap;
	struct rxe_cc cc;
	struct rxe_np np;
	u32 una, next;
	u64 now;
};

void copy_shared(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

/* Takes a number up to @most. All orders of magnitude are equally likely */
static u64 take_number(struct input *in, u64 most)
{
	u64 v = (u64)take_u32(in) << 32 | take_u32(in);

	v >>= take_u8(in) % 64;
	return v > most ? most : v;
}

static void take_knobs(struct input *in)
{
	const struct rxe_knob_row *row;
	u32 n = take_u8(in) % 8;
	int i;

	for (i = 0; i < RXE_NUM_KNOBS; i++)
		CHECK(!rxe_knob_set(i, rxe_knob_rows[i].value));
	while (n--) {
		i = take_u8(in) % RXE_NUM_KNOBS;
		row = &rxe_knob_rows[i];
		CHECK(!rxe_knob_set(i, row->least + take_number(in, row->most - row->least)));
	}
}

static void take_conn(struct input *in, struct conn *c)
{
	memset(c, 0, sizeof(*c));
	c->una = take_u32(in) & RXE_PSN_MASK;
	c->next = c->una;
	c->now = 1 + take_number(in, NSEC_PER_SEC);
	c->limit.retry_cnt = take_u8(in) % 8;
	if (take_u8(in) & 1)
		c->limit.timeout = 4096ULL << take_u8(in) % 32;	/* section 9.7.6.1.3 */
	rxe_recovery_reset(&c->rec, c->una);
	rxe_gap_reset(&c->gap);
	rxe_cc_reset(&c->cc, rxe_cc_rows[take_u8(in) % 3]);
	rxe_recovery_wait_anew(&c->rec, c->now);
}

static u32 count_in_flight(const struct conn *c)
{
	return rxe_psn_diff(c->next, c->una);
}

static void check_conn(const struct conn *c)
{
	u64 wait = rxe_recovery_wait_ns(&c->rec, &c->rtt, &c->limit, c->now);

	CHECK(c->cc.window >= 1 && c->cc.window <= rxe_knob(window_max));
	CHECK(!c->limit.timeout || wait);
	CHECK(c->gap.patience >= min(rxe_knob(reorder_ns), rxe_knob(reorder_max_ns)) &&
	      c->gap.patience <= max(rxe_knob(reorder_ns), rxe_knob(reorder_max_ns)));
	CHECK(c->rec.retries <= c->limit.retry_cnt + 1);
	if (c->cc.rate && (u64)c->now >= c->cc.next)
		CHECK(rxe_pacer_room(&c->cc, c->now) > 0);
}

static void send_packets(struct input *in, struct conn *c)
{
	u32 n = take_u8(in) + 1;

	if (count_in_flight(c) + n > c->cc.window)
		return;
	if (c->cc.rate && !rxe_pacer_room(&c->cc, c->now))
		return;
	if (!count_in_flight(c))
		rxe_recovery_wait_anew(&c->rec, c->now);
	if (c->cc.rate)
		rxe_pacer_sent(&c->cc, n * 1024, c->now);
	c->next = rxe_psn_add(c->next, n);
}

static void acknowledge_packets(struct input *in, struct conn *c)
{
	struct rxe_cc_sample sample = { .mtu = 256 << take_u8(in) % 5 };
	u32 n = count_in_flight(c);

	if (!n)
		return;
	n = 1 + take_u8(in) % n;
	c->una = rxe_psn_add(c->una, n);
	rxe_recovery_note_progress(&c->rec, c->una);
	if (rxe_recovery_answered(&c->rec, &c->rtt, c->una, c->now))
		c->cc.ops->undo(&c->cc);
	rxe_recovery_wait_anew(&c->rec, c->now);
	sample.rtt = 1 + take_number(in, TIME_MOST);
	rxe_rtt_add(&c->rtt, sample.rtt, c->now);
	sample.delivered = n;
	sample.rtt_min = c->rtt.min;
	sample.rtt_var = c->rtt.var;
	sample.limited = take_u8(in) & 1;
	sample.fetch = take_u8(in) & 1;
	sample.at = c->now;
	sample.lossy = rxe_recovery_is_lossy(&c->rec, c->now);
	c->cc.ops->acked(&c->cc, &sample, c->una);
}

static void follow_verdict(struct conn *c, struct rxe_loss_verdict verdict,
			   const struct rxe_loss_facts *facts)
{
	u32 most = max(max(facts->rest, facts->burst), facts->missing);

	switch (verdict.act) {
	case RXE_LOSS_WAIT:
		return;
	case RXE_LOSS_FAIL:
		CHECK(c->rec.retries > c->limit.retry_cnt);
		memset(&c->rec, 0, sizeof(c->rec));
		rxe_recovery_reset(&c->rec, c->una);
		return;
	case RXE_LOSS_RESEND:
		CHECK(verdict.npkts >= 1 && verdict.npkts <= most);
		rxe_recovery_resent(&c->rec, c->una, rxe_psn_add(c->una, verdict.npkts), c->now,
				    c->now);
		break;
	case RXE_LOSS_REWIND:
		rxe_recovery_resent(&c->rec, c->una, c->next, c->now, c->now);
		break;
	default:
		CHECK(0);
	}
	rxe_firsts_again(&c->firsts, c->una, count_in_flight(c));
	if (verdict.timeout)
		c->cc.ops->timeout(&c->cc, c->next);
	else
		c->cc.ops->lost(&c->cc, c->una, c->next);
}

static void lose_packets(struct input *in, struct conn *c)
{
	struct rxe_loss_facts facts = { .una = c->una, .drained = take_u8(in) };
	enum rxe_loss_hint hint = take_u8(in) % (RXE_LOSS_SILENCE + 1);
	u32 n = count_in_flight(c), times = hint == RXE_LOSS_SILENCE ? take_u8(in) : 1;
	struct rxe_loss_verdict verdict;

	if (!n)
		return;
	facts.rest = 1 + take_u8(in) % n;
	facts.burst = 1 + take_u8(in) % 64;
	facts.missing = 1 + take_u8(in) % n;
	if (hint == RXE_LOSS_GAP)
		rxe_recovery_note_heard(&c->rec, rxe_psn_add(c->una, facts.missing));
	facts.rd_atomic = take_u8(in) & 1;
	if (take_u8(in) & 1)
		facts.queued = take_u8(in);
	while (times--) {
		verdict = rxe_recovery_event(&c->rec, &c->rtt, &c->limit, &facts, hint, c->now);
		follow_verdict(c, verdict, &facts);
		check_conn(c);
	}
}

static void learn_gap(struct input *in, struct conn *c)
{
	u32 psn = rxe_psn_add(c->una, take_u8(in));

	if (rxe_gap_until(&c->gap, psn, c->now) <= c->now)
		rxe_gap_asked(&c->gap);
	if (take_u8(in) & 1)
		rxe_gap_late(&c->gap, psn);
}

/* READs of the peer, and marks on its responses */
static void take_read(struct input *in, struct conn *c)
{
	const struct rxe_cc_ops *ops = c->cc.ops;
	u64 from = c->now - take_number(in, c->now);

	switch (take_u8(in) % 3) {
	case 0:
		if (c->cc.rate && ops->asked)
			ops->asked(&c->cc, c->now);
		break;
	case 1:
		if (c->cc.rate && ops->turned)
			ops->turned(&c->cc, from, c->now, take_u8(in) & 1);
		break;
	case 2:
		if (ops->marked && count_in_flight(c))
			ops->marked(&c->cc, c->una, c->next, c->now);
		break;
	}
}

static void take_event(struct input *in, struct conn *c)
{
	switch (take_u8(in) % 9) {
	case 0:
		c->now += take_number(in, TIME_MOST - c->now);
		break;
	case 1:
		send_packets(in, c);
		break;
	case 2:
		acknowledge_packets(in, c);
		break;
	case 3:
		lose_packets(in, c);
		break;
	case 4:
		if (c->cc.ops->cnp)
			c->cc.ops->cnp(&c->cc, c->now);
		break;
	case 5:
		if (rxe_recovery_doubled(&c->rec, &c->rtt, c->una, take_u8(in) & 1, c->now))
			c->cc.ops->undo(&c->cc);
		break;
	case 6:
		rxe_recovery_suspect(&c->rec, c->now);
		break;
	case 7:
		learn_gap(in, c);
		rxe_np_due(&c->np, take_u8(in), c->now);
		rxe_firsts_new(&c->firsts, c->una, count_in_flight(c));
		break;
	case 8:
		take_read(in, c);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct conn c;

	take_knobs(&in);
	take_conn(&in, &c);
	while (in.left) {
		take_event(&in, &c);
		check_conn(&c);
	}
	return 0;
}
