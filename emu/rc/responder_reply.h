/* SPDX-License-Identifier: MIT */
/* What the responder sends: responses to READs and atomics in a ring, then one ACK or NAK after
 * them (IBTA 9.7.5.1: responses are sent in PSN order). One ACK acknowledges all requests that
 * arrived before the output. */
#ifndef RXE_EMU_RC_RESPONDER_REPLY_H
#define RXE_EMU_RC_RESPONDER_REPLY_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/deadline.h"
#include "emu/emit.h"
#include "emu/limits.h"
#include "emu/rc/nak.h"
#include "net/wire/packet.h"

struct rxe_engine;
struct rxe_qp;
struct wire_train;

/* At most max_dest_rd_atomic responses to new READs, atomics and ATOMIC WRITEs. RXE_MAX_RD_ATOMIC
 * to new FLUSHes, which rdma_rxe does not count, and as many to duplicates. */
#define RC_MAX_ANSWERS (3 * RXE_MAX_RD_ATOMIC)
/* A peer that reads more at once than our requester does has no window: it gets this many bytes,
 * then a pause. */
#define RC_READ_BURST	 65536u
#define RC_READ_PAUSE_NS 16000u

enum rc_answer_kind {
	RC_ANSWER_READ,
	RC_ANSWER_ATOMIC,
	RC_ANSWER_FLUSH,
	RC_ANSWER_EMPTY, /* ATOMIC WRITE; duplicate of it or of a FLUSH */
};

struct rc_answer {
	enum rc_answer_kind kind;
	bool is_duplicate; /* answers a duplicate request */
	/* FLUSH: nothing is left but to send the response. */
	bool is_carried_out;
	struct feth feth; /* FLUSH */
	uint32_t psn;	  /* of its first packet */
	uint32_t packets; /* of the whole response */
	uint32_t sent;
	uint32_t msn;
	uint32_t pd, rkey, len; /* READ, FLUSH */
	uint64_t va;
	union {
		uint64_t ticket; /* FLUSH: what the host has begun; 0: nothing */
		uint64_t orig;	 /* atomic: the value before it */
	};
};
static_assert(sizeof(struct rc_answer) == 56, "a ring of them is most of a queue pair");

enum rc_pending {
	RC_PENDING_NONE,
	RC_PENDING_ACK, /* acknowledges all before the expected PSN */
	RC_PENDING_NAK,
};

struct rc_reply {
	/* Positions in answer, free-running. They return to 0 when the ring is empty, so only the
	 * pages that were ever filled are touched. */
	uint32_t head, tail;
	uint32_t num_new;     /* responses in the ring to new requests other than FLUSHes */
	uint32_t num_flushes; /* to new FLUSHes */
	enum rc_pending pending;
	/* Cause of the NAK. After a fatal NAK was sent the QP enters ERR; no request is accepted
	 * before. */
	enum rc_fault fault;
	uint32_t nak_psn;
	bool nak_implies_ack; /* an ACK was pending before the NAK */
	/* The ACK did not fit after the requests of a train: it is sent first next time. */
	bool is_overdue;
	uint32_t burst; /* bytes sent without a pause */
	/* End of a pause, or of waiting for memory that is not ready; RXE_NEVER: none. */
	uint64_t resume_ns;
	/* An ACK may be delayed when a request is likely to follow, to leave in the same train
	 * (piggyback): see rc_reply_may_delay_ack(). */
	uint32_t ack_delay_ns;	     /* 0: never */
	uint64_t ack_delay_until_ns; /* RXE_NEVER: no ACK is delayed */
	/* Number of the record from which the server sends the ACK if the process is killed
	 * (time_wait.h), from 1. 0: no ACK is recorded. */
	uint32_t ack_record;
	uint64_t last_ack_ns;
	/* ACKs in a row that were piggybacked, or could have been. */
	uint16_t piggybacks;
	/* piggybacks needed before the next delay; doubles with each delay in vain. */
	uint16_t threshold;
	/* Requests without AckReq were received, and the record stands for their ACK until a later
	 * request asks for one. */
	bool is_unasked;
	/* Last: not initialized. */
	struct rc_answer answer[RC_MAX_ANSWERS];
};

void rc_reply_reset(struct rc_reply *reply);
/* False: the ring is full, and the request counts as lost. */
bool rc_reply_push(struct rc_reply *reply, const struct rc_answer *answer);
void rc_reply_ack(struct rc_reply *reply);
/* The response just pushed acknowledges all requests before it. */
void rc_reply_include_ack(struct rc_reply *reply);
/* The ACK of a single-packet message that completes nothing here, or one that is recorded.
 * It may wait for a request to leave with. */
void rc_reply_ack_delayed(struct rc_reply *reply, uint64_t now_ns);
/* Whether an ACK may be delayed now. */
bool rc_reply_may_delay_ack(const struct rc_reply *reply);
/* A message without AckReq was received. False: it must be acknowledged at once, because it cannot
 * be recorded. */
bool rc_reply_leave_ack(struct rxe_engine *engine, struct rxe_qp *qp);
/* The requester resent a packet: it may have waited for an ACK that was delayed. */
void rc_reply_duplicate_arrived(struct rc_reply *reply);
void rc_reply_nak(struct rc_reply *reply, enum rc_fault fault, uint32_t psn);
/* The packet that a NAK asked for arrived: the NAK is not sent. */
void rc_reply_withdraw_nak(struct rc_reply *reply);
/* Whether a fatal NAK is pending: the QP enters ERR once it is sent. */
static inline bool rc_reply_is_fatal(const struct rc_reply *reply)
{
	return reply->pending == RC_PENDING_NAK && rc_nak_for(reply->fault)->is_fatal;
}

/* Whether the ring has no place for the response to another FLUSH. */
bool rc_reply_has_many_flushes(const struct rc_reply *reply);
/* Whether a FLUSH in the ring is not carried out yet: an ATOMIC WRITE must not pass it. */
bool rc_reply_is_flushing(const struct rc_reply *reply);
/* Whether the response packet with this PSN is still to be sent. */
bool rc_reply_is_queued(const struct rc_reply *reply, uint32_t psn);

/* Sends everything but an ACK that may be piggybacked. */
enum output_result rc_reply_output(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct wire_train *train);
/* Whether a pending ACK may follow the requests in this train. */
bool rc_reply_ack_may_piggyback(const struct rc_reply *reply, const struct wire_train *train);
/* Sends the pending ACK unless it is delayed. requests: how many requests precede it in the
 * train. */
enum output_result rc_reply_output_ack(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train, uint32_t requests);
uint64_t rc_reply_next_ns(const struct rc_reply *reply);

#endif
