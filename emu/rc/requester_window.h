/* SPDX-License-Identifier: MIT */
/* How many packets of a QP may be under way, as far as what gets lost tells. */
#ifndef RXE_EMU_RC_REQUESTER_WINDOW_H
#define RXE_EMU_RC_REQUESTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

/* What a packet costs a receiver's socket buffer beside its payload. */
#define RC_PACKET_COST 256u

/* Losses leave so many. To a socket of this host a round trip is paid for with changes of processes: a smaller window would cost more
 * than what goes again. */
#define RC_WINDOW_MIN	    8u
#define RC_WINDOW_MIN_LOCAL 48u
#define RC_WINDOW_STEP	    4u /* more for each window that was answered */
/* More packets never are under way: RXE_WINDOW_BYTES holds no more. */
#define RC_WINDOW_MAX (RXE_WINDOW_BYTES / RC_PACKET_COST)

/* A READ request counts for the packets of its answer. */
struct rc_window {
	uint32_t packets; /* so many at most; RC_WINDOW_MAX: no loss is remembered */
	uint32_t min;	  /* losses leave so many */
	uint32_t peak;	  /* so many were under way at once, since the last loss */
	uint32_t acked;	  /* of the next growth: answered since the last */
};

void rc_window_reset(struct rc_window *window, bool peer_is_local);
/* So many are under way now. */
void rc_window_sent(struct rc_window *window, uint32_t in_flight);
/* packets of the in_flight that were under way have their answer. */
void rc_window_acknowledged(struct rc_window *window, uint32_t in_flight, uint32_t packets);
/* The requester goes back for something that was lost. */
void rc_window_lost(struct rc_window *window);

static inline bool rc_window_is_open(const struct rc_window *window)
{
	return window->packets >= RC_WINDOW_MAX;
}

#endif
