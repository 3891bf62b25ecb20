// SPDX-License-Identifier: MIT
/* Changes of a packet's bytes. Packets that wait, for a time or for other packets of their QP: at
 * most FAULT_HELD, so a linear search finds the next. */
#include "net/link/fault/flight.h"

#include <assert.h>
#include <string.h>

#include "net/wire/packet.h"

#define BTH_VARIANT 4u /* offset of FECN, BECN and reserved bits, which the ICRC does not cover */

void fault_flip_bit(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice)
{
	const uint32_t end = len - ICRC_LEN;
	uint32_t headers = wire_header_len(p[0]), from = 0, to = end, at;

	assert(len >= BTH_LEN + ICRC_LEN);
	if (headers == 0 || headers > end)
		headers = end;
	switch (part) {
	case FAULT_PAYLOAD: from = headers < end ? headers : 0; break;
	case FAULT_HEADER: to = headers; break;
	case FAULT_ICRC:
		from = end;
		to = len;
		break;
	}
	at = from + (uint32_t)(dice >> 3) % (to - from);
	if (at == BTH_VARIANT)
		at++;
	p[at] ^= (uint8_t)(1u << (dice & 7));
}

void fault_store_icrc(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id)
{
	const uint32_t end = len - ICRC_LEN;

	assert(len >= BTH_LEN + ICRC_LEN);
	icrc_store(p + end, icrc_compute(flow, ip_id, p, end));
}

uint32_t fault_emit_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
			uint8_t syndrome, uint32_t msn)
{
	const struct wire_packet nak = {
		.bth = { .opcode = opcode_make(service, OP_ACKNOWLEDGE),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = dest_qpn,
			 .psn = psn },
		.aeth = { .syndrome = syndrome, .msn = msn },
	};

	return (uint32_t)wire_emit_headers(p, &nak) + ICRC_LEN;
}

bool hold_push(struct hold *hold, const struct flight *flight, uint64_t due_ns, uint64_t stream,
	       uint32_t behind)
{
	struct held *held = hold->held;

	while (held < hold->held + FAULT_HELD && held->state != HELD_FREE)
		held++;
	if (held == hold->held + FAULT_HELD || flight->len > FAULT_PACKET_MAX)
		return false;

	assert(hold->waiting < FAULT_HELD);
	held->state = HELD_WAITING;
	held->due_ns = due_ns;
	held->order = hold->order++;
	held->stream = stream;
	held->behind = behind;
	held->flight = *flight;
	held->flight.p = hold->bytes[held - hold->held];
	memcpy(held->flight.p, flight->p, flight->len);
	hold->waiting++;
	return true;
}

void hold_passed(struct hold *hold, uint64_t stream, uint64_t now_ns)
{
	if (hold->waiting == 0)
		return;
	for (uint32_t i = 0; i < FAULT_HELD; i++) {
		struct held *held = &hold->held[i];

		if (held->state != HELD_WAITING || held->stream != stream || held->behind == 0)
			continue;
		if (--held->behind == 0 && held->due_ns > now_ns)
			held->due_ns = now_ns;
	}
}

uint64_t hold_deadline(const struct hold *hold)
{
	uint64_t first = UINT64_MAX;

	if (hold->waiting == 0)
		return first;
	for (uint32_t i = 0; i < FAULT_HELD; i++)
		if (hold->held[i].state == HELD_WAITING && hold->held[i].due_ns < first)
			first = hold->held[i].due_ns;
	return first;
}

static bool earlier(const struct held *a, const struct held *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

struct flight *hold_pop(struct hold *hold, enum fault_dir dir, uint64_t now_ns)
{
	struct held *first = NULL;

	if (hold->waiting == 0)
		return NULL;
	for (uint32_t i = 0; i < FAULT_HELD; i++) {
		struct held *held = &hold->held[i];

		if (held->state == HELD_WAITING && held->flight.dir == dir &&
		    held->due_ns <= now_ns && (!first || earlier(held, first)))
			first = held;
	}
	if (!first)
		return NULL;
	assert(hold->waiting > 0);
	first->state = HELD_RELEASED;
	hold->waiting--;
	hold->released[dir]++;
	return &first->flight;
}

void hold_reclaim(struct hold *hold, enum fault_dir dir)
{
	if (hold->released[dir] == 0)
		return;
	hold->released[dir] = 0;
	for (uint32_t i = 0; i < FAULT_HELD; i++)
		if (hold->held[i].state == HELD_RELEASED && hold->held[i].flight.dir == dir)
			hold->held[i].state = HELD_FREE;
}
