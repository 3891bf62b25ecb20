/* SPDX-License-Identifier: MIT */
/* Responses that arrived while an earlier one is missing: which PSNs they answer, and which of the
 * missing ones were requested again. Their bytes are in the program's memory already, where nobody
 * looks before the completion. */
#ifndef RXE_EMU_RC_REQUESTER_ARRIVED_H
#define RXE_EMU_RC_REQUESTER_ARRIVED_H

#include <stdbool.h>
#include <stdint.h>

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
