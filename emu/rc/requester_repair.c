/* SPDX-License-Identifier: MIT */
/* Packets are also lost next to each other, so one miss proves little. A peer that seems to drop is
 * tried again now and then. */
#include "emu/rc/requester_repair.h"

#define MISSES_MAX  3
#define TRIED_AGAIN 16 /* losses */

bool rc_repair_wanted(struct rc_repair *repair)
{
	if (repair->misses < MISSES_MAX)
		return true;
	if (++repair->passed < TRIED_AGAIN)
		return false;
	repair->passed = 0;
	return true;
}

void rc_repair_sent(struct rc_repair *repair)
{
	repair->is_waiting = true;
}

void rc_repair_answered(struct rc_repair *repair, uint32_t packets)
{
	if (!repair->is_waiting)
		return;
	repair->is_waiting = false;
	if (packets > 1)
		repair->misses = 0;
	else if (repair->misses < MISSES_MAX)
		repair->misses++;
}
