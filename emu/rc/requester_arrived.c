/* SPDX-License-Identifier: MIT */
/* A bit for each PSN of [una, una + RC_ARRIVED_PSNS). Bits are clear while nothing is waited for. */
#include "emu/rc/requester_arrived.h"

#include <assert.h>
#include <string.h>

#include "net/wire/packet.h"

static uint64_t *word_of(struct rc_arrived *arrived, uint32_t psn)
{
	return &arrived->bits[psn % RC_ARRIVED_PSNS / 64];
}

static uint64_t bit_of(uint32_t psn)
{
	return 1ull << psn % 64;
}

void rc_arrived_reset(struct rc_arrived *arrived)
{
	if (arrived->is_waiting)
		memset(arrived->bits, 0, sizeof(arrived->bits));
	arrived->is_waiting = false;
}

bool rc_arrived_has(const struct rc_arrived *arrived, uint32_t psn)
{
	return arrived->is_waiting && psn_diff(arrived->high_psn, psn) > 0 &&
	       (arrived->bits[psn % RC_ARRIVED_PSNS / 64] & bit_of(psn));
}

bool rc_arrived_add(struct rc_arrived *arrived, uint32_t psn, uint32_t una_psn)
{
	assert(psn_diff(psn, una_psn) > 0);
	if (psn_diff(psn, una_psn) >= (int32_t)RC_ARRIVED_PSNS)
		return false;
	rc_arrived_raise(arrived, psn, una_psn);
	*word_of(arrived, psn) |= bit_of(psn);
	return true;
}

/* Packets keep their order mostly: a response to what was sent after the missing ones were requested
 * again shows that these are missing again. */
void rc_arrived_raise(struct rc_arrived *arrived, uint32_t psn, uint32_t una_psn)
{
	if (!arrived->is_waiting) {
		arrived->is_waiting = true;
		arrived->high_psn = arrived->asked_psn = arrived->after_psn = una_psn;
	}
	if (arrived->asked_psn != una_psn && psn_diff(psn, arrived->after_psn) >= 0)
		rc_arrived_ask_again(arrived, una_psn);
	if (psn_diff(psn, arrived->high_psn) >= 0)
		arrived->high_psn = psn_add(psn, 1);
}

void rc_arrived_passed(struct rc_arrived *arrived, uint32_t from_psn, uint32_t una_psn)
{
	if (!arrived->is_waiting)
		return;
	for (; from_psn != una_psn && from_psn != arrived->high_psn;
	     from_psn = psn_add(from_psn, 1))
		*word_of(arrived, from_psn) &= ~bit_of(from_psn);
	if (psn_diff(una_psn, arrived->asked_psn) > 0)
		arrived->asked_psn = una_psn;
	if (psn_diff(una_psn, arrived->high_psn) >= 0)
		arrived->is_waiting = false;
}

bool rc_arrived_wants(const struct rc_arrived *arrived)
{
	return arrived->is_waiting && psn_diff(arrived->high_psn, arrived->asked_psn) > 0;
}

void rc_arrived_asked(struct rc_arrived *arrived, uint32_t cur_psn)
{
	arrived->asked_psn = arrived->high_psn;
	arrived->after_psn = cur_psn;
}

void rc_arrived_ask_again(struct rc_arrived *arrived, uint32_t una_psn)
{
	arrived->asked_psn = una_psn;
}
