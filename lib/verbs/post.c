// SPDX-License-Identifier: MIT
/* Posts work requests (ibv_post_send(3), ibv_post_recv(3), ibv_post_srq_recv(3), ibv_bind_mw(3)):
 * converts them, queues them, and sends at once. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/engine.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/ah.h"
#include "lib/verbs/device.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/refuse_post.h"
#include "lib/verbs/srq.h"
#include "net/link/clock.h"

static_assert(sizeof(struct rxe_sge) == sizeof(struct ibv_sge), "passed on without conversion");
static_assert(offsetof(struct rxe_sge, length) == offsetof(struct ibv_sge, length), "");
static_assert(offsetof(struct rxe_sge, lkey) == offsetof(struct ibv_sge, lkey), "");
static_assert((int)RXE_WR_SEND_WITH_INV == (int)IBV_WR_SEND_WITH_INV, "enum ibv_wr_opcode");
static_assert((int)RXE_WR_ATOMIC_FETCH_AND_ADD == (int)IBV_WR_ATOMIC_FETCH_AND_ADD, "");
static_assert((int)RXE_WR_BIND_MW == (int)IBV_WR_BIND_MW, "");
static_assert((int)RXE_SEND_INLINE == (int)IBV_SEND_INLINE, "enum ibv_send_flags");

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* imm_data of the others is in network order. */
static bool names_key(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV;
}

static void convert(struct rxe_send_wr *to, const struct ibv_send_wr *from, enum ibv_qp_type type)
{
	to->wr_id = from->wr_id;
	to->opcode = (enum rxe_wr_opcode)from->opcode;
	to->flags = from->send_flags;
	to->imm_or_rkey = names_key(from->opcode) ? from->invalidate_rkey : be32toh(from->imm_data);
	to->num_sge = (uint32_t)from->num_sge;
	to->sges = (const struct rxe_sge *)(const void *)from->sg_list;
	/* struct ibv_send_wr has no place for the range of a FLUSH: emu/post.c refuses it. */
	to->feth = (struct feth){ 0 };
	to->flush_len = 0;
	to->av = NULL;
	to->remote_qpn = type == IBV_QPT_XRC_SEND ? from->qp_type.xrc.remote_srqn : 0;
	if (type == IBV_QPT_UD) {
		to->av = from->wr.ud.ah ? &vb_ah(from->wr.ud.ah)->av : NULL;
		to->remote_qpn = from->wr.ud.remote_qpn;
		to->remote_qkey = from->wr.ud.remote_qkey;
	} else if (is_atomic(from->opcode)) {
		to->remote_addr = from->wr.atomic.remote_addr;
		to->rkey = from->wr.atomic.rkey;
		to->compare_add = from->wr.atomic.compare_add;
		to->swap = from->wr.atomic.swap;
	} else {
		to->remote_addr = from->wr.rdma.remote_addr;
		to->rkey = from->wr.rdma.rkey;
	}
}

/* Windows of type 2; ibv_bind_mw() binds the others. */
static bool convert_bind(struct rxe_send_wr *to, const struct ibv_send_wr *from,
			 struct ibv_context *context)
{
	to->num_sge = 0;
	return vb_mw_bind(context, from->bind_mw.mw, IBV_MW_TYPE_2, from->bind_mw.rkey,
			  &from->bind_mw.bind_info, &to->bind);
}

static int post_one(struct ibv_qp *base, const struct rxe_send_wr *wr)
{
	struct vb_qp *qp = vb_qp(base);
	enum post_result result;
	uint64_t now_ns;
	bool was_idle;
	int err = 0;

	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "QP");
	now_ns = clock_now_ns();
	was_idle = rxe_qp_is_idle(&qp->qp);
	result = rxe_post_send(qp->dev->progress.engine, &qp->qp, wr, now_ns);
	if (result != POST_OK)
		err = vb_refuse_send(qp, wr, result);
	progress_posted(&qp->dev->progress, was_idle, now_ns);
	return err;
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vb_qp *qp = vb_qp(base);
	enum post_result result;
	uint64_t now_ns;
	bool was_idle;
	int err = 0;

	if (vb_verb_fails(base->context, post_send)) {
		*bad_wr = wr;
		return vb_result(errno);
	}
	if (!vb_lock_engine(qp->dev, qp->forks)) {
		*bad_wr = wr;
		return vb_result(refuse(WHY_NO_ENGINE, "queue"));
	}
	now_ns = clock_now_ns();
	was_idle = rxe_qp_is_idle(&qp->qp);
	for (; wr; wr = wr->next) {
		struct rxe_send_wr out;

		convert(&out, wr, base->qp_type);
		result = wr->opcode == IBV_WR_BIND_MW && !convert_bind(&out, wr, base->context)
				 ? POST_BAD_BIND
				 : rxe_post_send(qp->dev->progress.engine, &qp->qp, &out, now_ns);
		if (result != POST_OK) {
			*bad_wr = wr;
			err = vb_refuse_send(qp, &out, result);
			break;
		}
	}
	progress_posted(&qp->dev->progress, was_idle, now_ns);
	return vb_result(err);
}

/* ibv_bind_mw(3): a type 1 window. The new key is the window's at once; the program puts the old
 * one back if the bind fails. */
static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct rxe_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = RXE_WR_BIND_MW,
		.flags = bind->send_flags,
	};
	int err;

	if (vb_refuses(qp, VB_KIND_QP) ||
	    !vb_mw_bind(qp->context, mw, IBV_MW_TYPE_1, rkey, info, &wr.bind) ||
	    refuse_if(info->mw_access_flags & IBV_ACCESS_ZERO_BASED, WHY_BIND_ZERO_BASED))
		return vb_result(refusal_noted());
	if (vb_verb_fails(mw->context, bind_mw))
		return vb_result(errno);
	err = post_one(qp, &wr);
	if (!err)
		mw->rkey = rkey;
	return vb_result(err);
}

static struct rxe_recv_wr recv_wr(const struct ibv_recv_wr *wr)
{
	return (struct rxe_recv_wr){
		.wr_id = wr->wr_id,
		.num_sge = (uint32_t)wr->num_sge,
		.sges = (const struct rxe_sge *)(const void *)wr->sg_list,
	};
}

int vb_post_recv_list(struct vb_qp *qp, enum inject_verb verb, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	enum post_result result;
	uint64_t now_ns;
	bool flushes;
	int err = 0;

	if (vb_gate_fails(qp->ex.base.qp_base.context, verb)) {
		*bad_wr = wr;
		return vb_result_as(inject_verb_str(verb), errno);
	}
	if (!vb_lock_engine(qp->dev, qp->forks)) {
		*bad_wr = wr;
		return vb_result_as(inject_verb_str(verb), refuse(WHY_NO_ENGINE, "queue"));
	}
	flushes = qp->qp.state == RXE_QPS_ERR;
	now_ns = flushes ? clock_now_ns() : qp->dev->progress.engine->now_ns;
	for (; wr; wr = wr->next) {
		const struct rxe_recv_wr in = recv_wr(wr);

		result = rxe_post_recv(qp->dev->progress.engine, &qp->qp, &in, now_ns);
		if (result != POST_OK) {
			*bad_wr = wr;
			err = vb_refuse_recv(qp, &in, result);
			break;
		}
	}
	/* In ERR a receive is flushed at once: publish its completion. */
	if (flushes) {
		rxe_engine_settle(qp->dev->progress.engine);
		progress_unlock(&qp->dev->progress);
	} else {
		progress_unlock_queued(&qp->dev->progress);
	}
	return err ? vb_result_as(inject_verb_str(verb), err) : 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return vb_post_recv_list(vb_qp(qp), INJECT_VERB_post_recv, wr, bad_wr);
}

int vb_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_srq *srq = vb_srq(base);
	enum post_result result;
	int err = 0;

	if (vb_verb_fails(base->context, post_srq_recv)) {
		*bad_wr = wr;
		return vb_result(errno);
	}
	if (!vb_lock_engine(srq->dev, srq->forks)) {
		*bad_wr = wr;
		return vb_result(refuse(WHY_NO_ENGINE, "queue"));
	}
	for (; wr; wr = wr->next) {
		const struct rxe_recv_wr in = recv_wr(wr);

		result = rxe_post_srq_recv(srq->dev->progress.engine, &srq->srq, &in);
		if (result != POST_OK) {
			*bad_wr = wr;
			err = vb_refuse_srq_recv(srq, &in, result);
			break;
		}
	}
	progress_unlock_queued(&srq->dev->progress);
	return vb_result(err);
}

void vb_post_ops(struct verbs_context_65 *verbs)
{
	struct ibv_context_ops *ops = &verbs->base.context.ops;

	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = vb_post_srq_recv;
	ops->bind_mw = bind_mw;
}
