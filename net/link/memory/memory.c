// SPDX-License-Identifier: MIT
/* Opening and closing a memory link, and its smaller operations. A forked child may close the link
 * without effect on its parent: closing only unmaps. */
#include "net/link/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"

static int memory_join(struct link *base, const struct gid *group)
{
	struct memory_link *link = (struct memory_link *)base;
	const uint32_t n = memory_num_groups(link->own);

	if (!gid_is_multicast(group) || gid_is_v4(group) != gid_is_v4(&link->cfg.gid))
		return -EINVAL;
	if (memory_is_member(link->own, group))
		return 0;
	if (n == MEMORY_GROUPS)
		return -ENOSPC;
	link->own->group[n] = *group;
	atomic_store_explicit(&link->own->num_groups, n + 1, memory_order_release);
	return 0;
}

static int memory_leave(struct link *base, const struct gid *group)
{
	struct memory_link *link = (struct memory_link *)base;
	const uint32_t n = memory_num_groups(link->own);
	const uint32_t at = gid_find(link->own->group, n, group);

	if (at == n)
		return -ENOENT;
	link->own->group[at] = link->own->group[n - 1];
	atomic_store_explicit(&link->own->num_groups, n - 1, memory_order_release);
	return 0;
}

static bool memory_is_local(struct link *base, const struct gid *gid)
{
	return gid_equal(gid, &((const struct memory_link *)base)->cfg.gid);
}

static int memory_complete_arrivals(struct link *base, bool on)
{
	struct memory_link *link = (struct memory_link *)base;

	if (on && !link->copies)
		link->copies = malloc(MEMORY_COPIES);
	if (on && !link->copies)
		return -ENOMEM;
	link->complete = on;
	return 0;
}

static bool memory_has_descriptors(const struct link *base)
{
	const struct memory_link *link = (const struct memory_link *)base;

	return descriptor_is_kept(link->base.wait_fd);
}

static void memory_close(struct link *base)
{
	struct memory_link *link = (struct memory_link *)base;

	memory_peers_free(link);
	if (link->is_own_mapped)
		(void)munmap(link->own, memory_file_len(link->slots));
	if (link->hub)
		(void)munmap((void *)(uintptr_t)link->hub, sizeof(*link->hub));
	free(link->copies);
	free(link);
}

static const struct link_ops ops = {
	.send = memory_send,
	.receive = memory_receive,
	.release = memory_handled,
	.wait_begins = memory_wait_begins,
	.wait_ended = memory_wait_ended,
	.sleep_begins = memory_sleep_begins,
	.sleep = memory_sleep,
	.wake = memory_wake,
	.space = memory_space,
	.join = memory_join,
	.leave = memory_leave,
	.is_local = memory_is_local,
	.complete_arrivals = memory_complete_arrivals,
	.has_descriptors = memory_has_descriptors,
	.close = memory_close,
};

uint32_t memory_ring_bytes(void)
{
	return RING_BYTES;
}

static bool has_len(int fd, size_t len)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (size_t)st.st_size == len;
}

static int map_hub(struct memory_link *link, int fd)
{
	void *map;

	if (!has_len(fd, sizeof(*link->hub)))
		return -EINVAL;
	map = mmap(NULL, sizeof(*link->hub), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	link->hub = map;
	link->slots = link->hub->slots;
	if (link->hub->magic != MEMORY_MAGIC || link->slots > MEMORY_SLOTS ||
	    link->cfg.slot >= link->slots)
		return -EINVAL;
	link->epoch = memory_epoch(link->hub, link->cfg.slot);
	link->generation = atomic_load(&link->hub->generation) - 1;
	return 0;
}

static int map_own(struct memory_link *link, int fd)
{
	const size_t len = memory_file_len(link->slots);
	void *map;

	if (!has_len(fd, len))
		return -EINVAL;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	(void)madvise(map, len, MADV_DONTDUMP);
	link->own = map;
	link->is_own_mapped = true;
	return 0;
}

/* From now on no other process can write the file. Where this process cannot copy a mapping, though
 * the server can (valgrind), it maps each ring before. */
static int seal(struct memory_link *link)
{
	const int seals = link->hub->is_sealed ? fcntl(link->cfg.file_fd, F_GET_SEALS) : 0;
	int rc;

	if (seals < 0)
		return -errno;
	if (!link->hub->is_sealed || (seals & F_SEAL_FUTURE_WRITE))
		return 0;
	rc = memory_can_map_again(link->own, sizeof(*link->own)) ? 0 : memory_map_rings_out(link);
	if (rc != 0)
		return rc;
	return fcntl(link->cfg.file_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ? -errno
											: 0;
}

static int open_parts(struct memory_link *link)
{
	int rc = map_hub(link, link->cfg.hub_fd);

	if (rc == 0 && !link->cfg.file)
		rc = map_own(link, link->cfg.file_fd);
	if (rc == 0)
		rc = seal(link);
	if (rc == 0)
		rc = memory_complete_arrivals(&link->base, link->cfg.complete);
	if (rc != 0)
		return rc;
	atomic_store(&link->own->num_groups, 0);
	/* No thread waits yet: what is armed would be the former process's. */
	atomic_store(&link->own->armed, memory_next_armed(atomic_load(&link->own->armed), 0));
	return 0;
}

int memory_open(struct link **ret, const struct memory_cfg *cfg)
{
	struct memory_link *link;
	int rc;

	if (cfg->hub_fd < 0 || cfg->file_fd < 0 || cfg->doorbell_fd < 0 || !cfg->bells ||
	    cfg->slot >= MEMORY_SLOTS || gid_is_multicast(&cfg->gid))
		return -EINVAL;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	link->base.ops = &ops;
	link->cfg = *cfg;
	link->base.wait_fd = cfg->doorbell_fd;
	link->own = cfg->file;
	link->base.max_segs = cfg->trains ? TRAIN_MAX_SEGS : 1;
	link->base.omits_icrc = !cfg->icrc;
	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		link->base.tx_port[i] =
			(uint16_t)(MEMORY_FIRST_PORT + link->cfg.slot * LINK_TX_PORTS + i);
	rc = open_parts(link);
	if (rc != 0) {
		memory_close(&link->base);
		return rc;
	}
	*ret = &link->base;
	return 0;
}
