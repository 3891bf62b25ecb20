// SPDX-License-Identifier: MIT
/* Requests about XRC domains, each of which belongs to an inode (ibv_open_xrcd(3)). Several
 * contexts and processes may have a domain open, each by a handle of its own; the domain lasts
 * until the last handle is closed. Engines compare domains by number. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"

/* Returns any handle of the inode's domain; NULL: it has none. */
static const struct object *find_domain(const struct device *device, const struct stat *of)
{
	const struct object *object = object_from(&device->objects, 0);

	while (object) {
		if (object->kind == CTL_KIND_XRCD && object->fd >= 0 &&
		    object->addr == (uint64_t)of->st_ino && object->len == (uint64_t)of->st_dev)
			return object;
		object =
			object_from(&device->objects, (object->handle & (CTL_MAX_OBJECTS - 1)) + 1);
	}
	return NULL;
}

/* Opens an O_PATH descriptor, which only keeps the inode number from being reused. */
static int hold_inode(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int check_flags(uint32_t flags, bool exists)
{
	if (flags & ~(uint32_t)(CTL_XRCD_CREATE | CTL_XRCD_EXCLUSIVE))
		return -EINVAL;
	if (!exists)
		return flags & CTL_XRCD_CREATE ? 0 : -EAGAIN;
	return (flags & CTL_XRCD_CREATE) && (flags & CTL_XRCD_EXCLUSIVE) ? -EINVAL : 0;
}

int serve_open_xrcd(struct call *call)
{
	const struct object *domain = NULL;
	struct stat inode = { 0 };
	struct object *xrcd;
	int rc, fd = -1;

	if (!call->device->instance->profile.xrc)
		return -EOPNOTSUPP;
	if (call->in_fd >= 0) {
		if (fstat(call->in_fd, &inode))
			return -errno;
		domain = find_domain(call->device, &inode);
	}
	rc = check_flags(call->req.xrcd.flags, domain != NULL);
	if (rc)
		return rc;
	if (call->in_fd >= 0) {
		fd = hold_inode(call->in_fd);
		if (fd < 0)
			return fd;
	}
	xrcd = context_new_object(call->context, CTL_KIND_XRCD);
	if (!xrcd) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	xrcd->fd = fd;
	xrcd->addr = inode.st_ino;
	xrcd->len = inode.st_dev;
	xrcd->key = domain ? domain->key : ++call->device->last_xrcd;
	call->reply.made.handle = xrcd->handle;
	call->reply.made.key = xrcd->key;
	return 0;
}
