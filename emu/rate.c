/* SPDX-License-Identifier: MIT */
/* Rate limits of send queues. */
#include "emu/rate.h"

/* A kilobit takes a millisecond at 1 kb/s. */
#define NS_PER_MS 1000000ull

static uint64_t time_of(const struct rxe_rate *rate, uint32_t bytes)
{
	/* Rounded up: never faster than the rate. */
	return (bytes * 8ull * NS_PER_MS + rate->kbps - 1) / rate->kbps;
}

void rxe_rate_set(struct rxe_rate *rate, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes,
		  uint64_t now_ns)
{
	*rate = (struct rxe_rate){ .kbps = kbps, .taken_until_ns = now_ns };
	if (kbps == 0)
		return;
	rate->burst_ns = RXE_RATE_BURST_NS;
	/* The packet that passes the mark belongs to the burst. */
	if (burst_bytes)
		rate->burst_ns =
			burst_bytes > packet_bytes ? time_of(rate, burst_bytes - packet_bytes) : 0;
}

static uint64_t taken_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	const uint64_t from_ns = rate->taken_until_ns > now_ns ? rate->taken_until_ns : now_ns;

	return from_ns + time_of(rate, bytes);
}

bool rxe_rate_may_send(struct rxe_rate *rate, uint64_t now_ns)
{
	rate->resume_ns = 0;
	if (rate->kbps == 0 || rate->taken_until_ns <= now_ns + rate->burst_ns)
		return true;
	rate->resume_ns = rate->taken_until_ns - rate->burst_ns;
	return false;
}

bool rxe_rate_stops_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	return rate->kbps && taken_behind(rate, bytes, now_ns) > now_ns + rate->burst_ns;
}

void rxe_rate_sent(struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	if (rate->kbps)
		rate->taken_until_ns = taken_behind(rate, bytes, now_ns);
}
