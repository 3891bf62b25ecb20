// SPDX-License-Identifier: MIT
/* Completion counters (ibv_create_comp_cntr(3), ibv_qp_attach_comp_cntr(3)). The engine counts
 * (emu/cq.h); a program that waits for a count runs the engine as one that polls a CQ. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/container_of.h"
#include "emu/cq.h"
#include "emu/limits.h"
#include "lib/abi/newer.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"

#define OPS (uint32_t)((1u << RXE_CNTR_OPS) - 1)

/* enum ibv_comp_cntr_type */
enum type {
	TYPE_WRS,
	TYPE_BYTES,
};

struct vb_comp_cntr {
	struct ibv_comp_cntr base;
	struct rxe_comp_cntr cntr;
	_Atomic uint64_t read; /* the values that the program read last */
};

static struct vb_comp_cntr *vb_comp_cntr(struct ibv_comp_cntr *cntr)
{
	return container_of(cntr, struct vb_comp_cntr, base);
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t caps_size)
{
	const struct ibv_comp_cntr_caps full = { .max_value = UINT64_MAX,
						 .max_counters = RXE_MAX_COMP_CNTR,
						 .supported_qp_attach_ops = OPS };

	if (vb_refuses_context(context) || refuse_if(!caps, WHY_NULL, "caps"))
		return vb_result(refusal_noted());
	if (!vb_profile(vb_device(context))->comp_cntr)
		return vb_result(refuse(WHY_NOT_OFFERED, "completion counters"));
	memset(caps, 0, caps_size);
	memcpy(caps, &full, caps_size < sizeof(full) ? caps_size : sizeof(full));
	return 0;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	static _Atomic uint32_t last_handle;
	struct vb_comp_cntr *cntr;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (refuse_if(attr->comp_mask || attr->flags, WHY_BITS_REFUSED, "comp_mask or flags",
		      (uint64_t)attr->comp_mask | attr->flags) ||
	    refuse_if((uint32_t)attr->type > TYPE_BYTES, WHY_NOT_SUPPORTED,
		      "a counter counts requests or bytes: type is unknown") ||
	    refuse_if(!vb_profile(vb_device(context))->comp_cntr, WHY_NOT_OFFERED,
		      "completion counters"))
		return vb_fail(refusal_noted());
	cntr = vb_object_begin(context, VB_KIND_COMP_CNTR, sizeof(*cntr),
			       INJECT_VERB_create_comp_cntr);
	if (!cntr)
		return vb_fail(errno);
	cntr->cntr.counts_bytes = (uint32_t)attr->type == TYPE_BYTES;
	cntr->base.handle = atomic_fetch_add(&last_handle, 1) + 1;
	vb_object_set_handle(cntr, cntr->base.handle);
	return &cntr->base;
}

/* EBUSY: an operation of a queue pair counts there. */
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	int err = vb_object_end(cntr, VB_KIND_COMP_CNTR, INJECT_VERB_destroy_comp_cntr);

	if (!err)
		free(cntr);
	return vb_result(err);
}

static bool has_any(const struct rxe_comp_cntrs *cntrs, uint32_t ops)
{
	for (uint32_t op = 0; op < RXE_CNTR_OPS; op++)
		if ((ops & 1u << op) && cntrs->of[op])
			return true;
	return false;
}

/* Under the engine lock. EINVAL: not RESET or INIT, or one of the operations has a counter. */
static int attach(struct vb_qp *qp, struct vb_comp_cntr *cntr, uint32_t ops)
{
	if (qp->qp.state != RXE_QPS_RESET && qp->qp.state != RXE_QPS_INIT)
		return refuse(WHY_CNTR_STATE, qp->qp.qpn, vb_qp_state_str(qp->qp.state));
	if (has_any(&qp->qp.cntrs, ops))
		return refuse(WHY_CNTR_TAKEN, qp->qp.qpn, ops);
	for (uint32_t op = 0; op < RXE_CNTR_OPS; op++) {
		if (!(ops & 1u << op))
			continue;
		qp->qp.cntrs.of[op] = &cntr->cntr;
		vb_object_use(cntr);
	}
	return 0;
}

/* EOPNOTSUPP: unknown operations, or a queue pair that ibv_open_qp() returned. */
int ibv_qp_attach_comp_cntr(struct ibv_qp *base, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	struct vb_qp *qp = vb_qp(base);
	int err;

	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(!attr->op_mask, WHY_BAD_VALUE, "op_mask", UINT64_C(0), "no operation") ||
	    vb_refuses_use(base->context, cntr, VB_KIND_COMP_CNTR))
		return vb_result(refusal_noted());
	if (refuse_if(attr->comp_mask || (attr->op_mask & ~OPS), WHY_BITS_REFUSED,
		      "comp_mask or op_mask", (uint64_t)attr->comp_mask | (attr->op_mask & ~OPS)) ||
	    refuse_if(qp->is_opened, WHY_NOT_SUPPORTED,
		      "a queue pair of ibv_open_qp() has no completion counters"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, qp_attach_comp_cntr))
		return vb_result(errno);
	if (!vb_lock_engine(qp->dev, qp->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	err = attach(qp, vb_comp_cntr(cntr), attr->op_mask);
	progress_unlock(&qp->dev->progress);
	return vb_result(err);
}

const void *vb_comp_cntr_counts(const void *cntr)
{
	return &((const struct vb_comp_cntr *)cntr)->cntr;
}

void vb_comp_cntrs_detach(struct vb_qp *qp)
{
	for (uint32_t op = 0; op < RXE_CNTR_OPS; op++) {
		struct rxe_comp_cntr *cntr = qp->qp.cntrs.of[op];

		if (cntr)
			vb_object_unuse(container_of(cntr, struct vb_comp_cntr, cntr));
		qp->qp.cntrs.of[op] = NULL;
	}
}

static int modify(const char *call, struct ibv_comp_cntr *base, size_t at, bool adds,
		  uint64_t value)
{
	_Atomic uint64_t *count;

	if (vb_refuses(base, VB_KIND_COMP_CNTR))
		return vb_result_as(call, refusal_noted());
	count = (_Atomic uint64_t *)(void *)((uint8_t *)&vb_comp_cntr(base)->cntr + at);
	if (adds)
		atomic_fetch_add(count, value);
	else
		atomic_store(count, value);
	return 0;
}

#define COMPLETED offsetof(struct rxe_comp_cntr, completed)
#define FAILED	  offsetof(struct rxe_comp_cntr, failed)

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return modify(__func__, cntr, COMPLETED, false, value);
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return modify(__func__, cntr, FAILED, false, value);
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return modify(__func__, cntr, COMPLETED, true, amount);
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return modify(__func__, cntr, FAILED, true, amount);
}

/* A count that stands still makes the caller run the engine. */
static int read_count(const char *call, struct ibv_comp_cntr *base, size_t at, uint64_t *value)
{
	struct vb_comp_cntr *cntr = vb_comp_cntr(base);
	uint64_t sum;

	if (vb_refuses(base, VB_KIND_COMP_CNTR) || refuse_if(!value, WHY_NULL, "value"))
		return vb_result_as(call, refusal_noted());
	sum = atomic_load(&cntr->cntr.completed) + atomic_load(&cntr->cntr.failed);
	if (atomic_exchange(&cntr->read, sum) == sum)
		progress_poll(&vb_device(base->context)->progress);
	*value = atomic_load((_Atomic uint64_t *)(void *)((uint8_t *)&cntr->cntr + at));
	return 0;
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return read_count(__func__, cntr, COMPLETED, value);
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return read_count(__func__, cntr, FAILED, value);
}
