/* SPDX-License-Identifier: MIT */
/* Flow steering: which raw queue pairs receive a frame (ibv_create_flow(3)).
 *
 * Flows are tried in this order: sniffers, normal flows by priority (0 first) and then by age,
 * default flows. Each sniffer gets the frame. The first normal flow that matches takes it; flows
 * with an equal rule and priority also take it, each a copy, and no later flow is tried. A flow
 * that passes on does not end the search. Frames that no normal flow took go to all default flows
 * that want them. A frame does not return to the queue pair that sent it, unless the flow asks for
 * that. */
#ifndef RXE_EMU_RAW_FLOW_H
#define RXE_EMU_RAW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/raw/frame.h"

struct rxe_engine;
struct rxe_qp;

/* Rules: headers that a frame must have, with values under masks. Pure. */

#define RAW_MAX_MATCHES	  (2 * RAW_HEADERS)
#define RAW_MAX_MATCH_LEN sizeof(struct raw_ipv6)

/* One header of a rule. Bytes of value count where mask has bits; the layouts are those of
 * struct raw_level. */
struct raw_match {
	uint8_t header; /* enum raw_header */
	uint8_t inner;	/* 1: after the tunnel's header */
	uint8_t value[RAW_MAX_MATCH_LEN], mask[RAW_MAX_MATCH_LEN];
};

/* All of them must match; none: every frame matches. */
struct raw_rule {
	uint32_t num_matches;
	struct raw_match match[RAW_MAX_MATCHES];
};

/* Bytes of a header's value and mask. */
uint32_t raw_match_len(enum raw_header header);
/* Adds a header: value and mask have raw_match_len() bytes. False: the rule has this header
 * already, or one that cannot be beside it at its level (IPv4 and IPv6; TCP, UDP and ESP), or a
 * tunnel would follow a tunnel. */
bool raw_rule_add(struct raw_rule *rule, enum raw_header header, bool inner, const void *value,
		  const void *mask);
bool raw_rule_matches(const struct raw_rule *rule, const struct raw_frame *frame);
/* Whether both match the same frames, header by header. */
bool raw_rule_equal(const struct raw_rule *a, const struct raw_rule *b);

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
	bool passes_on;	 /* later flows also get the frame */
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
};

void rxe_flow_add(struct rxe_engine *engine, struct rxe_flow *flow);
void rxe_flow_remove(struct rxe_engine *engine, struct rxe_flow *flow);
/* Delivers the frame to its receivers. Returns whether a flow took it. */
bool rxe_flow_steer(struct rxe_engine *engine, const struct rxe_flow_input *input);

/* Receive side scaling: the Toeplitz hash of a frame's addresses and ports chooses the work queue.
 * Pure. */

#define RSS_KEY_LEN	40u
#define RSS_MAX_LOG_TBL 10u /* most work queues of a table, as a power of two */

/* Values of enum ibv_rx_hash_fields. */
enum rss_field {
	RSS_SRC_IPV4 = 1 << 0,
	RSS_DST_IPV4 = 1 << 1,
	RSS_SRC_IPV6 = 1 << 2,
	RSS_DST_IPV6 = 1 << 3,
	RSS_SRC_PORT_TCP = 1 << 4,
	RSS_DST_PORT_TCP = 1 << 5,
	RSS_SRC_PORT_UDP = 1 << 6,
	RSS_DST_PORT_UDP = 1 << 7,
	RSS_INNER = 1u << 31, /* hashes the headers after the tunnel's */
};
#define RSS_FIELDS 0x800000ffu

/* Where an RSS queue pair delivers. The memory is the caller's. */
struct rxe_rss {
	uint32_t fields; /* enum rss_field */
	uint8_t key[RSS_KEY_LEN];
	uint32_t log_size;
	struct rxe_qp *const *wq; /* 1 << log_size work queues */
};

/* The hash of the fields that the frame has: source address, destination address, source port,
 * destination port. 0 when it has none of them. */
uint32_t rss_hash(const struct rxe_rss *rss, const struct raw_frame *frame);

#endif
