/* SPDX-License-Identifier: MIT */
/* Reliable connection (IBTA 9.7): what a QP keeps of it, and the calls the engine makes. */
#ifndef RXE_EMU_RC_H
#define RXE_EMU_RC_H

#include <stdbool.h>
#include <stdint.h>

struct rxe_engine;
struct rxe_qp;
struct wire_packet;
struct wire_train;

enum output_verdict {
	OUTPUT_IDLE, /* nothing to send now */
	OUTPUT_ADDED, /* packets were added; there may be more when this train has gone, or fits more from others */
	OUTPUT_TRAIN_FULL, /* the next packet does not fit this train: send it and ask again */
};

struct rxe_rc {
	uint32_t reserved; /* requester, responder and retry state: each a struct of its module */
};

/* The QP moved to INIT/RTR/RTS, or back to RESET. */
void rc_reset(struct rxe_qp *qp);
void rc_became_rtr(struct rxe_engine *engine, struct rxe_qp *qp);
void rc_became_rts(struct rxe_engine *engine, struct rxe_qp *qp);
/* A packet for this QP, parsed, ICRC checked, from the peer's address. */
void rc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
	      uint64_t now_ns);
enum output_verdict rc_output(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train, uint64_t now_ns);
void rc_expired(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t now_ns);

#endif
