// SPDX-License-Identifier: MIT
/* A queue of arrivals in their order, each with the time from which it may go on. */
#include "net/link/unkind/link.h"

#include <stdlib.h>
#include <string.h>

#define PACKET_MAX 4224u /* longer packets pass, and are never held */

struct held {
	uint64_t due_ns;
	uint64_t stream;
	struct wire_arrival arrival; /* p: bytes */
	uint8_t bytes[PACKET_MAX];
};

struct unkind_link {
	struct link base; /* first: a struct link * is one of these */
	struct unkind_link_cfg cfg;
	/* Places in slot: the first num_held hold packets, oldest first; the others are free. */
	uint16_t place[UNKIND_HELD];
	uint32_t num_held;
	struct held slot[UNKIND_HELD];
};

static struct held *at(struct unkind_link *unkind, uint32_t i)
{
	return &unkind->slot[unkind->place[i]];
}

static uint64_t due_at(const struct unkind_link *unkind, uint32_t i)
{
	return unkind->slot[unkind->place[i]].due_ns;
}

/* Moves a place to the free ones: its bytes stay until another packet needs them, which is not
 * before the next call. */
static void take_out(struct unkind_link *unkind, uint32_t i)
{
	const uint16_t place = unkind->place[i];

	unkind->num_held--;
	memmove(&unkind->place[i], &unkind->place[i + 1],
		(UNKIND_HELD - 1 - i) * sizeof(unkind->place[0]));
	unkind->place[UNKIND_HELD - 1] = place;
}

/* A packet is never due before an older one of its stream. */
static size_t take_due(struct unkind_link *unkind, uint64_t now_ns, struct wire_arrival *ret,
		       size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < unkind->num_held && n < max;) {
		if (due_at(unkind, i) > now_ns) {
			i++;
			continue;
		}
		ret[n++] = at(unkind, i)->arrival;
		take_out(unkind, i);
	}
	return n;
}

/* When the last held packet of the stream is due; 0: none is held. */
static uint64_t last_due_ns(const struct unkind_link *unkind, uint64_t stream)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < unkind->num_held; i++)
		if (unkind->slot[unkind->place[i]].stream == stream)
			last_ns = due_at(unkind, i);
	return last_ns;
}

static void hold(struct unkind_link *unkind, const struct wire_arrival *arrival, uint64_t stream,
		 uint64_t due_ns)
{
	struct held *held = at(unkind, unkind->num_held);

	assert(unkind->num_held < UNKIND_HELD && arrival->len <= PACKET_MAX);
	unkind->num_held++;
	held->due_ns = due_ns;
	held->stream = stream;
	held->arrival = *arrival;
	held->arrival.p = held->bytes;
	memcpy(held->bytes, arrival->p, arrival->len);
}

/* False: the arrival goes on now. */
static bool holds(struct unkind_link *unkind, const struct wire_arrival *arrival, uint64_t now_ns)
{
	uint64_t stream = 0, due_ns, last_ns;

	if (arrival->len > PACKET_MAX || arrival->len < BTH_LEN)
		return false;
	due_ns = now_ns + unkind->cfg.hold_ns(unkind->cfg.arg, arrival, &stream);
	last_ns = last_due_ns(unkind, stream);
	if (last_ns > due_ns)
		due_ns = last_ns;
	if (due_ns <= now_ns && last_ns == 0)
		return false;
	hold(unkind, arrival, stream, due_ns);
	return true;
}

static int unkind_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	struct unkind_link *unkind = (struct unkind_link *)base;
	const uint64_t now_ns = unkind->cfg.now_ns(unkind->cfg.arg);
	size_t n = take_due(unkind, now_ns, ret, max), read = max - n, kept = n;
	const size_t space = UNKIND_HELD - unkind->num_held - n;
	int got;

	/* The places of those taken now keep their bytes until the next call. */
	read = read < space ? read : space;
	if (read == 0)
		return (int)n;
	got = link_receive(base->below, ret + n, read);
	for (size_t i = n; got > 0 && i < n + (size_t)got; i++)
		if (!holds(unkind, &ret[i], now_ns))
			ret[kept++] = ret[i];
	return got < 0 && kept == 0 ? got : (int)kept;
}

static uint64_t unkind_deadline(const struct link *base)
{
	const struct unkind_link *unkind = (const struct unkind_link *)base;
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < unkind->num_held; i++)
		if (due_at(unkind, i) < first_ns)
			first_ns = due_at(unkind, i);
	return first_ns;
}

static const struct link_ops ops = {
	.receive = unkind_receive,
	.deadline = unkind_deadline,
};

struct unkind_link *unkind_link_open(const struct unkind_link_cfg *cfg)
{
	struct unkind_link *unkind = calloc(1, sizeof(*unkind));

	if (!unkind)
		return NULL;
	unkind->base.ops = &ops;
	unkind->cfg = *cfg;
	for (uint16_t i = 0; i < UNKIND_HELD; i++)
		unkind->place[i] = i;
	return unkind;
}

void unkind_link_close(struct unkind_link *unkind)
{
	free(unkind);
}

struct link *unkind_link_over(struct unkind_link *unkind, struct link *below)
{
	assert(below);
	unkind->base.below = below;
	return &unkind->base;
}
