/* SPDX-License-Identifier: MIT */
/* AETH syndromes (IBTA 9.3.5.1), and what each fault of a request leads to on both sides. */
#ifndef RXE_EMU_RC_NAK_H
#define RXE_EMU_RC_NAK_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/host.h"

/* Bits 6:5 of a syndrome. */
enum rc_aeth_class {
	RC_AETH_ACK = 0,
	RC_AETH_RNR = 1,
	RC_AETH_RESERVED = 2,
	RC_AETH_NAK = 3,
};

#define RC_ACK_NO_CREDITS 0x1f /* an ACK that says nothing of receives */
#define RC_RNR		  0x20 /* | timer code */

enum rc_nak_syndrome {
	RC_NAK_PSN_SEQUENCE = 0x60,
	RC_NAK_INVALID_REQUEST = 0x61,
	RC_NAK_REMOTE_ACCESS = 0x62,
	RC_NAK_REMOTE_OPERATIONAL = 0x63,
};

static inline enum rc_aeth_class rc_syndrome_class(uint8_t syndrome)
{
	return (enum rc_aeth_class)(syndrome >> 5 & 3);
}

/* What can be wrong with a request. */
enum rc_fault {
	RC_FAULT_NONE,
	RC_FAULT_PSN_GAP,
	RC_FAULT_RNR,	   /* no receive */
	RC_FAULT_SEQUENCE, /* FIRST, MIDDLE, LAST out of order */
	RC_FAULT_LENGTH, /* a packet or a message longer or shorter than its opcode or RETH allows */
	RC_FAULT_QP_RIGHTS,	/* the QP does not take this operation */
	RC_FAULT_MISALIGNED,	/* an atomic's address */
	RC_FAULT_TOO_MANY,	/* reads and atomics at a time */
	RC_FAULT_KEY,		/* key, its rights, its range, or memory gone */
	RC_FAULT_INVALIDATE,	/* a key that is not the peer's to invalidate */
	RC_FAULT_RECV_SHORT,	/* the message is longer than the receive */
	RC_FAULT_RECV_MEMORY,	/* the receive's own keys are wrong */
	RC_FAULT_XRC_SRQ,	/* XRC: no such SRQ in the QP's XRC domain */
	RC_FAULT_XRC_CQ,	/* XRC: the SRQ's completion queue overran */
	RC_FAULT_DEFERRED,	/* its memory cannot be reached now */
	RC_FAULT_RECV_INJECTED, /* the host wants the receive to end in error: rxe_claim.injected */
};

struct rc_nak {
	uint8_t syndrome;
	bool is_fatal; /* the responder's QP goes to ERR */
	bool has_event;
	enum rxe_event_type event; /* raised when no receive completes in error */
	enum rxe_wc_status
		recv_status; /* of the receive that the message holds; SUCCESS: it is flushed with the others */
};

const struct rc_nak *rc_nak_for(enum rc_fault fault);
/* Requester: the completion status for the syndrome of a NAK that is fatal. */
enum rxe_wc_status rc_nak_status(uint8_t syndrome);

#endif
