/* SPDX-License-Identifier: MIT */
/* Pacing: a QP without credits at the receiver's socket waits, up to RXE_PACE_TIMEOUT_NS. */
#include "emu/pace.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/rate.h"

/* Still no credits. True: the QP waited long enough. */
static bool has_timed_out(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t now_ns)
{
	if (qp->stalled_since_ns == 0)
		qp->stalled_since_ns = now_ns | 1;
	if (now_ns > qp->stalled_since_ns + RXE_PACE_TIMEOUT_NS)
		return true;
	rxe_qp_set_deadline(engine, qp, now_ns + RXE_PACE_RETRY_NS);
	return false;
}

bool rxe_pace_begin(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_pace *pace,
		    const struct gid *dst, uint32_t dest_qpn, uint64_t now_ns)
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
		if (!has_timed_out(engine, qp, now_ns))
			return false;
		pace->credits = UINT32_MAX;
		return true;
	}
	qp->stalled_since_ns = 0;
	rxe_qp_set_deadline(engine, qp, UINT64_MAX);
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
