/* SPDX-License-Identifier: MIT */
/* The responder (IBTA 9.7.4): accepts requests in PSN order, each once. */
#ifndef RXE_EMU_RC_RESPONDER_H
#define RXE_EMU_RC_RESPONDER_H

#include "emu/rc/nak.h"
#include <stdbool.h>
#include <stdint.h>

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* The message that is arriving. */
enum rc_message {
	/* Between messages: FIRST, ONLY, a READ or an atomic may come. */
	RC_MESSAGE_NONE,
	RC_MESSAGE_SEND, /* goes into the claimed receive */
	RC_MESSAGE_WRITE,
};

/* What was sent for packets ahead of the expected one. */
enum rc_gap {
	RC_GAP_NONE,
	/* A NAK asked for the expected packet: one NAK for each gap (IBTA 9.7.5.2.8). */
	RC_GAP_NAK_SENT,
	/* An RNR NAK was sent: later packets are dropped until the requester resends. */
	RC_GAP_RNR_SENT,
};

/* The expected PSN is attr.rq_psn. */
struct rc_responder {
	enum rc_message message;
	/* XRC: the SRQ that the message names, and the SRQ's protection domain. */
	uint32_t srqn;
	uint32_t pd;
	uint32_t arrived; /* bytes of the message */
	uint64_t va;	  /* WRITE: from its RETH */
	uint32_t rkey;
	uint32_t len;
	uint32_t msn; /* messages completed */
	enum rc_gap gap;
	uint32_t gap_psn; /* PSN of the packet that showed the gap */
};

void rc_responder_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet);

/* Executes the expected request (IBTA 9.7.4.1, 9.4): checks in the standard's order, then effects.
 * Stores bytes, changes words, completes receives, queues responses. *ret_psns: number of PSNs
 * that the request takes. On a fault the packet has no effect, except that a receive may be
 * claimed. */
enum rc_fault rc_responder_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct wire_packet *packet, uint32_t *ret_psns);

/* Whether another READ or atomic would be one too many. */
bool rc_responder_has_too_many(const struct rxe_qp *qp);

#endif
