/* SPDX-License-Identifier: MIT */
/* Unreliable connection (IBTA 9.8.2): messages in order or not at all. */
#ifndef RXE_EMU_UC_H
#define RXE_EMU_UC_H

#include <stdint.h>

#include "emu/emit.h"
#include "emu/sge.h"

struct rxe_engine;
struct rxe_qp;

/* The message that is arriving. */
enum uc_message {
	UC_NONE, /* between messages: only FIRST or ONLY may come */
	UC_SEND, /* goes into the claimed receive */
	UC_WRITE,
};

struct rxe_uc {
	struct rxe_cursor cursor; /* of the send in progress */
	uint32_t sent;		  /* bytes of it that were sent */

	enum uc_message message;
	uint32_t arrived; /* bytes of it that arrived */
	uint64_t va;	  /* WRITE: from its RETH */
	uint32_t rkey;
	uint32_t len;
};

/* RESET: drops both messages. */
void uc_reset(struct rxe_qp *qp);
/* Handles a packet for this QP: parsed, with a good ICRC, from the peer's address. */
void uc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet);
enum output_result uc_output(struct rxe_engine *engine, struct rxe_qp *qp,
			     struct wire_train *train);

#endif
