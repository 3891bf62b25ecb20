/* SPDX-License-Identifier: MIT */
/* Completion of work requests: retiring sends, claiming and completing receives, raising
 * asynchronous events. The rules of signalling are here and nowhere else. */
#ifndef RXE_EMU_COMPLETE_H
#define RXE_EMU_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/emit.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "emu/sge.h"
#include "emu/tag_matching.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

struct rxe_engine;
struct rxe_qp;

/* A receive taken from the RQ or SRQ for the message that is arriving. A copy: an SRQ's slots are
 * reused while messages of other QPs are still arriving. */
struct rxe_claim {
	bool held;
	/* The host's, when another process owns the SRQ. */
	uint32_t srqn, xrcd, owner_epoch;
	uint64_t wr_id;
	uint32_t len; /* space in bytes */
	uint32_t num_sge;
	/* The error that the host injects; RXE_WC_SUCCESS: none. */
	enum rxe_wc_status injected;
	/* Tag matching; skip: bytes of the header, which are not stored. */
	enum rxe_tm_kind kind;
	uint32_t skip;
	uint64_t tag;
	uint32_t priv;
	struct rxe_cursor cursor;
	struct rxe_sge sge[RXE_MAX_SGE];
};

/* The status of a request that cannot be sent or executed. */
enum rxe_wc_status rxe_wqe_failed_status(const struct rxe_send_wqe *wqe);
/* Retires the oldest send. A completion is pushed when the send is signalled, the QP signals all,
 * or status is an error. The host may turn success into an error: then the QP has failed on return
 * and its send queue is empty. */
void rxe_complete_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status);

/* UD and raw, whose messages are one packet: completes, defers or fails the oldest send.
 * OUTPUT_IDLE: the next one may be tried. */
enum output_result rxe_message_sent(struct rxe_engine *engine, struct rxe_qp *qp,
				    enum send_result result);

/* Claims the next receive for qp->claim; true also when one is held. False: there is none (RNR). */
bool rxe_recv_claim(struct rxe_engine *engine, struct rxe_qp *qp);
/* Claims a receive that was taken from its queue, or a tagged buffer. */
void rxe_recv_hold(struct rxe_claim *claim, uint64_t wr_id, uint32_t len, const struct rxe_sge *sge,
		   uint32_t num_sge);
/* Stores bytes of the message from offset on in the claimed receive. The caller has compared the
 * length with qp->claim.len. */
enum mr_check rxe_recv_scatter(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t offset,
			       const void *src, uint32_t len);

/* The fields of a receive completion other than wr_id and qpn. */
struct rxe_recv_done {
	enum rxe_wc_status status;
	enum rxe_wc_opcode opcode;
	uint32_t byte_len;
	uint32_t imm_or_rkey;
	uint32_t src_qpn;
	uint32_t flags; /* enum rxe_wc_flag */
	bool solicited;
	enum rxe_frame frame;
	uint32_t flow_tag; /* raw */
	uint16_t cvlan;	   /* raw */
};
/* Success of a message whose last packet this is. */
static inline struct rxe_recv_done rxe_recv_done_of(const struct wire_packet *packet,
						    uint32_t src_qpn, uint32_t byte_len)
{
	const bool has_imm = packet->shape & SHAPE_IMM, has_inv = packet->shape & SHAPE_IETH;

	return (struct rxe_recv_done){
		.status = RXE_WC_SUCCESS,
		.opcode = packet->shape & SHAPE_WRITE ? RXE_WC_RECV_RDMA_WITH_IMM : RXE_WC_RECV,
		.byte_len = byte_len,
		.imm_or_rkey = has_imm	 ? packet->imm
			       : has_inv ? packet->inv_rkey
					 : 0,
		.src_qpn = src_qpn,
		.flags = (has_imm ? (uint32_t)RXE_WC_WITH_IMM : 0) |
			 (has_inv ? (uint32_t)RXE_WC_WITH_INV : 0),
		.solicited = packet->bth.solicited,
	};
}

/* Asks the host, once per receive, whether the claimed receive ends in an error instead of
 * success. */
enum rxe_wc_status rxe_recv_result(struct rxe_engine *engine, struct rxe_qp *qp);
/* Completes the claimed receive and releases it. False: another process owns the receive and
 * cannot be reached. */
bool rxe_complete_recv(struct rxe_engine *engine, struct rxe_qp *qp,
		       const struct rxe_recv_done *done);

/* UC, UD and raw: completes the claimed receive with an error, and the QP enters ERR. */
void rxe_recv_fail(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status);

/* UD and raw: completes the claimed receive of a message whose bytes were stored, or not. Where the
 * memory is not ready the message is dropped, and the receive stays claimed for the next one. */
void rxe_recv_stored(struct rxe_engine *engine, struct rxe_qp *qp, enum mr_check stored,
		     const struct rxe_recv_done *done);

/* Flushes with WR_FLUSH_ERR, oldest first. */
void rxe_flush_send(struct rxe_engine *engine, struct rxe_qp *qp);
void rxe_flush_recv(struct rxe_engine *engine, struct rxe_qp *qp);

/* Reports to the host that the QP is about to fail by itself. */
void rxe_report_failed(struct rxe_engine *engine, const struct rxe_qp *qp, enum rxe_failed what,
		       enum rxe_wc_status status);

/* Raises an asynchronous event of a QP, once per turn and type. settle reports it, when the
 * completions of the turn are visible: a program that learns of a drained or failed queue can poll
 * its rest. */
void rxe_raise(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_event_type type);

#endif
