// SPDX-License-Identifier: MIT
/* Clocks in the slots of a device: each process writes its own, and reads those of the others. */
#include "lib/check/vector.h"

#include <stdatomic.h>
#include <stddef.h>

#include "emu/limits.h"
#include "lib/check/access.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/control/shared.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"

static const struct ctl_shared *shared_of(struct ibv_context *context)
{
	return vb_device(context)->attachment.shared;
}

static void raise_to(_Atomic uint64_t *clock, uint64_t to)
{
	if (atomic_load(clock) < to)
		atomic_store(clock, to);
}

/* The process learns from the one at the slot. */
static void join(struct ibv_context *context, uint32_t from)
{
	const struct ctl_shared *shared = shared_of(context);
	struct ctl_checked *mine = access_own(context);
	const struct ctl_checked *theirs;

	if (!mine || from >= RXE_MAX_SLOTS || from == vb_device(context)->attachment.slot)
		return;
	theirs = ctl_checked(&shared->slot[from]);
	CTL_FOR_EACH_USED_SLOT (shared, i)
		raise_to(&mine->known[i], atomic_load(&theirs->known[i]));
	raise_to(&mine->known[from], atomic_load(&theirs->clock));
}

void vector_connected(struct ibv_context *context)
{
	CTL_FOR_EACH_USED_SLOT (shared_of(context), from)
		join(context, from);
}

/* The process learns from all that have written to the memory of this one. */
static void learn_at(struct ibv_context *context, uint32_t owner)
{
	const struct ctl_shared *shared = shared_of(context);
	const struct ctl_checked *mine = access_own(context);

	CTL_FOR_EACH_USED_SLOT (shared, from) {
		const uint64_t reported =
			atomic_load(&ctl_checked(&shared->slot[from])->reported[owner]);

		if (mine && reported > atomic_load(&mine->known[from]))
			join(context, from);
	}
}

void vector_learn(struct ibv_context *context)
{
	learn_at(context, vb_device(context)->attachment.slot);
}

/* Reported to the process that has the bytes, if that is known, and to that of the peer. */
void vector_reported(const struct check_request *request)
{
	const struct check_qp *qp = request->queue->owner->part;
	const uint32_t peer = qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;
	struct ctl_checked *mine = access_own(qp->qp->context);
	const struct ctl_slot *owner = request->remote.owner;

	if (mine && owner)
		raise_to(&mine->reported[owner - shared_of(qp->qp->context)->slot],
			 atomic_load(&mine->clock));
	if (mine && peer < RXE_MAX_SLOTS)
		raise_to(&mine->reported[peer], atomic_load(&mine->clock));
}

void vector_received(const struct check_qp *qp)
{
	if (qp->attr_mask & IBV_QP_DEST_QPN)
		join(qp->qp->context, qp->attr.dest_qp_num >> RXE_SLOT_SHIFT);
}

void vector_completed(const struct check_request *request)
{
	const struct ctl_slot *owner = request->remote.owner;
	struct ibv_context *context = request->queue->owner->context;
	const struct check_qp *qp = request->queue->owner->part;

	if (request->queue->owner->kind != VB_KIND_QP || request->is_recv)
		return;
	if (request->takes_receive)
		vector_received(qp);
	if (owner && request->writes) {
		join(context, (uint32_t)(owner - shared_of(context)->slot));
		learn_at(context, (uint32_t)(owner - shared_of(context)->slot));
	}
}

uint64_t vector_tick(struct ibv_context *context)
{
	struct ctl_checked *mine = access_own(context);

	return mine ? atomic_fetch_add(&mine->clock, 1) + 1 : 1;
}

bool vector_is_before(struct ibv_context *context, const struct access *other)
{
	const struct ctl_checked *mine = access_own(context);
	const ptrdiff_t from = other->slot - shared_of(context)->slot;

	return !mine || atomic_load(&mine->known[from]) >= atomic_load(&other->at.done);
}
