/* SPDX-License-Identifier: MIT */
/* The loss window. A rewind resends everything in flight behind a loss, so in-flight packets are
 * kept near what the network carries. As in TCP (RFC 5681) the window halves at a loss and grows
 * by a few packets for each acknowledged window. It counts packets, because packets are lost; the
 * bytes that a peer's socket holds are bounded separately and always (peer.h).
 *
 * RNR NAKs and deferred accesses are not losses. Without a loss the window bounds nothing. */
#include "emu/rc/requester_window.h"

#include <assert.h>

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
