/* SPDX-License-Identifier: MIT */
/* Smoothed round-trip time and mean deviation with the gains of RFC 6298: 1/8 and 1/4. */
#include "emu/rc/requester_rtt.h"

#include <assert.h>

#include "net/wire/packet.h"

void rc_rtt_sent(struct rc_rtt *rtt, uint32_t psn, uint64_t now_ns)
{
	if (rtt->is_timing)
		return;
	rtt->is_timing = true;
	rtt->psn = psn;
	rtt->sent_ns = now_ns;
}

void rc_rtt_acknowledged(struct rc_rtt *rtt, uint32_t una_psn, uint64_t now_ns)
{
	uint64_t took_ns, apart_ns;

	if (!rtt->is_timing || psn_diff(una_psn, rtt->psn) <= 0)
		return;
	rtt->is_timing = false;
	assert(now_ns >= rtt->sent_ns);
	took_ns = now_ns - rtt->sent_ns;
	if (rtt->smooth_ns == 0) {
		rtt->smooth_ns = took_ns;
		rtt->spread_ns = took_ns / 2;
		return;
	}
	apart_ns = took_ns > rtt->smooth_ns ? took_ns - rtt->smooth_ns : rtt->smooth_ns - took_ns;
	rtt->spread_ns = rtt->spread_ns - rtt->spread_ns / 4 + apart_ns / 4;
	rtt->smooth_ns = rtt->smooth_ns - rtt->smooth_ns / 8 + took_ns / 8;
}

void rc_rtt_forget(struct rc_rtt *rtt)
{
	rtt->is_timing = false;
}

uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t min_ns, uint64_t max_ns)
{
	uint64_t timeout_ns = rtt->smooth_ns + 2 * rtt->spread_ns;

	assert(min_ns <= max_ns);
	if (rtt->smooth_ns == 0 || timeout_ns > max_ns)
		return max_ns;
	return timeout_ns > min_ns ? timeout_ns : min_ns;
}
