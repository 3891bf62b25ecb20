/* SPDX-License-Identifier: MIT */
/* Requests from post to completion, in the queues of queue pairs and SRQs, and what each completion
 * queue has to expect. Under the layer's lock.
 *
 * A request is outstanding until the program has polled its completion, or, unsignalled, that of a
 * later request of the queue (IBTA 10.8.2.2). The device frees entries earlier; a program may not
 * rely on that. */
#ifndef RXE_CHECK_QUEUE_H
#define RXE_CHECK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"
#include "lib/check/hash.h"
#include "lib/check/region.h"
#include "lib/check/stack.h"

struct check_object;
struct check_queue;

struct check_cq {
	struct check_object *object;
	struct ibv_cq *cq;
	uint32_t expected; /* completions of outstanding requests, at most */
	uint32_t polls;	   /* queue_unpolled.c: how often the program has polled */
	/* Events (event.c). */
	uint32_t events, acked;
	bool has_polled, armed, polled_since_armed;
	uint32_t expected_at_arm;
	struct check_stack armed_at;
};

struct check_request {
	struct check_request *prev, *next; /* of its queue, oldest first */
	struct check_queue *queue;
	uint64_t wr_id;
	bool is_recv, is_signalled;
	bool writes; /* the device writes to its ranges: receive, READ, atomic */
	bool is_inline;
	struct check_stack posted;
	/* State of the checks. */
	uint8_t *copy;		   /* mem_send.c: what the buffer held; NULL: unknown */
	struct check_range remote; /* remote.c: at NULL: not in this process */
	uint64_t message;	   /* remote.c: how many before it, and it, take a receive */
	bool takes_receive, executed;
	bool remote_writes, is_atomic, is_fenced;
	uint32_t nodes; /* mem_overlap.c: its ranges that are in the tree, a bit each */
	uint32_t num_ranges;
	struct check_range range[];
};

struct check_queue {
	struct check_object *owner; /* a QP or an SRQ */
	struct check_cq *cq;	    /* NULL: an SRQ's */
	bool is_recv;
	uint32_t max_wr;
	uint32_t count, num_signalled;
	uint32_t sends_unpolled, polls_seen; /* queue_unpolled.c: of its CQ */
	struct check_request *first;
};

struct qp_key {
	const void *device;
	uint64_t qpn;
};

struct check_qp {
	UT_hash_handle hh;
	struct qp_key key;
	struct check_object *object;
	struct ibv_qp *qp;
	struct check_queue send, recv;
	struct check_object *srq; /* or NULL */
	bool signals_all;
	uint32_t max_inline_data; /* granted */
	enum ibv_qp_state state;  /* as the program last set it */
	/* Between ibv_wr_start() and ibv_wr_complete(): a request that has no memory yet, and those
	 * that were entered. */
	bool building;
	struct ibv_send_wr pending;
	uint32_t built;
	/* Attributes that were set, by enum ibv_qp_attr_mask. */
	struct ibv_qp_attr attr;
	int attr_mask;
	uint64_t sent, received; /* remote.c: messages that take a receive */
	int access_seen;	 /* peer.c: what requests have needed of the peer */
};

struct check_srq {
	struct check_queue recv;
};

struct check_cq *queue_cq(const struct ibv_cq *cq);
struct check_cq *queue_cq_made(struct check_object *object, struct ibv_cq *cq);

struct check_qp *queue_qp_made(struct check_object *object, struct ibv_qp *qp,
			       const struct ibv_qp_init_attr_ex *attr);
void queue_qp_ended(struct check_qp *qp);
struct check_srq *queue_srq_made(struct check_object *object, uint32_t max_wr);

/* The queue pair of this number; NULL: unknown. */
struct check_qp *queue_qp(const struct ibv_context *context, uint32_t qpn);
/* True also for one that is unknown. */
bool queue_is_ud(const struct ibv_context *context, uint32_t qpn);

/* Appends a request that is about to be posted. NULL: no memory. ranges are those of sges. */
struct check_request *queue_add(struct check_queue *queue, uint64_t wr_id,
				const struct ibv_sge *sges, uint32_t num_sges);
/* The request is signalled: its queue's completion queue will get a completion. */
void queue_signalled(struct check_request *request);
/* Removes a request, and frees it. */
void queue_drop(struct check_request *request);

/* Finds the request of a completion by its QP and wr_id; NULL: unknown. In a send
 * queue the requests in front of it are complete as well. */
struct check_request *queue_completed(const struct ibv_context *context, const struct ibv_wc *wc);

#endif
