/* SPDX-License-Identifier: MIT */
/* AETH syndromes (IBTA 9.3.5.1), and what each fault of a request causes on both sides. */
#ifndef RXE_EMU_RC_NAK_H
#define RXE_EMU_RC_NAK_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/host.h"
#include "net/wire/packet.h"

/* Bits 6:5 of a syndrome. */
enum rc_aeth_class {
	RC_AETH_ACK = 0,
	RC_AETH_RNR = 1,
	RC_AETH_RESERVED = 2,
	RC_AETH_NAK = 3,
};

enum rc_nak_syndrome {
	RC_NAK_PSN_SEQUENCE = AETH_NAK | 0,
	RC_NAK_INVALID_REQUEST = AETH_NAK | 1,
	RC_NAK_REMOTE_ACCESS = AETH_NAK | 2,
	RC_NAK_REMOTE_OPERATIONAL = AETH_NAK | 3,
};

static inline enum rc_aeth_class rc_syndrome_class(uint8_t syndrome)
{
	return (enum rc_aeth_class)(syndrome >> 5 & 3);
}

/* What can be wrong with a request. */
enum rc_fault {
	RC_FAULT_NONE,
	RC_FAULT_PSN_GAP,
	RC_FAULT_RNR,	   /* no receive is posted */
	RC_FAULT_SEQUENCE, /* FIRST, MIDDLE, LAST out of order */
	/* A packet or message is longer or shorter than its opcode or RETH allows. */
	RC_FAULT_LENGTH,
	RC_FAULT_QP_RIGHTS,  /* the QP does not allow this operation */
	RC_FAULT_MISALIGNED, /* the address of an atomic */
	RC_FAULT_TOO_MANY,   /* more READs and atomics than max_dest_rd_atomic */
	/* The key, its rights, its range, or the memory that it names. */
	RC_FAULT_KEY,
	RC_FAULT_INVALIDATE,  /* the peer may not invalidate this key */
	RC_FAULT_RECV_SHORT,  /* the message is longer than the receive */
	RC_FAULT_RECV_MEMORY, /* the keys of the receive are wrong */
	RC_FAULT_XRC_SRQ,     /* XRC: no such SRQ in the QP's XRC domain */
	RC_FAULT_XRC_CQ,      /* XRC: the SRQ's completion queue overran */
	RC_FAULT_DEFERRED,    /* the memory is not ready */
	/* The host injects an error into the receive: rxe_claim.injected. */
	RC_FAULT_RECV_INJECTED,
};

struct rc_nak {
	uint8_t syndrome;
	bool is_fatal; /* the responder's QP enters ERR */
	bool has_event;
	/* Raised when no receive completes in error. */
	enum rxe_event_type event;
	/* Status of the receive that holds the message. SUCCESS: it is flushed with the others. */
	enum rxe_wc_status recv_status;
};

const struct rc_nak *rc_nak_for(enum rc_fault fault);
/* Requester: the completion status for the syndrome of a fatal NAK. */
enum rxe_wc_status rc_nak_status(uint8_t syndrome);

#endif
