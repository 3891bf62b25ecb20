// SPDX-License-Identifier: MIT
/* Memory of freed DMs: how long it rests, and how it goes back to the arena. */
#include "rxe_dm/server/resting.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/control/log.h"
#include "rxe_dm/server/device.h"

/* The holder of a dmabuf must not see what the next owner stores there, so the range gets new
 * pages. A range whose pages cannot be replaced stays granted until the server ends. */
static void give_back(struct device *device, const struct resting_range *resting)
{
	if (resting->exported &&
	    !arena_renew(&device->arena, resting->range->offset, resting->range->len)) {
		ctl_log(CTL_LOG_NOTICE,
			"rxe_dm%u: %llu bytes of device memory that were exported as a dmabuf "
			"cannot be used again: their pages cannot be replaced",
			device->index, (unsigned long long)resting->range->len);
		return;
	}
	range_release(&device->ranges, resting->range);
}

bool resting_settle(struct device *device)
{
	struct resting_range *resting, *next;

	DL_FOREACH_SAFE (device->resting, resting, next) {
		if (!grace_over(&device->grace, resting->stamp, GRACE_NOBODY))
			continue;
		give_back(device, resting);
		DL_DELETE(device->resting, resting);
		free(resting);
	}
	return device->resting != NULL;
}

void resting_add(struct device *device, struct resting_range *memory)
{
	assert(memory->range->used);
	memory->stamp = grace_begin(&device->grace);
	DL_APPEND(device->resting, memory);
	resting_settle(device);
}

void resting_fini(struct device *device)
{
	struct resting_range *resting, *next;

	DL_FOREACH_SAFE (device->resting, resting, next)
		free(resting);
	device->resting = NULL;
}
