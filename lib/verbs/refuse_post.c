// SPDX-License-Identifier: MIT
/* Finds the mistake in a request that the engine refused, in the order of emu/post.c. */
#include "lib/verbs/refuse_post.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "lib/abi/private.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/device.h"
#include "lib/verbs/kind.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"

/* "IBV_WR_RDMA_READ" */
static const char *opcode_str(const struct rxe_send_wr *wr)
{
	return ibv_wr_opcode_str((enum ibv_wr_opcode)wr->opcode);
}

static int refuse_full(const struct vb_qp *qp)
{
	const struct rxe_qp *in = &qp->qp;
	const uint32_t polled = atomic_load_explicit(&in->sq_polled, memory_order_relaxed);
	uint32_t unsignaled = 0;

	if (in->srq_sends)
		return refuse(WHY_SEND_SRQ, in->qpn);
	for (uint32_t i = polled; i != in->sq.tail; i++) {
		const struct rxe_send_wqe *wqe = rxe_ring_at(&in->sq, i);

		unsignaled += !in->sq_sig_all && !(wqe->flags & RXE_SEND_SIGNALED);
	}
	return refuse(WHY_SEND_FULL, in->qpn, in->sq.tail - polled, in->sq.limit, unsignaled);
}

static uint64_t bytes_of(const struct rxe_send_wr *wr)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++)
		len += wr->sges[i].length;
	return len;
}

static bool takes_eight(enum rxe_wr_opcode opcode)
{
	return opcode == RXE_WR_ATOMIC_CMP_AND_SWP || opcode == RXE_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == RXE_WR_ATOMIC_WRITE;
}

static int refuse_bytes(const struct vb_qp *qp, const struct rxe_send_wr *wr)
{
	const uint64_t len = bytes_of(wr);
	const struct rxe_engine *engine = qp->dev->progress.engine;

	if (takes_eight(wr->opcode) && len != sizeof(uint64_t))
		return refuse(WHY_SEND_EIGHT, opcode_str(wr), len);
	if (wr->opcode == RXE_WR_FLUSH)
		return refuse(WHY_SEND_FLUSH, (uint32_t)RXE_MAX_FLUSH);
	if (wr->flags & RXE_SEND_INLINE && len > qp->qp.max_inline_data)
		return refuse(WHY_SEND_INLINE, len, qp->qp.max_inline_data, qp->qp.qpn);
	if (qp->qp.type == RXE_QPT_RAW)
		return refuse(WHY_SEND_LENGTH, len, (uint64_t)engine->cfg.max_frame,
			      ", and a frame at least its Ethernet header");
	return refuse(WHY_SEND_LENGTH, len, (uint64_t)vb_profile(qp->dev)->max_msg_sz, "");
}

static int refuse_sges(const struct vb_qp *qp, const struct rxe_send_wr *wr)
{
	const uint32_t max_sge_rd = vb_profile(qp->dev)->max_sge_rd;

	if (wr->num_sge > qp->qp.max_send_sge)
		return refuse(WHY_SEND_SGES, wr->num_sge, qp->qp.max_send_sge, qp->qp.qpn);
	if (wr->num_sge > 0 && !wr->sges)
		return refuse(WHY_SEND_NO_LIST, wr->num_sge);
	if (wr->opcode == RXE_WR_RDMA_READ && max_sge_rd && wr->num_sge > max_sge_rd)
		return refuse(WHY_SEND_READ_SGES, wr->num_sge, max_sge_rd);
	return refuse_bytes(qp, wr);
}

static int refuse_address(const struct vb_qp *qp, const struct rxe_send_wr *wr)
{
	if (qp->qp.type == RXE_QPT_XRC_SEND)
		return refuse(WHY_SEND_SRQN, wr->remote_qpn);
	return wr->av ? refuse(WHY_SEND_AH, wr->av->sgid_index)
		      : refuse(WHY_SEND_NO_AH, qp->qp.qpn);
}

int vb_refuse_send(const struct vb_qp *qp, const struct rxe_send_wr *wr, enum post_result result)
{
	const char *type = vb_qp_type_str(qp->qp.type);

	switch (result) {
	case POST_BAD_STATE:
		return refuse(WHY_SEND_STATE, qp->qp.qpn, vb_qp_state_str(qp->qp.state));
	case POST_FULL: return refuse_full(qp);
	case POST_BAD_OPCODE:
		return refuse(WHY_SEND_OPCODE, type, qp->qp.qpn, opcode_str(wr),
			      (uint32_t)wr->opcode);
	case POST_REFUSED: return refuse(WHY_SEND_OFFER, opcode_str(wr));
	case POST_BAD_SGE: return refuse_sges(qp, wr);
	case POST_BAD_FLAGS: return refuse(WHY_SEND_FLAGS, opcode_str(wr), wr->flags);
	case POST_BAD_AV: return refuse_address(qp, wr);
	case POST_BAD_BIND: return refusal_noted();
	case POST_HAS_SRQ:
	case POST_NO_RECV:
	case POST_OK: break;
	}
	assert(false); /* a result of another call */
	return 0;
}

int vb_refuse_recv(const struct vb_qp *qp, const struct rxe_recv_wr *wr, enum post_result result)
{
	const struct rxe_qp *in = &qp->qp;
	const bool is_wq = in->type == RXE_QPT_WQ;
	char name[VB_NAME_MAX];

	vb_kind_name(is_wq ? VB_KIND_WQ : VB_KIND_QP, in->qpn, NULL, name);
	switch (result) {
	case POST_BAD_STATE: return refuse(WHY_RECV_STATE, in->qpn);
	case POST_FULL: return refuse(WHY_RECV_FULL, name, rxe_ring_used(&in->rq));
	case POST_BAD_SGE: return refuse(WHY_RECV_SGES, wr->num_sge, in->max_recv_sge, name);
	case POST_HAS_SRQ: return refuse(WHY_RECV_SRQ, in->qpn);
	case POST_NO_RECV: return refuse(WHY_RECV_NONE, in->qpn);
	case POST_BAD_OPCODE:
	case POST_REFUSED:
	case POST_BAD_FLAGS:
	case POST_BAD_AV:
	case POST_BAD_BIND:
	case POST_OK: break;
	}
	assert(false); /* a result of another call */
	return 0;
}

int vb_refuse_srq_recv(const struct vb_srq *srq, const struct rxe_recv_wr *wr,
		       enum post_result result)
{
	char name[VB_NAME_MAX];

	vb_object_name(srq, VB_KIND_SRQ, name);
	return result == POST_FULL ? refuse(WHY_RECV_FULL, name, rxe_ring_used(&srq->srq.rq))
				   : refuse(WHY_RECV_SGES, wr->num_sge, srq->srq.max_sge, name);
}

int vb_refuse_tag(const struct vb_srq *srq, enum post_result result)
{
	if (result == POST_OK)
		return 0;
	return result == POST_FULL ? refuse(WHY_TAG_FULL, vb_profile(srq->dev)->max_num_tags)
				   : refuse(WHY_TAG_BUFFER);
}
