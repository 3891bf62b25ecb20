/* SPDX-License-Identifier: MIT */
/* The requester's timers and budgets (IBTA 9.7.6, 9.7.5.2.8). Timeouts, NAKs of a sequence error
 * and missing responses spend retry_cnt. RNR NAKs spend rnr_retry, where 7 means no limit. */
#include "emu/rc/requester_retry.h"

#include <assert.h>

#include "emu/host.h"
#include "emu/min.h"
#include "emu/qp.h"
#include "net/wire/packet.h"

#define RNR_RETRY_INFINITE 7
#define RNR_UNIT_NS	   10000ull

/* A round trip within a host takes less than PROBE_MIN_NS, unless the peer's processor is busy. So
 * early probes are sent only while packets are being lost: otherwise most are in vain and wake a
 * thread that competes with the poller. */
#define PROBE_MIN_NS	100000u
#define LOSSY_PERIOD_NS 100000000u
/* The first probe of requests without AckReq comes this many times later: it asks for an ACK that
 * no program waits for, and the next request with AckReq makes it needless. */
#define UNASKED_FACTOR 4u

uint64_t rc_timeout_ns(uint8_t code)
{
	return code ? 4096ull << code : RXE_NEVER;
}

/* Powers of two, and between two of them one and a half times the lower. */
uint64_t rc_rnr_timer_ns(uint8_t code)
{
	unsigned n = code & 31 ? code & 31u : 32;

	if (n == 1)
		return RNR_UNIT_NS;
	return RNR_UNIT_NS * (n & 1 ? 3ull << (n - 3) / 2 : 1ull << n / 2);
}

void rc_retry_reset(struct rc_retry *retry)
{
	*retry = (struct rc_retry){
		.deadline_ns = RXE_NEVER,
		.probe_ns = RXE_NEVER,
		.rnr_until_ns = RXE_NEVER,
		.deferred_until_ns = RXE_NEVER,
	};
}

void rc_retry_lost(struct rc_retry *retry, uint64_t now_ns)
{
	retry->lossy_until_ns = now_ns + LOSSY_PERIOD_NS;
}

void rc_retry_update_probe_timeout(struct rc_retry *retry, const struct rc_rtt *rtt,
				   uint64_t now_ns)
{
	uint64_t max_ns = retry->probe_max_ns;
	bool lossy = now_ns < retry->lossy_until_ns && max_ns > PROBE_MIN_NS;

	retry->probe_after_ns = lossy ? rc_rtt_timeout_ns(rtt, PROBE_MIN_NS, max_ns) : max_ns;
}

static void stop_timer(struct rc_retry *retry)
{
	retry->deadline_ns = RXE_NEVER;
	retry->probe_ns = RXE_NEVER;
}

void rc_retry_restart(struct rc_retry *retry)
{
	retry->retries = 0;
	retry->rewound = false;
	stop_timer(retry);
}

static void plan_probe(struct rc_retry *retry, const struct rxe_qp_attr *attr, uint64_t now_ns)
{
	uint64_t wait_ns = retry->probe_wait_ns;

	/* A probe just before the timeout gains nothing. */
	if (wait_ns && wait_ns <= rc_timeout_ns(attr->timeout) / 2)
		retry->probe_ns = now_ns + wait_ns;
	else
		retry->probe_ns = RXE_NEVER;
	retry->probe_wait_ns = 2 * wait_ns;
}

static void start_timer(struct rc_retry *retry, const struct rxe_qp_attr *attr, uint64_t now_ns)
{
	const uint64_t timeout_ns = rc_timeout_ns(attr->timeout);

	retry->deadline_ns = attr->timeout ? now_ns + timeout_ns : RXE_NEVER;
	retry->probe_wait_ns = retry->probe_after_ns;
	if (retry->outstanding == RC_OUTSTANDING_UNASKED)
		retry->probe_wait_ns *= UNASKED_FACTOR;
	plan_probe(retry, attr, now_ns);
}

bool rc_retry_probes_unasked(const struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	return retry->probe_max_ns &&
	       UNASKED_FACTOR * retry->probe_max_ns <= rc_timeout_ns(attr->timeout) / 2;
}

/* The first that asks for a response may be probed for sooner than those before it. */
void rc_retry_sent(struct rc_retry *retry, const struct rxe_qp_attr *attr, enum rc_outstanding sent,
		   uint64_t now_ns)
{
	if (retry->deadline_ns == RXE_NEVER) {
		retry->outstanding = sent;
		start_timer(retry, attr, now_ns);
	} else if (sent > retry->outstanding) {
		retry->outstanding = sent;
		retry->probe_wait_ns = retry->probe_after_ns;
		if (retry->probe_ns > now_ns + retry->probe_after_ns)
			plan_probe(retry, attr, now_ns);
	}
}

void rc_retry_oldest_sent(struct rc_retry *retry)
{
	retry->copies++;
}

void rc_retry_progressed(struct rc_retry *retry, const struct rxe_qp_attr *attr,
			 enum rc_outstanding outstanding, uint64_t now_ns)
{
	retry->outstanding = outstanding;
	retry->retries = 0;
	retry->rnr_retries = 0;
	retry->rewound = false;
	retry->rnr_until_ns = RXE_NEVER;
	retry->copies = outstanding ? 1 : 0;
	retry->old_copies = 0;
	retry->one_by_one = false;
	retry->stopped_process = 0;
	retry->excused = false;
	stop_timer(retry);
	if (outstanding)
		start_timer(retry, attr, now_ns);
}

/* The timer restarts when the first packet is resent. */
static enum rc_retry_action spend(struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	stop_timer(retry);
	if (retry->retries >= attr->retry_cnt)
		return RC_RETRY_GIVE_UP;
	assert(retry->retries < 7);
	retry->retries++;
	retry->excused = false;
	return RC_RETRY_REWIND;
}

void rc_retry_stand_still(struct rc_retry *retry, uint64_t now_ns)
{
	retry->deadline_ns = now_ns + RXE_STOPPED_NS;
	retry->probe_ns = RXE_NEVER;
}

bool rc_retry_excuse(struct rc_retry *retry, const struct rxe_qp_attr *attr, uint64_t now_ns)
{
	const bool was_stopped = retry->stopped_process != 0;

	assert(rc_retry_is_expired(retry, now_ns));
	retry->stopped_process = 0;
	if (!was_stopped &&
	    (retry->excused || now_ns - retry->deadline_ns < rc_timeout_ns(attr->timeout)))
		return false;
	retry->excused = true;
	start_timer(retry, attr, now_ns);
	return true;
}

enum rc_retry_action rc_retry_starved(struct rc_retry *retry)
{
	stop_timer(retry);
	return RC_RETRY_REWIND;
}

uint64_t rc_retry_since_ns(const struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	return retry->deadline_ns - rc_timeout_ns(attr->timeout);
}

void rc_retry_peer_exited(struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	retry->stopped_process = 0;
	if (retry->retries + 1 < attr->retry_cnt)
		retry->retries = (uint8_t)(attr->retry_cnt - 1);
}

/* Each wait ends by itself, whether or not the QP wants to send: a time that has passed must not
 * wake it again. */
static void end_expired_waits(struct rc_retry *retry, uint64_t now_ns)
{
	if (now_ns >= retry->rnr_until_ns)
		retry->rnr_until_ns = RXE_NEVER;
	if (now_ns >= retry->deferred_until_ns)
		retry->deferred_until_ns = RXE_NEVER;
}

enum rc_retry_action rc_retry_timed_out(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					uint64_t now_ns)
{
	end_expired_waits(retry, now_ns);
	if (now_ns < retry->deadline_ns && now_ns < retry->probe_ns)
		return RC_RETRY_WAIT;
	if (now_ns < retry->deadline_ns) {
		plan_probe(retry, attr, now_ns);
		return RC_RETRY_PROBE;
	}
	retry->rewound = false;
	return spend(retry, attr);
}

enum rc_retry_action rc_retry_sequence_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	return spend(retry, attr);
}

/* Responses after the missing one keep arriving after the rewind, with PSNs above the one that
 * triggered it. A PSN not above it answers a resent packet, so another response is missing. The
 * same ACK again may answer any duplicate, and would spend the whole budget in one round trip. */
enum rc_retry_action rc_retry_implied_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					  uint32_t psn, bool is_ack)
{
	if (retry->rewound && psn_diff(psn, retry->trigger_psn) >= (is_ack ? 0 : 1))
		return RC_RETRY_WAIT;
	retry->rewound = true;
	retry->trigger_psn = psn;
	return spend(retry, attr);
}

/* False: none is left. */
static bool spend_rnr(struct rc_retry *retry, const struct rxe_qp_attr *attr)
{
	if (attr->rnr_retry == RNR_RETRY_INFINITE)
		return true;
	if (retry->rnr_retries >= attr->rnr_retry)
		return false;
	assert(retry->rnr_retries < RNR_RETRY_INFINITE);
	retry->rnr_retries++;
	return true;
}

enum rc_retry_action rc_retry_rnr_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
				      uint8_t timer_code, uint64_t now_ns)
{
	const bool is_of_old_copy = retry->old_copies > 0;

	assert(retry->old_copies <= retry->copies);
	if (retry->copies > 0)
		retry->copies--;
	if (is_of_old_copy)
		retry->old_copies--;
	if (retry->rnr_until_ns != RXE_NEVER)
		return RC_RETRY_WAIT;
	if (!is_of_old_copy) {
		if (!spend_rnr(retry, attr))
			return RC_RETRY_GIVE_UP;
		retry->old_copies = retry->copies;
	}
	stop_timer(retry);
	retry->rnr_until_ns = now_ns + rc_rnr_timer_ns(timer_code);
	retry->one_by_one = true;
	return RC_RETRY_REWIND;
}

void rc_retry_send_deferred(struct rc_retry *retry, const struct rxe_qp_attr *attr,
			    uint64_t until_ns)
{
	retry->deferred_until_ns = until_ns;
	if (retry->deadline_ns != RXE_NEVER)
		start_timer(retry, attr, retry->deferred_until_ns);
}

void rc_retry_response_deferred(struct rc_retry *retry, uint32_t psn, uint64_t until_ns)
{
	retry->deferred_until_ns = until_ns;
	stop_timer(retry);
	retry->rewound = true;
	retry->trigger_psn = psn;
}

bool rc_retry_may_send(struct rc_retry *retry, uint64_t now_ns)
{
	end_expired_waits(retry, now_ns);
	return retry->rnr_until_ns == RXE_NEVER && retry->deferred_until_ns == RXE_NEVER;
}

uint64_t rc_retry_next_ns(const struct rc_retry *retry)
{
	return min_u64(min_u64(retry->deadline_ns, retry->probe_ns),
		       min_u64(retry->rnr_until_ns, retry->deferred_until_ns));
}

/* Smoothed round-trip time and mean deviation with the gains of RFC 6298: 1/8 and 1/4. */

void rc_rtt_sent(struct rc_rtt *rtt, uint32_t psn, uint64_t now_ns)
{
	if (rtt->is_timing)
		return;
	rtt->is_timing = true;
	rtt->psn = psn;
	rtt->sent_ns = now_ns;
}

void rc_rtt_acknowledged(struct rc_rtt *rtt, uint32_t una_psn, uint64_t now_ns)
{
	uint64_t took_ns, apart_ns;

	if (!rtt->is_timing || psn_diff(una_psn, rtt->psn) <= 0)
		return;
	rtt->is_timing = false;
	assert(now_ns >= rtt->sent_ns);
	took_ns = now_ns - rtt->sent_ns;
	if (rtt->smooth_ns == 0) {
		rtt->smooth_ns = took_ns;
		rtt->spread_ns = took_ns / 2;
		return;
	}
	apart_ns = took_ns > rtt->smooth_ns ? took_ns - rtt->smooth_ns : rtt->smooth_ns - took_ns;
	rtt->spread_ns = rtt->spread_ns - rtt->spread_ns / 4 + apart_ns / 4;
	rtt->smooth_ns = rtt->smooth_ns - rtt->smooth_ns / 8 + took_ns / 8;
}

void rc_rtt_forget(struct rc_rtt *rtt)
{
	rtt->is_timing = false;
}

uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t min_ns, uint64_t max_ns)
{
	uint64_t timeout_ns = rtt->smooth_ns + 2 * rtt->spread_ns;

	assert(min_ns <= max_ns);
	if (rtt->smooth_ns == 0 || timeout_ns > max_ns)
		return max_ns;
	return timeout_ns > min_ns ? timeout_ns : min_ns;
}
