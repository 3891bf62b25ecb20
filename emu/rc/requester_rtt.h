/* SPDX-License-Identifier: MIT */
/* How long an answer takes, measured (RFC 6298): one packet at a time, and none that was sent again. */
#ifndef RXE_EMU_RC_REQUESTER_RTT_H
#define RXE_EMU_RC_REQUESTER_RTT_H

#include <stdbool.h>
#include <stdint.h>

struct rc_rtt {
	uint64_t smooth_ns, spread_ns; /* 0: not measured yet */
	uint64_t sent_ns;
	uint32_t psn; /* of the packet whose answer is waited for */
	bool is_timing;
};

/* A packet that asks for an answer left. */
void rc_rtt_sent(struct rc_rtt *rtt, uint32_t psn, uint64_t now_ns);
/* All before una has its answer. */
void rc_rtt_acknowledged(struct rc_rtt *rtt, uint32_t una_psn, uint64_t now_ns);
/* Something was sent again: which sending an answer belongs to cannot be told. */
void rc_rtt_forget(struct rc_rtt *rtt);
/* An answer takes longer than that only when it, or the question, is lost; or the peer is kept from its processor. At least least_ns;
 * at most most_ns, which also holds until there is a measurement. */
uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t least_ns, uint64_t most_ns);

#endif
