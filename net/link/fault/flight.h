/* SPDX-License-Identifier: MIT */
/* A packet in the shaper: changes of its bytes, and the hold for packets that wait. Private to
 * net/link/fault/. */
#ifndef RXE_LINK_FAULT_FLIGHT_H
#define RXE_LINK_FAULT_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/fault/shaper.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

/* A single packet in either direction, with the train or arrival that it is part of. */
struct flight {
	enum fault_dir dir;
	uint8_t *p;
	uint32_t len;
	uint16_t index; /* index in its train: the IP identification that its ICRC covers */
	struct wire_train train;     /* FAULT_OUT */
	struct wire_arrival arrival; /* FAULT_IN */
};

/* In these three len includes the ICRC and is at least BTH_LEN + ICRC_LEN. */

/* Flips one bit of the part, selected by a random number. In a packet without payload FAULT_PAYLOAD
 * selects the headers. The bits of the BTH that the ICRC does not cover are never selected. */
void fault_flip_bit(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice);

/* Computes the ICRC again and stores it. */
void fault_store_icrc(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id);

/* Writes a NAK. Returns its length, with room for the ICRC, which the caller stores. */
uint32_t fault_emit_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
			uint8_t syndrome, uint32_t msn);

enum held_state {
	HELD_FREE,
	HELD_WAITING,
	HELD_RELEASED, /* returned by hold_pop; its bytes are valid until hold_reclaim */
};

struct held {
	enum held_state state;
	uint64_t due_ns;
	uint64_t order;	 /* packets that are due at the same time leave in this order */
	uint64_t stream; /* QP and direction */
	uint32_t behind; /* packets of the stream that pass first; 0: only due_ns counts */
	struct flight flight;
};

struct hold {
	uint64_t order;
	uint32_t waiting;
	uint32_t released[2]; /* by direction */
	struct held held[FAULT_HELD];
	uint8_t bytes[FAULT_HELD][FAULT_PACKET_MAX];
};

/* Holds a copy of the packet. False: the hold is full, or the packet too long. */
bool hold_push(struct hold *hold, const struct flight *flight, uint64_t due_ns, uint64_t stream,
	       uint32_t behind);
/* A packet of the stream has passed: packets that waited for it alone become due. */
void hold_passed(struct hold *hold, uint64_t stream, uint64_t now_ns);
uint64_t hold_deadline(const struct hold *hold);
/* Removes and returns the first packet that is due in that direction, or NULL. */
struct flight *hold_pop(struct hold *hold, enum fault_dir dir, uint64_t now_ns);
/* Frees the bytes of the packets that hold_pop returned for that direction. */
void hold_reclaim(struct hold *hold, enum fault_dir dir);

#endif
