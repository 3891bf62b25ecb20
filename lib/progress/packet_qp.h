/* SPDX-License-Identifier: MIT */
/* Which of our queue pairs and work requests is a packet on the wire of? Asked by captures and faults, never by the engine: it need
 * not be fast. Under the engine lock. */
#ifndef RXE_PROGRESS_PACKET_QP_H
#define RXE_PROGRESS_PACKET_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;
struct rxe_send_wqe;

/* Of a packet that leaves for peer, by what it says of itself: NULL when none of ours is connected to that number there. */
struct rxe_qp *vb_wire_qp_of_sent(const struct rxe_engine *engine, const struct gid *peer,
				  const uint8_t *packet, uint32_t len);
/* Of RC and UC: the one of ours that is connected to that number of the peer's, or NULL. */
struct rxe_qp *vb_wire_qp_connected_to(const struct rxe_engine *engine, const struct gid *peer,
				       uint32_t qpn);
/* Of one that arrived; NULL also when it is for a group. */
struct rxe_qp *vb_wire_qp_of_arrived(const struct rxe_engine *engine, const uint8_t *packet,
				     uint32_t len);

/* The request of ours that an RC packet carries (sent) or answers (arrived); NULL when it is the peer's, or not known any more. */
const struct rxe_send_wqe *vb_wire_request(const struct rxe_qp *qp, bool sent,
					   const uint8_t *packet, uint32_t len);

#endif
