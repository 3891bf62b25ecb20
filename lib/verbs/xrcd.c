// SPDX-License-Identifier: MIT
/* XRC domains. The server maps the inode of a file to a domain; the engine compares numbers. */
#include "lib/verbs/xrcd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/control/client.h"
#include "lib/control/protocol.h"
#include "lib/inject/verb.h"
#include "lib/progress/log.h"
#include "lib/verbs/context.h"
#include "lib/verbs/destroy.h"
#include "lib/verbs/error.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/ops.h"

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
		rxe_log(RXE_LOG_INFO,
			"ibv_open_xrcd: the file of descriptor %d has no XRC domain: add O_CREAT "
			"to oflags to create one",
			attr->fd);
	else if (err == EINVAL)
		rxe_log(RXE_LOG_INFO,
			"ibv_open_xrcd: the file of descriptor %d has an XRC domain already: drop "
			"O_EXCL from oflags to open it",
			attr->fd);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct vb_context *ctx;
	struct vb_xrcd *xrcd;
	uint32_t flags;
	int err;

	if (!vb_is_context(context) || !attr)
		return vb_fail(EINVAL);
	err = check(attr);
	if (err)
		return vb_fail(err);
	if (vb_verb_fails(context, open_xrcd))
		return NULL;
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return vb_fail(ENOMEM);
	ctx = vb_context(context);
	xrcd->base.context = context;
	flags = (attr->oflags & O_CREAT ? (uint32_t)CTL_XRCD_CREATE : 0) |
		(attr->oflags & O_EXCL ? (uint32_t)CTL_XRCD_EXCLUSIVE : 0);
	err = -ctl_open_xrcd(&ctx->ctl, attr->fd, flags, &xrcd->handle, &xrcd->domain);
	if (err) {
		explain(attr, err);
		goto no_handle;
	}
	if (!vb_live_add(xrcd, VB_KIND_XRCD))
		goto no_object;
	return &xrcd->base;

no_object:
	err = ENOMEM;
	ctl_free(&ctx->ctl, CTL_KIND_XRCD, xrcd->handle);
no_handle:
	free(xrcd);
	return vb_fail(err);
}

int vb_xrcd_close(struct ibv_xrcd *base)
{
	int err = vb_destroy_check(base, VB_KIND_XRCD, INJECT_VERB_close_xrcd);
	struct vb_xrcd *xrcd = vb_xrcd(base);

	if (!err && atomic_load(&xrcd->users))
		err = EBUSY;
	if (!err)
		err = vb_destroy_take(xrcd, VB_KIND_XRCD, CTL_KIND_XRCD, xrcd->handle);
	if (!err)
		free(xrcd);
	return vb_result(err);
}

void vb_xrcd_ops(struct verbs_context_65 *verbs)
{
	verbs->base.open_xrcd = open_xrcd;
	verbs->base.close_xrcd = vb_xrcd_close;
}
