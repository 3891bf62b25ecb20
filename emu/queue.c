/* SPDX-License-Identifier: MIT */
/* Work queues: ring sizes, and posting of receives. post.c checks sends. */
#include "emu/queue.h"

#include <assert.h>
#include <string.h>

/* Entries do not share cache lines. */
#define LINE 64u

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

uint32_t rxe_ring_slots(uint32_t entries)
{
	uint32_t slots = 1;

	while (slots < entries)
		slots <<= 1;
	return slots;
}

size_t rxe_send_stride(uint32_t max_sge, uint32_t max_inline)
{
	size_t sges = max_sge * sizeof(struct rxe_sge);
	size_t tail = sges > max_inline ? sges : max_inline;

	/* A bind, and an ATOMIC WRITE that is inline, fit always. */
	if (tail < sizeof(struct rxe_bind))
		tail = sizeof(struct rxe_bind);
	return round_up(sizeof(struct rxe_send_wqe) + tail, LINE);
}

size_t rxe_recv_stride(uint32_t max_sge)
{
	return round_up(sizeof(struct rxe_recv_wqe) + max_sge * sizeof(struct rxe_sge), LINE);
}

size_t rxe_ring_bytes(uint32_t entries, size_t stride)
{
	return entries == 0 ? 0 : rxe_ring_slots(entries) * stride;
}

void rxe_ring_init(struct rxe_ring *ring, void *mem, uint32_t entries, size_t stride)
{
	assert(entries == 0 || (mem && stride >= LINE));
	*ring = (struct rxe_ring){
		.mem = mem,
		.stride = (uint32_t)stride,
		.mask = rxe_ring_slots(entries) - 1,
		.limit = entries,
	};
}

void rxe_ring_move(struct rxe_ring *ring, void *mem, uint32_t entries)
{
	const struct rxe_ring old = *ring;

	assert(rxe_ring_used(&old) <= entries);
	rxe_ring_init(ring, mem, entries, old.stride);
	ring->head = old.head;
	ring->tail = old.tail;
	for (uint32_t i = old.head; i != old.tail; i++)
		memcpy(rxe_ring_at(ring, i), rxe_ring_at(&old, i), old.stride);
}

uint32_t rxe_copy_sges(struct rxe_sge *to, const struct rxe_recv_wr *wr)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		to[i] = wr->sges[i];
		len += wr->sges[i].length;
	}
	return len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
}

enum post_result rxe_ring_push_recv(struct rxe_ring *ring, const struct rxe_recv_wr *wr,
				    uint32_t max_sge)
{
	struct rxe_recv_wqe *wqe;

	if (wr->num_sge > max_sge || (wr->num_sge > 0 && !wr->sges))
		return POST_BAD_SGE;
	if (rxe_ring_used(ring) >= ring->limit)
		return POST_FULL;

	wqe = rxe_ring_at(ring, ring->tail);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->len = rxe_copy_sges(wqe->sge, wr);
	ring->tail++;
	assert(rxe_ring_used(ring) <= ring->limit);
	return POST_OK;
}
