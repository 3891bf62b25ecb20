/* SPDX-License-Identifier: MIT */
/* The rate limit of a send queue (ibv_modify_qp_rate_limit(3)): a leaky bucket in time. Each packet
 * takes the time that it would take at the rate; the next one may leave when the time taken is at
 * most a burst ahead of the clock. Counts the bytes of packets from BTH to ICRC, of requests only:
 * what answers a peer is not limited. Of raw queue pairs it counts each frame once. */
#ifndef RXE_EMU_RATE_H
#define RXE_EMU_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RXE_RATE_MIN_KBPS 1u
#define RXE_RATE_MAX_KBPS 100000000u
/* The burst of a program that names none, as time at the rate. */
#define RXE_RATE_BURST_NS 1000000u

struct rxe_rate {
	uint32_t kbps; /* 0: no limit */
	uint64_t burst_ns;
	/* What was sent is covered until this time. */
	uint64_t taken_until_ns;
	/* The send queue waits until this time; 0: not for its rate. */
	uint64_t resume_ns;
};

/* burst_bytes: what may leave at once, at least a packet of packet_bytes; 0: the default. */
void rxe_rate_set(struct rxe_rate *rate, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes,
		  uint64_t now_ns);
/* The others need not be asked: most queues have no limit. */
static inline bool rxe_rate_is_limited(const struct rxe_rate *rate)
{
	return rate->kbps != 0;
}

/* Whether a packet may leave now. If not, resume_ns says when. */
bool rxe_rate_may_send(struct rxe_rate *rate, uint64_t now_ns);
/* Whether the queue must wait behind a packet of this length. */
bool rxe_rate_stops_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns);
void rxe_rate_sent(struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns);

#endif
