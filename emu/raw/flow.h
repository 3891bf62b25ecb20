/* SPDX-License-Identifier: MIT */
/* Flow steering: which raw queue pairs receive a frame (ibv_create_flow(3)).
 *
 * Flows are tried in this order: sniffers, normal flows by priority (0 first) and then by age,
 * default flows. Each sniffer gets the frame. The first normal flow that matches takes it; flows
 * with an equal rule and priority take it, too, each a copy, and no later flow is tried. A flow
 * that passes on does not end the search. Frames that no normal flow took go to all default flows
 * that want them. A frame does not return to the queue pair that sent it, unless the flow asks for
 * that. */
#ifndef RXE_EMU_RAW_FLOW_H
#define RXE_EMU_RAW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/raw/rule.h"

struct rxe_engine;
struct rxe_qp;

/* Values of enum ibv_flow_attr_type. */
enum rxe_flow_type {
	RXE_FLOW_NORMAL,
	RXE_FLOW_ALL_DEFAULT,
	RXE_FLOW_MC_DEFAULT, /* frames to group addresses, broadcast included */
	RXE_FLOW_SNIFFER,
};

/* What a flow counts: the frames that match it, also those that it drops or has no receive for. */
struct rxe_flow_count {
	uint64_t packets, bytes;
	struct rxe_flow_count *next; /* of the flow; utlist */
};

/* Memory is the caller's. */
struct rxe_flow {
	struct rxe_qp *qp; /* a raw queue pair of this engine */
	enum rxe_flow_type type;
	uint16_t priority;
	bool drops;	 /* takes frames and delivers none */
	bool passes_on;	 /* lets later flows have the frame, too */
	bool hears_self; /* gets what its own queue pair sends */
	uint32_t tag;	 /* for the completion */
	struct rxe_flow_count *counts;
	struct raw_rule rule;
	struct rxe_flow *prev, *next; /* utlist, in the order above */
};

/* A frame to steer. */
struct rxe_flow_input {
	const uint8_t *p;
	uint32_t len;
	const struct rxe_qp *from; /* the sender, if it is of this engine; or NULL */
	uint64_t now_ns;
};

void rxe_flow_add(struct rxe_engine *engine, struct rxe_flow *flow);
void rxe_flow_remove(struct rxe_engine *engine, struct rxe_flow *flow);
/* Delivers the frame to its receivers. Returns whether a flow took it. */
bool rxe_flow_steer(struct rxe_engine *engine, const struct rxe_flow_input *input);

#endif
