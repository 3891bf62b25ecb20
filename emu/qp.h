/* SPDX-License-Identifier: MIT */
/* Queue pairs: identity, state machine, attributes. What a transport keeps of its own is in emu/rc/rc.h, uc.h. */
#ifndef RXE_EMU_QP_H
#define RXE_EMU_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/queue.h"
#include "emu/rc/rc.h"
#include "emu/uc.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

struct rxe_engine;
struct rxe_srq;

/* Values of enum ibv_qp_type. */
enum rxe_qp_type {
	RXE_QPT_RC = 2,
	RXE_QPT_UC = 3,
	RXE_QPT_UD = 4,
	RXE_QPT_XRC_SEND = 9, /* requester only: no receives, and no requests come in */
	RXE_QPT_XRC_RECV =
		10, /* responder only: receives come from the SRQ that each request names */
};

/* Values of enum ibv_qp_state. */
enum rxe_qp_state {
	RXE_QPS_RESET,
	RXE_QPS_INIT,
	RXE_QPS_RTR,
	RXE_QPS_RTS,
	RXE_QPS_SQD,
	RXE_QPS_SQE,
	RXE_QPS_ERR,
};

/* Values of enum ibv_qp_attr_mask. */
enum rxe_qp_attr_mask {
	RXE_QP_STATE = 1 << 0,
	RXE_QP_CUR_STATE = 1 << 1,
	RXE_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	RXE_QP_ACCESS_FLAGS = 1 << 3,
	RXE_QP_PKEY_INDEX = 1 << 4,
	RXE_QP_PORT = 1 << 5,
	RXE_QP_QKEY = 1 << 6,
	RXE_QP_AV = 1 << 7,
	RXE_QP_PATH_MTU = 1 << 8,
	RXE_QP_TIMEOUT = 1 << 9,
	RXE_QP_RETRY_CNT = 1 << 10,
	RXE_QP_RNR_RETRY = 1 << 11,
	RXE_QP_RQ_PSN = 1 << 12,
	RXE_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	RXE_QP_ALT_PATH = 1 << 14,
	RXE_QP_MIN_RNR_TIMER = 1 << 15,
	RXE_QP_SQ_PSN = 1 << 16,
	RXE_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	RXE_QP_PATH_MIG_STATE = 1 << 18,
	RXE_QP_CAP = 1 << 19,
	RXE_QP_DEST_QPN = 1 << 20,
	RXE_QP_RATE_LIMIT = 1 << 25,
};

/* In a QP, sq_psn is the next PSN to be sent and rq_psn the next expected: its transport keeps both current. */
struct rxe_qp_attr {
	enum rxe_qp_state qp_state;
	enum rxe_qp_state cur_qp_state;
	uint32_t path_mtu; /* bytes: 256, 512, 1024, 2048, 4096 */
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags; /* enum rxe_right, remote ones */
	bool has_grh;		  /* ah_attr.is_global: RoCE demands it */
	struct rxe_av av;
	uint16_t pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
};

/* Why a modify was refused. Nothing was changed. */
enum modify_result {
	MODIFY_OK,
	MODIFY_BAD_TRANSITION, /* the state table has no such move */
	MODIFY_MISSING,	       /* a required attribute is not in the mask */
	MODIFY_NOT_ALLOWED,    /* an attribute that this move, or this type, does not take */
	MODIFY_BAD_VALUE,      /* out of range */
	MODIFY_NO_GRH,	       /* RoCE needs a GID: is_global 0 */
	MODIFY_BAD_GID,	       /* sgid_index is empty, or dgid of the other address family */
	MODIFY_UNSUPPORTED,    /* alternate path, resizing, rate limit */
	MODIFY_DRAINING,       /* SQD: what is in flight must finish before attributes change */
};

struct rxe_qp_init {
	uint32_t qpn; /* from rxe_engine_alloc_qpn */
	enum rxe_qp_type type;
	uint32_t pd;		/* XRC_RECV: 0, what is touched belongs to the SRQ's domain */
	uint32_t xrcd;		/* XRC_RECV */
	struct rxe_cq *send_cq; /* XRC_RECV: NULL, as recv_cq */
	struct rxe_cq *recv_cq; /* XRC_SEND: send_cq again */
	struct rxe_srq *srq;	/* or NULL */
	bool sq_sig_all;
	uint32_t max_send_wr, max_send_sge, max_inline_data;
	uint32_t max_recv_wr, max_recv_sge;
	void *sq_mem, *rq_mem; /* rxe_ring_bytes() each; the caller's */
	void *owner;	       /* the driver's object */
};

struct rxe_qp {
	uint32_t qpn;
	uint32_t order; /* of creation in its engine, from 0 */
	enum rxe_qp_type type;
	enum rxe_qp_state state;
	uint32_t pd;
	uint32_t xrcd;
	struct rxe_cq *send_cq;
	struct rxe_cq *recv_cq;
	struct rxe_srq *srq; /* XRC_RECV: of the last request, NULL once it has gone */
	bool sq_sig_all;
	uint32_t max_send_sge, max_inline_data, max_recv_sge;
	struct rxe_ring sq;
	/* Sends whose slots are free, counted as sq.head: those up to the last one whose completion was polled. Stored by the CQ's
	 * reader and by RESET. */
	_Atomic uint32_t sq_polled;
	struct rxe_ring rq;
	struct rxe_qp_attr attr;
	uint32_t first_sq_psn,
		first_rq_psn;  /* as they were given: where this connection's PSNs begin */
	struct icrc_flow flow; /* RC, UC: our GID, the peer's, the sending port */
	uint8_t tx_index;
	bool sq_draining;	/* SQD: the transport has not said rxe_qp_drained() yet */
	bool comm_est;		/* RTR: the event was raised */
	bool injected;		/* the send under way to its end fails because the host said so */
	struct rxe_claim claim; /* the receive that the message under way lands in */
	struct rxe_rc rc;	/* RC and XRC */
	struct rxe_uc uc;	/* UC only */

	uint64_t
		deadline_ns; /* when rxe_engine_expire() should call its transport; UINT64_MAX for never */
	uint32_t timer_index;	   /* place in the engine's heap, UINT32_MAX when not there */
	uint64_t stalled_since_ns; /* UC, UD: waits for room at the receiver; 0: does not */
	bool on_ready;		   /* on the engine's list of QPs that may have something to send */
	struct rxe_qp *prev_ready, *next_ready;
	uint32_t events; /* raised and not yet told, 1 << enum rxe_event_type */
	struct rxe_qp *next_with_events;
	void *owner;
};

static inline bool rxe_qp_is_reliable(const struct rxe_qp *qp)
{
	return qp->type == RXE_QPT_RC || qp->type == RXE_QPT_XRC_SEND ||
	       qp->type == RXE_QPT_XRC_RECV;
}

/* Of its packets. */
static inline enum wire_service rxe_qp_service(const struct rxe_qp *qp)
{
	switch (qp->type) {
	case RXE_QPT_RC: return WIRE_RC;
	case RXE_QPT_UC: return WIRE_UC;
	case RXE_QPT_UD: return WIRE_UD;
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV: return WIRE_XRC;
	}
	return WIRE_RC;
}

/* The domain that the peer's request touches memory in: the QP's own, or (annex A14) that of the SRQ that the request names. */
static inline uint32_t rxe_qp_target_pd(const struct rxe_qp *qp)
{
	return qp->type == RXE_QPT_XRC_RECV ? qp->rc.resp.pd : qp->pd;
}

/* The QP exists in RESET. Its memory is the caller's. */
void rxe_qp_init(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_qp_init *init);
/* Forget it: timers, lists, its completions in both CQs. What it owed the peer must have been flushed by output before; should that
 * be lost, rc_gone.h answers. */
void rxe_qp_fini(struct rxe_engine *engine, struct rxe_qp *qp);
enum modify_result rxe_qp_modify(struct rxe_engine *engine, struct rxe_qp *qp,
				 const struct rxe_qp_attr *attr, uint32_t mask, uint64_t now_ns);
/* For MISSING, NOT_ALLOWED, UNSUPPORTED and BAD_VALUE: the lowest attribute bit it fell on; else 0. */
uint32_t rxe_qp_modify_culprit(const struct rxe_engine *engine, const struct rxe_qp *qp,
			       const struct rxe_qp_attr *attr, uint32_t mask);
const char *rxe_modify_result_str(enum modify_result result);
/* Attributes as ibv_query_qp shows them: state, current PSNs, path. */
void rxe_qp_query(const struct rxe_qp *qp, struct rxe_qp_attr *ret);

/* As on adapters, a slot is free once the completion of its request, or of a later one, was polled: a program that posts until
 * POST_FULL cannot overrun its CQ. */
static inline bool rxe_qp_has_send_slot(const struct rxe_qp *qp)
{
	return qp->sq.tail - atomic_load_explicit(&qp->sq_polled, memory_order_relaxed) <
	       qp->sq.limit;
}

/* Copy a send into the ring and mark the QP ready. In ERR and SQE the request is taken and flushed. */
enum post_result rxe_post_send(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_send_wr *wr, uint64_t now_ns);
/* Take back what was posted since the send queue's tail was this, before any output: a batch is posted whole or not at all. */
void rxe_post_withdraw(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t tail);
/* Nothing of it is on its way to the peer, as far as it can tell (UC and UD hear of nothing: always). */
bool rxe_qp_is_idle(const struct rxe_qp *qp);
enum post_result rxe_post_recv(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_recv_wr *wr, uint64_t now_ns);

/* For the transports. To ERR: complete the head of the send queue with status unless it is SUCCESS (then only flush), then
 * flush the rest of it, the claimed receive and the receive queue, in this order. Raises LAST_WQE_REACHED with an SRQ, and no
 * other event: see rxe_raise(). Does nothing in ERR. The QP stays on the ready list, so that a NAK it owes can leave. */
void rxe_qp_fail(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status head_status,
		 uint64_t now_ns);
/* UD and UC: the oldest send failed. Complete it with status, flush the rest; the QP goes to SQE, where it still receives. */
void rxe_qp_fail_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status,
		      uint64_t now_ns);
/* In SQD: nothing is in flight any more. Raises SQ_DRAINED when it was asked for; harmless in other states. Transports see
 * SQD in their output (a QP that enters SQD is made ready). */
void rxe_qp_drained(struct rxe_engine *engine, struct rxe_qp *qp);
/* Send an ACK that is being held for a request to ride behind with the next output: the QP, or its process, is about to go. */
void rxe_qp_flush_delayed_ack(struct rxe_engine *engine, struct rxe_qp *qp);
void rxe_qp_set_deadline(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t deadline_ns);
void rxe_qp_set_ready(struct rxe_engine *engine, struct rxe_qp *qp);

#endif
