/* SPDX-License-Identifier: MIT */
/* A device without a server. */
#include "device_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/engine.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"

struct vb_device *device_new(uint32_t slot)
{
	struct vb_device *dev = calloc(1, sizeof(*dev));
	void *shared = mmap(NULL, sizeof(struct ctl_shared), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_nonnull(dev);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	dev->attachment.shared = shared;
	dev->attachment.slot = slot;
	progress_init(&dev->progress, NULL, &dev->info, &dev->attachment);
	dev->progress.engine = calloc(1, sizeof(struct rxe_engine));
	ck_assert_ptr_nonnull(dev->progress.engine);
	return dev;
}

void device_free(struct vb_device *dev)
{
	munmap(dev->attachment.shared, sizeof(struct ctl_shared));
	free(dev->progress.engine);
	free(dev);
}
