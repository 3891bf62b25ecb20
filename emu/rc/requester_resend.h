/* SPDX-License-Identifier: MIT */
/* Sends single packets again, beside the stream of requests: a probe, the packet that a NAK asked
 * for, and READs for the parts of responses that are missing. They count as in flight already, and
 * advance nothing. Going back to a packet and sending everything from there is the requester's. */
#ifndef RXE_EMU_RC_REQUESTER_RESEND_H
#define RXE_EMU_RC_REQUESTER_RESEND_H

#include <stdint.h>

#include "emu/output.h"

struct rxe_engine;
struct rxe_qp;
struct wire_train;

/* The oldest packet was lost: resends it alone, or rewinds. */
void rc_resend_oldest(struct rxe_engine *engine, struct rxe_qp *qp);
/* Sends what is due. */
enum output_result rc_resend_output(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct wire_train *train, uint64_t now_ns);

#endif
