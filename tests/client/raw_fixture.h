/* SPDX-License-Identifier: MIT */
/* The fixture of tests of raw packets: an end is a raw queue pair with an extended CQ, receives and
 * memory. A marker frame shows that nothing came before it. */
#ifndef TESTS_CLIENT_RAW_FIXTURE_H
#define TESTS_CLIENT_RAW_FIXTURE_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "fixture.h"
#include "tests/raw_frame.h"

#define RAW_SLOT  8192u /* bytes of memory for each receive; the last one is for sends */
#define RAW_SLOTS 512u
#define RAW_WRS	  512u

struct raw_end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	uint8_t *memory;
	struct ibv_mr *mr;
};

/* A completion as an extended CQ shows it. */
struct raw_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t byte_len, qp_num, flow_tag;
	unsigned int flags;
	uint16_t cvlan;
};

/* Attributes of a flow, with its specifications after them. */
struct raw_flow {
	struct ibv_flow_attr attr;
	uint8_t specs[1024];
	uint32_t len;
};

/* An end in RTS. attr NULL: ibv_create_qp(); else its capabilities, CQs and domain are set here. */
void raw_open(struct raw_end *end, struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
void raw_close(struct raw_end *end);
/* What an end has beside its queue pair. */
void raw_open_parts(struct raw_end *end, struct ibv_context *context);
int raw_modify(struct raw_end *end, enum ibv_qp_state state);
/* From RESET to RTS. */
void raw_to_rts(struct raw_end *end);

/* A receive of RAW_SLOT bytes at slot wr_id. */
void raw_post(struct raw_end *end, uint64_t wr_id);
void raw_post_wq(struct raw_end *end, struct ibv_wq *wq, uint64_t wr_id);
/* Posts a signalled send of bytes that are copied first. 0 or an errno. */
int raw_try_send(struct raw_end *end, const void *bytes, uint32_t len, unsigned int flags);
/* Sends and takes the completion. */
void raw_send(struct raw_end *end, const struct raw_build *b);
struct raw_wc raw_wait(struct raw_end *end);
/* A completed receive with these bytes. */
struct raw_wc raw_expect(struct raw_end *end, uint64_t wr_id, const struct raw_build *b);

struct raw_flow raw_flow(enum ibv_flow_attr_type type);
/* Appends a specification (any struct ibv_flow_spec_*). */
void raw_spec(struct raw_flow *flow, const void *spec, uint16_t size);
struct ibv_flow *raw_create(struct raw_end *end, struct raw_flow *flow);
/* A flow for UDP datagrams to a port. */
struct raw_flow raw_port_flow(uint16_t port);
/* A flow for all frames. */
struct ibv_flow *raw_take_all(struct raw_end *end);

#endif
