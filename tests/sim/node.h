/* SPDX-License-Identifier: MIT */
/* A simulated host: an engine, plain memory with a key table, and one completion queue. */
#ifndef RXE_SIM_NODE_H
#define RXE_SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/time_wait.h"
#include "emu/srq.h"
#include "emu/tag_list.h"
#include "net/wire/gid.h"
#include "net/wire/train.h"

#define NODE_MEM_BYTES	(4u << 20) /* default */
#define NODE_XRCD	3u
#define NODE_XSRQS	3
#define NODE_MAX_QPS	16
#define NODE_PD		7
#define NODE_OTHER_PD	8
#define NODE_MAX_INLINE 256u
#define NODE_QKEY	0x1234

struct node;
struct unkind_host;
struct unkind_plan;

/* A queue pair with its memory. Its letter names it in traces. */
struct end {
	struct rxe_qp qp;
	struct node *node;
	struct end *peer;
	char letter;
	uint64_t next_send_id, next_recv_id;
	void *sq_mem, *rq_mem;
	uint32_t seen_cur; /* requester's position and state at the last check */
	enum rxe_qp_state seen_state;
	uint32_t seen_stopped; /* ... and the process that it waited for */
	struct end *next_retired;
};

/* An XRC SRQ. Foreign: another process of the host owns it, so the engine asks its host. */
struct node_xsrq {
	struct rxe_srq srq;
	void *mem;
	bool exists, is_foreign;
};

struct node_event {
	struct rxe_event what;
	uint32_t visible, xvisible; /* entries of both CQs that were visible then */
};

/* The nth completion of one side of a QP ends with this error; nth 0: none. */
struct node_injection {
	const struct rxe_qp *qp;
	bool is_recv;
	uint32_t nth;
	enum rxe_wc_status status;
};

struct node {
	struct rxe_engine engine;
	struct rxe_counters counters;
	struct rxe_mr_table *mrs;
	struct rxe_mw_table *mws;
	uint32_t num_mws;
	struct rxe_time_wait_table *time_wait;
	struct rxe_held *held; /* memory for node_hold(); NULL: not needed yet */
	uint32_t num_mrs;
	uint8_t *mem;
	uint32_t mem_len;
	uint64_t base; /* address of mem[0] */
	uint32_t key;  /* of all memory, with all rights */
	/* Accesses from here to unmapped_end fail: the memory is unmapped. */
	uint64_t unmapped_at;
	uint64_t unmapped_end;
	/* Accesses from here to deferred_end are deferred until deferred_until_ns. */
	uint64_t deferred_at;
	uint64_t deferred_end, deferred_until_ns;
	uint64_t num_deferred; /* deferred accesses */
	/* Of the other accesses, this many in 65536 are deferred at random. */
	uint32_t deferred_rate;
	uint32_t deferred_random; /* state of that randomness */
	/* Completions by another process are deferred until this time. */
	uint64_t done_deferred_until_ns;
	bool is_deferred;	    /* the last access was deferred */
	struct unkind_host *unkind; /* between the engine and this host; NULL: it is kind */
	/* Another process of the host is inside an access until this time. */
	uint64_t others_inside_until_ns;
	struct rxe_cq cq;
	void *cq_mem;
	struct rxe_srq srq;
	void *srq_mem;
	/* Of the SRQ, once node_match_tags() was called. */
	struct rxe_tag_list tags;
	void *tags_mem;
	struct rxe_cq xcq; /* of XRC SRQs except the first */
	void *xcq_mem;
	struct node_xsrq xsrq[NODE_XSRQS];
	uint32_t foreign_numbers; /* given to SRQs of other processes */
	/* Completions of receives that no other process wrapped. */
	uint32_t strange_dones;
	struct end *ends[NODE_MAX_QPS];
	uint32_t num_ends;
	struct end *retired;	      /* destroyed, kept for checks */
	struct node_event events[64]; /* raised, not checked yet */
	uint32_t num_events;
	struct node_injection injection; /* counts nth down */
	uint32_t index;
	uint32_t max_segs; /* of a train */
	/* The engine does not run until this time (its program is busy); 0: awake. */
	uint64_t asleep_until_ns;
	bool is_stopped; /* asleep: its peers on the machine learn of it */
	/* Finds the node of an address, if its process runs on this machine; NULL: all are on hosts
	 * of their own. */
	const struct node *(*find_local)(const void *context, const struct gid *gid);
	const void *find_context;
	uint32_t process; /* counts those that the node had, from 1 */
	/* The link takes nothing until this time (a ring is full); 0: it does. The train that was
	 * built meanwhile waits. */
	uint64_t full_until_ns;
	struct wire_train unsent;
	/* Bytes that may wait meanwhile; 0: unlimited. */
	uint32_t socket_bytes;
	uint32_t waiting_bytes;
	uint8_t *durable;	/* what has become persistent of mem; NULL: nothing */
	uint64_t persists;	/* calls of mem_persist that succeeded */
	uint64_t tickets;	/* given to deferred calls of mem_persist */
	uint64_t writes;	/* bytes that the engine stored */
	uint64_t atomics;	/* executed here */
	uint64_t sent, arrived; /* packets */
	uint64_t sent_bytes;
	/* The engine stores len bytes at this offset of mem; may be NULL. */
	void (*wrote)(void *context, struct node *node, uint32_t at, uint32_t len);
	void *wrote_context;
};

struct node_qp_opts {
	enum rxe_qp_type type;
	uint32_t xrcd; /* of an XRC target; 0: NODE_XRCD */
	uint32_t mtu;
	uint32_t psn;	 /* first PSN of this end's requests */
	uint8_t timeout; /* code */
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t rnr_timer;  /* code */
	uint8_t rd_atomic;  /* both ways */
	uint32_t rights;    /* of the QP */
	uint32_t depth;	    /* of both queues */
	uint32_t rate_kbps; /* 0: no limit */
	bool use_srq;
	bool rearms; /* it has an alternate path: the other addresses of both hosts */
	/* The SRQ matches tags, and the QP has a send queue of its own. */
	bool own_sends;
};

struct node *node_new(uint32_t index, uint32_t mem_len);
void node_free(struct node *node);
/* Before it has queue pairs: its memory and completions become unkind (lib/unkind). */
void node_be_unkind(struct node *node, const struct unkind_plan *plan);
/* From now on its engine holds requests after a missing one. */
void node_hold(struct node *node);
/* Registers a key for [offset, offset + len) of the node's memory. */
uint32_t node_reg(struct node *node, uint32_t offset, uint32_t len, uint32_t rights);
/* The same with an iova, as for device memory that begins at 0. */
uint32_t node_reg_at(struct node *node, uint32_t offset, uint32_t len, uint32_t rights,
		     enum rxe_mr_kind kind, uint64_t iova);
void node_dereg(struct node *node, uint32_t key);
/* Allocates a memory window, not bound: returns its key. kind: RXE_MR_WINDOW_1 or 2. */
uint32_t node_add_mw(struct node *node, enum rxe_mr_kind kind);
/* Binds a type 2 window under this key, as if the QP had done so. */
void node_bind_mw(struct end *end, uint32_t key, const struct rxe_bind *bind);
/* Allocates a type 2 window, and binds it under this key. */
void node_open_mw(struct end *end, uint32_t key, const struct rxe_bind *bind);
/* Creates a QP in INIT. */
struct end *node_add_qp(struct node *node, char letter, const struct node_qp_opts *opts);
/* The same with a given QPN. */
struct end *node_add_qp_numbered(struct node *node, char letter, const struct node_qp_opts *opts,
				 uint32_t qpn);
/* INIT to RTS. The peer may be on a host outside of the fixture. */
void node_connect_to(struct end *end, struct end *peer, const struct node_qp_opts *opts,
		     uint32_t peer_psn, const struct gid *peer_gid);
void node_connect(struct end *end, struct end *peer, const struct node_qp_opts *opts,
		  uint32_t peer_psn);
/* Publishes what the node's host withholds. */
void node_release_completions(struct node *node);
/* Destroyed. */
void node_remove_qp(struct end *end);
/* Destroys the QP; its struct stays until the node is freed, for checks, in RESET and empty. */
void node_retire_qp(struct end *end);
/* The program exits: its QPs and SRQs are destroyed and another engine takes its place. Only the
 * TIME_WAIT table is kept. */
void node_restart(struct node *node);
/* The program is killed, and the device server takes over: the TIME_WAIT table is as the program
 * left it, and the next output sends the delayed ACKs. */
void node_kill(struct node *node, uint64_t now_ns);
/* Injects status into the nth completion of one side. */
void node_tell(struct end *end, bool is_recv, uint32_t nth, enum rxe_wc_status status);
/* The node's SRQ matches tags, with up to max tagged buffers. */
void node_match_tags(struct node *node, uint32_t max);
/* Loads the path between the second addresses as the alternate one, and rearms. */
void node_rearm(struct end *end, uint8_t timeout);
/* Initial value of a byte of a node's memory. */
uint8_t node_byte(const struct node *node, uint32_t at);
/* Whether these bytes have their initial values. */
bool node_is_untouched(const struct node *node, uint32_t at, uint32_t len);
struct end *node_end(const struct node *node, uint32_t qpn);

/* XRC with several SRQs, counted from 0. The first completes in the node's CQ, the others in
 * xcq. */
void node_add_xsrq(struct node *node, uint32_t which, uint32_t pd, uint32_t xrcd, bool is_foreign);
void node_remove_xsrq(struct node *node, uint32_t which);
void node_remove_xsrqs(struct node *node);
enum post_result node_xsrq_recv(struct node *node, uint32_t which, const struct rxe_recv_wr *wr);
/* Host operations of XRC. */
bool node_xsrq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd);
bool node_xsrq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret);
bool node_xsrq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe);
/* Whether the next access is deferred. */
bool node_draws_deferred(struct node *node);

#endif
