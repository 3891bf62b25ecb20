/* SPDX-License-Identifier: MIT */
/* Posting: checks of a work request (IBTA 11.4.1), and its copy into the ring. Keys and the peer
 * are checked when packets are made: their errors are completions, not refusals. */
#include <assert.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/raw/frame.h"
#include "emu/rc/requester.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

#define INLINE_BITS (RXE_SEND_FENCE | RXE_SEND_SIGNALED | RXE_SEND_SOLICITED | RXE_SEND_INLINE)
#define PLAIN_BITS  (RXE_SEND_FENCE | RXE_SEND_SIGNALED | RXE_SEND_SOLICITED)

#define RC  (1u << RXE_QPT_RC)
#define UC  (1u << RXE_QPT_UC)
#define UD  (1u << RXE_QPT_UD)
#define RAW (1u << RXE_QPT_RAW)
#define XRC (1u << RXE_QPT_XRC_SEND)

/* Length of the message that an operation requires. */
enum len_rule {
	LEN_ANY,
	LEN_0,
	LEN_8,
	LEN_NONE, /* no message, whatever list comes with the request */
};

/* IBTA table 95 and annex A19: services that have the operation, and the flags that it may
 * carry. */
struct op_rule {
	uint32_t types;
	uint32_t flags;
	enum len_rule len;
};

/* clang-format off */
static const struct op_rule rules[] = {
	[RXE_WR_RDMA_WRITE]           = { RC | XRC | UC,      INLINE_BITS, LEN_ANY },
	[RXE_WR_RDMA_WRITE_WITH_IMM]  = { RC | XRC | UC,      INLINE_BITS, LEN_ANY },
	[RXE_WR_SEND]                 = { RC | XRC | UC | UD | RAW, INLINE_BITS, LEN_ANY },
	[RXE_WR_SEND_WITH_IMM]        = { RC | XRC | UC | UD, INLINE_BITS, LEN_ANY },
	[RXE_WR_RDMA_READ]            = { RC | XRC,           PLAIN_BITS,  LEN_ANY },
	[RXE_WR_ATOMIC_CMP_AND_SWP]   = { RC | XRC,           PLAIN_BITS,  LEN_8 },
	[RXE_WR_ATOMIC_FETCH_AND_ADD] = { RC | XRC,           PLAIN_BITS,  LEN_8 },
	[RXE_WR_SEND_WITH_INV]        = { RC | XRC,           INLINE_BITS, LEN_ANY },
	[RXE_WR_FLUSH]                = { RC | XRC,           PLAIN_BITS,  LEN_0 },
	[RXE_WR_ATOMIC_WRITE]         = { RC | XRC,           INLINE_BITS, LEN_8 },
	[RXE_WR_LOCAL_INV]            = { RC | XRC | UC,      PLAIN_BITS,  LEN_NONE },
	[RXE_WR_BIND_MW]              = { RC | XRC | UC,      PLAIN_BITS,  LEN_NONE },
};
/* clang-format on */

static bool may_post_send(enum rxe_qp_state state)
{
	switch (state) {
	case RXE_QPS_RTS:
	case RXE_QPS_SQD:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR: return true;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_RTR: return false;
	}
	return false;
}

static uint64_t max_len(const struct rxe_engine *engine, const struct rxe_qp *qp)
{
	switch (qp->type) {
	case RXE_QPT_RAW: return engine->cfg.max_frame;
	/* One longer than the MTU completes in error, as on adapters: see ud.c. */
	case RXE_QPT_UD:
	case RXE_QPT_RC:
	case RXE_QPT_UC:
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV:
	case RXE_QPT_WQ: break;
	}
	return engine->cfg.offer.max_msg_size ? engine->cfg.offer.max_msg_size : RXE_MAX_MSG_SIZE;
}

/* *ret_len: bytes of the message. */
static enum post_result check_sges(const struct rxe_engine *engine, const struct rxe_qp *qp,
				   const struct rxe_send_wr *wr, const struct op_rule *rule,
				   uint32_t *ret_len)
{
	uint64_t len = 0;

	const uint32_t max_sge_rd = engine->cfg.offer.max_sge_rd;

	if (wr->num_sge > qp->max_send_sge || (wr->num_sge > 0 && !wr->sges))
		return POST_BAD_SGE;
	if (wr->opcode == RXE_WR_RDMA_READ && max_sge_rd && wr->num_sge > max_sge_rd)
		return POST_BAD_SGE;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		len += wr->sges[i].length;
	if (len > max_len(engine, qp) || (qp->type == RXE_QPT_RAW && len < RAW_ETH_LEN) ||
	    (rule->len == LEN_8 && len != sizeof(uint64_t)) || (rule->len == LEN_0 && len != 0) ||
	    wr->flush_len > RXE_MAX_FLUSH)
		return POST_BAD_SGE;
	/* Each slot holds a word inline, whatever max_inline_data is. */
	if ((wr->flags & RXE_SEND_INLINE) && len > qp->max_inline_data && rule->len != LEN_8)
		return POST_BAD_SGE;
	*ret_len = (uint32_t)len;
	return POST_OK;
}

static bool feth_is_good(const struct feth *feth)
{
	return feth->placement != 0 && !(feth->placement & ~(FETH_GLOBAL | FETH_PERSISTENT)) &&
	       feth->selectivity <= FETH_REGION;
}

static uint32_t allowed_flags(const struct rxe_qp *qp, const struct op_rule *rule)
{
	return rule->flags | (qp->type == RXE_QPT_RAW ? RXE_SEND_IP_CSUM : 0u);
}

static enum post_result check_send(const struct rxe_engine *engine, const struct rxe_qp *qp,
				   const struct rxe_send_wr *wr, uint32_t *ret_len)
{
	const struct op_rule *rule;

	if (!may_post_send(qp->state))
		return POST_BAD_STATE;
	if ((uint32_t)wr->opcode >= sizeof(rules) / sizeof(rules[0]))
		return POST_BAD_OPCODE;
	if (engine->cfg.offer.refused_ops & 1u << wr->opcode)
		return POST_REFUSED;
	rule = &rules[wr->opcode];
	if (!(rule->types & 1u << qp->type))
		return POST_BAD_OPCODE;
	if ((wr->flags & ~allowed_flags(qp, rule)) ||
	    (wr->opcode == RXE_WR_FLUSH && !feth_is_good(&wr->feth)))
		return POST_BAD_FLAGS;
	if (qp->type == RXE_QPT_UD && !(wr->av && rxe_av_is_good(engine, wr->av)))
		return POST_BAD_AV;
	if (qp->type == RXE_QPT_XRC_SEND && wr->remote_qpn > QPN_MASK)
		return POST_BAD_AV;
	if (!rxe_qp_has_send_slot(qp))
		return POST_FULL;
	if (rule->len == LEN_NONE)
		return POST_OK;
	return check_sges(engine, qp, wr, rule, ret_len);
}

static void copy_inline(uint8_t *to, const struct rxe_send_wr *wr)
{
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct rxe_sge *sge = &wr->sges[i];

		if (sge->length > 0)
			memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
	}
}

static void fill_local(struct rxe_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	wqe->len = 0;
	if (wr->opcode == RXE_WR_BIND_MW)
		memcpy(wqe->tail, &wr->bind, sizeof(wr->bind));
}

static void fill(struct rxe_send_wqe *wqe, const struct rxe_send_wr *wr, uint32_t len)
{
	wqe->wr_id = wr->wr_id;
	wqe->remote_addr = wr->remote_addr;
	wqe->compare_add = wr->compare_add;
	wqe->swap = wr->swap;
	if (wr->av)
		wqe->av = *wr->av;
	wqe->remote_qpn = wr->remote_qpn & QPN_MASK; /* UD, as adapters */
	wqe->remote_qkey = wr->remote_qkey;
	wqe->rkey = wr->rkey;
	wqe->imm_or_rkey = wr->imm_or_rkey;
	wqe->len = len;
	wqe->psn_first = 0;
	wqe->psn_last = 0;
	wqe->flags = wr->flags;
	wqe->flush_len = wr->flush_len;
	wqe->feth = wr->feth;
	wqe->opcode = (uint16_t)wr->opcode;
	wqe->num_sge = 0;
	wqe->started = RXE_WQE_POSTED;
	if (rxe_wqe_is_local(wqe)) {
		fill_local(wqe, wr);
		return;
	}
	assert(wr->num_sge <= RXE_MAX_SGE);
	if (wr->flags & RXE_SEND_INLINE) {
		copy_inline(wqe->tail, wr);
		return;
	}
	wqe->num_sge = (uint8_t)wr->num_sge;
	if (wr->num_sge > 0)
		memcpy(wqe->tail, wr->sges, wr->num_sge * sizeof(struct rxe_sge));
}

enum post_result rxe_post_send(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_send_wr *wr, uint64_t now_ns)
{
	uint32_t len = 0;
	enum post_result result = check_send(engine, qp, wr, &len);

	if (result != POST_OK)
		return result;
	engine->now_ns = now_ns;
	fill(rxe_ring_at(&qp->sq, qp->sq.tail), wr, len);
	qp->sq.tail++;
	assert(rxe_ring_used(&qp->sq) <= qp->sq.limit);
	engine->open_wrs++;
	if (qp->state == RXE_QPS_ERR || qp->state == RXE_QPS_SQE)
		rxe_flush_send(engine, qp);
	else if (!rxe_qp_is_reliable(qp) || !rc_requester_gathers(qp))
		rxe_qp_set_ready(engine, qp);
	return POST_OK;
}

void rxe_post_withdraw(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t tail)
{
	/* Flushed: each request has its completion. */
	if (rxe_ring_used(&qp->sq) == 0)
		return;
	assert(qp->sq.tail - tail <= rxe_ring_used(&qp->sq));
	engine->open_wrs -= qp->sq.tail - tail;
	qp->sq.tail = tail;
}

bool rxe_qp_is_idle(const struct rxe_qp *qp)
{
	return !rxe_qp_is_reliable(qp) || rc_requester_is_idle(qp);
}

enum post_result rxe_post_recv(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct rxe_recv_wr *wr, uint64_t now_ns)
{
	enum post_result result;

	if (qp->type == RXE_QPT_XRC_SEND || qp->type == RXE_QPT_XRC_RECV || qp->rss)
		return POST_NO_RECV;
	if (qp->srq)
		return POST_HAS_SRQ;
	if (qp->state == RXE_QPS_RESET)
		return POST_BAD_STATE;
	result = rxe_ring_push_recv(&qp->rq, wr, qp->max_recv_sge);
	if (result != POST_OK)
		return result;
	engine->now_ns = now_ns;
	engine->open_wrs++;
	if (qp->state == RXE_QPS_ERR)
		rxe_flush_recv(engine, qp);
	return POST_OK;
}
