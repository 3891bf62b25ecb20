/* SPDX-License-Identifier: MIT */
/* Execution of the expected request (IBTA 9.7.4.1, 9.4): checks in the standard's order, then
 * effects. */
#ifndef RXE_EMU_RC_RESPONDER_EXECUTE_H
#define RXE_EMU_RC_RESPONDER_EXECUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/rc/nak.h"

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* Stores bytes, changes words, completes receives, queues responses. *ret_psns: number of PSNs
 * that the request takes. On a fault the packet has no effect, except that a receive may be
 * claimed. */
enum rc_fault rc_responder_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct wire_packet *packet, uint32_t *ret_psns);

/* Whether another READ or atomic would be one too many. */
bool rc_responder_has_too_many(const struct rxe_qp *qp);

#endif
