/* SPDX-License-Identifier: MIT */
/* Pacing: a QP without credits at the receiver's socket waits, up to RXE_PACE_TIMEOUT_NS. Rate
 * limits: see struct rxe_rate. */
#include "emu/pace.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"

/* Still no credits. True: the QP waited long enough. */
static bool has_timed_out(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->stalled_since_ns == 0)
		qp->stalled_since_ns = engine->now_ns | 1;
	if (engine->now_ns > qp->stalled_since_ns + RXE_PACE_TIMEOUT_NS)
		return true;
	rxe_qp_set_deadline(engine, qp, engine->now_ns + RXE_PACE_RETRY_NS);
	return false;
}

bool rxe_pace_begin(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_pace *pace,
		    const struct gid *dst, uint32_t dest_qpn)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	assert(!rxe_qp_is_reliable(qp));
	*pace = (struct rxe_pace){
		.dst = dst,
		.slot = dest_qpn >> RXE_SLOT_SHIFT,
		.credits = UINT32_MAX,
	};
	if (ops->credits)
		pace->credits = ops->credits(engine->cfg.host, dst, pace->slot);
	if (pace->credits == 0) {
		if (!has_timed_out(engine, qp))
			return false;
		pace->credits = UINT32_MAX;
		return true;
	}
	qp->stalled_since_ns = 0;
	rxe_qp_set_deadline(engine, qp, RXE_NEVER);
	return true;
}

bool rxe_pace_rate_stops(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (!rxe_rate_is_limited(&qp->rate) || rxe_rate_may_send(&qp->rate, engine->now_ns))
		return false;
	rxe_qp_set_deadline(engine, qp, qp->rate.resume_ns);
	return true;
}

void rxe_pace_end(struct rxe_engine *engine, const struct rxe_pace *pace)
{
	if (pace->spent > 0 && engine->cfg.ops->credits_spent)
		engine->cfg.ops->credits_spent(engine->cfg.host, pace->dst, pace->slot,
					       pace->spent);
}

/* A kilobit takes a millisecond at 1 kb/s. */
#define NS_PER_MS 1000000ull

static uint64_t time_of(const struct rxe_rate *rate, uint32_t bytes)
{
	assert(rate->kbps > 0);
	/* Rounded up: never faster than the rate. */
	return (bytes * 8ull * NS_PER_MS + rate->kbps - 1) / rate->kbps;
}

void rxe_rate_set(struct rxe_rate *rate, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes,
		  uint64_t now_ns)
{
	*rate = (struct rxe_rate){
		.kbps = kbps,
		.taken_until_ns = now_ns,
		.resume_ns = RXE_NEVER,
	};
	if (kbps == 0)
		return;
	rate->burst_ns = RXE_RATE_BURST_NS;
	/* The packet that passes the mark belongs to the burst. */
	if (burst_bytes)
		rate->burst_ns =
			burst_bytes > packet_bytes ? time_of(rate, burst_bytes - packet_bytes) : 0;
}

static uint64_t taken_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	const uint64_t from_ns = rate->taken_until_ns > now_ns ? rate->taken_until_ns : now_ns;

	return from_ns + time_of(rate, bytes);
}

bool rxe_rate_may_send(struct rxe_rate *rate, uint64_t now_ns)
{
	rate->resume_ns = RXE_NEVER;
	if (rate->kbps == 0 || rate->taken_until_ns <= now_ns + rate->burst_ns)
		return true;
	rate->resume_ns = rate->taken_until_ns - rate->burst_ns;
	return false;
}

bool rxe_rate_stops_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	return rate->kbps && taken_behind(rate, bytes, now_ns) > now_ns + rate->burst_ns;
}

void rxe_rate_sent(struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	if (rate->kbps)
		rate->taken_until_ns = taken_behind(rate, bytes, now_ns);
}
