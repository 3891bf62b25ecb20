// SPDX-License-Identifier: MIT
/* Memory windows: the server gives a window its key and its place in the process's table of
 * bindings (emu/mw.h). What is bound there the process writes by itself. */
#include <assert.h>
#include <errno.h>
#include <utlist.h>

#include "emu/mw.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"

/* Takes a free place; RXE_MAX_MW: none. */
static uint32_t take_place(struct attachment *attachment, uint32_t max)
{
	for (uint32_t i = 0; i * 64 < max; i++) {
		if (~attachment->windows[i]) {
			const uint32_t bit = (uint32_t)__builtin_ctzll(~attachment->windows[i]);

			if (i * 64 + bit >= max)
				break;
			attachment->windows[i] |= 1ull << bit;
			return i * 64 + bit;
		}
	}
	return RXE_MAX_MW;
}

static void give_place(struct attachment *attachment, uint32_t place)
{
	assert(attachment->windows[place / 64] & 1ull << (place % 64));
	attachment->windows[place / 64] &= ~(1ull << (place % 64));
}

/* A window without a key, which the caller publishes. NULL: the object table is full. */
static struct object *make(struct call *call, struct attachment *attachment, struct object *pd,
			   uint32_t place)
{
	struct object *mw = context_new_object(call->context, CTL_KIND_MW);

	if (!mw) {
		give_place(attachment, place);
		return NULL;
	}
	mw->mr_kind = call->req.mw.kind;
	mw->slot = attachment->slot;
	mw->addr = place;
	object_hold(&mw->pd, pd);
	object_own(mw, call->user);
	DL_APPEND2(call->context->windows, mw, wprev, wnext);
	return mw;
}

int serve_alloc_mw(struct call *call)
{
	struct attachment *attachment = call->conn->attached[call->device->index];
	struct object *pd = context_find(call->context, call->req.mw.pd, CTL_KIND_PD);
	struct rxe_mr entry = { .pd = call->req.mw.pd, .kind = call->req.mw.kind };
	const struct ctl_profile *profile = &call->device->instance->profile;
	struct object *mw;

	if (!attachment || !pd || !rxe_mr_is_window(&entry))
		return -EINVAL;
	if (!profile->max_mw || (entry.kind == RXE_MR_WINDOW_2 && !profile->mem_mgt_extensions))
		return -EOPNOTSUPP;
	entry.owner = attachment->slot;
	entry.addr = take_place(attachment, profile->max_mw);
	if (entry.addr == RXE_MAX_MW)
		return -ENOMEM;
	mw = make(call, attachment, pd, (uint32_t)entry.addr);
	if (!mw)
		return -ENOMEM;
	mw->key = keys_grant_low(&call->device->keys, &entry, 0);
	if (!mw->key) {
		context_free_object(mw);
		return -ENOMEM;
	}
	call->reply.made.handle = mw->handle;
	call->reply.made.key = mw->key;
	call->reply.made.offset = entry.addr;
	return 0;
}

void window_end(struct object *mw)
{
	struct attachment *attachment = mw->context->device->slot[mw->slot];

	assert(mw->kind == CTL_KIND_MW && mw->addr < RXE_MAX_MW && attachment);
	DL_DELETE2(mw->context->windows, mw, wprev, wnext);
	give_place(attachment, (uint32_t)mw->addr);
}

/* Read from the process's own table. What a process claims there, it claims against regions of its
 * own domains only. */
static bool is_over(const struct object *mw, const struct object *mr)
{
	const struct rxe_mw *bound = &mr->context->device->shared->slot[mw->slot].mws.mw[mw->addr];
	const uint32_t key = (uint32_t)atomic_load(&bound->state);

	return key != 0 && (key & ~RXE_MW_TAG) == (mw->key & ~RXE_MW_TAG) && mw->pd == mr->pd &&
	       __atomic_load_n(&bound->region, __ATOMIC_RELAXED) == mr->key;
}

bool window_is_over(const struct object *mr)
{
	const struct object *mw;

	DL_FOREACH2(mr->context->windows, mw, wnext)
	{
		if (mr->key && is_over(mw, mr))
			return true;
	}
	return false;
}
