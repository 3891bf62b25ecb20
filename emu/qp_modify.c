/* SPDX-License-Identifier: MIT */
/* The QP state machine (IBTA 10.3.1, table 91 of 11.2.4.2; ibv_modify_qp(3)): its moves, what each
 * requires and allows by type, the range of each attribute, and the effect of a move. A refused
 * move changes nothing. */
#include <assert.h>
#include <string.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/migration.h"
#include "emu/pace.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/rc.h"
#include "emu/uc.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

#define TYPES 7

/* Short names, so that the table is readable. */
#define CUR	    RXE_QP_CUR_STATE
#define NOTIFY	    RXE_QP_EN_SQD_ASYNC_NOTIFY
#define ACCESS	    RXE_QP_ACCESS_FLAGS
#define PKEY	    RXE_QP_PKEY_INDEX
#define PORT	    RXE_QP_PORT
#define QKEY	    RXE_QP_QKEY
#define AV	    RXE_QP_AV
#define MTU	    RXE_QP_PATH_MTU
#define TIMEOUT	    RXE_QP_TIMEOUT
#define RETRY	    RXE_QP_RETRY_CNT
#define RNR_RETRY   RXE_QP_RNR_RETRY
#define RQ_PSN	    RXE_QP_RQ_PSN
#define SQ_PSN	    RXE_QP_SQ_PSN
#define RD_ATOMIC   RXE_QP_MAX_QP_RD_ATOMIC
#define DEST_ATOMIC RXE_QP_MAX_DEST_RD_ATOMIC
#define RNR_TIMER   RXE_QP_MIN_RNR_TIMER
#define DEST_QPN    RXE_QP_DEST_QPN
#define ALT	    RXE_QP_ALT_PATH
#define MIG	    RXE_QP_PATH_MIG_STATE
#define RATE	    RXE_QP_RATE_LIMIT
/* Attributes of the standard that this device lacks: refused in every move. */
#define UNSUPPORTED RXE_QP_CAP

enum type_index {
	RC,
	UC,
	UD,
	INI, /* XRC_SEND */
	TGT, /* XRC_RECV */
	RAW,
	WQ,
};

struct move {
	enum rxe_qp_state from, to;
	uint32_t types; /* types that have this move */
	uint32_t required[TYPES];
	uint32_t optional[TYPES];
};

/* All but work queues, which have one move of their own. */
#define ALL	   (1u << RC | 1u << UC | 1u << UD | 1u << INI | 1u << TGT | 1u << RAW)
#define UNRELIABLE (1u << UC | 1u << UD | 1u << RAW)

/* Rows that two moves share. */
/* clang-format off */
#define INIT_ATTRS {							\
	[RC]  = PKEY | PORT | ACCESS,					\
	[UC]  = PKEY | PORT | ACCESS,					\
	[UD]  = PKEY | PORT | QKEY,					\
	[INI] = PKEY | PORT | ACCESS,					\
	[TGT] = PKEY | PORT | ACCESS,					\
	[RAW] = PORT }
#define RTS_ATTRS {							\
	[RC]  = CUR | ACCESS | RNR_TIMER | ALT | MIG | RATE,		\
	[UC]  = CUR | ACCESS | ALT | MIG | RATE,			\
	[UD]  = CUR | QKEY | RATE,					\
	[INI] = CUR | ACCESS | ALT | MIG | RATE,			\
	[TGT] = CUR | ACCESS | RNR_TIMER | ALT | MIG,			\
	[RAW] = RATE }
/* clang-format on */

static const struct move moves[] = {
	{ RXE_QPS_RESET, RXE_QPS_INIT, ALL, .required = INIT_ATTRS },
	{ RXE_QPS_RESET, RXE_QPS_RTR, 1u << WQ, .required = { [WQ] = 0 } },
	{ RXE_QPS_INIT, RXE_QPS_INIT, ALL, .optional = INIT_ATTRS },
	{ RXE_QPS_INIT, RXE_QPS_RTR, ALL,
	  .required = { [RC] = AV | MTU | DEST_QPN | RQ_PSN | DEST_ATOMIC | RNR_TIMER,
			[UC] = AV | MTU | DEST_QPN | RQ_PSN,
			[INI] = AV | MTU | DEST_QPN | RQ_PSN,
			[TGT] = AV | MTU | DEST_QPN | RQ_PSN | DEST_ATOMIC | RNR_TIMER },
	  .optional = { [RC] = PKEY | ACCESS | ALT,
			[UC] = PKEY | ACCESS | ALT,
			[UD] = PKEY | QKEY,
			[INI] = PKEY | ACCESS | ALT,
			[TGT] = PKEY | ACCESS | ALT } },
	{ RXE_QPS_RTR, RXE_QPS_RTS, ALL,
	  .required = { [RC] = SQ_PSN | TIMEOUT | RETRY | RNR_RETRY | RD_ATOMIC,
			[UC] = SQ_PSN,
			[UD] = SQ_PSN,
			[INI] = SQ_PSN | TIMEOUT | RETRY | RNR_RETRY | RD_ATOMIC,
			[TGT] = SQ_PSN | TIMEOUT },
	  .optional = RTS_ATTRS },
	{ RXE_QPS_RTS, RXE_QPS_RTS, ALL, .optional = RTS_ATTRS },
	{ RXE_QPS_RTS, RXE_QPS_SQD, ALL,
	  .optional = { NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY } },
	{ RXE_QPS_SQD, RXE_QPS_RTS, ALL,
	  .optional = { [RC] = CUR | ACCESS | RNR_TIMER | ALT | MIG,
			[UC] = CUR | ACCESS | ALT | MIG,
			[UD] = CUR | QKEY,
			[INI] = CUR | ACCESS | ALT | MIG,
			[TGT] = CUR | ACCESS | RNR_TIMER | ALT | MIG } },
	{ RXE_QPS_SQD, RXE_QPS_SQD, ALL,
	  .optional = { [RC] = PKEY | PORT | AV | ACCESS | TIMEOUT | RETRY | RNR_RETRY | RD_ATOMIC |
			       DEST_ATOMIC | RNR_TIMER | ALT | MIG,
			[UC] = PKEY | AV | ACCESS | ALT | MIG,
			[UD] = PKEY | QKEY,
			[INI] = PKEY | PORT | AV | ACCESS | TIMEOUT | RETRY | RNR_RETRY |
				RD_ATOMIC | ALT | MIG,
			[TGT] = PKEY | PORT | AV | ACCESS | TIMEOUT | DEST_ATOMIC | RNR_TIMER |
				ALT | MIG } },
	{ RXE_QPS_SQE, RXE_QPS_RTS, UNRELIABLE,
	  .optional = { [UC] = CUR | ACCESS, [UD] = CUR | QKEY } },
};

/* Any state to RESET, any state but RESET to ERR: without attributes. */
static const struct move to_reset_or_err = { .types = ALL };

/* Attributes of the half that an XRC queue pair lacks: ignored in every move, as in Linux. */
static const uint32_t ignored[TYPES] = {
	[INI] = DEST_ATOMIC | RNR_TIMER,
	[TGT] = RD_ATOMIC | RETRY | RNR_RETRY,
};

static enum type_index type_index(enum rxe_qp_type type)
{
	switch (type) {
	case RXE_QPT_RC: return RC;
	case RXE_QPT_UC: return UC;
	case RXE_QPT_UD: return UD;
	case RXE_QPT_XRC_SEND: return INI;
	case RXE_QPT_XRC_RECV: return TGT;
	case RXE_QPT_RAW: return RAW;
	case RXE_QPT_WQ: return WQ;
	}
	return UD;
}

static enum rxe_qp_state target(const struct rxe_qp *qp, const struct rxe_qp_attr *attr,
				uint32_t mask)
{
	return mask & RXE_QP_STATE ? attr->qp_state : qp->state;
}

static const struct move *find_move(const struct rxe_qp *qp, enum rxe_qp_state to)
{
	if (to == RXE_QPS_RESET || (to == RXE_QPS_ERR && qp->state != RXE_QPS_RESET))
		return &to_reset_or_err;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		const struct move *move = &moves[i];

		if (move->from == qp->state && move->to == to &&
		    (move->types & 1u << type_index(qp->type)))
			return move;
	}
	return NULL;
}

static bool is_mtu(uint32_t bytes)
{
	return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

/* Bits of enum ibv_access_flags that are used or may be ignored: the low ten and the optional
 * range. */
#define ACCESS_KNOWN 0x3ff003ffu

static uint32_t bound(uint32_t offered)
{
	return offered ? offered : RXE_MAX_RD_ATOMIC;
}

/* Attributes of the mask that the device does not offer. */
static uint32_t unsupported(const struct rxe_engine *engine, const struct rxe_qp_attr *attr,
			    uint32_t mask)
{
	const struct rxe_offer *offer = &engine->cfg.offer;
	uint32_t ret = mask & (UNSUPPORTED | offer->refused_attrs);

	if ((mask & ACCESS) && attr->qp_access_flags & offer->refused_rights)
		ret |= ACCESS;
	return ret;
}

/* The lowest attribute of mask whose value is out of range; 0: all are in range. */
static uint32_t bad_value(const struct rxe_engine *engine, const struct rxe_qp *qp,
			  const struct rxe_qp_attr *attr, uint32_t mask)
{
	const struct rxe_offer *offer = &engine->cfg.offer;
	const struct {
		uint32_t bit;
		bool good;
	} check[] = {
		{ CUR, attr->cur_qp_state == qp->state },
		{ ACCESS, (attr->qp_access_flags & ~ACCESS_KNOWN) == 0 },
		{ PKEY, attr->pkey_index == 0 },
		{ PORT, attr->port_num == 1 },
		{ MTU, is_mtu(attr->path_mtu) && attr->path_mtu <= engine->cfg.max_mtu },
		{ TIMEOUT, attr->timeout < 32 },
		{ RETRY, attr->retry_cnt < 8 },
		{ RNR_RETRY, attr->rnr_retry < 8 },
		{ RQ_PSN, attr->rq_psn <= PSN_MASK },
		{ RD_ATOMIC, attr->max_rd_atomic <= bound(offer->max_init_rd_atomic) },
		{ RNR_TIMER, attr->min_rnr_timer < 32 },
		{ SQ_PSN, attr->sq_psn <= PSN_MASK },
		{ DEST_ATOMIC, attr->max_dest_rd_atomic <= bound(offer->max_rd_atomic) },
		{ DEST_QPN, attr->dest_qp_num <= QPN_MASK },
		{ ALT,
		  attr->alt_pkey_index == 0 && attr->alt_port_num == 1 && attr->alt_timeout < 32 },
		{ MIG, rxe_migration_may_enter(qp, attr->path_mig_state, mask & ALT) },
		{ RATE, attr->rate_limit <= RXE_RATE_MAX_KBPS },
	};

	for (size_t i = 0; i < sizeof(check) / sizeof(check[0]); i++) {
		if ((mask & check[i].bit) && !check[i].good)
			return check[i].bit;
	}
	return 0;
}

static enum modify_result check_path(const struct rxe_engine *engine, bool has_grh,
				     const struct rxe_av *av)
{
	if (!has_grh)
		return MODIFY_NO_GRH;
	if (!rxe_av_is_good(engine, av) || gid_is_zero(&av->dgid) || gid_is_multicast(&av->dgid))
		return MODIFY_BAD_GID;
	return MODIFY_OK;
}

static enum modify_result check_paths(const struct rxe_engine *engine,
				      const struct rxe_qp_attr *attr, uint32_t given)
{
	enum modify_result result = MODIFY_OK;

	if (given & AV)
		result = check_path(engine, attr->has_grh, &attr->av);
	if (result == MODIFY_OK && (given & ALT))
		result = check_path(engine, attr->has_alt_grh, &attr->alt_av);
	return result;
}

/* Checks the whole request. *ret_culprit: the attribute that caused a refusal, or 0. */
static enum modify_result check_request(const struct rxe_engine *engine, const struct rxe_qp *qp,
					const struct rxe_qp_attr *attr, uint32_t mask,
					uint32_t *ret_culprit)
{
	const struct move *move = find_move(qp, target(qp, attr, mask));
	enum type_index type = type_index(qp->type);
	uint32_t given = mask & ~(RXE_QP_STATE | ignored[type]);
	uint32_t wrong;

	*ret_culprit = 0;
	if (!move)
		return MODIFY_BAD_TRANSITION;
	wrong = unsupported(engine, attr, given);
	*ret_culprit = wrong & -wrong;
	if (wrong)
		return MODIFY_UNSUPPORTED;
	wrong = move->required[type] & ~given;
	*ret_culprit = wrong & -wrong;
	if (wrong)
		return MODIFY_MISSING;
	wrong = given & ~(move->required[type] | move->optional[type]);
	*ret_culprit = wrong & -wrong;
	if (wrong)
		return MODIFY_NOT_ALLOWED;
	*ret_culprit = bad_value(engine, qp, attr, given);
	if (*ret_culprit)
		return MODIFY_BAD_VALUE;
	if (move->from == RXE_QPS_SQD && move->to == RXE_QPS_SQD && given && qp->sq_draining)
		return MODIFY_DRAINING;
	return check_paths(engine, attr, given);
}

uint32_t rxe_qp_modify_culprit(const struct rxe_engine *engine, const struct rxe_qp *qp,
			       const struct rxe_qp_attr *attr, uint32_t mask)
{
	uint32_t culprit;

	check_request(engine, qp, attr, mask, &culprit);
	return culprit;
}

static void copy_attributes(struct rxe_qp_attr *to, const struct rxe_qp_attr *attr, uint32_t mask)
{
#define TAKE(bit, member)                                                                          \
	if (mask & (bit))                                                                          \
	to->member = attr->member
	TAKE(NOTIFY, en_sqd_async_notify);
	TAKE(ACCESS, qp_access_flags);
	TAKE(PKEY, pkey_index);
	TAKE(PORT, port_num);
	TAKE(QKEY, qkey);
	TAKE(AV, av);
	TAKE(AV, has_grh);
	TAKE(MTU, path_mtu);
	TAKE(TIMEOUT, timeout);
	TAKE(RETRY, retry_cnt);
	TAKE(RNR_RETRY, rnr_retry);
	TAKE(RQ_PSN, rq_psn);
	TAKE(SQ_PSN, sq_psn);
	TAKE(RD_ATOMIC, max_rd_atomic);
	TAKE(DEST_ATOMIC, max_dest_rd_atomic);
	TAKE(RNR_TIMER, min_rnr_timer);
	TAKE(DEST_QPN, dest_qp_num);
	TAKE(ALT, alt_av);
	TAKE(ALT, has_alt_grh);
	TAKE(ALT, alt_pkey_index);
	TAKE(ALT, alt_port_num);
	TAKE(ALT, alt_timeout);
	TAKE(RATE, rate_limit);
	TAKE(RATE, max_burst);
#undef TAKE
}

/* Sets the flow of packets to the peer. All QPs to one socket of a peer use the same sending port,
 * so that their packets share trains here and are merged again there. */
static void set_flow(const struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_av *av = &qp->attr.av;

	assert(av->sgid_index < RXE_MAX_GIDS);
	qp->tx_index = rxe_tx_index(engine, &av->dgid, qp->attr.dest_qp_num);
	qp->flow.src = engine->cfg.gids[av->sgid_index];
	qp->flow.dst = av->dgid;
	qp->flow.src_port = engine->cfg.tx_ports[qp->tx_index];
}

/* Returns to the state after creation: posted requests vanish without completions. */
static void reset(struct rxe_engine *engine, struct rxe_qp *qp)
{
	qp->state = RXE_QPS_RESET;
	assert(engine->open_wrs >= rxe_ring_used(&qp->sq) + rxe_ring_used(&qp->rq));
	engine->open_wrs -= rxe_ring_used(&qp->sq) + rxe_ring_used(&qp->rq);
	/* The counts continue, so that a completion from before RESET cannot move sq_polled. */
	qp->sq.head = qp->sq.tail;
	atomic_store_explicit(&qp->sq_polled, qp->sq.tail, memory_order_relaxed);
	qp->rq.head = qp->rq.tail = 0;
	qp->claim.held = false;
	if (qp->type == RXE_QPT_XRC_RECV)
		qp->srq = NULL;
	qp->stalled_since_ns = 0;
	qp->rndvs = 0;
	qp->comm_est = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->migration, 0, sizeof(qp->migration));
	rxe_rate_set(&qp->rate, 0, 0, 0, 0);
	rxe_qp_set_deadline(engine, qp, RXE_NEVER);
	rc_reset(engine, qp);
	uc_reset(qp);
}

static bool has_path(const struct rxe_qp *qp)
{
	return qp->type != RXE_QPT_UD && qp->type != RXE_QPT_RAW && qp->type != RXE_QPT_WQ;
}

static void enter(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_qp_state to)
{
	enum rxe_qp_state from = qp->state;

	switch (to) {
	case RXE_QPS_RESET: reset(engine, qp); return;
	case RXE_QPS_ERR: rxe_qp_fail(engine, qp, RXE_WC_SUCCESS); return;
	case RXE_QPS_RTR:
		assert(!has_path(qp) || is_mtu(qp->attr.path_mtu));
		qp->state = to;
		if (rxe_qp_is_reliable(qp))
			rc_became_rtr(engine, qp);
		return;
	case RXE_QPS_RTS:
		qp->state = to;
		if (from == RXE_QPS_RTR && rxe_qp_is_reliable(qp))
			rc_became_rts(engine, qp);
		rxe_qp_set_ready(engine, qp);
		return;
	case RXE_QPS_SQD:
		qp->state = to;
		qp->sq_draining = from != RXE_QPS_SQD || qp->sq_draining;
		if (rxe_qp_is_reliable(qp))
			rc_requester_ask(engine, qp);
		rxe_qp_set_ready(engine, qp);
		return;
	case RXE_QPS_INIT:
	case RXE_QPS_SQE: qp->state = to; return;
	}
}

/* Payload of the longest packet, or the longest frame. */
static uint32_t packet_bytes(const struct rxe_engine *engine, const struct rxe_qp *qp)
{
	if (qp->type == RXE_QPT_RAW)
		return engine->cfg.max_frame;
	return qp->type == RXE_QPT_UD ? engine->cfg.max_mtu : qp->attr.path_mtu;
}

enum modify_result rxe_qp_modify(struct rxe_engine *engine, struct rxe_qp *qp,
				 const struct rxe_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
	uint32_t culprit;
	enum modify_result result = check_request(engine, qp, attr, mask, &culprit);

	if (result != MODIFY_OK)
		return result;
	mask &= ~ignored[type_index(qp->type)];
	engine->now_ns = now_ns;
	copy_attributes(&qp->attr, attr, mask);
	if (mask & RQ_PSN)
		qp->first_rq_psn = attr->rq_psn;
	if (mask & SQ_PSN)
		qp->first_sq_psn = attr->sq_psn;
	if (mask & (AV | DEST_QPN))
		set_flow(engine, qp);
	if ((mask & AV) && rxe_qp_is_reliable(qp))
		rc_requester_path_changed(engine, qp);
	if (mask & ALT)
		rxe_migration_loaded(engine, qp);
	if (mask & MIG)
		rxe_migration_enter(engine, qp, attr->path_mig_state);
	if (mask & RATE)
		rxe_rate_set(&qp->rate, attr->rate_limit, attr->max_burst, packet_bytes(engine, qp),
			     now_ns);
	enter(engine, qp, target(qp, attr, mask));
	return MODIFY_OK;
}

const char *rxe_modify_result_str(enum modify_result result)
{
	switch (result) {
	case MODIFY_OK: return "ok";
	case MODIFY_BAD_TRANSITION: return "the QP cannot go from its state to the one asked for";
	case MODIFY_MISSING: return "an attribute that this move requires is not in the mask";
	case MODIFY_NOT_ALLOWED:
		return "the mask has an attribute that this move, or this QP type, does not take";
	case MODIFY_BAD_VALUE: return "an attribute's value is out of range";
	case MODIFY_NO_GRH:
		return "RoCE needs a GID: set ah_attr.is_global and grh (a program's -g 0 option)";
	case MODIFY_BAD_GID:
		return "sgid_index is empty, or dgid is unusable or of the other address family";
	case MODIFY_UNSUPPORTED: return "resizing is not supported";
	case MODIFY_DRAINING: return "the send queue has not drained yet";
	}
	return "?";
}
