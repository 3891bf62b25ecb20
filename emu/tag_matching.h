/* SPDX-License-Identifier: MIT */
/* Tag-matching SRQs (ibv_create_srq_ex(3), ibv_post_srq_ops(3); rdma-core's tag_matching.md): SENDs
 * of RC queue pairs that begin with a tag header go to the tagged buffer that matches.
 *
 *   eager        the bytes after the header are stored there.
 *   rendezvous   the header names the sender's memory: the queue pair READs it into the buffer
 *                and then SENDs FIN, a copy of the header. Only a queue pair without a send queue
 *                of its own: the SRQ uses it then.
 *   unexpected   no buffer matches: the whole message, header included, goes to a receive.
 *
 * Completions go to the SRQ's CQ. Called by the responder for SENDs, by complete.c when a READ or
 * FIN ends, by the host for operations on the list. */
#ifndef RXE_EMU_TAG_MATCHING_H
#define RXE_EMU_TAG_MATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/queue.h"

struct rxe_engine;
struct rxe_qp;
struct rxe_srq;
struct wire_packet;

/* Longest rendezvous header; after TMH and RVH it has bytes for the program. */
#define RXE_TM_RNDV_BYTES 64u
/* Rendezvous of one queue pair that are under way; others wait (RNR NAK). */
#define RXE_TM_RNDVS 32u
/* What the send queue of such a queue pair must hold. */
#define RXE_TM_SEND_WRS	   (2 * RXE_TM_RNDVS)
#define RXE_TM_SEND_INLINE 32u

/* Values of enum ibv_ops_wr_opcode. */
enum rxe_tm_op {
	RXE_TM_ADD,
	RXE_TM_DEL,
	RXE_TM_SYNC,
};

/* An operation on the list. */
struct rxe_tm_wr {
	uint64_t wr_id;
	enum rxe_tm_op op;
	bool signaled;
	bool has_count;		 /* IBV_OPS_TM_SYNC */
	uint32_t unexpected_cnt; /* unexpected messages that the program has handled */
	uint32_t handle;	 /* DEL; set by ADD */
	uint64_t tag, mask;
	struct rxe_recv_wr recv; /* ADD */
};

/* How a message is received. */
enum rxe_tm_kind {
	RXE_TM_PLAIN, /* the SRQ matches no tags, or the message is not a SEND */
	RXE_TM_NO_TAG,
	RXE_TM_UNEXPECTED,
	RXE_TM_MATCHED,
	RXE_TM_MATCH_REPORTED, /* MATCHED, and a completion has said so */
	RXE_TM_INCOMPLETE,     /* a rendezvous that the program carries out */
};

enum rxe_tm_claim {
	TM_CLAIMED,    /* in qp->claim */
	TM_RENDEZVOUS, /* the message is done, the READ will be sent */
	TM_NO_RECEIVE, /* none now: RNR */
	TM_BAD_LENGTH, /* a rendezvous header that is too short or too long */
};

/* Finds the receive for the first packet of a SEND. */
enum rxe_tm_claim rxe_tm_claim(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct wire_packet *packet);
/* The oldest entry of the SRQ's own send queue ends with this status: retires it. */
void rxe_tm_send_done(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status);
/* Carries out an operation. POST_FULL: the list is. A DEL of what was taken completes with
 * RXE_WC_TM_ERR. */
enum post_result rxe_tm_post(struct rxe_engine *engine, struct rxe_srq *srq, struct rxe_tm_wr *wr,
			     uint64_t now_ns);

#endif
