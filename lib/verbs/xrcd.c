// SPDX-License-Identifier: MIT
/* XRC domains: opening and closing them. Which inode has one is the server's knowledge; the engine compares numbers. */
#include "lib/verbs/xrcd.h"

#include <fcntl.h>
#include <stdlib.h>

#include "lib/control/protocol.h"
#include "lib/verbs/objects.h"

bool dm_xrcd_fits(struct ibv_context *context, struct ibv_xrcd *xrcd)
{
	return dm_object_is(xrcd, DM_KIND_XRCD) && !dm_object_is_inherited(xrcd) &&
	       dm_device(xrcd->context) == dm_device(context);
}

static int check(const struct ibv_xrcd_init_attr *attr)
{
	const uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	if (attr->comp_mask & ~both)
		return EOPNOTSUPP;
	if ((attr->comp_mask & both) != both || attr->oflags & ~(O_CREAT | O_EXCL))
		return EINVAL;
	if (attr->fd == -1)
		return attr->oflags & O_CREAT ? 0 : EINVAL;
	return fcntl(attr->fd, F_GETFD) < 0 ? EBADF : 0;
}

static void explain(const struct ibv_xrcd_init_attr *attr, int err)
{
	if (err == EAGAIN)
		dm_log(DM_LOG_INFO,
		       "ibv_open_xrcd: the file behind descriptor %d has no XRC domain, and oflags "
		       "has no O_CREAT",
		       attr->fd);
	else if (err == EINVAL)
		dm_log(DM_LOG_INFO,
		       "ibv_open_xrcd: the file behind descriptor %d has an XRC domain already "
		       "(O_CREAT | O_EXCL)",
		       attr->fd);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct dm_context *ctx;
	struct dm_xrcd *xrcd;
	uint32_t flags;
	int err;

	if (!dm_is_context(context) || !attr)
		return dm_fail(EINVAL);
	err = check(attr);
	if (err)
		return dm_fail(err);
	if (dm_verb_fails(context, open_xrcd))
		return NULL;
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return dm_fail(ENOMEM);
	ctx = dm_context(context);
	xrcd->base.context = context;
	flags = (attr->oflags & O_CREAT ? (uint32_t)CTL_XRCD_CREATE : 0) |
		(attr->oflags & O_EXCL ? (uint32_t)CTL_XRCD_EXCLUSIVE : 0);
	err = -ctl_open_xrcd(ctx->dev->client, &ctx->ctl, attr->fd, flags, &xrcd->handle,
			     &xrcd->domain);
	if (err) {
		explain(attr, err);
		goto no_handle;
	}
	if (!dm_object_add(xrcd, DM_KIND_XRCD))
		goto no_object;
	return &xrcd->base;

no_object:
	err = ENOMEM;
	ctl_close_xrcd(ctx->dev->client, &ctx->ctl, xrcd->handle);
no_handle:
	free(xrcd);
	return dm_fail(err);
}

int dm_xrcd_close(struct ibv_xrcd *base)
{
	bool inherited = dm_object_is_inherited(base);
	struct dm_xrcd *xrcd = dm_xrcd(base);
	struct dm_context *ctx;
	int err = 0;

	if (!dm_object_is(base, DM_KIND_XRCD) || !dm_is_context(base->context))
		return EINVAL;
	if (dm_verb_fails(base->context, close_xrcd))
		return errno;
	if (atomic_load(&xrcd->users))
		return EBUSY;
	if (!dm_object_take(base, DM_KIND_XRCD))
		return EINVAL;
	ctx = dm_context(base->context);
	if (!inherited)
		err = ctl_close_xrcd(ctx->dev->client, &ctx->ctl, xrcd->handle);
	if (err && err != -ENODEV) {
		dm_object_add(base, DM_KIND_XRCD);
		return -err;
	}
	free(xrcd);
	return 0;
}

void dm_xrcd_ops(struct verbs_context_65 *verbs)
{
	verbs->base.open_xrcd = open_xrcd;
	verbs->base.close_xrcd = dm_xrcd_close;
}
