// SPDX-License-Identifier: MIT
/* Memory windows (ibv_alloc_mw(3), ibv_bind_mw(3)). The server gives a window its key; the engine
 * binds and invalidates it in the order of the send queue (emu/mr.h). */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "emu/mr.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

/* A window grants peers access: local write access is the region's. */
#define ACCESS_REMOTE                                                                              \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define ACCESS_KNOWN (ACCESS_REMOTE | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE)

/* ibv_alloc_mw(3). EINVAL: no live domain, or no such type. ENOMEM: the process has as many windows
 * as ibv_query_device(3) reports, or the key table is full. */
static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const uint32_t kind = type == IBV_MW_TYPE_1 ? RXE_MR_WINDOW_1 : RXE_MR_WINDOW_2;
	struct vb_mw *mw;
	int err;

	if (vb_refuses_pd(pd) ||
	    refuse_if(type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2, WHY_MW_TYPE, (int)type))
		return vb_fail(refusal_noted());
	mw = vb_object_begin(pd->context, VB_KIND_MW, sizeof(*mw), INJECT_VERB_alloc_mw);
	if (!mw)
		return vb_fail(errno);
	err = vb_pd_use(pd);
	if (err)
		return vb_fail(vb_object_undo(mw, err));
	mw->base.pd = pd;
	mw->base.type = type;
	err = vb_server_result(ctl_alloc_mw(&vb_context(pd->context)->ctl, pd->handle, kind,
					    &mw->base.handle, &mw->base.rkey, &mw->index),
			       VB_KIND_MW);
	if (err) {
		vb_pd_unuse(pd);
		return vb_fail(vb_object_undo(mw, err));
	}
	vb_object_set_handle(mw, mw->base.handle);
	return &mw->base;
}

/* No peer has access by the window any more: the engine is not inside it. */
static void close_window(const struct vb_mw *mw)
{
	struct progress *progress = &vb_device(mw->base.context)->progress;

	if (!progress_lock(progress))
		return;
	rxe_mw_forget(progress->engine, mw->index);
	progress_unlock(progress);
}

/* ibv_alloc_mw(3): also a window that is bound. On return no engine on this host accesses memory by
 * it. EINVAL: no live window. */
static int dealloc_mw(struct ibv_mw *base)
{
	int err = vb_end_check(base, VB_KIND_MW, INJECT_VERB_dealloc_mw);
	struct vb_mw *mw = vb_mw(base);

	if (err)
		return vb_result(err);
	if (!vb_object_is_inherited(mw))
		close_window(mw);
	err = vb_end_take(mw, VB_KIND_MW);
	if (err)
		return vb_result(err);
	vb_pd_unuse(base->pd);
	free(mw);
	return 0;
}

bool vb_mw_bind(struct ibv_context *context, const struct ibv_mw *mw, enum ibv_mw_type type,
		uint32_t rkey, const struct ibv_mw_bind_info *info, struct rxe_bind *ret)
{
	if (vb_refuses_use(context, mw, VB_KIND_MW) ||
	    refuse_if(mw->type != type, WHY_BIND_TYPE, (int)mw->type,
		      mw->type == IBV_MW_TYPE_1 ? "ibv_bind_mw()" : "a request of the send queue"))
		return false;
	if (info->mr ? vb_refuses_use(context, info->mr, VB_KIND_MR)
		     : refuse_if(info->addr || info->length, WHY_BIND_RANGE))
		return false;
	if (refuse_if(info->mw_access_flags & ~(unsigned int)ACCESS_KNOWN, WHY_ACCESS_UNKNOWN,
		      info->mw_access_flags & ~(unsigned int)ACCESS_KNOWN))
		return false;
	*ret = (struct rxe_bind){
		.addr = info->addr,
		.len = info->length,
		.mw = mw->rkey,
		.rkey = rkey,
		.region = info->mr ? info->mr->lkey : 0,
		.rights = info->mw_access_flags & ACCESS_REMOTE,
	};
	return true;
}

void vb_mw_ops(struct verbs_context_65 *verbs)
{
	struct ibv_context_ops *ops = &verbs->base.context.ops;

	ops->alloc_mw = alloc_mw;
	ops->dealloc_mw = dealloc_mw;
}
