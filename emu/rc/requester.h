/* SPDX-License-Identifier: MIT */
/* The requester's sending half (IBTA 9.7.2, 9.7.3): which packet goes next, and how far everything has come. */
#ifndef RXE_EMU_RC_REQUESTER_H
#define RXE_EMU_RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/output.h"
#include "emu/rc/requester_rtt.h"
#include "emu/rc/requester_window.h"
#include "emu/sge.h"

struct rxe_engine;
struct rxe_peer;
struct rxe_qp;
struct wire_train;

/* A large READ goes out as several requests of so many bytes at most, so that its answers are clocked too. A power of two. */
#define RC_READ_BYTES 65536u
/* ... and not of fewer packets, however much is lost. */
#define RC_READ_PACKETS 4u

/* Without trains, a packet asks for an answer when so many bytes have gone without. */
#define RC_ACK_REQ_BYTES 16384u

/* The oldest packet goes again, alone and asking, when nothing was heard for a while. */
enum rc_probe {
	RC_PROBE_NONE,
	RC_PROBE_DUE,
	RC_PROBE_SENT, /* una has not moved since */
};

/* PSNs: una <= cur <= sent <= attr.sq_psn. [una, cur) is in flight, [cur, sent) is to be sent again, [sent, sq_psn) is given
 * to the request that is going out. una lies in the request at the head of the send queue, or is attr.sq_psn. */
struct rc_requester {
	uint32_t una_psn;	/* the oldest without an answer */
	uint32_t cur_psn;	/* the next to go */
	uint32_t sent_psn;	/* the first that never went */
	uint32_t cur;		/* index in the send queue of the request that cur_psn is in */
	struct rxe_cursor from; /* in cur's list: gathering */
	struct rxe_cursor into; /* in the head's list: read responses and atomic results */
	uint32_t in_flight;	/* what [una, cur) costs */
	uint32_t since_ack_req; /* of it, what went since a packet last asked for an answer */
	uint32_t rd_atomic;	/* READ requests and atomics in [una, cur) */
	uint32_t rd_first;	/* where the oldest of them is in rd_end; free-running */
	uint32_t rd_end[RXE_MAX_RD_ATOMIC]; /* their last PSNs */
	struct rxe_peer *peer; /* shares a window with other QPs to it; NULL before RTS */
	struct rc_window window;
	struct rc_rtt rtt;
	enum rc_probe probe;
	bool is_broken; /* request broken_index cannot be sent: it fails when those before it are done */
	uint32_t broken_index;
	enum rxe_wc_status broken_status;
};

/* A message of len bytes takes so many packets. mtu is a power of two. */
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
/* Does the request that goes next take more than one packet? */
bool rc_requester_is_long(const struct rxe_qp *qp);

void rc_requester_start(struct rxe_engine *engine, struct rxe_qp *qp);
/* Nothing will be sent or answered any more: give back the window. */
void rc_requester_stop(struct rxe_qp *qp);
enum output_result rc_requester_output(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train, uint64_t now_ns);

/* Everything that went has its answer. */
bool rc_requester_is_idle(const struct rxe_qp *qp);

/* The request that una is in, or NULL when nothing waits for an answer. */
struct rxe_send_wqe *rc_requester_head(const struct rxe_qp *qp);
/* Everything up to psn, which lies in the head, has its answer. Completes the head when psn is its last. */
void rc_requester_advance(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t psn);
/* Go back to una. */
void rc_requester_rewind(struct rxe_engine *engine, struct rxe_qp *qp);
/* The same, because something was lost. */
void rc_requester_loss_detected(struct rxe_engine *engine, struct rxe_qp *qp);
/* Nothing was heard for a while: send the oldest packet once more. */
void rc_requester_probe(struct rxe_engine *engine, struct rxe_qp *qp);
/* When a request that cannot be sent has become the oldest: fail. */
void rc_requester_check_broken(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t now_ns);

#endif
