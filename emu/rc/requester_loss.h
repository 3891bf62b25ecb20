/* SPDX-License-Identifier: MIT */
/* What the requester learns from losses. Pure: the requester reports events and asks.
 *
 *   window    how many packets of a QP may be in flight
 *   repair    whether the peer holds what arrives after a missing packet
 *   arrived   which responses came while an earlier one is missing */
#ifndef RXE_EMU_RC_REQUESTER_LOSS_H
#define RXE_EMU_RC_REQUESTER_LOSS_H

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
/* packets: how many of the in_flight packets were acknowledged. */
void rc_window_acknowledged(struct rc_window *window, uint32_t in_flight, uint32_t packets);
/* A packet was lost: the requester rewinds. */
void rc_window_lost(struct rc_window *window);

static inline bool rc_window_is_open(const struct rc_window *window)
{
	return window->packets >= RC_WINDOW_MAX;
}

/* Decides after a NAK whether to resend the missing packet alone, or everything after it. A peer
 * that holds what arrives after a missing packet (responder_hold.h) answers the missing one with a
 * response to more. A peer that drops it, as rdma_rxe does, acknowledges just that packet: then
 * everything after it is resent, and after a few such answers it is resent at once. */

struct rc_repair {
	/* A packet was resent alone, and una has not moved since. */
	bool is_waiting;
	uint8_t misses; /* repairs in a row that only one packet answered */
	uint8_t passed; /* losses since the last repair */
};

/* A packet is missing: whether to resend it alone. */
bool rc_repair_wanted(struct rc_repair *repair);
/* una moved by this many packets. */
void rc_repair_answered(struct rc_repair *repair, uint32_t packets);

/* Responses that arrived while an earlier one is missing: which PSNs they answer, and which of the
 * missing ones were requested again. Their bytes are in the program's memory already, which the
 * program does not read before the completion. */

/* PSNs from the oldest missing one on that are remembered: a power of two, more than any window
 * holds. */
#define RC_ARRIVED_PSNS 1024u

struct rc_arrived {
	/* A response is missing, and a later one has arrived. All below is valid only then. */
	bool is_waiting;
	/* The peer has responded to requests up to here, before this PSN: those that need no
	 * response of their own are acknowledged. */
	uint32_t high_psn;
	/* Missing responses before this PSN were requested again. */
	uint32_t asked_psn;
	/* Requests from this PSN on were sent after that. */
	uint32_t after_psn;
	uint64_t bits[RC_ARRIVED_PSNS / 64]; /* by PSN modulo RC_ARRIVED_PSNS */
};

/* Forgets everything: all is sent again. */
void rc_arrived_reset(struct rc_arrived *arrived);
bool rc_arrived_has(const struct rc_arrived *arrived, uint32_t psn);
/* A response to this PSN was stored. False, and nothing changes: it is too far ahead of una. */
bool rc_arrived_add(struct rc_arrived *arrived, uint32_t psn, uint32_t una_psn);
/* The peer has responded to this PSN while una is missing. */
void rc_arrived_raise(struct rc_arrived *arrived, uint32_t psn, uint32_t una_psn);
/* una moved from one PSN to the other. */
void rc_arrived_passed(struct rc_arrived *arrived, uint32_t from_psn, uint32_t una_psn);
/* Whether there may be missing responses that were not requested again. */
bool rc_arrived_wants(const struct rc_arrived *arrived);
/* All missing responses were requested again; cur: next PSN to send. */
void rc_arrived_asked(struct rc_arrived *arrived, uint32_t cur_psn);
/* Requests all missing ones once more. */
void rc_arrived_ask_again(struct rc_arrived *arrived, uint32_t una_psn);

#endif
