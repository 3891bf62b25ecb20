/* SPDX-License-Identifier: MIT */
/* Queue pairs: identity, state machine, attributes. Transport state is in emu/rc/rc.h and uc.h. */
#ifndef RXE_EMU_QP_H
#define RXE_EMU_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/heap.h"
#include "emu/migration.h"
#include "emu/mr.h"
#include "emu/pace.h"
#include "emu/queue.h"
#include "emu/rc/rc.h"
#include "emu/uc.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

struct rxe_engine;
struct rxe_rss;
struct rxe_srq;

/* Values of enum ibv_qp_type. */
enum rxe_qp_type {
	RXE_QPT_RC = 2,
	RXE_QPT_UC = 3,
	RXE_QPT_UD = 4,
	RXE_QPT_RAW = 8,
	RXE_QPT_XRC_SEND = 9, /* requester only */
	/* Responder only: each request names the SRQ to receive from. */
	RXE_QPT_XRC_RECV = 10,
	/* No value of the verbs: a work queue, which only receives (raw/raw.h). */
	RXE_QPT_WQ = 30,
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

/* In a QP, sq_psn is the next PSN to send and rq_psn the next expected; the transport updates
 * both. */
struct rxe_qp_attr {
	enum rxe_qp_state qp_state;
	enum rxe_qp_state cur_qp_state;
	uint32_t path_mtu; /* bytes: 256, 512, 1024, 2048, 4096 */
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags; /* enum rxe_right, remote ones */
	bool has_grh;		  /* ah_attr.is_global: RoCE requires it */
	struct rxe_av av;
	uint16_t pkey_index;
	/* The alternate path; after a migration a copy of the primary one. */
	bool has_alt_grh;
	struct rxe_av alt_av;
	uint16_t alt_pkey_index;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	enum rxe_mig_state path_mig_state;
	uint8_t en_sqd_async_notify;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint32_t rate_limit; /* kbps; 0: none */
	uint32_t max_burst;  /* bytes; 0: the default */
};

/* Why a modify was refused. A refusal changes nothing. */
enum modify_result {
	MODIFY_OK,
	MODIFY_BAD_TRANSITION, /* the state table has no such move */
	MODIFY_MISSING,	       /* a required attribute is not in the mask */
	/* An attribute that this move, or this QP type, does not take. */
	MODIFY_NOT_ALLOWED,
	MODIFY_BAD_VALUE,   /* out of range */
	MODIFY_NO_GRH,	    /* RoCE needs a GID: is_global 0 */
	MODIFY_BAD_GID,	    /* sgid_index is empty, or dgid of the other address family */
	MODIFY_UNSUPPORTED, /* resizing */
	/* SQD: requests in flight must finish before attributes change. */
	MODIFY_DRAINING,
};

struct rxe_qp_init {
	uint32_t qpn; /* from rxe_engine_alloc_qpn */
	enum rxe_qp_type type;
	/* XRC_RECV: 0, the SRQ's domain counts. */
	uint32_t pd;
	uint32_t xrcd; /* XRC_RECV */
	/* XRC_RECV and RSS: both NULL. XRC_SEND and WQ: both the same. */
	struct rxe_cq *send_cq;
	struct rxe_cq *recv_cq;
	struct rxe_srq *srq; /* or NULL */
	/* The SRQ matches tags and owns the send queue (tag_matching.h); the program posts no
	 * sends. */
	bool srq_sends;
	bool sq_sig_all;
	uint32_t max_send_wr, max_send_sge, max_inline_data;
	uint32_t max_recv_wr, max_recv_sge;
	void *sq_mem, *rq_mem;	   /* rxe_ring_bytes() each, the caller's */
	const struct rxe_rss *rss; /* RAW: no queues, delivers to work queues; the caller's */
	bool strips_tag;	   /* RAW, WQ: takes the VLAN tag off received frames */
	void *owner;		   /* the driver's object */
};

/* RAW: where the oldest send is on the private wire. */
struct rxe_raw {
	uint32_t head;	    /* value of sq.head that next_slot is for */
	uint32_t next_slot; /* slots before this one have the frame */
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
	/* XRC_RECV: SRQ of the last request, NULL once it was destroyed. */
	struct rxe_srq *srq;
	bool srq_sends;
	uint32_t rndvs; /* that the SRQ carries out */
	bool sq_sig_all;
	uint32_t max_send_sge, max_inline_data, max_recv_sge;
	struct rxe_ring sq;
	/* Slots up to the last send whose completion was polled are free; counts as sq.head does.
	 * Written by the CQ's reader and by RESET. */
	_Atomic uint32_t sq_polled;
	struct rxe_ring rq;
	struct rxe_qp_attr attr;
	/* First PSNs of this connection, as modify set them. */
	uint32_t first_sq_psn, first_rq_psn;
	struct icrc_flow flow; /* RC, UC: local GID, peer's GID, sending port */
	uint8_t tx_index;
	struct rxe_migration migration;
	/* SQD: the transport has not called rxe_qp_drained() yet. */
	bool sq_draining;
	bool comm_est; /* RTR: the event was raised */
	/* The host injected an error into the send that is completing. */
	bool injected;
	/* Type 2 windows that it has bound. */
	uint32_t num_mws;
	/* The receive of the message that is arriving. */
	struct rxe_claim claim;
	struct rxe_uc uc; /* UC only */
	struct rxe_rate rate;
	struct rxe_comp_cntrs cntrs;
	struct rxe_raw raw;
	const struct rxe_rss *rss;
	bool strips_tag;

	/* When rxe_engine_expire() calls the transport; RXE_NEVER: never. */
	struct heap_entry timer;
	/* UC, UD: without credits since this time; 0: not waiting. */
	uint64_t stalled_since_ns;
	/* On the engine's list of QPs that may have something to send. */
	bool on_ready;
	struct rxe_qp *prev_ready, *next_ready;
	uint32_t events; /* raised and not reported yet, 1 << enum rxe_event_type */
	struct rxe_qp *next_with_events;
	void *owner;
	struct rxe_rc rc; /* RC and XRC; last, since it is large */
};

static inline bool rxe_qp_is_reliable(const struct rxe_qp *qp)
{
	return qp->type == RXE_QPT_RC || qp->type == RXE_QPT_XRC_SEND ||
	       qp->type == RXE_QPT_XRC_RECV;
}

static inline bool rxe_qp_receives(const struct rxe_qp *qp)
{
	switch (qp->state) {
	case RXE_QPS_RTR:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD:
	case RXE_QPS_SQE: return true;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_ERR: return false;
	}
	return false;
}

/* Packets are full up to the last, which is empty only if it is the only one (IBTA 9.7.4.1.6,
 * 9.8.2.2.5). */
static inline bool rxe_qp_takes_payload(const struct rxe_qp *qp, const struct wire_packet *packet)
{
	const uint32_t mtu = qp->attr.path_mtu;

	if (!(packet->shape & SHAPE_LAST))
		return packet->payload_len == mtu;
	return packet->payload_len <= mtu &&
	       (packet->payload_len > 0 || (packet->shape & SHAPE_FIRST));
}

/* Service of the QP's packets. */
static inline enum wire_service rxe_qp_service(const struct rxe_qp *qp)
{
	switch (qp->type) {
	case RXE_QPT_RC: return WIRE_RC;
	case RXE_QPT_UC: return WIRE_UC;
	case RXE_QPT_UD: return WIRE_UD;
	case RXE_QPT_RAW:
	case RXE_QPT_WQ: return WIRE_RAW;
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV: return WIRE_XRC;
	}
	return WIRE_RC;
}

/* MigReq of the QP's packets. */
static inline bool rxe_qp_mig_req(const struct rxe_qp *qp)
{
	return qp->attr.path_mig_state == RXE_MIG_MIGRATED;
}

/* Protection domain for the peer's requests: the QP's own, for XRC (annex A14) that of the SRQ
 * that the request names. */
static inline uint32_t rxe_qp_target_pd(const struct rxe_qp *qp)
{
	return qp->type == RXE_QPT_XRC_RECV ? qp->rc.resp.pd : qp->pd;
}

/* Who uses the keys of the peer's requests. */
static inline struct rxe_key_user rxe_qp_key_user(const struct rxe_qp *qp)
{
	return (struct rxe_key_user){ rxe_qp_target_pd(qp), qp->qpn };
}

/* A free QPN of the slot's range; 0 when as many exist as the device offers. A number is reused
 * only after all others of its index, and not while it is in TIME_WAIT, unless all of its index
 * are. */
uint32_t rxe_engine_alloc_qpn(struct rxe_engine *engine);
struct rxe_qp *rxe_engine_find_qp(const struct rxe_engine *engine, uint32_t qpn);

/* Creates the QP in RESET. Its memory is the caller's. */
void rxe_qp_init(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_qp_init *init);
/* Destroys the QP: timers, lists, its completions in both CQs. Pending replies must have left by
 * output before. If one is lost, TIME_WAIT answers (rc/time_wait.h). */
void rxe_qp_fini(struct rxe_engine *engine, struct rxe_qp *qp);
enum modify_result rxe_qp_modify(struct rxe_engine *engine, struct rxe_qp *qp,
				 const struct rxe_qp_attr *attr, uint32_t mask, uint64_t now_ns);
/* For MISSING, NOT_ALLOWED, UNSUPPORTED and BAD_VALUE: the lowest attribute bit that caused the
 * refusal; else 0. */
uint32_t rxe_qp_modify_culprit(const struct rxe_engine *engine, const struct rxe_qp *qp,
			       const struct rxe_qp_attr *attr, uint32_t mask);
const char *rxe_modify_result_str(enum modify_result result);
/* Attributes as ibv_query_qp reports them: state, current PSNs, path. */
void rxe_qp_query(const struct rxe_qp *qp, struct rxe_qp_attr *ret);

/* As on adapters, a slot is free once the completion of its request, or of a later one, was
 * polled. A program that posts until POST_FULL cannot overrun its CQ. */
static inline bool rxe_qp_has_send_slot(const struct rxe_qp *qp)
{
	return !qp->srq_sends &&
	       qp->sq.tail - atomic_load_explicit(&qp->sq_polled, memory_order_relaxed) <
		       qp->sq.limit;
}

/* Copies a send into the ring and marks the QP ready. In ERR and SQE the request is flushed. */
enum post_result rxe_post_send(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_send_wr *wr, uint64_t now_ns);
/* Withdraws what was posted since the send queue's tail had this value, before any output: a batch
 * is posted whole or not at all. */
void rxe_post_withdraw(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t tail);
/* Whether every packet that the QP sent was acknowledged; always true for UC and UD. */
bool rxe_qp_is_idle(const struct rxe_qp *qp);
enum post_result rxe_post_recv(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_recv_wr *wr, uint64_t now_ns);

/* For the transports: enters ERR. Completes the head of the send queue with head_status unless it
 * is SUCCESS, then flushes the rest of it, the claimed receive and the receive queue, in this
 * order. Raises LAST_WQE_REACHED with an SRQ, and no other event: see rxe_raise(). No effect in
 * ERR. The QP stays on the ready list, so that a pending NAK can leave. engine->now_ns must be
 * current. */
void rxe_qp_fail(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status head_status);
/* UD, UC and RAW: completes the oldest send with status, flushes the others, enters SQE, where the
 * QP still receives. */
void rxe_qp_fail_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status);
/* In SQD: nothing is in flight any more. Raises SQ_DRAINED if the program asked for it; no effect
 * in other states. A QP that enters SQD is made ready, so its transport sees SQD in output. */
void rxe_qp_drained(struct rxe_engine *engine, struct rxe_qp *qp);
/* Sends a delayed ACK with the next output: the QP is about to enter ERR or RESET or to be
 * destroyed, or its process to exit. */
void rxe_qp_flush_delayed_ack(struct rxe_engine *engine, struct rxe_qp *qp);
void rxe_qp_set_deadline(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t deadline_ns);
void rxe_qp_set_ready(struct rxe_engine *engine, struct rxe_qp *qp);

#endif
