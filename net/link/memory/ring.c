// SPDX-License-Identifier: MIT
/* A ring of trains: positions and records are checked before use. */
#include "net/link/memory/ring.h"

#include <string.h>

static uint64_t size_of(uint32_t len)
{
	return sizeof(struct ring_record) +
	       (((uint64_t)len + RING_ALIGN - 1) & ~(uint64_t)(RING_ALIGN - 1));
}

static uint64_t aligned(uint64_t at)
{
	return at & ~(uint64_t)(RING_ALIGN - 1);
}

/* Another process may have left any value. */
void ring_producer_open(struct ring_producer *p)
{
	p->at = aligned(atomic_load(p->tail));
	p->head_seen = atomic_load(p->head);
	atomic_store(p->tail, p->at);
}

/* A position that is no multiple of RING_ALIGN is the consumer's own loss: no access needs one. */
void ring_consumer_open(struct ring_consumer *c)
{
	c->at = atomic_load(c->head);
}

/* An impossible head makes more than RING_BYTES of it, and so a full ring. */
static bool has_space(const struct ring_producer *p, uint64_t bytes)
{
	const uint64_t used = p->at - p->head_seen;

	return used <= RING_BYTES && bytes <= RING_BYTES - used;
}

uint8_t *ring_reserve(struct ring_producer *p, uint32_t len)
{
	const uint64_t bytes = size_of(len);

	assert(len > 0 && len <= TRAIN_MAX_BYTES);
	if (!has_space(p, bytes)) {
		/* Pairs with the store in ring_release(): the consumer reads no more of it. */
		p->head_seen = atomic_load_explicit(p->head, memory_order_acquire);
		if (!has_space(p, bytes))
			return NULL;
	}
	return p->data + p->at % RING_BYTES + sizeof(struct ring_record);
}

void ring_publish(struct ring_producer *p, const struct ring_record *record)
{
	assert(has_space(p, size_of(record->len)));
	memcpy(p->data + p->at % RING_BYTES, record, sizeof(*record));
	p->at += size_of(record->len);
	/* Pairs with the loads in ring_waits() and ring_take(). */
	atomic_store_explicit(p->tail, p->at, memory_order_release);
}

static bool is_sound(const struct ring_record *record, uint64_t waiting)
{
	if (record->len == 0 || record->len > TRAIN_MAX_BYTES || size_of(record->len) > waiting)
		return false;
	if (record->segs == 0 || record->segs > TRAIN_MAX_SEGS || record->seg_len == 0)
		return false;
	return record->len <= (uint32_t)record->segs * record->seg_len &&
	       record->len > (record->segs - 1u) * record->seg_len;
}

void ring_skip(struct ring_consumer *c)
{
	c->at = atomic_load_explicit(c->tail, memory_order_acquire);
	ring_release(c);
}

enum ring_result ring_take(struct ring_consumer *c, struct ring_record *ret, const uint8_t **bytes)
{
	const uint64_t waiting = atomic_load_explicit(c->tail, memory_order_acquire) - c->at;
	const uint8_t *at = c->data + c->at % RING_BYTES;

	if (waiting == 0)
		return RING_EMPTY;
	if (waiting > RING_BYTES) {
		ring_skip(c);
		return RING_BAD;
	}
	memcpy(ret, at, sizeof(*ret));
	/* Nothing below reads the ring instead of the copy. */
	atomic_signal_fence(memory_order_seq_cst);
	if (waiting < sizeof(*ret) || !is_sound(ret, waiting)) {
		ring_skip(c);
		return RING_BAD;
	}
	*bytes = at + sizeof(*ret);
	c->at += size_of(ret->len);
	return RING_RECORD;
}

void ring_release(struct ring_consumer *c)
{
	if (atomic_load_explicit(c->head, memory_order_relaxed) != c->at)
		atomic_store_explicit(c->head, c->at, memory_order_release);
}
