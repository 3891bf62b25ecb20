/* SPDX-License-Identifier: MIT */
/* Round trips, smoothed as RFC 6298 has it: an eighth of each new one, and how far they are apart by quarters. What was sent twice is not
 * measured (Karn). */
#include "emu/rc/requester_rtt.h"

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

uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t least_ns, uint64_t most_ns)
{
	uint64_t patience_ns = rtt->smooth_ns + 4 * rtt->spread_ns;

	if (rtt->smooth_ns == 0 || patience_ns > most_ns)
		return most_ns;
	return patience_ns > least_ns ? patience_ns : least_ns;
}
