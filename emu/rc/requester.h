/* SPDX-License-Identifier: MIT */
/* The sending half of the requester (IBTA 9.7.2, 9.7.3): which packet is sent next, and which PSNs
 * are acknowledged. */
#ifndef RXE_EMU_RC_REQUESTER_H
#define RXE_EMU_RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/emit.h"
#include "emu/rc/requester_loss.h"
#include "emu/rc/requester_retry.h"
#include "emu/sge.h"

struct rxe_engine;
struct rxe_peer;
struct rxe_qp;
struct wire_train;
struct wire_packet;

/* Most bytes of one READ request: a larger READ is sent as several requests, so that its responses
 * are clocked. A power of two. */
#define RC_READ_BYTES 65536u
/* Fewest packets of one READ request, however small the loss window. */
#define RC_READ_PACKETS 4u

/* Without trains, a packet asks for an ACK once this many bytes were sent without AckReq. */
#define RC_ACK_REQ_BYTES 16384u

/* A probe resends the oldest packet, alone and with AckReq, when no response came for a while, or
 * when a NAK asked for it. */
enum rc_probe {
	RC_PROBE_NONE,
	RC_PROBE_DUE,
	RC_PROBE_SENT, /* una has not moved since */
};

/* PSNs: una <= cur <= sent <= attr.sq_psn. [una, cur) is in flight, [cur, sent) is to be resent,
 * [sent, sq_psn) is assigned to the request that is being sent. una lies in the request at the
 * head of the send queue, or equals attr.sq_psn. */
struct rc_requester {
	uint32_t una_psn;	/* oldest not acknowledged */
	uint32_t cur_psn;	/* next to send */
	uint32_t sent_psn;	/* first never sent */
	uint32_t cur;		/* send queue index of the request that holds cur_psn */
	struct rxe_cursor from; /* gathers from the SGEs of cur */
	/* Scatters READ responses and atomic results into the SGEs of the head. */
	struct rxe_cursor into;
	uint32_t in_flight;	/* cost of [una, cur), in bytes */
	uint32_t since_ack_req; /* part of in_flight sent since the last AckReq */
	uint32_t rd_atomic;	/* requests in [una, cur) that need a response of their own */
	/* Index of the oldest of them in rd_end; free-running. */
	uint32_t rd_first;
	uint32_t rd_end[RXE_MAX_RD_ATOMIC]; /* the last PSN of each */
	/* Holds the window that all QPs to this peer share; NULL before RTS. */
	struct rxe_peer *peer;
	struct rc_window window;
	struct rc_rtt rtt;
	enum rc_probe probe;
	struct rc_repair repair;
	struct rc_arrived arrived;
	/* The last part of a READ that was requested again ends before this PSN. */
	uint32_t part_psn;
	/* Losses of packets before this one have shrunk the window. */
	uint32_t recover_psn;
	uint32_t asked_psn; /* the last packet sent with AckReq, or before the first of all */
	/* The peer records what it has received (time_wait.h): requests that complete without a
	 * completion may go without AckReq. */
	bool is_recorded;
	/* Request broken_index cannot be sent. It fails once those before it have completed. */
	bool is_broken;
	uint32_t broken_index;
	enum rxe_wc_status broken_status;
};

/* Packets of a message of len bytes. mtu is a power of two. */
static inline uint32_t rc_packets(uint32_t len, uint32_t mtu)
{
	return len ? (len - 1) / mtu + 1 : 1;
}

static inline bool rc_is_read(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_RDMA_READ;
}

static inline bool rc_is_atomic(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == RXE_WR_ATOMIC_FETCH_AND_ADD;
}
static inline bool rc_is_flush(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_FLUSH;
}

static inline bool rc_is_atomic_write(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_ATOMIC_WRITE;
}

/* Whether the request needs a response of its own, and occupies one of max_rd_atomic until it
 * has it. */
static inline bool rc_is_answered(const struct rxe_send_wqe *wqe)
{
	return rc_is_read(wqe) || rc_is_atomic(wqe) || rc_is_flush(wqe) || rc_is_atomic_write(wqe);
}

/* Whether small requests, of which there is at least one, wait for more because enough packets are
 * in flight. Their responses resume the QP. */
bool rc_requester_gathers(const struct rxe_qp *qp);

/* Whether the next request takes more than one packet. */
bool rc_requester_is_long(const struct rxe_qp *qp);

void rc_requester_start(struct rxe_engine *engine, struct rxe_qp *qp);
/* The QP's packets take another path from now on: what is in flight counts for the peer's new
 * address. Nothing is sent again. */
void rc_requester_path_changed(struct rxe_engine *engine, struct rxe_qp *qp);
/* Returns this QP's share of the peer's window: nothing will be sent or acknowledged any more. */
void rc_requester_stop(struct rxe_qp *qp);
/* Whether a turn of the queue pair may send a request, or change something. */
bool rc_requester_has_output(const struct rxe_qp *qp);
enum output_result rc_requester_output(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train);

/* Whether neither the state, nor an RNR back-off, nor memory that is not ready forbids it. */
bool rc_requester_may_send(struct rxe_qp *qp, uint64_t now_ns);
/* Makes the packets [psn, last_psn] of a request again, which is one packet; for a READ the request
 * for that part of the response. */
enum send_result rc_requester_emit(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct rxe_send_wqe *wqe, uint32_t psn, uint32_t last_psn,
				   struct wire_train *train);

/* Whether everything that was sent is acknowledged. */
bool rc_requester_is_idle(const struct rxe_qp *qp);
/* What of it is not. */
enum rc_outstanding rc_requester_outstanding(const struct rxe_qp *qp);
/* Asks for the ACK of what was sent without AckReq: someone waits for it now. */
void rc_requester_ask(struct rxe_engine *engine, struct rxe_qp *qp);
/* The QP is about to enter ERR: what the peer has recorded as received is acknowledged. */
void rc_requester_read_record(struct rxe_engine *engine, struct rxe_qp *qp);

/* The request that this PSN belongs to, which is in flight; NULL: there is none. */
struct rxe_send_wqe *rc_requester_find(const struct rxe_qp *qp, uint32_t psn);
/* The request that holds una, or NULL when none is outstanding. */
struct rxe_send_wqe *rc_requester_head(const struct rxe_qp *qp);
/* Everything up to psn, which lies in the head, is acknowledged. Completes the head when psn is
 * its last PSN. */
void rc_requester_advance(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t psn);
/* Resumes sending at una. */
void rc_requester_rewind(struct rxe_engine *engine, struct rxe_qp *qp);
/* A packet was lost: shrinks the loss window, then rewinds. */
void rc_requester_loss_detected(struct rxe_engine *engine, struct rxe_qp *qp);
/* No response came for a while: schedules a probe. */
void rc_requester_probe(struct rxe_engine *engine, struct rxe_qp *qp);
/* Fails the QP when the request that cannot be sent has become the oldest. */
void rc_requester_check_broken(struct rxe_engine *engine, struct rxe_qp *qp);

/* Handles a response (requester_complete.c; IBTA 9.7.5): what it means for outstanding requests. */
void rc_requester_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet);
/* The QP's deadline has passed: the ACK timer may have expired. */
void rc_requester_expired(struct rxe_engine *engine, struct rxe_qp *qp);

/* Single packets are sent again beside the stream of requests (requester_resend.c): a probe, the
 * packet that a NAK asked for, and READs for the parts of responses that are missing. They count as
 * in flight already, and advance nothing. */

/* The oldest packet was lost: resends it alone, or rewinds. */
void rc_resend_oldest(struct rxe_engine *engine, struct rxe_qp *qp);
/* Sends what is due. */
enum output_result rc_resend_output(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct wire_train *train);

#endif
