/* SPDX-License-Identifier: MIT */
/* Completion queues: the two ends of the ring. The engine writes at tail and publishes up to
 * visible; the reader, under the CQ's own lock, takes from head. An overrun puts the CQ in error
 * for good (IBTA 11.6.3.1): nothing is overwritten. */
#include "emu/cq.h"

#include <assert.h>
#include <stddef.h>
#include <utlist.h>

#include "emu/deadline.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/queue.h"

size_t rxe_cq_ring_bytes(uint32_t cqe)
{
	return rxe_ring_slots(cqe) * sizeof(struct rxe_cqe);
}

void rxe_cq_init(struct rxe_cq *cq, void *ring, uint32_t cqe, void *owner)
{
	assert(ring && cqe > 0);
	memset(cq, 0, sizeof(*cq));
	cq->ring = ring;
	cq->mask = rxe_ring_slots(cqe) - 1;
	cq->limit = cqe;
	cq->owner = owner;
}

void rxe_cq_fini(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (cq->unpublished && !cq->withheld_until_ns)
		LL_DELETE2(engine->unpublished, cq, next_unpublished);
	if (cq->listed_as_held)
		LL_DELETE2(engine->held, cq, next_held);
	cq->unpublished = false;
	cq->listed_as_held = false;
	cq->withheld_until_ns = 0;
}

static bool is_full(struct rxe_cq *cq)
{
	if (cq->tail - cq->seen_head < cq->limit)
		return false;
	/* Pairs with the reader's release: entries that it has read may be overwritten. */
	cq->seen_head = atomic_load_explicit(&cq->head, memory_order_acquire);
	return cq->tail - cq->seen_head >= cq->limit;
}

static void add_unpublished(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (cq->unpublished)
		return;
	cq->unpublished = true;
	cq->unpublished_solicited = false;
	cq->next_unpublished = engine->unpublished;
	engine->unpublished = cq;
}

/* The next settle publishes all, and reports the overrun before it fails queue pairs. */
static void overrun(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (cq->withheld_until_ns)
		cq->unpublished = false;
	cq->withheld_until_ns = 0;
	cq->overrun = true;
	engine->overrun_pending = true;
	add_unpublished(engine, cq);
}

/* An error counts as solicited (IBTA 11.4.2.2). */
static bool is_solicited(const struct rxe_cqe *cqe)
{
	return cqe->solicited || cqe->status != RXE_WC_SUCCESS;
}

bool rxe_cq_push(struct rxe_engine *engine, struct rxe_cq *cq, const struct rxe_cqe *cqe)
{
	struct rxe_cqe *slot;

	if (cq->overrun)
		return false;
	if (is_full(cq)) {
		if (cq->ignores_overrun)
			return true;
		overrun(engine, cq);
		return false;
	}
	assert(cq->tail - cq->seen_head < cq->limit && cq->limit <= cq->mask + 1);
	slot = &cq->ring[cq->tail++ & cq->mask];
	*slot = *cqe;
	slot->timestamp_ns = engine->now_ns;

	add_unpublished(engine, cq);
	cq->unpublished_solicited |= is_solicited(cqe);
	return true;
}

/* Moves only forward: RESET does not hold the CQ's lock and may have freed more slots meanwhile.
 * Relaxed, because the count orders no other access. */
static void free_send_slots(const struct rxe_cqe *cqe)
{
	uint32_t polled;

	if ((cqe->opcode & RXE_WC_RECV) || !cqe->sq_polled)
		return;
	polled = atomic_load_explicit(cqe->sq_polled, memory_order_relaxed);
	while ((int32_t)(cqe->sends - polled) > 0 &&
	       !atomic_compare_exchange_weak_explicit(cqe->sq_polled, &polled, cqe->sends,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

uint32_t rxe_cq_poll(struct rxe_cq *cq, struct rxe_cqe *ret, uint32_t max)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	/* Pairs with settle's release: the entries before visible are complete. */
	uint32_t n = atomic_load_explicit(&cq->visible, memory_order_acquire) - head;

	assert(n <= cq->mask + 1);
	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++) {
		ret[i] = cq->ring[(head + i) & cq->mask];
		free_send_slots(&ret[i]);
	}
	atomic_store_explicit(&cq->head, head + n, memory_order_release);
	return n;
}

/* Removes unpublished entries too. The others keep their order, and visible stays in front of
 * them. */
void rxe_cq_clean(struct rxe_cq *cq, uint32_t qpn)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t visible = atomic_load_explicit(&cq->visible, memory_order_relaxed);
	uint32_t from, to = head, new_visible = head, new_notified = head;

	assert(visible - head <= cq->tail - head && cq->tail - head <= cq->mask + 1);
	for (from = head; from != cq->tail; from++) {
		const struct rxe_cqe *cqe = &cq->ring[from & cq->mask];

		if (from == visible)
			new_visible = to;
		if (from == cq->notified)
			new_notified = to;
		if (cqe->qpn != qpn)
			cq->ring[to++ & cq->mask] = *cqe;
	}
	if (visible == cq->tail)
		new_visible = to;
	if (cq->notified == cq->tail)
		new_notified = to;
	cq->tail = to;
	cq->notified = new_notified;
	atomic_store_explicit(&cq->visible, new_visible, memory_order_release);
}

bool rxe_cq_resize(struct rxe_cq *cq, void *ring, uint32_t cqe)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t mask = rxe_ring_slots(cqe) - 1;
	struct rxe_cqe *to = ring;

	assert(ring && cqe > 0);
	if (cq->tail - head > cqe)
		return false;
	for (uint32_t i = head; i != cq->tail; i++)
		to[i & mask] = cq->ring[i & cq->mask];
	cq->ring = to;
	cq->mask = mask;
	cq->limit = cqe;
	cq->seen_head = head;
	return true;
}

/* The engine lock keeps visible and the entries before it unchanged; a reader may move head
 * meanwhile. */
uint32_t rxe_cq_unnotified(const struct rxe_cq *cq)
{
	const uint32_t visible = atomic_load_explicit(&cq->visible, memory_order_relaxed);
	const uint32_t unread = visible - atomic_load_explicit(&cq->head, memory_order_relaxed);
	const uint32_t unnotified = visible - cq->notified;

	return unread < unnotified ? unread : unnotified;
}

static bool has_unnotified(const struct rxe_cq *cq, enum rxe_cq_arm arm)
{
	const uint32_t visible = atomic_load_explicit(&cq->visible, memory_order_relaxed);
	uint32_t i = visible - rxe_cq_unnotified(cq);

	if (arm == RXE_CQ_ARM_ANY)
		return i != visible;
	while (i != visible && !is_solicited(&cq->ring[i & cq->mask]))
		i++;
	return i != visible;
}

void rxe_cq_notify(struct rxe_engine *engine, struct rxe_cq *cq)
{
	assert(cq->armed != RXE_CQ_IDLE && !cq->hold_until_ns);
	cq->armed = RXE_CQ_IDLE;
	cq->notified = atomic_load_explicit(&cq->visible, memory_order_relaxed);
	engine->cfg.ops->cq_notify(engine->cfg.host, cq);
}

bool rxe_cq_arm(struct rxe_cq *cq, enum rxe_cq_arm arm)
{
	assert(arm != RXE_CQ_IDLE);
	/* Arming for solicited completions does not disarm a CQ armed for any (IBTA 11.4.2.2). */
	if (cq->armed < arm)
		cq->armed = arm;
	if (!has_unnotified(cq, cq->armed))
		return false;
	cq->armed = RXE_CQ_IDLE;
	cq->hold_until_ns = 0;
	cq->notified = atomic_load_explicit(&cq->visible, memory_order_relaxed);
	return true;
}

/* CQs of which something waits for a time: a list. A CQ whose event came early stays on the list
 * until its time. */

static void add_held(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (cq->listed_as_held)
		return;
	cq->listed_as_held = true;
	cq->next_held = engine->held;
	engine->held = cq;
}

/* Withheld completions. While unpublished is set and the CQ is not on the engine's list, a push
 * does not add it. */

void rxe_cq_withhold(struct rxe_engine *engine, struct rxe_cq *cq, uint64_t until_ns)
{
	assert(until_ns > 0);
	if (cq->withheld_until_ns)
		return;
	if (cq->unpublished)
		LL_DELETE2(engine->unpublished, cq, next_unpublished);
	else
		cq->unpublished_solicited = false;
	cq->unpublished = true;
	cq->withheld_until_ns = until_ns;
	add_held(engine, cq);
}

static bool any_solicited(const struct rxe_cq *cq, uint32_t from, uint32_t to)
{
	while (from != to && !is_solicited(&cq->ring[from & cq->mask]))
		from++;
	return from != to;
}

/* Publishes n of the entries; the rest stays withheld. */
static void publish_some(struct rxe_engine *engine, struct rxe_cq *cq, uint32_t n)
{
	const uint32_t from = atomic_load_explicit(&cq->visible, memory_order_relaxed);

	assert(n > 0 && n < rxe_cq_num_withheld(cq));
	cq->unpublished_solicited = any_solicited(cq, from, from + n);
	rxe_cq_show(engine, cq, from + n);
	cq->unpublished_solicited = any_solicited(cq, from + n, cq->tail);
}

void rxe_cq_release(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (!cq->withheld_until_ns)
		return;
	cq->withheld_until_ns = 0;
	cq->unpublished = false;
	if (rxe_cq_num_withheld(cq) > 0)
		rxe_cq_show(engine, cq, cq->tail);
}

static void withheld_due(struct rxe_engine *engine, struct rxe_cq *cq)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;
	const uint32_t all = rxe_cq_num_withheld(cq);
	uint64_t again_ns = 0;
	uint32_t n = all;

	if (all > 0 && ops->cq_due)
		n = ops->cq_due(engine->cfg.host, cq, &again_ns);
	assert(n <= all && (n == all || again_ns > engine->now_ns));
	if (n == all) {
		rxe_cq_release(engine, cq);
		return;
	}
	cq->withheld_until_ns = again_ns;
	if (n > 0)
		publish_some(engine, cq, n);
}

/* Moderation. */

#define NSEC_PER_USEC 1000u

void rxe_cq_moderate(struct rxe_cq *cq, uint16_t count, uint16_t period_us)
{
	cq->moderation_count = period_us && count > 1 ? count : 0;
	cq->moderation_ns = (uint64_t)period_us * NSEC_PER_USEC;
}

bool rxe_moderation_holds(struct rxe_engine *engine, struct rxe_cq *cq)
{
	assert(cq->armed != RXE_CQ_IDLE);
	if (rxe_cq_unnotified(cq) >= cq->moderation_count) {
		cq->hold_until_ns = 0;
		return false;
	}
	if (cq->hold_until_ns)
		return true;
	cq->hold_until_ns = engine->now_ns + cq->moderation_ns;
	add_held(engine, cq);
	return true;
}

/* The earlier of both times; RXE_NEVER: neither is set. */
static uint64_t due_ns(const struct rxe_cq *cq)
{
	const uint64_t event_ns = cq->hold_until_ns ? cq->hold_until_ns : RXE_NEVER;
	const uint64_t withheld_ns = cq->withheld_until_ns ? cq->withheld_until_ns : RXE_NEVER;

	return event_ns < withheld_ns ? event_ns : withheld_ns;
}

uint64_t rxe_held_deadline(const struct rxe_engine *engine)
{
	uint64_t least_ns = RXE_NEVER;
	const struct rxe_cq *cq;

	for (cq = engine->held; cq; cq = cq->next_held)
		if (due_ns(cq) < least_ns)
			least_ns = due_ns(cq);
	return least_ns;
}

static void expire(struct rxe_engine *engine, struct rxe_cq *cq)
{
	if (cq->withheld_until_ns && cq->withheld_until_ns <= engine->now_ns)
		withheld_due(engine, cq);
	if (!cq->hold_until_ns || cq->hold_until_ns > engine->now_ns)
		return;
	cq->hold_until_ns = 0;
	if (cq->armed != RXE_CQ_IDLE)
		rxe_cq_notify(engine, cq);
}

void rxe_held_expire(struct rxe_engine *engine)
{
	struct rxe_cq **link = &engine->held;

	while (*link) {
		struct rxe_cq *cq = *link;

		expire(engine, cq);
		if (due_ns(cq) != RXE_NEVER) {
			link = &cq->next_held;
			continue;
		}
		*link = cq->next_held;
		cq->listed_as_held = false;
	}
}
