// SPDX-License-Identifier: MIT
/* The ibv_wr_* calls (ibv_wr_post(3)): collect requests between ibv_wr_start() and
 * ibv_wr_complete(), then post them as one list. ibv_wr_complete() returns the first error that
 * occurred in between and then posts nothing. */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/container_of.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/ah.h"
#include "lib/verbs/device.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/refuse_post.h"
#include "net/link/clock.h"

struct built_wr {
	struct rxe_send_wr wr;
	uint32_t first_sge;    /* in builder->sges */
	uint32_t inline_start; /* in builder->bytes */
	uint32_t inline_len;
};

struct vb_wr_builder {
	pthread_mutex_t lock; /* held from start to complete or abort */
	bool is_open;	      /* started, and neither completed nor aborted */
	int err;
	struct built_wr *wrs;
	uint32_t num_wrs, cap_wrs;
	struct rxe_sge *sges;
	uint32_t num_sges, cap_sges;
	uint8_t *bytes;
	uint32_t num_bytes, cap_bytes;
};

#define OPS_RC                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                                 \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |                 \
	 IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |        \
	 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define OPS_UC                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

static struct vb_qp *of(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct vb_qp, ex.base);
}

/* Makes space for count more elements of size bytes. False, and builder->err is set: no memory. */
static bool grow(struct vb_wr_builder *builder, void *array, uint32_t *capacity, uint32_t used,
		 uint32_t count, size_t size)
{
	void **memory = array;
	uint32_t want = *capacity ? *capacity : 16;
	void *larger;

	if (used + count <= *capacity)
		return true;
	while (want < used + count)
		want *= 2;
	larger = realloc(*memory, want * size);
	if (!larger) {
		builder->err = refuse(WHY_NO_MEMORY, "the requests");
		return false;
	}
	*memory = larger;
	*capacity = want;
	return true;
}

static struct built_wr *add(struct ibv_qp_ex *ex, enum rxe_wr_opcode opcode)
{
	struct vb_wr_builder *builder = of(ex)->builder;
	struct built_wr *built;

	if (!builder->is_open)
		return NULL;
	if (!grow(builder, &builder->wrs, &builder->cap_wrs, builder->num_wrs, 1, sizeof(*built)))
		return NULL;
	built = &builder->wrs[builder->num_wrs++];
	memset(built, 0, sizeof(*built));
	built->wr.wr_id = ex->wr_id;
	built->wr.flags = ex->wr_flags;
	built->wr.opcode = opcode;
	return built;
}

static struct built_wr *add_remote(struct ibv_qp_ex *ex, enum rxe_wr_opcode opcode, uint32_t rkey,
				   uint64_t remote_addr, uint32_t imm)
{
	struct built_wr *built = add(ex, opcode);

	if (built) {
		built->wr.rkey = rkey;
		built->wr.remote_addr = remote_addr;
		built->wr.imm_or_rkey = imm;
	}
	return built;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	add_remote(ex, RXE_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	add_remote(ex, RXE_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, be32toh(imm));
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	add_remote(ex, RXE_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add_remote(ex, RXE_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	add_remote(ex, RXE_WR_SEND_WITH_IMM, 0, 0, be32toh(imm));
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	add_remote(ex, RXE_WR_SEND_WITH_INV, 0, 0, rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct built_wr *built = add_remote(ex, RXE_WR_BIND_MW, 0, 0, 0);

	if (built &&
	    !vb_mw_bind(ex->qp_base.context, mw, IBV_MW_TYPE_2, rkey, info, &built->wr.bind))
		of(ex)->builder->err = refusal_noted();
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	add_remote(ex, RXE_WR_LOCAL_INV, 0, 0, rkey);
}

static void add_atomic(struct ibv_qp_ex *ex, enum rxe_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct built_wr *built = add_remote(ex, opcode, rkey, remote_addr, 0);

	if (!built)
		return;
	built->wr.compare_add = compare_add;
	built->wr.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	add_atomic(ex, RXE_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t addend)
{
	add_atomic(ex, RXE_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, addend, 0);
}

/* The request that a setter completes. NULL, and builder->err is set: no request was begun. */
static struct built_wr *last(struct ibv_qp_ex *ex)
{
	struct vb_wr_builder *builder = of(ex)->builder;

	if (!builder->is_open)
		return NULL;
	if (builder->num_wrs == 0) {
		builder->err =
			builder->err ? builder->err : refuse(WHY_NO_REQUEST, ex->qp_base.qp_num);
		return NULL;
	}
	return &builder->wrs[builder->num_wrs - 1];
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct built_wr *built = last(ex);

	if (!built)
		return;
	built->wr.av = ah ? &vb_ah(ah)->av : NULL;
	built->wr.remote_qpn = remote_qpn;
	built->wr.remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct built_wr *built = last(ex);

	if (built)
		built->wr.remote_qpn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *list)
{
	struct vb_wr_builder *builder = of(ex)->builder;
	struct built_wr *built = last(ex);

	if (!built)
		return;
	if (num_sge > RXE_MAX_SGE) {
		builder->err = refuse(WHY_SEND_SGES, (uint32_t)num_sge, of(ex)->qp.max_send_sge,
				      ex->qp_base.qp_num);
		return;
	}
	if (!grow(builder, &builder->sges, &builder->cap_sges, builder->num_sges, (uint32_t)num_sge,
		  sizeof(*builder->sges)))
		return;
	built->first_sge = builder->num_sges;
	built->wr.num_sge = (uint32_t)num_sge;
	if (num_sge)
		memcpy(&builder->sges[builder->num_sges], list, num_sge * sizeof(*list));
	builder->num_sges += (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *list)
{
	struct vb_wr_builder *builder = of(ex)->builder;
	struct built_wr *built = last(ex);

	if (!built)
		return;
	built->wr.flags |= RXE_SEND_INLINE;
	built->inline_start = builder->num_bytes;
	built->inline_len = 0;
	for (size_t i = 0; i < num_buf; i++) {
		if (list[i].length > RXE_MAX_INLINE - built->inline_len) {
			builder->err = refuse(WHY_SEND_INLINE,
					      (uint64_t)built->inline_len + list[i].length,
					      of(ex)->qp.max_inline_data, ex->qp_base.qp_num);
			return;
		}
		if (!grow(builder, &builder->bytes, &builder->cap_bytes, builder->num_bytes,
			  (uint32_t)list[i].length, 1))
			return;
		if (list[i].length)
			memcpy(builder->bytes + builder->num_bytes, list[i].addr, list[i].length);
		builder->num_bytes += (uint32_t)list[i].length;
		built->inline_len += (uint32_t)list[i].length;
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* The value is copied here, however little a queue pair may send inline. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *value)
{
	const struct ibv_data_buf buf = { .addr = (void *)(uintptr_t)value,
					  .length = sizeof(uint64_t) };

	if (add_remote(ex, RXE_WR_ATOMIC_WRITE, rkey, remote_addr, 0))
		wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	struct built_wr *built = add_remote(ex, RXE_WR_FLUSH, rkey, remote_addr, 0);

	if (!built)
		return;
	if (len > RXE_MAX_FLUSH)
		of(ex)->builder->err = refuse(WHY_SEND_FLUSH, (uint32_t)RXE_MAX_FLUSH);
	built->wr.flush_len = (uint32_t)len;
	built->wr.feth = (struct feth){ .placement = type, .selectivity = level };
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct vb_wr_builder *builder = of(ex)->builder;

	pthread_mutex_lock(&builder->lock);
	builder->is_open = true;
	builder->err = 0;
	builder->num_wrs = builder->num_sges = builder->num_bytes = 0;
}

static enum post_result post_one(struct vb_qp *qp, struct built_wr *built, uint64_t now_ns)
{
	struct vb_wr_builder *builder = qp->builder;
	struct rxe_sge inline_sge = {
		.addr = (uintptr_t)builder->bytes + built->inline_start,
		.length = built->inline_len,
	};

	built->wr.sges = builder->sges + built->first_sge;
	if (built->wr.flags & RXE_SEND_INLINE) {
		built->wr.sges = &inline_sge;
		built->wr.num_sge = 1;
	}
	return rxe_post_send(qp->dev->progress.engine, &qp->qp, &built->wr, now_ns);
}

/* The inline data of a request is in the builder. */
static int __attribute__((cold, noinline))
refuse_built(const struct vb_qp *qp, const struct built_wr *built, enum post_result result)
{
	const struct rxe_sge inline_sge = { .length = built->inline_len };
	struct rxe_send_wr wr = built->wr;

	if (wr.flags & RXE_SEND_INLINE)
		wr.sges = &inline_sge;
	return vb_refuse_send(qp, &wr, result);
}

/* Posts all or none: no packet leaves before the last one is accepted, so all can be withdrawn. */
static int post_all(struct vb_qp *qp)
{
	struct vb_wr_builder *builder = qp->builder;
	enum post_result result = POST_OK;
	uint64_t now_ns;
	uint32_t tail, i = 0;
	bool was_idle;
	int err = 0;

	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	now_ns = clock_now_ns();
	tail = qp->qp.sq.tail;
	was_idle = rxe_qp_is_idle(&qp->qp);
	for (; i < builder->num_wrs && result == POST_OK; i++)
		result = post_one(qp, &builder->wrs[i], now_ns);
	if (result != POST_OK) {
		err = refuse_built(qp, &builder->wrs[i - 1], result);
		rxe_post_withdraw(qp->dev->progress.engine, &qp->qp, tail);
	}
	progress_posted(&qp->dev->progress, was_idle, now_ns);
	return err;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct vb_qp *qp = of(ex);
	int err = qp->builder->err;

	if (!qp->builder->is_open)
		return vb_result(refuse(WHY_NOT_STARTED, ex->qp_base.qp_num));
	if (!err && vb_verb_fails(ex->qp_base.context, wr_complete))
		err = errno;
	if (!err)
		err = post_all(qp);
	qp->builder->is_open = false;
	pthread_mutex_unlock(&qp->builder->lock);
	return vb_result(err);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct vb_wr_builder *builder = of(ex)->builder;

	if (!builder->is_open)
		return;
	builder->is_open = false;
	pthread_mutex_unlock(&builder->lock);
}

/* No queue pair of this device has the operation: ibv_wr_complete() returns EOPNOTSUPP. */
static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	of(ex)->builder->err = refuse(WHY_TSO);
}

static void fill(struct ibv_qp_ex_65 *newer)
{
	struct ibv_qp_ex *ex = &newer->base;

	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send_tso = wr_send_tso;
	newer->wr_atomic_write = wr_atomic_write;
	newer->wr_flush = wr_flush;
}

static uint64_t ops_of(enum ibv_qp_type type)
{
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		return OPS_RC;
	if (type == IBV_QPT_UC)
		return OPS_UC;
	if (type == IBV_QPT_RAW_PACKET)
		return IBV_QP_EX_WITH_SEND;
	return type == IBV_QPT_UD ? OPS_UD : 0;
}

static uint64_t refused_ops(const struct ctl_profile *profile)
{
	uint64_t ret = 0;

	if (profile->atomic_cap == IBV_ATOMIC_NONE)
		ret |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (!profile->mem_mgt_extensions)
		ret |= IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV;
	if (!profile->max_mw)
		ret |= IBV_QP_EX_WITH_BIND_MW;
	if (!profile->flush)
		ret |= IBV_QP_EX_WITH_FLUSH;
	if (!profile->atomic_write)
		ret |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	return ret;
}

int vb_wr_create(struct vb_qp *qp, uint64_t send_ops)
{
	enum ibv_qp_type type = qp->ex.base.qp_base.qp_type;
	const uint64_t have = ops_of(type) & ~refused_ops(vb_profile(qp->dev));

	if (send_ops & ~have)
		return refuse(WHY_QP_SEND_OPS, vb_qp_type_str((enum rxe_qp_type)type),
			      send_ops & ~have);
	qp->builder = calloc(1, sizeof(*qp->builder));
	if (!qp->builder)
		return refuse(WHY_NO_MEMORY, "the requests");
	pthread_mutex_init(&qp->builder->lock, NULL);
	fill(&qp->ex);
	return 0;
}

void vb_wr_destroy(struct vb_qp *qp)
{
	if (!qp->builder)
		return;
	pthread_mutex_destroy(&qp->builder->lock);
	free(qp->builder->wrs);
	free(qp->builder->sges);
	free(qp->builder->bytes);
	free(qp->builder);
	qp->builder = NULL;
}
