// SPDX-License-Identifier: MIT
/* Requests about device memory: granted from the arena and zeroed; a freed DM rests (range.h). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net/link/clock.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"

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
	memset(call->device->arena.base + dm->addr + call->done, 0, step);
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
		range_release(&call->device->ranges, range);
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
	if (want->len > device->ranges.len || want->len > max)
		return -ENOMEM;
	range = range_alloc(&device->ranges, want->len, want->log_align);
	if (!range && ranges_settle(device, 0) == UINT64_MAX)
		range = range_alloc(&device->ranges, want->len, want->log_align);
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
	create.memfd = (uint32_t)call->device->arena.fd;
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
