/* SPDX-License-Identifier: MIT */
/* Reliable connection (IBTA 9.7): the RC state of a queue pair, and the calls that the engine
 * makes. The requester sends requests and retires them by responses (requester*.h). The responder
 * executes the peer's requests and sends responses (responder*.h). Neither calls the other, except
 * that a delayed ACK may leave in a train of requests (rc.c). */
#ifndef RXE_EMU_RC_H
#define RXE_EMU_RC_H

#include "emu/emit.h"
#include "emu/rc/requester.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/responder.h"
#include "emu/rc/responder_duplicate.h"
#include "emu/rc/responder_hold.h"
#include "emu/rc/responder_reply.h"

struct rxe_engine;
struct rxe_qp;
struct wire_packet;
struct wire_train;

struct rxe_rc {
	struct rc_requester req;
	struct rc_retry retry;
	struct rc_responder resp;
	struct rc_hold hold;
	/* From its ring on, what grows with RXE_MAX_RD_ATOMIC, about 30 KiB: a queue pair that
	 * answers no READs and atomics touches little of it. */
	struct rc_reply reply;
	struct rc_recent_reads reads;
	struct rc_replay replay;
};

/* The QP is new, returns to RESET, or is destroyed. */
void rc_reset(struct rxe_engine *engine, struct rxe_qp *qp);
/* The QP entered RTR, RTS or ERR. */
void rc_became_rtr(struct rxe_engine *engine, struct rxe_qp *qp);
void rc_became_rts(struct rxe_engine *engine, struct rxe_qp *qp);
void rc_became_err(struct rxe_engine *engine, struct rxe_qp *qp);
/* Takes a packet for this QP: parsed, ICRC checked, from the peer's address. */
void rc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet);
enum output_result rc_output(struct rxe_engine *engine, struct rxe_qp *qp,
			     struct wire_train *train);
void rc_expired(struct rxe_engine *engine, struct rxe_qp *qp);

#endif
