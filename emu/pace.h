/* SPDX-License-Identifier: MIT */
/* Pacing of UC and UD towards sockets of local peers. Both may lose packets, but on one machine a
 * packet is lost only when the receiver's socket buffer is full, and a sender easily outruns its
 * receiver. Without pacing most of a stream would be lost, which no adapter does in loopback. RC
 * is clocked by ACKs and needs no pacing. */
#ifndef RXE_EMU_PACE_H
#define RXE_EMU_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;

/* A QP without credits asks again after this time. After RXE_PACE_TIMEOUT_NS it sends without
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

/* Whether the QP may send to the socket now. If not, the QP will be asked again. */
bool rxe_pace_begin(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_pace *pace,
		    const struct gid *dst, uint32_t dest_qpn, uint64_t now_ns);
/* Whether the QP's rate limit stops it now. Then the QP will be asked again. */
bool rxe_pace_rate_stops(struct rxe_engine *engine, struct rxe_qp *qp);
/* Whether one more packet may be sent in this turn. */
static inline bool rxe_pace_may(const struct rxe_pace *pace)
{
	return pace->spent < pace->credits;
}
void rxe_pace_end(struct rxe_engine *engine, const struct rxe_pace *pace);

#endif
