/* SPDX-License-Identifier: MIT */
/* Packets that wait in the shaper: private to net/link/fault_*.c. */
#ifndef RXE_LINK_FAULT_HOLD_H
#define RXE_LINK_FAULT_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/fault/shaper.h"

/* A single packet in either direction: its bytes, and the envelope that its direction has. */
struct flight {
	enum fault_dir dir;
	uint8_t *p;
	uint32_t len;
	uint16_t index;		     /* place in its train */
	struct wire_train train;     /* FAULT_OUT */
	struct wire_arrival arrival; /* FAULT_IN */
};

enum held_state {
	HELD_FREE,
	HELD_WAITING,
	HELD_RELEASED, /* handed out: its bytes stay until the next call of its direction */
};

struct held {
	enum held_state state;
	uint64_t due_ns;
	uint64_t order;	 /* of arrival here: among those due at once, first in is first out */
	uint64_t stream; /* QP and direction */
	uint32_t behind; /* packets of the stream that go first; 0: only time counts */
	struct flight flight;
};

struct hold {
	uint64_t order;
	uint32_t waiting;
	uint32_t released[2]; /* by direction */
	struct held held[FAULT_HELD];
	uint8_t bytes[FAULT_HELD][FAULT_PACKET_MAX];
};

/* Keep a copy. False: no room, or too long. */
bool hold_push(struct hold *hold, const struct flight *flight, uint64_t due_ns, uint64_t stream,
	       uint32_t behind);
/* A packet of the stream went by: those that waited for it alone become due now. */
void hold_passed(struct hold *hold, uint64_t stream, uint64_t now_ns);
uint64_t hold_deadline(const struct hold *hold);
/* The first that is due in that direction, or NULL. Its bytes stay until hold_reclaim. */
struct flight *hold_pop(struct hold *hold, enum fault_dir dir, uint64_t now_ns);
void hold_reclaim(struct hold *hold, enum fault_dir dir);

#endif
