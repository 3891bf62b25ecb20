/* SPDX-License-Identifier: MIT */
/* Each XRC request names an SRQ (IBTA annex A14). The SRQ's receives, completion queue and
 * protection domain serve the request; the domain also serves requests that take no receive. */
#include "emu/rc/xrc.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/srq.h"

enum rc_fault rxe_xrc_find(struct rxe_engine *engine, uint32_t xrcd, uint32_t srqn,
			   struct rxe_srq **ret_srq, uint32_t *ret_pd)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;
	struct rxe_srq *srq = rxe_engine_find_srq(engine, srqn);

	if (!srq) {
		*ret_srq = NULL;
		return ops->srq_find && ops->srq_find(engine->cfg.host, srqn, xrcd, ret_pd)
			       ? RC_FAULT_NONE
			       : RC_FAULT_XRC_SRQ;
	}
	if (srq->xrcd != xrcd)
		return RC_FAULT_XRC_SRQ;
	assert(srq->cq);
	if (srq->cq->overrun)
		return RC_FAULT_XRC_CQ;
	*ret_srq = srq;
	*ret_pd = srq->pd;
	return RC_FAULT_NONE;
}
