// SPDX-License-Identifier: MIT
/* Requests about protection domains, regions, DMA handles and umems. A wrong request is refused
 * with the errno of the manual page; nothing that a program sends is trusted. */
#include <assert.h>
#include <errno.h>
#include <utlist.h>

#include "lib/control/client.h"
#include "net/link/clock.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/window.h"
#include "rxe_dm/server/xrc.h"

#define WAIT_FOR_OTHERS_NS 100000000ull /* longest time that a stopped process delays a dereg */

int serve_alloc_pd(struct call *call)
{
	struct object *pd = context_new_object(call->context, CTL_KIND_PD);

	if (!pd)
		return -ENOMEM;
	call->reply.made.handle = pd->handle;
	return 0;
}

int serve_use_pd(struct call *call)
{
	struct object *pd = context_find(call->context, call->req.handle, CTL_KIND_PD);

	return pd ? object_use(call->user, pd, call->req.delta) : -EINVAL;
}

/* [addr, addr + len) lies within [0, limit). */
static bool within(uint64_t addr, uint64_t len, uint64_t limit)
{
	return addr <= limit && len <= limit - addr;
}

/* A region to be made or changed: everything is looked up and checked before the first change. */
struct plan {
	struct object *pd, *dm, *dmah, *umem;
	struct rxe_mr entry;
};

/* Of every length, and of no use to peers. */
static bool is_null(const struct ctl_reg_mr *msg)
{
	return msg->kind == RXE_MR_NULL && !msg->umem && !msg->dmah && msg->addr == 0 &&
	       msg->iova == 0 && msg->len == UINT64_MAX && msg->rights == RXE_LOCAL_WRITE;
}

static int plan_memory(const struct call *call, const struct ctl_reg_mr *msg, struct plan *plan)
{
	switch (msg->kind) {
	case RXE_MR_PLAIN:
		if (!call->attachment || !within(msg->addr, msg->len, UINT64_MAX))
			return -EINVAL;
		plan->entry.owner = call->attachment->slot;
		plan->entry.epoch =
			atomic_load(&call->device->shared->slot[call->attachment->slot].epoch);
		return 0;
	case RXE_MR_ARENA:
		plan->dm = context_find(call->context, msg->dm, CTL_KIND_DM);
		if (!plan->dm || !within(msg->addr, msg->len, plan->dm->len))
			return -EINVAL;
		plan->entry.addr = plan->dm->addr + msg->addr;
		plan->entry.dm = msg->dm;
		return 0;
	case RXE_MR_NULL: return is_null(msg) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int plan_umem(const struct call *call, const struct ctl_reg_mr *msg, struct plan *plan)
{
	struct object *umem = context_find(call->context, msg->umem, CTL_KIND_UMEM);

	if (!umem || !within(msg->addr, msg->len, umem->len))
		return -EINVAL;
	plan->umem = umem;
	plan->entry.kind = umem->mr_kind;
	plan->entry.addr = umem->addr + msg->addr;
	plan->entry.owner = umem->slot;
	plan->entry.epoch = umem->epoch;
	return 0;
}

/* The implicit on-demand region: the whole address space of the process. */
static bool is_implicit(const struct ctl_reg_mr *msg)
{
	return (msg->rights & RXE_ON_DEMAND) && msg->kind == RXE_MR_PLAIN && !msg->umem &&
	       msg->addr == 0 && msg->iova == 0 && msg->len == UINT64_MAX;
}

static bool is_offered(const struct ctl_profile *profile, const struct ctl_reg_mr *msg)
{
	if ((msg->rights & RXE_ON_DEMAND && !profile->odp) ||
	    (is_implicit(msg) && !profile->odp_implicit))
		return false;
	return !(msg->rights & (RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT)) || profile->flush;
}

static int make_plan(const struct call *call, struct plan *plan)
{
	const struct ctl_reg_mr *msg = &call->req.mr;

	*plan = (struct plan){ .entry = { .pd = msg->pd,
					  .iova = msg->iova,
					  .len = msg->len,
					  .addr = msg->addr,
					  .rights = msg->rights,
					  .kind = msg->kind,
					  .dmah = msg->dmah } };
	plan->pd = context_find(call->context, msg->pd, CTL_KIND_PD);
	if (!is_offered(&call->device->instance->profile, msg))
		return -EOPNOTSUPP;
	if (!plan->pd ||
	    (msg->len > call->device->instance->profile.max_mr_size && !is_implicit(msg) &&
	     !is_null(msg)) ||
	    !within(msg->iova, msg->len, UINT64_MAX))
		return -EINVAL;
	if (msg->dmah) {
		plan->dmah = context_find(call->context, msg->dmah, CTL_KIND_DMAH);
		if (!plan->dmah)
			return -EINVAL;
	}
	return msg->umem ? plan_umem(call, msg, plan) : plan_memory(call, msg, plan);
}

/* Applies the plan to a region. Its key has been published. */
static void carry_out(struct call *call, struct object *mr, const struct plan *plan)
{
	assert(mr->key && plan->pd && plan->pd->kind == CTL_KIND_PD);
	object_hold(&mr->pd, plan->pd);
	object_hold(&mr->dm, plan->dm);
	object_hold(&mr->dmah, plan->dmah);
	object_hold(&mr->umem, plan->umem);
	mr->addr = plan->entry.addr;
	mr->len = plan->entry.len;
	mr->iova = plan->entry.iova;
	mr->rights = plan->entry.rights;
	mr->mr_kind = plan->entry.kind;
	mr->slot = plan->entry.owner;
	mr->epoch = plan->entry.epoch;
	call->reply.made.handle = mr->handle;
	call->reply.made.key = mr->key;
}

static void release_region(struct object *mr)
{
	object_kill_key(mr);
	object_hold(&mr->pd, NULL);
	object_hold(&mr->dm, NULL);
	object_hold(&mr->dmah, NULL);
	object_hold(&mr->umem, NULL);
}

static bool bound_to_process(const struct object *mr)
{
	return mr->mr_kind == RXE_MR_PLAIN && !mr->umem;
}

int serve_reg_mr(struct call *call)
{
	struct object *mr;
	struct plan plan;
	int rc = make_plan(call, &plan);

	if (rc)
		return rc;
	mr = context_new_object(call->context, CTL_KIND_MR);
	if (!mr)
		return -ENOMEM;
	mr->end = release_region;
	mr->key = keys_grant(&call->device->tables.keys, &plan.entry, call->req.mr.low);
	if (!mr->key) {
		context_free_object(mr);
		return -ENOMEM;
	}
	carry_out(call, mr, &plan);
	if (bound_to_process(mr))
		object_own(mr, call->user);
	return 0;
}

enum others {
	OTHERS_OUTSIDE,
	OTHERS_INSIDE, /* check again later */
	OTHERS_STUCK,  /* the wait has timed out */
};

/* Other processes may be copying. The reply waits for them, but not for a stopped one. */
static enum others check_others(struct call *call)
{
	uint32_t own = call->attachment ? call->attachment->slot : GRACE_NOBODY;

	if (grace_over(&call->device->tables.grace, call->stamp, own))
		return OTHERS_OUTSIDE;
	if (!call->deadline_ns)
		call->deadline_ns = clock_now_ns() + WAIT_FOR_OTHERS_NS;
	return clock_now_ns() < call->deadline_ns ? OTHERS_INSIDE : OTHERS_STUCK;
}

/* Publishes the new entry: under a new key if a process may still read the old entry. */
static int republish(struct keys *keys, struct object *mr, const struct rxe_mr *entry,
		     bool reusable)
{
	uint32_t key = mr->key;

	if (key && reusable) {
		keys_show(keys, key, entry);
		return 0;
	}
	key = keys_grant(keys, entry, 0);
	if (!key)
		return -ENOMEM;
	if (mr->key)
		keys_revoke(keys, mr->key);
	mr->key = key;
	return 0;
}

/* Changes a region and keeps its key, which is dead until no process can still use the old entry. A
 * region whose key died with its umem gets a new key. */
int serve_rereg_mr(struct call *call)
{
	struct object *mr = context_find(call->context, call->req.handle, CTL_KIND_MR);
	struct keys *keys = &call->device->tables.keys;
	enum others others = OTHERS_OUTSIDE;
	struct plan plan;
	int rc;

	if (!mr)
		return -EINVAL;
	rc = make_plan(call, &plan);
	if (rc == 0 && !call->stamp && window_is_over(mr))
		rc = -EBUSY;
	if (rc == 0 && mr->key) {
		if (!call->stamp)
			call->stamp = keys_hide(keys, mr->key);
		others = check_others(call);
		if (others == OTHERS_INSIDE)
			return SERVE_WAIT;
	}
	if (rc == 0)
		rc = republish(keys, mr, &plan.entry, others == OTHERS_OUTSIDE);
	if (rc) {
		if (mr->key && call->stamp)
			keys_show(keys, mr->key, NULL);
		return rc;
	}
	carry_out(call, mr, &plan);
	object_disown(mr);
	if (bound_to_process(mr))
		object_own(mr, call->user);
	return 0;
}

int serve_free(struct call *call)
{
	const enum ctl_kind kind = (enum ctl_kind)call->req.kind;
	struct object *object;

	if (!call->stamp) {
		object = context_find(call->context, call->req.handle, kind);
		if (!object || kind == CTL_KIND_CONTEXT)
			return -EINVAL;
		if (object->refs || (kind == CTL_KIND_MR && window_is_over(object)))
			return -EBUSY;
		if (kind == CTL_KIND_QP)
			call->reply.made.key = target_others(object);
		context_free_object(object);
		if (kind != CTL_KIND_MR && kind != CTL_KIND_MW)
			return 0;
		call->stamp = call->device->tables.grace.now;
	}
	return check_others(call) == OTHERS_INSIDE ? SERVE_WAIT : 0;
}

int serve_alloc_dmah(struct call *call)
{
	const struct ctl_dmah *hints = &call->req.dmah;
	const uint32_t known = CTL_DMAH_CPU_ID | CTL_DMAH_PH | CTL_DMAH_TPH_MEM_TYPE;
	struct object *dmah;

	if (hints->valid & ~known)
		return -EINVAL;
	dmah = context_new_object(call->context, CTL_KIND_DMAH);
	if (!dmah)
		return -ENOMEM;
	dmah->hints = *hints;
	call->reply.made.handle = dmah->handle;
	return 0;
}

/* A umem is freed: regions over it, of any process, stay as handles whose keys are dead. */
static void orphan_regions(struct object *umem)
{
	struct object *object;

	DL_FOREACH (umem->context->objects, object) {
		if (object->umem == umem) {
			object_kill_key(object);
			object_hold(&object->umem, NULL);
		}
	}
}

int serve_reg_umem(struct call *call)
{
	const struct ctl_reg_mr *msg = &call->req.mr;
	struct object *umem;

	if (!call->attachment || msg->len > RXE_MAX_MR_SIZE ||
	    !within(msg->addr, msg->len, UINT64_MAX))
		return -EINVAL;
	umem = context_new_object(call->context, CTL_KIND_UMEM);
	if (!umem)
		return -ENOMEM;
	umem->end = orphan_regions;
	umem->addr = msg->addr;
	umem->len = msg->len;
	umem->rights = msg->rights;
	umem->mr_kind = RXE_MR_PLAIN;
	umem->slot = call->attachment->slot;
	umem->epoch = atomic_load(&call->device->shared->slot[call->attachment->slot].epoch);
	object_own(umem, call->user);
	call->reply.made.handle = umem->handle;
	return 0;
}

int serve_query(struct call *call)
{
	const struct object *object = object_find(&call->device->tables.objects, call->req.handle);

	if (!object || object->context != call->context)
		return -ENOENT;
	serve_describe(object, &call->reply.object);
	return 0;
}
