/* SPDX-License-Identifier: MIT */
/* Pacing of UC and UD towards sockets of this host. They may lose packets, but a wire between two processes of one machine
 * loses one only when the receiver's socket buffer is full, and a sender is easily faster than its receiver: without a brake
 * most of a stream would be lost, which no adapter in loopback does. RC has acknowledgements and needs none of this. */
#ifndef RXE_EMU_PACE_H
#define RXE_EMU_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;

/* A QP that finds no room looks again that often. After this long without any it sends as if there were no brake: its
 * receiver is stopped, and nobody promised delivery. */
#define RXE_PACE_RETRY_NS   100000u
#define RXE_PACE_TIMEOUT_NS 200000000u

/* What a packet of len bytes, BTH to ICRC, takes of a socket's buffer: the kernel's bookkeeping included. */
static inline uint32_t rxe_pace_cost(uint32_t len)
{
	return len + len / 4 + 448;
}

/* One turn of a QP at filling a train: towards one socket. */
struct rxe_pace {
	const struct gid *dst;
	uint32_t slot;
	uint32_t credits;
	uint32_t spent;
};

/* May the QP send to that socket now? Otherwise it will be asked again. */
bool rxe_pace_begin(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_pace *pace,
		    const struct gid *dst, uint32_t dest_qpn, uint64_t now_ns);
/* May one more packet go in this turn? */
static inline bool rxe_pace_may(const struct rxe_pace *pace)
{
	return pace->spent < pace->credits;
}
void rxe_pace_end(struct rxe_engine *engine, const struct rxe_pace *pace);

#endif
