/* SPDX-License-Identifier: MIT */
/* Decides after a NAK whether to resend the missing packet alone, or everything behind it. A peer
 * that holds what arrives behind a missing packet (responder_hold.h) answers the missing one with a
 * response to more. A peer that drops it, as rdma_rxe does, acknowledges just that packet: then
 * everything behind is resent, and after a few such answers at once. */
#ifndef RXE_EMU_RC_REQUESTER_REPAIR_H
#define RXE_EMU_RC_REQUESTER_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

struct rc_repair {
	/* A packet was resent alone, and una has not moved since. */
	bool is_waiting;
	uint8_t misses; /* repairs in a row that only one packet answered */
	uint8_t passed; /* losses since the last repair */
};

/* A packet is missing: whether to resend it alone. */
bool rc_repair_wanted(struct rc_repair *repair);
void rc_repair_sent(struct rc_repair *repair);
/* una moved by this many packets. */
void rc_repair_answered(struct rc_repair *repair, uint32_t packets);

#endif
