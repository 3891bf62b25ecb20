// SPDX-License-Identifier: MIT
/* Records the heads of packets in a ring, and searches it. */
#include "net/link/capture/tail.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_AT_EACH_END 2u

struct tail *tail_open(const uint64_t *now_ns)
{
	struct tail *tail = calloc(1, sizeof(*tail));

	if (tail)
		tail->now_ns = now_ns;
	return tail;
}

void tail_close(struct tail *tail)
{
	free(tail);
}

uint32_t tail_peer(const struct gid *gid)
{
	uint32_t ret;

	memcpy(&ret, gid->raw + 12, sizeof(ret));
	return ret;
}

/* The engine's time advances when it handles arrivals, which is after this link's call. So entries
 * of arrivals get their time in the next call. */
static void stamp(struct tail *tail)
{
	for (; tail->stamped != tail->next; tail->stamped++)
		tail->at[tail->stamped % TAIL_PACKETS].time_ns = *tail->now_ns;
}

static struct tail_packet *record(struct tail *tail, const uint8_t *packet, uint32_t len,
				  const struct gid *peer, bool is_sent)
{
	struct tail_packet *entry = &tail->at[tail->next++ % TAIL_PACKETS];

	entry->peer = tail_peer(peer);
	entry->len = (uint16_t)len;
	entry->sent = is_sent;
	entry->skipped = 0;
	if (len >= TAIL_HEAD)
		memcpy(entry->head, packet, TAIL_HEAD);
	else
		memcpy(entry->head, packet, len);
	return entry;
}

static struct tail_packet *record_segment(struct tail *tail, const struct wire_train *train,
					  uint32_t index)
{
	return record(tail, wire_train_packet(train, index), wire_train_packet_len(train, index),
		      &train->dst, true);
}

static uint8_t count_of(size_t n)
{
	return n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

static void sent(void *arg, const struct wire_train *trains, size_t n)
{
	struct tail *tail = arg;

	if (n == 0)
		return;
	stamp(tail);
	for (size_t i = 0; i < n; i++) {
		const struct wire_train *train = &trains[i];
		struct tail_packet *first = record_segment(tail, train, 0);

		if (train->segs > 2)
			first->skipped = count_of(train->segs - 2u);
		if (train->segs > 1)
			(void)record_segment(tail, train, train->segs - 1u);
	}
	stamp(tail);
}

static void arrived(void *arg, const struct wire_arrival *arrivals, size_t n)
{
	struct tail *tail = arg;
	const size_t shown = 2 * SHOWN_AT_EACH_END;
	size_t i = 0;

	stamp(tail);
	while (i < n) {
		const struct wire_arrival *arrival = &arrivals[i];
		struct tail_packet *entry =
			record(tail, arrival->p, arrival->len, &arrival->src, false);

		if (++i == SHOWN_AT_EACH_END && n > shown) {
			entry->skipped = count_of(n - shown);
			i = n - SHOWN_AT_EACH_END;
		}
	}
}

const struct tap_observer tail_departures = { .sent = sent };
const struct tap_observer tail_arrivals = { .arrived = arrived };

uint32_t tail_find(struct tail *tail, bool (*is_wanted)(const struct tail_packet *, const void *),
		   const void *arg, struct tail_packet *ret, uint32_t max)
{
	const uint32_t noted = tail->next < TAIL_PACKETS ? tail->next : TAIL_PACKETS;
	uint32_t found = 0;

	stamp(tail);
	for (uint32_t i = 1; i <= noted && found < max; i++) {
		const struct tail_packet *entry = &tail->at[(tail->next - i) % TAIL_PACKETS];

		if (is_wanted(entry, arg))
			ret[found++] = *entry;
	}
	for (uint32_t i = 0; i < found / 2; i++) {
		const struct tail_packet newer = ret[i];

		ret[i] = ret[found - 1 - i];
		ret[found - 1 - i] = newer;
	}
	return found;
}
