/* SPDX-License-Identifier: MIT */
/* XRC SRQs of a host: of this engine's process, or of another process on the same device. The
 * other process has no engine here: the host keeps its queue, wraps receives, takes their
 * completions, and defers both at times. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/node.h"

#define XCQ_ENTRIES   1024u
#define XSRQ_DEPTH    64u
#define XSRQ_SGE      2u
#define FOREIGN_SLOTS 0x40u /* the other processes' numbers are of other slots */

static void *zalloc(size_t len)
{
	void *p = calloc(1, len);

	assert(p);
	return p;
}

void node_add_xsrq(struct node *node, uint32_t which, uint32_t pd, uint32_t xrcd, bool is_foreign)
{
	struct node_xsrq *x = &node->xsrq[which];
	struct rxe_cq *cq = which == 0 ? &node->cq : &node->xcq;

	if (!node->xcq_mem) {
		node->xcq_mem = zalloc(rxe_cq_ring_bytes(XCQ_ENTRIES));
		rxe_cq_init(&node->xcq, node->xcq_mem, XCQ_ENTRIES, NULL);
	}
	if (!x->mem)
		x->mem = zalloc(rxe_ring_bytes(XSRQ_DEPTH, rxe_recv_stride(XSRQ_SGE)));
	rxe_srq_init(&x->srq, pd, x->mem, XSRQ_DEPTH, XSRQ_SGE, x);
	x->exists = true;
	x->is_foreign = is_foreign;
	if (!is_foreign) {
		rxe_srq_name(&node->engine, &x->srq, rxe_engine_alloc_srqn(&node->engine), xrcd,
			     cq);
		return;
	}
	x->srq.srqn = (node->index + FOREIGN_SLOTS) << RXE_SLOT_SHIFT | ++node->foreign_numbers;
	x->srq.xrcd = xrcd;
	x->srq.cq = cq;
}

void node_remove_xsrq(struct node *node, uint32_t which)
{
	struct node_xsrq *x = &node->xsrq[which];

	if (x->exists && !x->is_foreign)
		rxe_srq_fini(&node->engine, &x->srq);
	x->exists = false;
}

void node_remove_xsrqs(struct node *node)
{
	uint32_t which;

	for (which = 0; which < NODE_XSRQS; which++) {
		node_remove_xsrq(node, which);
		free(node->xsrq[which].mem);
		node->xsrq[which].mem = NULL;
	}
	free(node->xcq_mem);
	node->xcq_mem = NULL;
}

enum post_result node_xsrq_recv(struct node *node, uint32_t which, const struct rxe_recv_wr *wr)
{
	struct node_xsrq *x = &node->xsrq[which];

	assert(x->exists);
	return x->is_foreign ? rxe_ring_push_recv(&x->srq.rq, wr, XSRQ_SGE)
			     : rxe_post_srq_recv(&node->engine, &x->srq, wr);
}

static struct node_xsrq *find(struct node *node, uint32_t srqn)
{
	uint32_t which;

	node->is_deferred = false;
	for (which = 0; which < NODE_XSRQS; which++) {
		struct node_xsrq *x = &node->xsrq[which];

		if (x->exists && x->is_foreign && x->srq.srqn == srqn)
			return x;
	}
	return NULL;
}

bool node_xsrq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd)
{
	const struct node_xsrq *x = find(host, srqn);

	if (!x || x->srq.xrcd != xrcd)
		return false;
	*ret_pd = x->srq.pd;
	return true;
}

static bool is_deferred(struct node *node)
{
	node->is_deferred = node->deferred_rate > 0 && node_draws_deferred(node);
	node->num_deferred += node->is_deferred;
	return node->is_deferred;
}

bool node_xsrq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret)
{
	struct node *node = host;
	struct node_xsrq *x = find(node, srqn);
	const struct rxe_recv_wqe *wqe;

	if (!x || x->srq.xrcd != xrcd || is_deferred(node) || rxe_ring_used(&x->srq.rq) == 0)
		return false;
	wqe = rxe_ring_at(&x->srq.rq, x->srq.rq.head++);
	ret->srqn = srqn;
	ret->xrcd = xrcd;
	ret->owner_epoch = 1;
	ret->wr_id = wqe->wr_id;
	ret->len = wqe->len;
	ret->num_sge = wqe->num_sge;
	memcpy(ret->sge, wqe->sge, wqe->num_sge * sizeof(wqe->sge[0]));
	return true;
}

/* A flush is not retried, so it is never deferred. */
bool node_xsrq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe)
{
	struct node *node = host;
	struct node_xsrq *x = find(node, claim->srqn);

	node->strange_dones += claim->srqn >> RXE_SLOT_SHIFT != node->index + FOREIGN_SLOTS;
	if (!x || (cqe->status == RXE_WC_SUCCESS && is_deferred(node)))
		return false;
	if (node->engine.now_ns < node->done_deferred_until_ns) {
		node->is_deferred = true;
		return false;
	}
	return rxe_cq_push(&node->engine, x->srq.cq, cqe);
}
