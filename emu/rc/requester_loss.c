/* SPDX-License-Identifier: MIT */
/* What the requester learns from losses.
 *
 * A rewind resends everything in flight after a loss, so the loss window keeps in-flight packets
 * near what the network carries. As in TCP (RFC 5681) the window halves at a loss and grows by a
 * few packets for each acknowledged window. It counts packets, because packets are lost; the bytes
 * that a peer's socket holds are bounded separately and always (peer.h). RNR NAKs and deferred
 * accesses are not losses. Without a loss the window bounds nothing. */
#include "emu/rc/requester_loss.h"

#include <assert.h>
#include <string.h>

#include "net/wire/packet.h"

void rc_window_reset(struct rc_window *window, bool peer_is_local)
{
	*window = (struct rc_window){
		.packets = RC_WINDOW_MAX,
		.min = peer_is_local ? RC_WINDOW_MIN_LOCAL : RC_WINDOW_MIN,
	};
}

void rc_window_sent(struct rc_window *window, uint32_t in_flight)
{
	if (in_flight > window->peak)
		window->peak = in_flight;
}

/* A window that was not used says nothing about the network (RFC 7661): at least half of it must
 * have been in flight. */
void rc_window_acknowledged(struct rc_window *window, uint32_t in_flight, uint32_t packets)
{
	if (rc_window_is_open(window) || in_flight < window->packets / 2)
		return;
	window->acked += packets;
	while (window->acked >= window->packets && !rc_window_is_open(window)) {
		window->acked -= window->packets;
		window->packets += RC_WINDOW_STEP;
	}
}

/* Halves the part of the window that was used: the unused part proves nothing. */
void rc_window_lost(struct rc_window *window)
{
	uint32_t used = window->peak < window->packets ? window->peak : window->packets;
	uint32_t half = used / 2;

	window->packets = half > window->min ? half : window->min;
	assert(window->packets >= window->min && window->packets <= RC_WINDOW_MAX);
	window->peak = 0;
	window->acked = 0;
}

/* Packets are also lost next to each other, so one miss proves little. A peer that seems to drop is
 * tried again now and then. */
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

void rc_repair_answered(struct rc_repair *repair, uint32_t packets)
{
	if (!repair->is_waiting)
		return;
	repair->is_waiting = false;
	if (packets > 1)
		repair->misses = 0;
	else if (repair->misses < MISSES_MAX)
		repair->misses++;
	assert(repair->misses <= MISSES_MAX);
}

/* A bit for each PSN of [una, una + RC_ARRIVED_PSNS). Bits are clear while nothing is waited
 * for. */
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

/* Packets keep their order mostly: a response to what was sent after the missing ones were
 * requested again shows that these are missing again. */
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
	assert(psn_diff(una_psn, from_psn) >= 0);
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
