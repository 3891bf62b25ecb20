// SPDX-License-Identifier: MIT
/* Requests about device memory and memory windows. Device memory is granted from the arena and
 * zeroed; a freed DM rests (range.h). A window gets its key and its place in the process's table of
 * bindings (emu/mr.h) from the server; what is bound there the process writes by itself. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/mr.h"
#include "net/link/clock.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/window.h"

#define ZERO_STEP	 (1u << 20)    /* bytes zeroed before other clients are served */
#define WAIT_FOR_REST_NS 1000000000ull /* time to wait for memory that still rests */

static int zero_some(struct call *call)
{
	struct object *dm = context_find(call->context, call->made, CTL_KIND_DM);
	uint64_t left, step;

	if (!dm)
		return -ENOMEM; /* another user of the context has freed it by its handle */
	assert(call->done < dm->memory->len);
	left = dm->memory->len - call->done;
	step = left < ZERO_STEP ? left : ZERO_STEP;
	memset(call->device->memory.arena.base + dm->addr + call->done, 0, step);
	call->done += step;
	if (call->done < dm->memory->len)
		return SERVE_MORE;
	call->reply.made.handle = dm->handle;
	call->reply.made.offset = dm->addr;
	return 0;
}

/* No free range is large enough: memory that still rests may be. */
static int wait_for_rest(struct call *call)
{
	const uint64_t now_ns = clock_now_ns();

	if (ranges_settle(call->device, now_ns) == UINT64_MAX)
		return -ENOMEM;
	if (!call->deadline_ns)
		call->deadline_ns = now_ns + WAIT_FOR_REST_NS;
	return now_ns < call->deadline_ns ? SERVE_WAIT : -ENOMEM;
}

static struct object *make_dm(struct call *call, struct range *range)
{
	struct object *dm = context_new_object(call->context, CTL_KIND_DM);

	if (!dm) {
		range_release(&call->device->memory.ranges, range);
		return NULL;
	}
	dm->memory = range;
	dm->addr = range->offset;
	dm->len = call->req.dm.len;
	return dm;
}

int serve_alloc_dm(struct call *call)
{
	const struct ctl_msg_dm *want = &call->req.dm;
	struct device *device = call->device;
	const uint64_t max = device->instance->profile.max_dm_size;
	struct range *range;
	struct object *dm;

	if (call->made)
		return zero_some(call);
	if (!max)
		return -EOPNOTSUPP;
	if (want->len == 0 || want->log_align > 63)
		return -EINVAL;
	if (want->len > device->memory.ranges.len || want->len > max)
		return -ENOMEM;
	range = range_alloc(&device->memory.ranges, want->len, want->log_align);
	if (!range && ranges_settle(device, 0) == UINT64_MAX)
		range = range_alloc(&device->memory.ranges, want->len, want->log_align);
	if (!range)
		return wait_for_rest(call);
	dm = make_dm(call, range);
	if (!dm)
		return -ENOMEM;
	call->made = dm->handle;
	return zero_some(call);
}

/* udmabuf makes a dmabuf of a part of a memfd, where the kernel has it and permits its use. */
int serve_export_dm(struct call *call)
{
	struct object *dm = context_find(call->context, call->req.handle, CTL_KIND_DM);
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC };
	int maker, fd;

	if (!dm)
		return -EINVAL;
	maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (maker < 0)
		return -EOPNOTSUPP;
	create.memfd = (uint32_t)call->device->memory.arena.fd;
	create.offset = dm->addr;
	create.size = dm->memory->len;
	fd = ioctl(maker, UDMABUF_CREATE, &create);
	close(maker);
	if (fd < 0)
		return -EOPNOTSUPP;
	dm->memory->exported = true;
	call->out_fd[0] = fd;
	call->num_out = 1;
	return 0;
}

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

static void end_window(struct object *mw)
{
	struct attachment *attachment = mw->context->device->slots.at[mw->slot];

	assert(mw->kind == CTL_KIND_MW && mw->addr < RXE_MAX_MW && attachment);
	object_kill_key(mw);
	object_hold(&mw->pd, NULL);
	DL_DELETE2(mw->context->windows, mw, wprev, wnext);
	give_place(attachment, (uint32_t)mw->addr);
}

/* A window without a key, which the caller publishes. NULL: the object table is full. */
static struct object *make_window(struct call *call, struct attachment *attachment,
				  struct object *pd, uint32_t place)
{
	struct object *mw = context_new_object(call->context, CTL_KIND_MW);

	if (!mw) {
		give_place(attachment, place);
		return NULL;
	}
	mw->end = end_window;
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
	struct attachment *attachment = call->attachment;
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
	mw = make_window(call, attachment, pd, (uint32_t)entry.addr);
	if (!mw)
		return -ENOMEM;
	mw->key = keys_grant(&call->device->tables.keys, &entry, CTL_KEY_LOW);
	if (!mw->key) {
		context_free_object(mw);
		return -ENOMEM;
	}
	call->reply.made.handle = mw->handle;
	call->reply.made.key = mw->key;
	call->reply.made.offset = entry.addr;
	return 0;
}
