/* SPDX-License-Identifier: MIT */
/* Round-trip time, measured as in RFC 6298: one packet at a time, never one that was resent. */
#ifndef RXE_EMU_RC_REQUESTER_RTT_H
#define RXE_EMU_RC_REQUESTER_RTT_H

#include <stdbool.h>
#include <stdint.h>

struct rc_rtt {
	uint64_t smooth_ns, spread_ns; /* 0: not measured yet */
	uint64_t sent_ns;
	uint32_t psn; /* packet whose acknowledgement ends the measurement */
	bool is_timing;
};

/* A packet with AckReq was sent. */
void rc_rtt_sent(struct rc_rtt *rtt, uint32_t psn, uint64_t now_ns);
/* Everything before una is acknowledged. */
void rc_rtt_acknowledged(struct rc_rtt *rtt, uint32_t una_psn, uint64_t now_ns);
/* A packet was resent: its acknowledgement can no longer be matched to one transmission (Karn). */
void rc_rtt_forget(struct rc_rtt *rtt);
/* Time after which a response counts as late: smoothed RTT plus two deviations, within [min_ns,
 * max_ns]; max_ns before the first measurement. */
uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t min_ns, uint64_t max_ns);

#endif
