// SPDX-License-Identifier: MIT
/* The operations that the layer changes. */
#include "lib/unkind/host.h"

#include <assert.h>
#include <string.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/sge.h"
#include "emu/srq.h"

/* After the first ones, one in N. */
#define RARE_READ	64u
#define FIRST_READS	4u /* are put off for longer: a program may look at one message only */
#define RARE_PAUSE	32u
#define RARE_COMPLETION 16u

#define WORD_BYTES  8u
#define PIECE_BYTES 256u
/* Completions that change places with one another. */
#define ORDERED	    64u
#define LATE_MIN_NS 5000u
/* Events are late by between these, by the queue pair that first completes in the CQ. */
#define EVENT_MIN_US 20u
#define EVENT_MAX_US 120u
#define EVENTS_NEVER UINT16_MAX /* how many completions end the wait */

static struct unkind_host *host_of(void *host)
{
	return host;
}

/* What programs repeat: addresses and keys differ from run to run. The packets of a long message
 * are accesses to one region, of which few are among the first. */
static uint64_t name_access(const struct rxe_mr *mr)
{
	return unkind_mix(0, mr->len);
}

static struct unkind_count *count_of(struct unkind_count *counts, uint64_t name)
{
	return &counts[unkind_mix(0, name) % UNKIND_COUNTS];
}

/* For how long the read is put off; 0: it is not. */
static uint32_t put_off_ns(struct unkind_host *unkind, const struct rxe_mr *mr)
{
	const uint64_t name = name_access(mr);
	struct unkind_count *count = count_of(unkind->reads, name);
	const uint32_t nth = count->n;

	count->was_put_off =
		!count->was_put_off &&
		unkind_strikes(&unkind->cfg.plan, UNKIND_LATE_READS, name, count->n++, RARE_READ);
	if (!count->was_put_off)
		return 0;
	return nth < FIRST_READS ? RXE_DEFER_NS : UNKIND_DEFER_NS;
}

static bool mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	struct unkind_host *unkind = host_of(host);

	unkind->put_off_ns = put_off_ns(unkind, mr);
	return !unkind->put_off_ns &&
	       unkind->cfg.below->mem_read(unkind->cfg.below_host, mr, iova, dst, len);
}

/* Called once after each failure, also after those of operations that this layer passes through. */
static bool is_deferred(void *host)
{
	struct unkind_host *unkind = host_of(host);
	const struct rxe_host_ops *below = unkind->cfg.below;
	const uint32_t put_off_ns = unkind->put_off_ns;

	unkind->put_off_ns = 0;
	unkind->cfg.engine->defer_ns = put_off_ns ? put_off_ns : RXE_DEFER_NS;
	return put_off_ns || (below->is_deferred && below->is_deferred(unkind->cfg.below_host));
}

static bool store(const struct unkind_host *unkind, const struct rxe_mr *mr, uint64_t iova,
		  const void *src, size_t len)
{
	return unkind->cfg.below->mem_write(unkind->cfg.below_host, mr, iova, src, len);
}

/* Memory of another process is reached by requests to it. */
static bool is_own(const struct unkind_host *unkind, const struct rxe_mr *mr)
{
	return mr->kind == RXE_MR_ARENA ||
	       (mr->kind == RXE_MR_PLAIN && mr->owner == unkind->cfg.slot);
}

static bool fill(const struct unkind_host *unkind, const struct rxe_mr *mr, uint64_t iova,
		 size_t len)
{
	uint8_t pattern[PIECE_BYTES];

	memset(pattern, UNKIND_FILL_BYTE, sizeof(pattern));
	for (size_t at = 0; at < len; at += PIECE_BYTES)
		if (!store(unkind, mr, iova + at, pattern,
			   len - at < PIECE_BYTES ? len - at : PIECE_BYTES))
			return false;
	return true;
}

static void fill_piece(const struct unkind_host *unkind, uint32_t pd, const struct rxe_sge *sge)
{
	const uint32_t len = sge->length < UNKIND_FILL_MAX ? sge->length : UNKIND_FILL_MAX;
	struct rxe_span at;

	if (len > 0 &&
	    rxe_reach(unkind->cfg.engine, (struct rxe_key_user){ pd, 0 }, sge->lkey,
		      RXE_LOCAL_WRITE, sge->addr, len, &at) == MR_OK &&
	    is_own(unkind, at.mr))
		(void)fill(unkind, at.mr, at.iova, len);
}

void unkind_fill_receives(const struct unkind_host *unkind, uint32_t pd,
			  const struct rxe_ring *ring, uint32_t from)
{
	const uint32_t new = ring->tail - from;

	/* Those that a message has claimed meanwhile are not in the ring any more. */
	for (uint32_t i = new < rxe_ring_used(ring) ? from : ring->head; i != ring->tail; i++) {
		const struct rxe_recv_wqe *wqe = rxe_ring_at(ring, i);

		for (uint32_t piece = 0; piece < wqe->num_sge; piece++)
			fill_piece(unkind, pd, &wqe->sge[piece]);
	}
}

/* From the last piece to the first. */
static bool store_backwards(const struct unkind_host *unkind, const struct rxe_mr *mr,
			    uint64_t iova, const uint8_t *src, size_t len)
{
	while (len > 0) {
		const size_t n = len % PIECE_BYTES ? len % PIECE_BYTES : PIECE_BYTES;

		len -= n;
		if (!store(unkind, mr, iova + len, src + len, n))
			return false;
	}
	return true;
}

/* How long bytes are incomplete. A program may look at one message only, and not at once: the first
 * one is incomplete in any case, and for longer. */
static uint64_t pause_of(const struct unkind_host *unkind, uint64_t name, uint32_t nth)
{
	const struct unkind_plan *plan = &unkind->cfg.plan;

	if (!unkind_has(plan, UNKIND_BYTE_ORDER))
		return 0;
	if (nth == 0)
		return UNKIND_FIRST_PAUSE_NS;
	return unkind_strikes(plan, UNKIND_BYTE_ORDER, name, nth, RARE_PAUSE) ? UNKIND_PAUSE_NS : 0;
}

static bool mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
		      size_t len)
{
	struct unkind_host *unkind = host_of(host);
	const struct unkind_plan *plan = &unkind->cfg.plan;
	const uint64_t name = name_access(mr);
	const uint8_t *bytes = src;
	size_t rest = len;
	uint32_t nth;
	uint64_t ns;

	unkind->put_off_ns = 0;
	if (len <= WORD_BYTES || !is_own(unkind, mr))
		return store(unkind, mr, iova, src, len);
	nth = count_of(unkind->writes, name)->n++;
	ns = pause_of(unkind, name, nth);
	if (unkind->cfg.about_to_store && (ns > 0 || nth < UNKIND_LOOKS))
		unkind->cfg.about_to_store(unkind->cfg.below_host, mr, iova, len);
	if (unkind_has(plan, UNKIND_FILL) && !fill(unkind, mr, iova, len - 1))
		return false;
	if (unkind_has(plan, UNKIND_BYTE_ORDER)) {
		rest--;
		if (!store(unkind, mr, iova + rest, bytes + rest, 1))
			return false;
	}
	if (ns > 0 && unkind->cfg.pause)
		unkind->cfg.pause(unkind->cfg.below_host, ns);
	return store_backwards(unkind, mr, iova, bytes, rest);
}

static bool mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		       uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig)
{
	struct unkind_host *unkind = host_of(host);

	unkind->put_off_ns = 0;
	return unkind->cfg.below->mem_atomic(unkind->cfg.below_host, mr, iova, op, compare_or_add,
					     swap, ret_orig);
}

static bool mem_persist(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
			uint64_t *ticket)
{
	struct unkind_host *unkind = host_of(host);

	unkind->put_off_ns = 0;
	return unkind->cfg.below->mem_persist(unkind->cfg.below_host, mr, iova, len, ticket);
}

static struct rxe_cq *cq_of(const struct rxe_qp *qp, bool is_recv)
{
	if (!is_recv)
		return qp->send_cq;
	return qp->srq && qp->srq->cq ? qp->srq->cq : qp->recv_cq;
}

static void withhold(struct unkind_host *unkind, struct rxe_cq *cq, const struct rxe_qp *qp,
		     bool is_recv)
{
	struct rxe_engine *engine = unkind->cfg.engine;
	const struct unkind_plan *plan = &unkind->cfg.plan;
	const uint64_t name = (uint64_t)qp->order << 1 | is_recv;
	const uint32_t nth = unkind->completions[unkind_mix(0, name) % UNKIND_COUNTS]++;
	const uint64_t hash = unkind_hash(plan, UNKIND_LATE_EVENTS, name, 0);

	if (unkind_has(plan, UNKIND_LATE_EVENTS) && cq->moderation_count == 0)
		rxe_cq_moderate(cq, EVENTS_NEVER,
				(uint16_t)unkind_between(hash, EVENT_MIN_US, EVENT_MAX_US));
	if (unkind_strikes(plan, UNKIND_LATE_COMPLETIONS, name, nth, RARE_COMPLETION))
		rxe_cq_withhold(engine, cq,
				engine->now_ns +
					unkind_between(unkind_hash(plan, UNKIND_LATE_COMPLETIONS,
								   name, nth),
						       LATE_MIN_NS, UNKIND_LATE_NS));
}

static uint32_t completing(void *host, const struct rxe_qp *qp, bool is_recv)
{
	struct unkind_host *unkind = host_of(host);
	const struct rxe_host_ops *below = unkind->cfg.below;
	struct rxe_cq *cq = cq_of(qp, is_recv);

	if (cq)
		withhold(unkind, cq, qp, is_recv);
	return below->completing ? below->completing(unkind->cfg.below_host, qp, is_recv)
				 : (uint32_t)RXE_WC_SUCCESS;
}

/* Where the completions of a queue go among those of others: they keep their own order. */
static uint64_t rank_of(const struct unkind_host *unkind, const struct rxe_cqe *cqe)
{
	const struct rxe_qp *qp = rxe_engine_find_qp(unkind->cfg.engine, cqe->qpn);
	const bool is_recv = cqe->opcode & RXE_WC_RECV;

	return unkind_hash(&unkind->cfg.plan, UNKIND_COMPLETION_ORDER,
			   (uint64_t)(qp ? qp->order : 0) << 1 | is_recv, unkind->dues);
}

/* Sorts by rank, and is stable. */
static void change_places(const struct unkind_host *unkind, const struct rxe_cq *cq, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct rxe_cqe moved = *rxe_cq_withheld_at(cq, i);
		const uint64_t rank = rank_of(unkind, &moved);
		uint32_t to = i;

		for (; to > 0; to--) {
			const struct rxe_cqe *before = rxe_cq_withheld_at(cq, to - 1);

			if (rank_of(unkind, before) <= rank)
				break;
			*rxe_cq_withheld_at(cq, to) = *before;
		}
		*rxe_cq_withheld_at(cq, to) = moved;
	}
}

static uint32_t cq_due(void *host, struct rxe_cq *cq, uint64_t *ret_again_ns)
{
	struct unkind_host *unkind = host_of(host);
	const struct unkind_plan *plan = &unkind->cfg.plan;
	const uint32_t n = rxe_cq_num_withheld(cq);
	uint64_t hash;

	unkind->dues++;
	if (unkind_has(plan, UNKIND_COMPLETION_ORDER))
		change_places(unkind, cq, n < ORDERED ? n : ORDERED);
	if (n < 2 || !unkind_has(plan, UNKIND_FEW_COMPLETIONS))
		return n;
	hash = unkind_hash(plan, UNKIND_FEW_COMPLETIONS, 0, unkind->dues);
	*ret_again_ns =
		unkind->cfg.engine->now_ns + unkind_between(hash, LATE_MIN_NS, UNKIND_LATE_NS / 4);
	return (uint32_t)unkind_between(hash, 1, n);
}

/* An event never comes before the completions that it is about. */
static void event(void *host, const struct rxe_event *what)
{
	struct unkind_host *unkind = host_of(host);
	const struct rxe_qp *qp = what->qp;

	for (int is_recv = 0; qp && is_recv <= 1; is_recv++)
		if (cq_of(qp, is_recv))
			rxe_cq_release(unkind->cfg.engine, cq_of(qp, is_recv));
	unkind->cfg.below->event(unkind->cfg.below_host, what);
}

void unkind_host_init(struct unkind_host *ret, const struct unkind_cfg *cfg)
{
	assert(cfg->engine && cfg->below->mem_read && cfg->below->mem_write);
	memset(ret, 0, sizeof(*ret));
	rxe_host_layer_init(&ret->layer, cfg->below, cfg->below_host);
	ret->cfg = *cfg;
	ret->layer.ops.mem_read = mem_read;
	ret->layer.ops.mem_write = mem_write;
	ret->layer.ops.mem_atomic = mem_atomic;
	ret->layer.ops.mem_persist = cfg->below->mem_persist ? mem_persist : NULL;
	ret->layer.ops.is_deferred = is_deferred;
	ret->layer.ops.completing = completing;
	ret->layer.ops.cq_due = cq_due;
	ret->layer.ops.event = event;
	/* Trains that a link builds in its own space pass by the links above it. */
	ret->layer.ops.train_space = NULL;
}
