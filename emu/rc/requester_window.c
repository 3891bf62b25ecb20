/* SPDX-License-Identifier: MIT */
/* The requester goes back to what was lost, and all that was under way behind it goes again: so a loss costs what was under way, and
 * that should be no more than the network bears. As in TCP (RFC 5681): less at each loss, a few packets more for each window that
 * was answered; so the window settles where about one packet gets lost for each few windows. In packets, for it is packets that get
 * lost. The bytes that a peer's socket holds are another matter, and bound all the time (peer.h).
 *
 * Told of losses only: not of an RNR NAK, nor of memory that is late. Without any it bounds nothing. */
#include "emu/rc/requester_window.h"

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

/* A window that was not used says nothing about the network (RFC 7661): half of it must have been under way. */
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

/* Of what was used of it: a window that was never filled was not too large by its unused part only. */
void rc_window_lost(struct rc_window *window)
{
	uint32_t used = window->peak < window->packets ? window->peak : window->packets;
	uint32_t half = used / 2;

	window->packets = half > window->min ? half : window->min;
	window->peak = 0;
	window->acked = 0;
}
