// SPDX-License-Identifier: MIT
/* The GID table. Every GID is a RoCEv2 one that a socket listens on; what is not filled is empty. */
#include <string.h>

#include "lib/verbs/driver.h"
#include "lib/verbs/private.h"

#define PORT 1

/* As ibv_query_gid_type tells them: v1 (or InfiniBand), v2. */
enum gid_type_sysfs {
	GID_TYPE_V1,
	GID_TYPE_V2,
};

#pragma GCC visibility push(default)
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type);
int older_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
			     unsigned int *type);
#pragma GCC visibility pop

DM_PRIVATE_VERSIONS(ibv_query_gid_type);

static bool is_empty(const struct gid *gid)
{
	static const struct gid zeros;

	return gid_equal(gid, &zeros);
}

/* The slot of the table, or NULL when there is no such. */
static const struct gid *slot(struct ibv_context *context, uint32_t port, uint64_t index)
{
	if (!dm_is_context(context) || port != PORT || index >= RXE_MAX_GIDS)
		return NULL;
	return &dm_device(context)->info.gids[index];
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *ret)
{
	const struct gid *gid = index < 0 ? NULL : slot(context, port, (uint64_t)index);

	if (!gid || !ret) {
		errno = EINVAL;
		return -1;
	}
	memcpy(ret->raw, gid->raw, sizeof(ret->raw));
	return 0;
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type)
{
	const struct gid *gid = slot(context, port, index);

	if (!gid || !type) {
		errno = EINVAL;
		return -1;
	}
	*type = is_empty(gid) ? GID_TYPE_V1 : GID_TYPE_V2;
	return 0;
}

int older_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
			     unsigned int *type)
{
	return ibv_query_gid_type(context, port, index, type);
}

/* An entry may have been compiled shorter or longer than ours: the front is what all have. */
static void entry_write(void *at, size_t size, struct ibv_context *context, uint32_t index)
{
	const struct dm_device *dev = dm_device(context);
	struct ibv_gid_entry entry = {
		.gid_index = index,
		.port_num = PORT,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = dev->info.if_index,
	};

	memcpy(entry.gid.raw, dev->info.gids[index].raw, sizeof(entry.gid.raw));
	memset(at, 0, size);
	memcpy(at, &entry, size < sizeof(entry) ? size : sizeof(entry));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const struct gid *gid = slot(context, port, index);

	if (!gid || !entry || entry_size < sizeof(union ibv_gid))
		return EINVAL;
	if (flags)
		return EOPNOTSUPP;
	if (is_empty(gid))
		return ENODATA;
	entry_write(entry, entry_size, context, index);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	size_t n = 0;

	if (!dm_is_context(context) || (!entries && max_entries) ||
	    entry_size < sizeof(union ibv_gid))
		return -EINVAL;
	if (flags)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (is_empty(&dm_device(context)->info.gids[i]))
			continue;
		if (n == max_entries)
			return -EINVAL; /* too small for all of them */
		entry_write((uint8_t *)entries + n++ * entry_size, entry_size, context, i);
	}
	return (ssize_t)n;
}
