/* SPDX-License-Identifier: MIT */
/* The list of flows of an engine, and the walk over it for each frame. */
#include "emu/raw/flow.h"

#include <assert.h>
#include <utlist.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/raw/frame.h"
#include "emu/raw/raw.h"

enum rank {
	RANK_SNIFFER,
	RANK_NORMAL,
	RANK_DEFAULT,
};

static enum rank rank_of(const struct rxe_flow *flow)
{
	switch (flow->type) {
	case RXE_FLOW_SNIFFER: return RANK_SNIFFER;
	case RXE_FLOW_NORMAL: return RANK_NORMAL;
	case RXE_FLOW_ALL_DEFAULT:
	case RXE_FLOW_MC_DEFAULT: return RANK_DEFAULT;
	}
	return RANK_DEFAULT;
}

static bool is_behind(const struct rxe_flow *a, const struct rxe_flow *b)
{
	if (rank_of(a) != rank_of(b))
		return rank_of(a) > rank_of(b);
	return a->priority > b->priority;
}

static void tell_host(struct rxe_engine *engine)
{
	if (engine->cfg.ops->raw_listens)
		engine->cfg.ops->raw_listens(engine->cfg.host, engine->flows != NULL);
}

void rxe_flow_add(struct rxe_engine *engine, struct rxe_flow *flow)
{
	struct rxe_flow *before = engine->flows;

	while (before && !is_behind(before, flow))
		before = before->next;
	if (before)
		DL_PREPEND_ELEM(engine->flows, before, flow);
	else
		DL_APPEND(engine->flows, flow);
	tell_host(engine);
}

void rxe_flow_remove(struct rxe_engine *engine, struct rxe_flow *flow)
{
	DL_DELETE(engine->flows, flow);
	tell_host(engine);
}

static bool wants(const struct rxe_flow *flow, const struct raw_frame *frame,
		  const struct rxe_qp *from)
{
	if (flow->qp == from && !flow->hears_self)
		return false;
	switch (flow->type) {
	case RXE_FLOW_NORMAL: return raw_rule_matches(&flow->rule, frame);
	case RXE_FLOW_MC_DEFAULT: return frame->level[0].eth.dst[0] & 1;
	case RXE_FLOW_ALL_DEFAULT:
	case RXE_FLOW_SNIFFER: return true;
	}
	return false;
}

/* Whether a flow shares the frames that another one takes. */
static bool shares(const struct rxe_flow *flow, const struct rxe_flow *taker)
{
	if (rank_of(flow) != rank_of(taker))
		return false;
	return rank_of(flow) == RANK_DEFAULT ||
	       (flow->priority == taker->priority && raw_rule_equal(&flow->rule, &taker->rule));
}

static void count_frame(struct rxe_flow_count *counts, uint32_t len)
{
	struct rxe_flow_count *count;

	LL_FOREACH (counts, count) {
		count->packets++;
		count->bytes += len;
	}
}

bool rxe_flow_steer(struct rxe_engine *engine, const struct rxe_flow_input *input)
{
	const struct rxe_flow *taker = NULL;
	struct rxe_flow *flow;
	struct raw_frame frame;
	bool any = false;

	if (!engine->flows || !raw_frame_parse(&frame, input->p, input->len))
		return false;
	DL_FOREACH (engine->flows, flow) {
		if (!wants(flow, &frame, input->from) || (taker && !shares(flow, taker)))
			continue;
		if (!taker && flow->type != RXE_FLOW_SNIFFER && !flow->passes_on)
			taker = flow;
		any = true;
		count_frame(flow->counts, input->len);
		if (!flow->drops)
			raw_deliver(engine, flow, input, &frame);
	}
	return any;
}
