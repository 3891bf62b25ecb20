/* SPDX-License-Identifier: MIT */
/* A device without a server. */
#include "device_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/engine.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "net/link/descriptor.h"

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

struct vb_device *device_new_on_udp(uint32_t slot, const struct progress_owner *owner)
{
	const uint8_t own = (uint8_t)(getpid() % 251);
	struct vb_device *dev = device_new(slot);

	free(dev->progress.engine);
	dev->progress.engine = NULL;
	dev->progress.owner = owner;
	dev->info.max_mtu = 4096;
	dev->info.gids[0] = (struct gid){ .raw = { [10] = 0xff, [11] = 0xff, 127, 80, own, 1 } };
	dev->attachment.rx_fd = descriptor_keep(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	dev->attachment.event_fd = descriptor_keep(eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE));
	return dev;
}

void device_free_on_udp(struct vb_device *dev)
{
	descriptor_close(dev->attachment.event_fd);
	descriptor_close(dev->attachment.rx_fd);
	device_free(dev);
}
