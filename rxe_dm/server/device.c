// SPDX-License-Identifier: MIT
/* Start and end of a device: address, receive sockets, arena, shared memory. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/published.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/limit.h"
#include "rxe_dm/server/link/address.h"
#include "rxe_dm/server/link/ethernet.h"
#include "rxe_dm/server/link/local_peers.h"
#include "rxe_dm/server/slot.h"

#define DM_GRANULE 4096 /* bytes; a DM has whole pages, so that a dmabuf can name them */

/* Clients map the header and the tables read-only. The seals keep them from truncating the file. */
static int open_shared(struct device *device)
{
	size_t bytes = sizeof(struct ctl_shared);
	void *base;

	device->shared_fd = memfd_create("rxe_dm shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (device->shared_fd < 0)
		return -errno;
	if (ftruncate(device->shared_fd, (off_t)bytes) ||
	    fcntl(device->shared_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device->shared_fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	device->shared = (struct ctl_shared *)base;
	device->shared->gids[0] = device->link.gid;
	atomic_store(&device->shared->port_state, IBV_PORT_ACTIVE);
	device->tables.grace.shared = device->shared;
	device->link.memory.hub.bells = device->shared->remote_requests.bells;
	if (!keys_init(&device->tables.keys, &device->shared->mrs, &device->tables.grace) ||
	    !objects_init(&device->tables.objects, device->shared->live,
			  &device->instance->profile) ||
	    !slots_init(device))
		return -ENOMEM;
	return 0;
}

static int open_arena(struct device *device, uint64_t bytes, enum ctl_arena_pages pages)
{
	int rc = arena_init(&device->memory.arena, bytes, pages);

	if (rc)
		return rc;
	if (device->memory.arena.locked < device->memory.arena.bytes)
		ctl_log(CTL_LOG_WARNING,
			"device memory of rxe_dm%u: %llu of %llu KiB are locked in memory, the "
			"rest may be swapped; raise 'ulimit -l' for more",
			device->index, (unsigned long long)(device->memory.arena.locked >> 10),
			(unsigned long long)(device->memory.arena.bytes >> 10));
	return range_map_init(&device->memory.ranges,
			      (bytes + DM_GRANULE - 1) & ~(uint64_t)(DM_GRANULE - 1), DM_GRANULE)
		       ? 0
		       : -ENOMEM;
}

/* Makes an EUI-64, locally administered and the same at each start, from machine, device and
 * address. index UINT32_MAX: the system image GUID, which the devices of an instance share. */
static uint64_t make_guid(const struct device *device, uint32_t index)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	char seed[128] = "";
	uint8_t guid[8];
	uint64_t ret;
	int fd, n = 0;

	fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = (int)read(fd, seed, 32);
		close(fd);
	}
	n = n < 0 ? 0 : n;
	memcpy(seed + n, &index, sizeof(index));
	n += (int)sizeof(index);
	if (index != UINT32_MAX) {
		memcpy(seed + n, device->link.gid.raw, sizeof(device->link.gid.raw));
		n += (int)sizeof(device->link.gid.raw);
	}
	for (int i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)seed[i]) * 0x100000001b3u;
	memcpy(guid, &hash, sizeof(guid));
	guid[0] = (uint8_t)((guid[0] | 0x02) & 0xfe);
	memcpy(&ret, guid, sizeof(ret));
	return ret;
}

static int bring_up(struct device *device, const struct ctl_settings *settings)
{
	int rc = address_open(device, settings);

	if (rc)
		return rc;
	if (device->link.max_mtu > device->instance->profile.active_mtu)
		device->link.max_mtu = device->instance->profile.active_mtu;
	rc = open_arena(device, settings->arena_bytes, settings->arena_pages);
	if (rc)
		return rc;
	rc = open_shared(device);
	if (rc)
		return limit_explain(rc, "no shared memory for rxe_dm%u", device->index);
	device->guids.node = make_guid(device, device->index);
	device->guids.system_image = make_guid(device, UINT32_MAX);
	memcpy(device->shared->tx_ports, device->link.udp.tx_port,
	       sizeof(device->shared->tx_ports));
	rc = local_peers_open(device);
	if (rc)
		return limit_explain(rc, "no packet filter for rxe_dm%u", device->index);
	rc = gsi_open(device);
	if (rc == 0 && device->link.kind == CTL_LINK_ETHERNET)
		carrier_open(device);
	if (rc == 0 && settings->stopped == CTL_STOPPED_WAIT)
		ctl_publish(settings->instance, &device->link.gid, device->shared_fd);
	return rc;
}

int device_init(struct device *ret, struct instance *instance, uint32_t index)
{
	int rc;

	*ret = (struct device){
		.instance = instance,
		.index = index,
		.link = { .lock.source.fd = -1,
			  .ethernet = { .rx_fd = -1, .tx_fd = -1, .carrier.fd = -1 } },
		.shared_fd = -1,
		.captures.fd = -1,
		.gsi.strays.fd = -1,
		.memory.arena.fd = -1
	};
	rc = bring_up(ret, &instance->settings);
	if (rc)
		device_fini(ret);
	return rc;
}

static void release_all(struct device *device)
{
	struct context *context, *after;

	DL_FOREACH_SAFE (device->contexts, context, after)
		context_free(context);
	for (uint32_t slot = 1; slot < RXE_MAX_SLOTS; slot++) {
		if (device->slots.at[slot])
			slot_give(device->slots.at[slot]);
	}
}

void device_fini(struct device *device)
{
	carrier_close(device);
	if (device->shared) {
		ctl_unpublish(device->instance->settings.instance, &device->link.gid);
		release_all(device);
		munmap(device->shared, sizeof(*device->shared));
		device->shared = NULL;
	}
	if (device->tables.objects.at)
		objects_fini(&device->tables.objects);
	keys_fini(&device->tables.keys);
	index_queue_fini(&device->slots.free);
	if (device->shared_fd >= 0)
		close(device->shared_fd);
	range_map_fini(&device->memory.ranges);
	arena_fini(&device->memory.arena);
	address_close(device);
}
