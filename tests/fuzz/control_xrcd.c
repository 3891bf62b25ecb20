/* SPDX-License-Identifier: MIT */
/* XRC domains of the server under attack: domains of one inode are equal, all others differ, and
 * each was opened as requested. XRC targets are of one domain each, and of the process that
 * announced them. */
#include <sys/stat.h>
#include <utlist.h>

#include "rxe_dm/server/context.h"
#include "tests/fuzz/control.h"

static bool same_inode(const struct object *a, const struct object *b)
{
	return a->fd >= 0 && b->fd >= 0 && a->addr == b->addr && a->len == b->len;
}

static const struct object *next_xrcd(const struct object *behind)
{
	const struct objects *objects = &control_device()->tables.objects;
	const struct object *object =
		object_from(objects, behind ? (behind->handle & (CTL_MAX_OBJECTS - 1)) + 1 : 0);

	while (object && object->kind != CTL_KIND_XRCD)
		object = object_from(objects, (object->handle & (CTL_MAX_OBJECTS - 1)) + 1);
	return object;
}

void control_xrcd_opened(const struct ctl_request *req, const struct ctl_reply *reply)
{
	const struct object *mine =
		object_find(&control_device()->tables.objects, reply->made.handle);
	const uint32_t flags = req->xrcd.flags;
	struct stat inode;
	bool was_there = false;

	MUST(mine && mine->kind == CTL_KIND_XRCD && mine->key == reply->made.key);
	if (mine->fd >= 0)
		MUST(fstat(mine->fd, &inode) == 0 && inode.st_ino == mine->addr &&
		     inode.st_dev == mine->len);
	for (const struct object *other = next_xrcd(NULL); other; other = next_xrcd(other)) {
		if (other == mine)
			continue;
		MUST((other->key == mine->key) == same_inode(other, mine));
		was_there |= same_inode(other, mine);
	}
	MUST(!(flags & ~(uint32_t)(CTL_XRCD_CREATE | CTL_XRCD_EXCLUSIVE)));
	MUST(was_there || (flags & CTL_XRCD_CREATE));
	MUST(!was_there || !(flags & CTL_XRCD_CREATE) || !(flags & CTL_XRCD_EXCLUSIVE));
}

void control_target_opened(const struct ctl_request *req, const struct ctl_reply *reply)
{
	const struct device *device = control_device();
	const struct object *mine = object_find(&device->tables.objects, reply->made.handle),
			    *other;
	bool is_first = true;

	MUST(mine && mine->kind == CTL_KIND_QP && mine->key && mine->key == req->qp.qpn);
	DL_FOREACH2(device->xrc.targets, other, wnext)
	{
		MUST(other->kind == CTL_KIND_QP);
		MUST(other->key != mine->key || other->addr == mine->addr);
		is_first &= other == mine || other->key != mine->key;
	}
	MUST(!req->qp.is_new == !is_first);
	MUST(!is_first || mine->key >> RXE_SLOT_SHIFT == mine->slot);
}
