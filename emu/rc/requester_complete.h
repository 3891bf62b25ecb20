/* SPDX-License-Identifier: MIT */
/* The receiving half of the requester (IBTA 9.7.5): what responses mean for outstanding
 * requests. */
#ifndef RXE_EMU_RC_REQUESTER_COMPLETE_H
#define RXE_EMU_RC_REQUESTER_COMPLETE_H

#include <stdint.h>

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

void rc_requester_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet, uint64_t now_ns);
/* The QP's deadline has passed: the ACK timer may have expired. */
void rc_requester_expired(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t now_ns);

#endif
