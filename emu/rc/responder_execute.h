/* SPDX-License-Identifier: MIT */
/* Carrying out the expected request (IBTA 9.7.4.1, 9.4): checks in the standard's order, then the deed. */
#ifndef RXE_EMU_RC_RESPONDER_EXECUTE_H
#define RXE_EMU_RC_RESPONDER_EXECUTE_H

#include <stdint.h>

#include "emu/rc/nak.h"

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* Bytes land, words change, receives complete, answers are queued; *ret_psns is how many PSNs the request takes. On a fault
 * nothing of this packet has happened, but that a receive may have been claimed. */
enum rc_fault rc_responder_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct wire_packet *packet, uint32_t *ret_psns);

#endif
