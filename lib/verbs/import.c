// SPDX-License-Identifier: MIT
/* Imports objects of a shared context by their handles (ibv_import_pd(3)). The server's object
 * belongs to the context; import makes an object of this process for it, and unimport frees only
 * that. Contexts are imported in context.c. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/control/protocol.h"
#include "lib/verbs/context.h"
#include "lib/verbs/dm.h"
#include "lib/verbs/error.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/pd.h"

static int look_up(struct ibv_context *context, enum ctl_kind kind, uint32_t handle,
		   struct ctl_object *ret)
{
	struct vb_context *ctx = vb_context(context);

	return -ctl_query(&ctx->ctl, (uint32_t)kind, handle, ret);
}

/* ibv_import_pd(3). ENOENT: the context has no domain of this handle. */
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vb_pd like = { .base.handle = handle };
	struct ctl_object object;
	struct ibv_pd *pd;
	int err;

	if (!vb_is_context(context))
		return vb_fail(EINVAL);
	if (vb_verb_fails(context, import_pd))
		return NULL;
	err = look_up(context, CTL_KIND_PD, handle, &object);
	if (err)
		return vb_fail(err);
	pd = vb_pd_wrap(context, &like);
	return pd ? pd : vb_fail(ENOMEM);
}

/* ibv_import_pd(3). Also valid for the process that allocated the domain, after another one
 * deallocated it. A domain with users in this process stays. */
void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!vb_is_pd(pd) || vb_pd(pd)->under || atomic_load(&vb_pd(pd)->users))
		return;
	if (vb_live_take(pd, VB_KIND_PD))
		free(pd);
}

/* ibv_import_mr(3). ENOENT: the context has no region of this handle. EINVAL: the region belongs to
 * another domain. addr of the region is NULL: its memory may be another process's. */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct ctl_object object;
	struct vb_mr *mr;
	int err;

	if (!vb_is_pd(pd))
		return vb_fail(EINVAL);
	if (vb_verb_fails(pd->context, import_mr))
		return NULL;
	err = look_up(pd->context, CTL_KIND_MR, handle, &object);
	if (!err && object.pd != pd->handle)
		err = EINVAL;
	if (err)
		return vb_fail(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return vb_fail(ENOMEM);
	err = vb_pd_use(pd);
	if (err)
		goto no_pd;
	mr->access = object.rights;
	mr->iova = object.iova;
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.length = object.len;
	mr->base.handle = handle;
	mr->base.lkey = object.key;
	mr->base.rkey = object.mr_kind == RXE_MR_NULL ? 0 : object.key;
	if (!vb_live_add(mr, VB_KIND_MR))
		goto no_object;
	return &mr->base;

no_object:
	err = ENOMEM;
	vb_pd_unuse(pd);
no_pd:
	free(mr);
	return vb_fail(err);
}

void ibv_unimport_mr(struct ibv_mr *base)
{
	struct vb_mr *mr = vb_mr(base);

	if (!vb_live_take(mr, VB_KIND_MR))
		return;
	vb_pd_unuse(base->pd);
	free(mr);
}

/* ibv_import_dm(3). ENOENT: the context has no device memory of this handle. */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct ctl_object object;
	struct ibv_dm *dm;
	int err;

	if (!vb_is_context(context))
		return vb_fail(EINVAL);
	if (vb_verb_fails(context, import_dm))
		return NULL;
	err = look_up(context, CTL_KIND_DM, handle, &object);
	if (err)
		return vb_fail(err);
	dm = vb_dm_wrap(context, handle, object.addr, object.len);
	return dm ? dm : vb_fail(ENOMEM);
}

void ibv_unimport_dm(struct ibv_dm *base)
{
	struct vb_dm *dm = vb_dm(base);

	if (vb_live_take(dm, VB_KIND_DM))
		free(dm);
}
