/* SPDX-License-Identifier: MIT */
/* The simulation: engines on hosts of plain memory, joined by a simulated link, in virtual time.
 *
 * Posted requests are sent when the simulation runs. Packets that arrive at one host at the same
 * time are handled together before anything is sent, like a batch from a socket. */
#ifndef RXE_SIM_WORLD_H
#define RXE_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/host.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/sim/link.h"
#include "tests/sim/node.h"
#include "tests/sim/trace.h"

#define WORLD_MAX_NODES 8

struct world;

/* What a test observes besides the trace; each may be NULL. */
struct world_watch {
	void (*completion)(void *context, struct end *end, const struct rxe_cq *cq,
			   const struct rxe_cqe *cqe);
	/* from NULL: the engine answers for a QP in TIME_WAIT. */
	void (*packet)(void *context, struct node *node, struct end *from,
		       const struct wire_packet *packet);
	/* A packet reached a host. to: its QP, or NULL; packet NULL: corrupt. Called before and
	 * after the engine takes it. */
	void (*arrives)(void *context, struct node *node, struct end *to, uint32_t len,
			const struct wire_packet *packet);
	void (*arrived)(void *context, struct node *node, struct end *to, uint32_t len,
			const struct wire_packet *packet);
	void (*event)(void *context, struct node *node, const struct rxe_event *event);
	void (*step)(void *context);
	void *context;
};

struct world {
	uint64_t now_ns;
	struct node *node[WORLD_MAX_NODES];
	uint32_t num_nodes;
	struct link link;
	struct trace trace;
	struct world_watch watch;
	char next_letter;
	uint32_t mem_len; /* of the nodes to come */
	uint8_t train_buf[TRAIN_MAX_BYTES];
	uint64_t sent; /* packets that left an engine */
	uint64_t trains;
};

/* Defaults of a post: from the start of the sender's memory to the same place at the peer's,
 * signalled. */
struct post {
	enum rxe_wr_opcode op;
	uint32_t len;
	uint32_t from; /* offset in the poster's memory */
	uint32_t to;   /* offset in the peer's memory */
	bool has_va;   /* va instead of to: the peer's region begins elsewhere */
	uint64_t va;
	uint32_t flags; /* enum rxe_send_flag */
	bool quiet;	/* not signalled */
	uint32_t imm;
	uint32_t srqn;	     /* XRC; 0: the peer's */
	uint32_t lkey, rkey; /* 0: those of all memory; UINT32_MAX: 0 */
	uint64_t compare_add, swap;
	struct feth feth;   /* FLUSH */
	uint32_t flush_len; /* FLUSH */
	uint32_t pieces;    /* SGEs that the message is cut into; 0: one */
	struct rxe_bind bind;
};

void world_init(struct world *w, uint64_t seed);
void world_fini(struct world *w);
struct node *world_add_node(struct world *w);
struct node_qp_opts world_opts(void);
/* Connects a pair: opts for the QP on x; the QP on y gets the same except its PSNs, which begin at
 * 500, and XRC_SEND becomes XRC_RECV. Letters continue from the last pair's. */
void world_pair(struct world *w, struct node *x, struct node *y, const struct node_qp_opts *opts,
		struct end **ret_x, struct end **ret_y);

/* wr_ids of an end count from 1, separately for sends and receives. */
enum post_result world_post(struct world *w, struct end *end, struct post post);
enum post_result world_recv(struct world *w, struct end *end, uint32_t to, uint32_t len);
enum post_result world_recv_key(struct world *w, struct end *end, uint32_t to, uint32_t len,
				uint32_t lkey);
enum post_result world_srq_recv(struct world *w, struct node *node, uint64_t wr_id, uint32_t to,
				uint32_t len);
/* A receive with a wr_id of the caller's, posted to the end or to its SRQ. */
enum post_result world_recv_as(struct world *w, struct end *end, uint64_t wr_id, uint32_t to,
			       uint32_t len, uint32_t lkey);
/* The node's engine does not run until then, unless it sleeps already. */
void world_sleep(struct world *w, struct node *node, uint64_t until_ns);
/* All nodes become processes on one machine, where each learns which others are stopped. */
void world_share_machine(struct world *w);
/* A signal stops the node's process until then, unless the node sleeps already. */
void world_stop(struct world *w, struct node *node, uint64_t until_ns);
/* The node's process is killed, also while it is stopped: the server answers for it. */
void world_kill(struct world *w, struct node *node);
/* The node's link takes no packet until then: the receiver does not empty its ring. */
void world_fill(struct world *w, struct node *node, uint64_t until_ns);
void world_modify(struct world *w, struct end *end, enum rxe_qp_state state);
/* Steps until the program runs again. */
void world_wait(struct world *w, const struct node *node);
/* Puts a packet on the link as if from had sent it. */
void world_inject(struct world *w, struct end *from, struct wire_packet *packet,
		  const void *payload);

/* Runs everything that is due now. */
void world_flush(struct world *w);
/* Advances to the next event, at most to until. False: nothing happens before it. */
bool world_step(struct world *w, uint64_t until_ns);
void world_run_until(struct world *w, double until_us);
/* Runs until nothing is left to happen. */
void world_run(struct world *w);

#endif
