/* SPDX-License-Identifier: MIT */
/* The loss window: how many packets of a QP may be in flight, learned from losses. */
#ifndef RXE_EMU_RC_REQUESTER_WINDOW_H
#define RXE_EMU_RC_REQUESTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

/* Bytes of a receiver's socket buffer that a packet takes beside its payload. */
#define RC_PACKET_COST 256u

/* Smallest window after a loss, in packets. A round trip to a local peer costs context switches,
 * more than resending a larger window. */
#define RC_WINDOW_MIN	    8u
#define RC_WINDOW_MIN_LOCAL 48u
#define RC_WINDOW_STEP	    4u /* growth for each acknowledged window */
/* RXE_WINDOW_BYTES never holds more packets. */
#define RC_WINDOW_MAX (RXE_WINDOW_BYTES / RC_PACKET_COST)

/* A READ request counts as the packets of its response. */
struct rc_window {
	/* Most packets in flight. RC_WINDOW_MAX: no loss is remembered. */
	uint32_t packets;
	uint32_t min;	/* smallest window after a loss */
	uint32_t peak;	/* most in flight at once since the last loss */
	uint32_t acked; /* acknowledged since the last growth */
};

void rc_window_reset(struct rc_window *window, bool peer_is_local);
/* in_flight packets are in flight now. */
void rc_window_sent(struct rc_window *window, uint32_t in_flight);
/* Of in_flight packets, this many were acknowledged. */
void rc_window_acknowledged(struct rc_window *window, uint32_t in_flight, uint32_t packets);
/* A packet was lost: the requester rewinds. */
void rc_window_lost(struct rc_window *window);

static inline bool rc_window_is_open(const struct rc_window *window)
{
	return window->packets >= RC_WINDOW_MAX;
}

#endif
