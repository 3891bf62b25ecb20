/* SPDX-License-Identifier: MIT */
/* What holds a send queue back: the credits of the receiver's socket, and the queue's rate limit.
 *
 * UC and UD are paced towards sockets of local peers. Both may lose packets, but on one machine a
 * packet is lost only when the receiver's socket buffer is full, and a sender easily outruns its
 * receiver. Without pacing most of a stream would be lost, which no adapter does in loopback. RC
 * is clocked by ACKs and needs no pacing. */
#ifndef RXE_EMU_PACE_H
#define RXE_EMU_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/deadline.h"
#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;

/* A QP without credits tries again after this time. After RXE_PACE_TIMEOUT_NS it sends without
 * pacing: its receiver is stopped, and delivery is not guaranteed. */
#define RXE_PACE_RETRY_NS   100000u
#define RXE_PACE_TIMEOUT_NS 200000000u

/* Bytes of a socket buffer that a packet of len bytes (BTH to ICRC) takes, kernel bookkeeping
 * included. */
static inline uint32_t rxe_pace_cost(uint32_t len)
{
	return len + len / 4 + 448;
}

/* One turn of a QP at filling a train, towards one socket. */
struct rxe_pace {
	const struct gid *dst;
	uint32_t slot;
	uint32_t credits;
	uint32_t spent;
};

/* Whether the QP may send to the socket now. If not, the host tries the QP again. */
bool rxe_pace_begin(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_pace *pace,
		    const struct gid *dst, uint32_t dest_qpn);
/* Whether the QP's rate limit stops it now. Then the engine tries the QP again. */
bool rxe_pace_rate_stops(struct rxe_engine *engine, struct rxe_qp *qp);
/* Whether one more packet may be sent in this turn. */
static inline bool rxe_pace_may(const struct rxe_pace *pace)
{
	return pace->spent < pace->credits;
}
void rxe_pace_end(struct rxe_engine *engine, const struct rxe_pace *pace);

/* The rate limit of a send queue (ibv_modify_qp_rate_limit(3)): a leaky bucket in time. Each packet
 * takes the time that it would take at the rate; the next one may leave when the time taken is at
 * most a burst ahead of the clock. Counts the bytes of packets from BTH to ICRC, of requests only:
 * what answers a peer is not limited. A frame of a raw queue pair counts once. */

#define RXE_RATE_MIN_KBPS 1u
#define RXE_RATE_MAX_KBPS 100000000u
/* The burst of a program that names none, as time at the rate. */
#define RXE_RATE_BURST_NS 1000000u

struct rxe_rate {
	uint32_t kbps; /* 0: no limit */
	uint64_t burst_ns;
	/* What was sent is covered until this time. */
	uint64_t taken_until_ns;
	/* The send queue waits until this time; RXE_NEVER: not for its rate. */
	uint64_t resume_ns;
};

/* burst_bytes: what may leave at once, at least a packet of packet_bytes; 0: the default. */
void rxe_rate_set(struct rxe_rate *rate, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes,
		  uint64_t now_ns);
/* Guards the other functions: most queues have no limit. */
static inline bool rxe_rate_is_limited(const struct rxe_rate *rate)
{
	return rate->kbps != 0;
}

/* Whether a packet may leave now. If not, resume_ns says when. */
bool rxe_rate_may_send(struct rxe_rate *rate, uint64_t now_ns);
/* Whether the queue must wait after a packet of this length. */
bool rxe_rate_stops_behind(const struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns);
void rxe_rate_sent(struct rxe_rate *rate, uint32_t bytes, uint64_t now_ns);

#endif
