// SPDX-License-Identifier: MIT
/* Collects the parts of each request, and enters it when its memory is known. */
#include "lib/check/wrap_build.h"

#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"
#include "lib/check/wrap_post.h"

INNER(ibv_qp_to_qp_ex);

/* The library's functions: the same for every queue pair. */
static struct ibv_qp_ex inner_qp;

static struct check_qp *part_of(struct ibv_qp_ex *ex)
{
	struct check_object *object = object_find(&ex->qp_base);

	return object && object->kind == VB_KIND_QP ? object->part : NULL;
}

static void enter(struct check_qp *qp)
{
	if (qp->building && post_enter_send(qp, &qp->pending))
		qp->built++;
	qp->building = false;
}

/* A request begins, and the one in front of it had no memory. */
static void begin_at(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct check_qp *qp;

	check_lock();
	qp = part_of(ex);
	if (qp) {
		enter(qp);
		qp->building = true;
		qp->pending = (struct ibv_send_wr){ .wr_id = ex->wr_id,
						    .opcode = opcode,
						    .send_flags = ex->wr_flags };
		remote_set(&qp->pending, rkey, addr);
	}
	check_unlock();
}

static void begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	begin_at(ex, opcode, 0, 0);
}

static void add_memory(struct ibv_qp_ex *ex, const struct ibv_sge *list, size_t n, bool by_copy)
{
	struct check_qp *qp;

	check_lock();
	qp = part_of(ex);
	if (qp && qp->building) {
		qp->pending.sg_list = (struct ibv_sge *)(uintptr_t)list;
		qp->pending.num_sge = (int)n;
		if (by_copy)
			qp->pending.send_flags |= IBV_SEND_INLINE;
		enter(qp);
	}
	check_unlock();
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	begin_at(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
	inner_qp.wr_atomic_cmp_swp(qp, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	begin_at(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr);
	inner_qp.wr_atomic_fetch_add(qp, rkey, addr, add);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	begin(qp, IBV_WR_BIND_MW);
	inner_qp.wr_bind_mw(qp, mw, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_LOCAL_INV);
	inner_qp.wr_local_inv(qp, rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	begin_at(qp, IBV_WR_RDMA_READ, rkey, addr);
	inner_qp.wr_rdma_read(qp, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	begin_at(qp, IBV_WR_RDMA_WRITE, rkey, addr);
	inner_qp.wr_rdma_write(qp, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	begin_at(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	inner_qp.wr_rdma_write_imm(qp, rkey, addr, imm);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin(qp, IBV_WR_SEND);
	inner_qp.wr_send(qp);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	begin(qp, IBV_WR_SEND_WITH_IMM);
	inner_qp.wr_send_imm(qp, imm);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_SEND_WITH_INV);
	inner_qp.wr_send_inv(qp, rkey);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	add_memory(qp, NULL, 0, true);
	inner_qp.wr_set_inline_data(qp, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *list)
{
	add_memory(qp, NULL, 0, true);
	inner_qp.wr_set_inline_data_list(qp, n, list);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { addr, length, lkey };

	add_memory(qp, &sge, 1, false);
	inner_qp.wr_set_sge(qp, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *list)
{
	add_memory(qp, list, n, false);
	inner_qp.wr_set_sge_list(qp, n, list);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	wrap_used(ah, VB_KIND_AH, "ibv_wr_set_ud_addr");
	inner_qp.wr_set_ud_addr(qp, ah, remote_qpn, remote_qkey);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct check_qp *qp;

	inner_qp.wr_start(ex);
	check_lock();
	if (!object_is_dead(&ex->qp_base, VB_KIND_QP, "ibv_wr_start"))
		thread_used(object_find(&ex->qp_base), "ibv_wr_start");
	qp = part_of(ex);
	if (qp) {
		qp->building = false;
		qp->built = 0;
	}
	check_unlock();
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct check_qp *qp;
	uint32_t built = 0;
	int err;

	check_lock();
	qp = part_of(ex);
	if (qp) {
		enter(qp);
		built = qp->built;
	}
	check_unlock();
	err = inner_qp.wr_complete(ex);
	if (!qp)
		return err;
	check_lock();
	if (err)
		post_refuse(&qp->send, built);
	hook_posted(&qp->send);
	check_unlock();
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct check_qp *qp;

	check_lock();
	qp = part_of(ex);
	if (qp) {
		post_refuse(&qp->send, qp->built);
		qp->building = false;
	}
	check_unlock();
	inner_qp.wr_abort(ex);
}

void wrap_build(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = inner_ibv_qp_to_qp_ex(qp);

	if (!ex)
		return;
	check_lock();
	inner_qp = *ex;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	check_unlock();
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	wrap_used(qp, VB_KIND_QP, "ibv_qp_to_qp_ex");
	return inner_ibv_qp_to_qp_ex(qp);
}
