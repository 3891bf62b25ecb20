/* SPDX-License-Identifier: MIT */
/* A list for each queue pair, sorted by PSN, in one pool. Requests mostly arrive in order, so one
 * is mostly added at the end. */
#include "emu/rc/responder_hold.h"

#include <assert.h>
#include <string.h>

#include "net/wire/opcode.h"

static struct rxe_held *at(const struct rxe_hold *pool, uint32_t number)
{
	assert(number > 0 && number <= pool->used);
	return &pool->at[number - 1];
}

/* A free entry's number; 0: the pool is used up. */
static uint32_t take(struct rxe_hold *pool)
{
	uint32_t number = pool->free;

	if (number) {
		pool->free = at(pool, number)->next;
		return number;
	}
	return pool->used < pool->size ? ++pool->used : 0;
}

static void release_first(struct rxe_hold *pool, struct rc_hold *hold)
{
	const uint32_t number = hold->first;
	struct rxe_held *held = at(pool, number);

	assert(hold->count > 0);
	hold->first = held->next;
	if (--hold->count == 0)
		hold->last = 0;
	held->next = pool->free;
	pool->free = number;
}

/* The entry that the PSN follows; 0: it is the first. */
static uint32_t find_before(const struct rxe_hold *pool, const struct rc_hold *hold, uint32_t psn)
{
	uint32_t before = 0, number = hold->first;

	if (hold->last && psn_diff(psn, at(pool, hold->last)->packet.bth.psn) > 0)
		return hold->last;
	while (number && psn_diff(psn, at(pool, number)->packet.bth.psn) >= 0) {
		before = number;
		number = at(pool, number)->next;
	}
	return before;
}

static void copy(struct rxe_held *to, const struct wire_packet *packet)
{
	assert(packet->payload_len <= sizeof(to->payload));
	to->packet = *packet;
	to->packet.payload = to->payload;
	if (packet->payload_len > 0)
		memcpy(to->payload, packet->payload, packet->payload_len);
}

void rc_hold_add(struct rxe_hold *pool, struct rc_hold *hold, const struct wire_packet *packet)
{
	uint32_t before = find_before(pool, hold, packet->bth.psn);
	uint32_t *link = before ? &at(pool, before)->next : &hold->first;
	uint32_t number;

	if (hold->count >= RC_HOLD_MAX ||
	    (before && at(pool, before)->packet.bth.psn == packet->bth.psn))
		return;
	number = take(pool);
	if (!number)
		return;
	copy(at(pool, number), packet);
	at(pool, number)->next = *link;
	if (*link == 0)
		hold->last = number;
	*link = number;
	hold->count++;
	assert(hold->count <= RC_HOLD_MAX && hold->last != 0);
}

const struct wire_packet *rc_hold_at(struct rxe_hold *pool, struct rc_hold *hold, uint32_t psn)
{
	while (hold->count > 0 && psn_diff(rc_hold_first_psn(pool, hold), psn) < 0)
		release_first(pool, hold);
	if (hold->count == 0 || rc_hold_first_psn(pool, hold) != psn)
		return NULL;
	return &at(pool, hold->first)->packet;
}

uint32_t rc_hold_first_psn(const struct rxe_hold *pool, const struct rc_hold *hold)
{
	assert(hold->count > 0);
	return at(pool, hold->first)->packet.bth.psn;
}

void rc_hold_clear(struct rxe_hold *pool, struct rc_hold *hold)
{
	while (hold->count > 0)
		release_first(pool, hold);
	assert(hold->first == 0 && hold->last == 0);
}

enum rc_replay_kind rc_replay_kind(uint32_t shape)
{
	assert(shape & (SHAPE_ANSWERED & ~(uint32_t)SHAPE_READ));
	return shape & SHAPE_ATOMIC ? RC_REPLAY_ATOMIC : RC_REPLAY_EMPTY;
}

void rc_replay_save(struct rc_replay *replay, enum rc_replay_kind kind, uint32_t psn, uint64_t orig)
{
	uint32_t index = replay->count++ % RXE_MAX_RD_ATOMIC;

	replay->saved[index].kind = kind;
	replay->saved[index].psn = psn;
	replay->saved[index].orig = orig;
}

static uint32_t num_saved(const struct rc_replay *replay)
{
	return replay->count < RXE_MAX_RD_ATOMIC ? replay->count : RXE_MAX_RD_ATOMIC;
}

void rc_replay_copy(struct rc_replay *to, const struct rc_replay *from)
{
	to->count = from->count;
	memcpy(to->saved, from->saved, num_saved(from) * sizeof(from->saved[0]));
}

/* Newest first: after 2^24 PSNs a number may occur twice. */
bool rc_replay_find(const struct rc_replay *replay, enum rc_replay_kind kind, uint32_t psn,
		    uint64_t *ret_orig)
{
	const uint32_t kept = num_saved(replay);

	for (uint32_t i = 1; i <= kept; i++) {
		uint32_t index = (replay->count - i) % RXE_MAX_RD_ATOMIC;

		if (replay->saved[index].psn == psn && replay->saved[index].kind == kind) {
			*ret_orig = replay->saved[index].orig;
			return true;
		}
	}
	return false;
}
