/* SPDX-License-Identifier: MIT */
/* Maps a packet to its queue pair and work request, for captures, fault rules and reports of
 * failures. The engine never asks, so speed does not matter. Under the engine lock. */
#ifndef RXE_PROGRESS_PACKET_QP_H
#define RXE_PROGRESS_PACKET_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;
struct rxe_send_wqe;
struct tail;
struct tail_packet;

/* The sender of a packet that leaves for peer; NULL when no queue pair is connected to the packet's
 * destination. place: as below. */
struct rxe_qp *packet_qp_sent(const struct rxe_engine *engine, const struct gid *peer,
			      const uint8_t *packet, uint32_t len, uint32_t *place);
/* The RC or UC queue pair that is connected to qpn of the peer, or NULL. *place: index in the
 * engine's table where the search begins, 0 at first; becomes that of the queue pair found. */
struct rxe_qp *packet_qp_connected_to(const struct rxe_engine *engine, const struct gid *peer,
				      uint32_t qpn, uint32_t *place);
/* The receiver of a packet that arrived; NULL also for a multicast packet. */
struct rxe_qp *packet_qp_arrived(const struct rxe_engine *engine, const uint8_t *packet,
				 uint32_t len);

/* The request of this queue pair that an RC packet carries (sent) or answers (arrived); NULL when
 * the request is the peer's, or has completed. */
const struct rxe_send_wqe *packet_qp_request(const struct rxe_qp *qp, bool sent,
					     const uint8_t *packet, uint32_t len);

/* Copies the last packets of the queue pair from the tail, oldest first. Returns how many, up to
 * max. */
uint32_t packet_qp_tail(const struct rxe_qp *qp, struct tail *tail, struct tail_packet *ret,
			uint32_t max);

#endif
