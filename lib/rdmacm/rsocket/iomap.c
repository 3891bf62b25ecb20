// SPDX-License-Identifier: MIT
/* riomap, riounmap, riowrite. */
#include "lib/rdmacm/rsocket/iomap.h"

#include <stdlib.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/connection.h"
#include "lib/rdmacm/rsocket/piece.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"

static int announce(struct rsocket *rs, struct rs_mapping *mapping)
{
	const struct rs_iomap_entry entry = {
		.offset = mapping->offset,
		.sge = { .addr = (uintptr_t)mapping->mr->addr,
			 .key = mapping->mr->rkey,
			 .length = (uint32_t)mapping->mr->length },
	};
	int err = rs_queue_iomap(rs, (uint32_t)mapping->index, entry);

	if (err)
		return err;
	mapping->is_announced = true;
	rs->unannounced--;
	return 0;
}

static struct rs_mapping *find_unannounced(struct rsocket *rs)
{
	struct rs_mapping *mapping;

	DL_FOREACH (rs->mappings, mapping) {
		if (!mapping->is_announced)
			return mapping;
	}
	return NULL;
}

int rs_iomap_announce(struct rsocket *rs, bool may_wait)
{
	struct rs_mapping *mapping;
	int err = 0;

	while (rs->unannounced && !err) {
		err = rs_piece_await(rs, may_wait);
		/* The wait releases the lock. */
		mapping = find_unannounced(rs);
		if (!err && mapping)
			err = announce(rs, mapping);
	}
	return err;
}

static bool is_index_used(const struct rsocket *rs, int index)
{
	const struct rs_mapping *mapping;

	DL_FOREACH (rs->mappings, mapping) {
		if (mapping->index == index)
			return true;
	}
	return false;
}

/* -1: the peer's I/O map is full. */
static int free_index(const struct rsocket *rs)
{
	int index, size = (int)rs->receiver.remote_iomap_size;

	for (index = 0; index < size; index++) {
		if (!is_index_used(rs, index))
			return index;
	}
	return -1;
}

static int map_locked(struct rsocket *rs, void *buf, size_t len, bool is_remote, uint64_t offset)
{
	int index = is_remote && rs->state == RS_CONNECTED ? free_index(rs) : -1;
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | (is_remote ? IBV_ACCESS_REMOTE_WRITE : 0);
	struct rs_mapping *mapping;

	if (rs->state != RS_CONNECTED || len > UINT32_MAX)
		return EINVAL;
	if (is_remote && index < 0)
		return ENOMEM;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return ENOMEM;
	mapping->mr = ibv_reg_mr(rs->id->pd, buf, len, access);
	if (!mapping->mr) {
		free(mapping);
		return rcm_errno();
	}
	mapping->offset = offset;
	mapping->index = index;
	mapping->is_announced = !is_remote;
	rs->unannounced += is_remote;
	DL_PREPEND(rs->mappings, mapping);
	return 0;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	uint64_t at = offset == -1 ? (uintptr_t)buf : (uint64_t)offset;
	struct rsocket *rs = rs_get_locked(socket);
	int err = EINVAL;
	NO_CANCEL;

	(void)flags;
	if (!rs)
		return -1;
	if (!(prot & ~PROT_WRITE))
		err = map_locked(rs, buf, len, prot & PROT_WRITE, at);
	rs_put_locked(rs);
	return err ? rcm_result(err) : (off_t)at;
}

int riounmap(int socket, void *buf, size_t len)
{
	struct rsocket *rs = rs_get_locked(socket);
	struct rs_mapping *mapping;
	NO_CANCEL;

	if (!rs)
		return -1;
	DL_FOREACH (rs->mappings, mapping) {
		if (mapping->mr->addr == buf && mapping->mr->length == len)
			break;
	}
	if (mapping)
		rs_mapping_free(rs, mapping);
	rs_put_locked(rs);
	return rcm_result(mapping ? 0 : EINVAL);
}

static uint32_t write_piece(struct rsocket *rs, struct rs_iov *iov, size_t left,
			    const struct rs_sge *remote)
{
	struct rs_piece piece;
	int err;

	rs_piece_fill(&piece, rs, iov, left, remote->length);
	err = rs_queue_write(rs, piece.bytes, piece.len, piece.is_inline, remote);
	if (err)
		rs_queue_lost(rs, err);
	return err ? 0 : piece.len;
}

static int write_locked(struct rsocket *rs, struct rs_iov *iov, size_t len, uint64_t offset,
			bool may_wait, size_t *ret)
{
	int err = rs_iomap_announce(rs, may_wait);
	struct rs_sge remote;
	size_t left = len;

	while (left && !err) {
		err = rs_piece_await(rs, may_wait);
		if (err)
			break;
		remote = rs_iomap_find(rs->sender.iomap, rs->options.iomap_size,
				       offset + len - left);
		/* As rdma-core: what is mapped is written. */
		if (!remote.length)
			break;
		left -= write_piece(rs, iov, left, &remote);
	}
	*ret = len - left;
	return left < len ? 0 : err;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	const struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = count };
	struct rs_iov iov = { .v = &v, .n = 1 };
	struct rsocket *rs = rs_get_locked(socket);
	size_t written = 0;
	int err = ENOTCONN;
	NO_CANCEL;

	if (!rs)
		return (size_t)-1;
	if (rs->state == RS_CONNECTED)
		err = write_locked(rs, &iov, count, (uint64_t)offset, rs_may_wait(rs, flags),
				   &written);
	rs_put_locked(rs);
	return err ? (size_t)rcm_result(err) : written;
}
