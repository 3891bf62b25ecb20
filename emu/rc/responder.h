/* SPDX-License-Identifier: MIT */
/* The responder (IBTA 9.7.4): takes requests in the order of their PSNs, each once. */
#ifndef RXE_EMU_RC_RESPONDER_H
#define RXE_EMU_RC_RESPONDER_H

#include <stdint.h>

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* The message that is arriving. */
enum rc_message {
	RC_MESSAGE_NONE, /* between messages: FIRST, ONLY, a read or an atomic may come */
	RC_MESSAGE_SEND, /* landing in the claimed receive */
	RC_MESSAGE_WRITE,
};

/* What was said about packets that are not the expected one. */
enum rc_gap {
	RC_GAP_NONE,
	RC_GAP_NAK_SENT, /* a NAK asked for the expected one: one a gap (IBTA 9.7.5.2.8) */
	RC_GAP_RNR_SENT, /* an RNR NAK: what follows it is dropped until the requester comes back */
};

/* The expected PSN is attr.rq_psn. */
struct rc_responder {
	enum rc_message message;
	uint32_t srqn; /* XRC: the SRQ that it names, and that one's domain */
	uint32_t pd;
	uint32_t arrived; /* bytes of it */
	uint64_t va;	  /* WRITE: as its RETH says */
	uint32_t rkey;
	uint32_t len;
	uint32_t msn; /* requests completed */
	enum rc_gap gap;
	uint32_t gap_psn; /* of the packet that showed the gap */
};

void rc_responder_reset(struct rc_responder *resp);
void rc_responder_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet, uint64_t now_ns);

#endif
