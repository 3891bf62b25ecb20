/* SPDX-License-Identifier: MIT */
/* What the responder owes its peer, and its way out: answers to reads and atomics in a ring, then one ACK or NAK behind them
 * (IBTA 9.7.5.1: answers leave in the order of their PSNs). However many requests arrive before the next output, one ACK
 * answers them all. */
#ifndef RXE_EMU_RC_RESPONDER_REPLY_H
#define RXE_EMU_RC_RESPONDER_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "emu/output.h"
#include "emu/rc/nak.h"

struct rxe_engine;
struct rxe_qp;
struct wire_train;

/* Answers to new requests are at most max_dest_rd_atomic; as many again may be to duplicates. */
#define RC_MAX_ANSWERS (2 * RXE_MAX_RD_ATOMIC)
/* A peer that reads more at a time than we would ask for has no window: it gets so many bytes, then a pause. */
#define RC_READ_BURST	 65536u
#define RC_READ_PAUSE_NS 16000u

enum rc_answer_kind {
	RC_ANSWER_READ,
	RC_ANSWER_ATOMIC,
};

struct rc_answer {
	enum rc_answer_kind kind;
	bool is_duplicate; /* to a duplicate */
	uint32_t psn;	   /* of its first packet */
	uint32_t packets;  /* all of them */
	uint32_t sent;
	uint32_t msn;
	uint32_t pd, rkey, len; /* READ */
	uint64_t va;
	uint64_t orig; /* atomic: the value that was there */
};

enum rc_pending {
	RC_PENDING_NONE,
	RC_PENDING_ACK, /* of all up to the PSN before the expected one */
	RC_PENDING_NAK,
};

struct rc_reply {
	struct rc_answer answer[RC_MAX_ANSWERS];
	uint32_t head, tail; /* free-running */
	uint32_t num_new;    /* answers in the ring that are not again */
	enum rc_pending pending;
	enum rc_fault
		fault; /* NAK: why. A fatal one fails the QP when it has left; until then nothing comes in */
	uint32_t nak_psn;
	bool is_overdue; /* the ACK found no place behind the requests of a train: next time it goes first */
	uint32_t burst;	    /* bytes read without a pause */
	uint64_t resume_ns; /* the end of a pause, or of waiting for memory that is late; or 0 */
	/* An ACK may be held for a moment when a request is likely to follow, and ride behind it: see rc_reply_may_delay_ack(). */
	uint32_t ack_delay_ns; /* 0: never */
	uint64_t ack_delay_until_ns;
	bool is_ack_recorded; /* the host sends it should the process die */
	uint64_t last_ack_ns;
	uint16_t piggybacks; /* ACKs in a row that rode, or would have */
	uint16_t
		threshold; /* so many before the next is held: more with each that was held in vain */
};

void rc_reply_reset(struct rc_reply *reply);
/* False: no room; the request counts as lost. */
bool rc_reply_push(struct rc_reply *reply, const struct rc_answer *answer);
void rc_reply_ack(struct rc_reply *reply);
/* The answer just pushed acknowledges all that came before it. */
void rc_reply_include_ack(struct rc_reply *reply);
/* The ACK for a message of one packet that completes nothing on this side, or that the host has noted: it may wait for a request to
 * ride behind. */
void rc_reply_ack_delayed(struct rc_reply *reply, uint64_t now_ns);
/* May an ACK be held at all, as things stand? */
bool rc_reply_may_delay_ack(const struct rc_reply *reply);
/* The requester sent something again: it may have waited for an ACK that was held. */
void rc_reply_duplicate_arrived(struct rc_reply *reply);
void rc_reply_nak(struct rc_reply *reply, enum rc_fault fault, uint32_t psn);
/* The request that a NAK asked for has come: it need not leave any more. */
void rc_reply_withdraw_nak(struct rc_reply *reply);
/* Is the QP about to fail? */
bool rc_reply_is_fatal(const struct rc_reply *reply);
/* Will this packet of a read's answer, or this atomic's, leave anyway? */
bool rc_reply_is_queued(const struct rc_reply *reply, uint32_t psn);

/* Everything but an ACK that may ride. */
enum output_result rc_reply_output(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct wire_train *train, uint64_t now_ns);
/* An ACK is owed, and may leave behind requests. */
bool rc_reply_ack_may_piggyback(const struct rc_reply *reply, const struct wire_train *train);
/* ... and now it leaves, unless it is held. requests: how many it has before it in the train. */
enum output_result rc_reply_output_ack(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train, uint32_t requests,
				       uint64_t now_ns);
uint64_t rc_reply_next_ns(const struct rc_reply *reply);

#endif
