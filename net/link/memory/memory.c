// SPDX-License-Identifier: MIT
/* Opening and closing a memory link, and its smaller operations. A forked child may close the link
 * without effect on its parent: closing only unmaps. */
#include "net/link/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"

bool memory_is_member(const struct memory_link *link, uint32_t slot, const struct gid *group)
{
	const struct memory_area_slot *of = &link->area->slot[slot];
	const uint32_t n = atomic_load_explicit(&of->num_groups, memory_order_acquire);

	for (uint32_t i = 0; i < n && i < MEMORY_GROUPS; i++)
		if (gid_equal(&of->group[i], group))
			return true;
	return false;
}

static uint32_t find_group(const struct memory_link *link, const struct gid *group)
{
	const uint32_t n = atomic_load_explicit(&link->own->num_groups, memory_order_relaxed);

	assert(n <= MEMORY_GROUPS);
	for (uint32_t i = 0; i < n; i++)
		if (gid_equal(&link->joined[i].gid, group))
			return i;
	return n;
}

int memory_join(struct link *base, const struct gid *group)
{
	struct memory_link *link = (struct memory_link *)base;
	const uint32_t n = atomic_load_explicit(&link->own->num_groups, memory_order_relaxed);
	const uint32_t at = find_group(link, group);

	if (!gid_is_multicast(group) || gid_is_v4(group) != gid_is_v4(&link->gid))
		return -EINVAL;
	if (at < n) {
		link->joined[at].joins++;
		return 0;
	}
	if (n == MEMORY_GROUPS)
		return -ENOSPC;
	link->joined[n] = (struct memory_joined){ .gid = *group, .joins = 1 };
	link->own->group[n] = *group;
	atomic_store_explicit(&link->own->num_groups, n + 1, memory_order_release);
	return 0;
}

int memory_leave(struct link *base, const struct gid *group)
{
	struct memory_link *link = (struct memory_link *)base;
	const uint32_t n = atomic_load_explicit(&link->own->num_groups, memory_order_relaxed);
	const uint32_t at = find_group(link, group);

	if (at == n)
		return -ENOENT;
	assert(link->joined[at].joins > 0);
	if (--link->joined[at].joins > 0)
		return 0;
	link->joined[at] = link->joined[n - 1];
	link->own->group[at] = link->own->group[n - 1];
	atomic_store_explicit(&link->own->num_groups, n - 1, memory_order_release);
	return 0;
}

static uint32_t memory_tx_ports(const struct link *base, uint16_t *ret, uint32_t max)
{
	const struct memory_link *link = (const struct memory_link *)base;
	const uint32_t n = max < MEMORY_TX_PORTS ? max : MEMORY_TX_PORTS;

	for (uint32_t i = 0; i < n; i++)
		ret[i] = (uint16_t)(MEMORY_FIRST_PORT + link->slot * MEMORY_TX_PORTS + i);
	return n;
}

static uint16_t memory_max_segs(const struct link *base)
{
	return ((const struct memory_link *)base)->max_segs;
}

static int memory_wait_fd(const struct link *base)
{
	return ((const struct memory_link *)base)->doorbell_fd;
}

static bool memory_is_local(struct link *base, const struct gid *gid)
{
	return gid_equal(gid, &((const struct memory_link *)base)->gid);
}

/* Nothing to do: records always carry the headers. */
static void memory_show_headers(struct link *base)
{
	(void)base;
}

static bool memory_needs_icrc(const struct link *base)
{
	return ((const struct memory_link *)base)->icrc;
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

	return descriptor_is_kept(link->doorbell_fd) && descriptor_is_kept(link->fd);
}

static void memory_close(struct link *base)
{
	struct memory_link *link = (struct memory_link *)base;

	for (uint32_t i = 0; i < MEMORY_SLOTS; i++)
		memory_peer_free(link->peer[i]);
	if (link->own)
		(void)munmap(link->own, sizeof(*link->own));
	if (link->area)
		(void)munmap((void *)(uintptr_t)link->area, sizeof(*link->area));
	free(link->copies);
	free(link);
}

static const struct link_ops ops = {
	.send = memory_send,
	.receive = memory_receive,
	.release = memory_handled,
	.wait_fd = memory_wait_fd,
	.wait_begins = memory_wait_begins,
	.wait_ended = memory_wait_ended,
	.space = memory_space,
	.tx_ports = memory_tx_ports,
	.max_segs = memory_max_segs,
	.join = memory_join,
	.leave = memory_leave,
	.is_local = memory_is_local,
	.show_headers = memory_show_headers,
	.needs_icrc = memory_needs_icrc,
	.complete_arrivals = memory_complete_arrivals,
	.has_descriptors = memory_has_descriptors,
	.close = memory_close,
};

uint32_t memory_ring_bytes(void)
{
	return RING_BYTES;
}

static int map_area(struct memory_link *link)
{
	const off_t own = (off_t)(offsetof(struct memory_area, slot) +
				  link->slot * sizeof(struct memory_area_slot));
	struct stat st;
	void *map;

	if (fstat(link->fd, &st) != 0)
		return -errno;
	if ((size_t)st.st_size < sizeof(*link->area))
		return -EINVAL;
	map = mmap(NULL, sizeof(*link->area), PROT_READ, MAP_SHARED, link->fd, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	link->area = map;
	link->slots = link->area->hub.slots;
	if (link->area->hub.magic != MEMORY_MAGIC || link->slots > MEMORY_SLOTS ||
	    link->slot >= link->slots || (size_t)st.st_size != memory_file_len(link->slots))
		return -EINVAL;
	map = mmap(NULL, sizeof(*link->own), PROT_READ | PROT_WRITE, MAP_SHARED, link->fd, own);
	if (map == MAP_FAILED)
		return -ENOMEM;
	link->own = map;
	return 0;
}

/* Packets to the slot's former process are not for this one. */
static int skip_former(struct memory_link *link)
{
	for (uint32_t slot = 0; slot < link->slots; slot++) {
		struct memory_peer *peer;

		if (!memory_is_used(link->area, slot, link->slot))
			continue;
		peer = memory_peer_get(link, slot);
		if (!peer)
			return -ENOMEM;
		ring_skip(&peer->in);
	}
	return 0;
}

static int open_parts(struct memory_link *link, const struct memory_cfg *cfg)
{
	int rc = map_area(link);

	if (rc == 0)
		rc = memory_complete_arrivals(&link->base, cfg->complete);
	if (rc == 0 && !cfg->resumes)
		rc = skip_former(link);
	if (rc != 0)
		return rc;
	atomic_store(&link->own->num_groups, 0);
	/* An odd number would be the former process's: nobody waits. */
	atomic_store(&link->own->armed, (atomic_load(&link->own->armed) | 1) + 1);
	link->generation = atomic_load(&link->area->hub.generation) - 1;
	return 0;
}

int memory_open(struct link **ret, const struct memory_cfg *cfg)
{
	struct memory_link *link;
	int rc;

	if (cfg->fd < 0 || cfg->doorbell_fd < 0 || cfg->slot >= MEMORY_SLOTS ||
	    gid_is_multicast(&cfg->gid))
		return -EINVAL;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	link->base.ops = &ops;
	link->gid = cfg->gid;
	link->slot = cfg->slot;
	link->fd = cfg->fd;
	link->doorbell_fd = cfg->doorbell_fd;
	link->max_segs = cfg->trains ? TRAIN_MAX_SEGS : 1;
	link->icrc = cfg->icrc;
	link->log = cfg->log;
	link->log_arg = cfg->log_arg;
	rc = open_parts(link, cfg);
	if (rc != 0) {
		memory_close(&link->base);
		return rc;
	}
	*ret = &link->base;
	return 0;
}
