/* SPDX-License-Identifier: MIT */
/* Ends of work requests: retiring sends, claiming and completing receives, asynchronous events. The rules of signalling are
 * here and nowhere else. */
#ifndef RXE_EMU_COMPLETE_H
#define RXE_EMU_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "emu/sge.h"

struct rxe_engine;
struct rxe_qp;

/* A receive taken from the RQ or SRQ for the message that is arriving: a copy, since an SRQ's slots are reused while the
 * messages of other QPs are still coming in. */
struct rxe_claim {
	bool held;
	uint32_t srqn, xrcd, owner_epoch; /* of an SRQ in another process: the host's */
	uint64_t wr_id;
	uint32_t len; /* bytes it has room for */
	uint32_t num_sge;
	enum rxe_wc_status injected; /* the host's result, when it is an error */
	struct rxe_cursor cursor;
	struct rxe_sge sge[RXE_MAX_SGE];
};

/* Retire the oldest send. It gets a completion when it was signalled, the QP signals all, or status is an error. Of success it may
 * become an error, if the host wants that: then the QP has failed when this returns, and its send queue is empty. */
void rxe_complete_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status);

/* Take the next receive into qp->claim; true also when one is held already. False: there is none (RNR). */
bool rxe_recv_claim(struct rxe_engine *engine, struct rxe_qp *qp);
/* Bytes of the message, from offset on, into the claimed receive. The caller has compared lengths with qp->claim.len. */
enum mr_check rxe_recv_scatter(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t offset,
			       const void *src, uint32_t len);

/* What a receive completion says beside its wr_id and qpn. */
struct rxe_recv_done {
	enum rxe_wc_status status;
	enum rxe_wc_opcode opcode;
	uint32_t byte_len;
	uint32_t imm_or_rkey;
	uint32_t src_qpn;
	uint32_t flags; /* enum rxe_wc_flag */
	bool solicited;
	enum rxe_frame frame;
};
/* Does the host want the claimed receive to end in error, where it would end in success? Asked once for each. */
enum rxe_wc_status rxe_recv_result(struct rxe_engine *engine, struct rxe_qp *qp);
/* Complete the claimed receive and let go of it. False: it was of another process, which cannot be told. */
bool rxe_complete_recv(struct rxe_engine *engine, struct rxe_qp *qp,
		       const struct rxe_recv_done *done);

/* Flush with WR_FLUSH_ERR, oldest first. */
void rxe_flush_send(struct rxe_engine *engine, struct rxe_qp *qp);
void rxe_flush_recv(struct rxe_engine *engine, struct rxe_qp *qp);

/* Tell the host that the QP is about to fail by itself. */
void rxe_report_failed(struct rxe_engine *engine, const struct rxe_qp *qp, enum rxe_failed what,
		       enum rxe_wc_status status);

/* An asynchronous event of a QP. The host hears of it in settle, when the completions of this turn can be seen: a program that
 * learns of a drained or failed queue polls what it left. Once in a turn of each type. */
void rxe_raise(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_event_type type);

#endif
