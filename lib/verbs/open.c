// SPDX-License-Identifier: MIT
/* Opens, imports and closes a device. Closing destroys the objects that the program left. */
#include "lib/verbs/context.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/supported.h"
#include "lib/abi/newer.h"
#include "lib/abi/private.h"
#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/inject/verb.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/attach.h"
#include "lib/verbs/device.h"
#include "lib/verbs/device_list.h"
#include "lib/verbs/flow.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/uses.h"

static void fill(struct vb_context *ctx)
{
	struct verbs_context_65 *verbs = &ctx->verbs;
	struct ibv_context *base = &verbs->base.context;

	vb_query_ops(verbs);
	vb_pd_ops(verbs);
	vb_mr_ops(verbs);
	vb_mw_ops(verbs);
	vb_mr_change_ops(verbs);
	vb_dm_ops(verbs);
	vb_dmah_ops(verbs);
	vb_cq_ops(verbs);
	vb_qp_ops(verbs);
	vb_srq_ops(verbs);
	vb_xrcd_ops(verbs);
	vb_post_ops(verbs);
	vb_post_unkind_ops(verbs);
	if (RXE_RAW_SUPPORTED) {
		vb_flow_ops(verbs);
		vb_counters_ops(verbs);
		vb_wq_ops(verbs);
	}
	abi_refuse_ops(&verbs->base);

	verbs->base.sz = sizeof(*verbs);
	verbs->base.priv = (struct verbs_ex_private *)(void *)ctx;
	base->abi_compat = __VERBS_ABI_IS_EXTENDED;
	base->device = &ctx->dev->base;
	base->cmd_fd = ctx->ctl.cmd_fd;
	base->async_fd = -1;
	ctx->import_fd = -1;
	base->num_comp_vectors = 1;
	pthread_mutex_init(&base->mutex, NULL);
}

/* Completes a context of an attached device, with ctx->ctl open. 0 or a negative errno. */
static int finish(struct vb_context *ctx, enum inject_verb verb)
{
	struct ibv_context *base = &ctx->verbs.base.context;
	int err;

	fill(ctx);
	vb_uses_init();
	vb_object_limit(VB_KIND_AH, vb_profile(ctx->dev)->max_ah);
	vb_object_limit(VB_KIND_CQ, vb_profile(ctx->dev)->max_cq);
	vb_object_limit(VB_KIND_SRQ, vb_profile(ctx->dev)->max_srq);
	ctx->fatal = atomic_load(&ctx->dev->attachment.shared->faults.fatal);
	if (ctx->fatal & 1)
		return -refuse(WHY_FATAL);
	if (vb_gate_fails(base, verb))
		return -errno;
	err = vb_async_init(ctx);
	if (err)
		return -refuse(WHY_NO_EVENTFD(-err), strerror(-err));
	if (!vb_object_add(base, VB_KIND_CONTEXT)) {
		vb_async_fini(ctx);
		return -refuse(WHY_NO_MEMORY, "the context");
	}
	return 0;
}

/* Notes why the device cannot be opened. Returns rc. */
static int refuse_open(const struct vb_device *dev, int rc)
{
	if (rc == -EMFILE)
		refuse(WHY_NO_DESCRIPTOR);
	else if (rc)
		refuse(WHY_OPEN(-rc), dev->base.name, strerror(-rc));
	return rc;
}

/* ibv_open_device(3). EINVAL: not a device of this library. EMFILE: no descriptor left here or in
 * the server. EIO: the device is fatal. ENODEV: the server exited. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vb_device *dev = vb_device_of(device);
	struct vb_context *ctx;
	int err;
	NO_CANCEL;

	if (!dev)
		return vb_fail(refuse(WHY_NOT_A_DEVICE, (void *)device));
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vb_fail(refuse(WHY_NO_MEMORY, "the context"));

	ctx->dev = dev;
	err = refuse_open(dev, vb_device_attach(dev));
	if (err)
		goto no_attach;
	err = refuse_open(dev, ctl_open(dev->client, dev->info.index, &ctx->ctl));
	if (err)
		goto no_open;
	err = finish(ctx, INJECT_VERB_open_device);
	if (err)
		goto no_finish;
	return &ctx->verbs.base.context;

no_finish:
	ctl_close(&ctx->ctl);
no_open:
	vb_device_detach(dev);
no_attach:
	free(ctx);
	return vb_fail(rxe_dm_refuse_aloud(-err, CTL_LOG_WARNING));
}

/* A program duplicates a cmd_fd before it imports the duplicate, which the context then closes
 * (ibv_import_device(3)). Some programs close it themselves, and its number may become another
 * file's: hence the inode. A cmd_fd that was not duplicated is another context's, and stays. */
static void own_import_fd(struct vb_context *ctx, struct ctl_client *client, int cmd_fd)
{
	struct stat st;

	if (fstat(cmd_fd, &st) || ctl_holds(client, cmd_fd))
		return;
	ctx->import_fd = cmd_fd;
	ctx->import_inode = st.st_ino;
}

static void close_import_fd(const struct vb_context *ctx)
{
	struct stat st;

	if (ctx->import_fd >= 0 && fstat(ctx->import_fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_ino == ctx->import_inode)
		close(ctx->import_fd);
}

/* ibv_import_device(3). EBADF: cmd_fd is not open. Else: no context's, or its server exited. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct ctl_client *client;
	struct vb_context *ctx;
	int err;
	NO_CANCEL;

	if (fcntl(cmd_fd, F_GETFD) < 0)
		return vb_fail(refuse(WHY_BAD_FD, cmd_fd));
	err = vb_device_connect(&client);
	if (err)
		return vb_fail(refuse(WHY_SERVER_EXITED(-err)));
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vb_fail(refuse(WHY_NO_MEMORY, "the context"));

	err = ctl_import(client, cmd_fd, &ctx->ctl);
	if (err) {
		refuse(WHY_IMPORT(-err), cmd_fd, strerror(-err));
		goto no_import;
	}
	ctx->dev = vb_device_at(client, ctx->ctl.device);
	err = ctx->dev ? refuse_open(ctx->dev, vb_device_attach(ctx->dev))
		       : -refuse(WHY_SERVER_EXITED(ENODEV));
	if (err)
		goto no_attach;
	err = finish(ctx, INJECT_VERB_import_device);
	if (err)
		goto no_finish;
	own_import_fd(ctx, client, cmd_fd);
	return &ctx->verbs.base.context;

no_finish:
	vb_device_detach(ctx->dev);
no_attach:
	ctl_close(&ctx->ctl);
no_import:
	free(ctx);
	return vb_fail(-err);
}

static bool find_group(struct vb_qp *qp, union ibv_gid *ret)
{
	const struct rxe_mcast *mcast;
	bool found = false;

	if (!vb_lock_engine(qp->dev, qp->forks))
		return false;
	mcast = &qp->dev->progress.engine->mcast;
	for (uint32_t i = 0; i < RXE_MAX_MCAST_GRP && !found; i++) {
		const struct rxe_mcast_group *group = &mcast->group[i];

		for (uint32_t k = 0; k < group->num_qps && !found; k++) {
			found = group->qp[k] == &qp->qp;
			memcpy(ret->raw, group->gid.raw, sizeof(ret->raw));
		}
	}
	progress_unlock(&qp->dev->progress);
	return found;
}

static void detach_from_groups(struct vb_qp *qp)
{
	union ibv_gid group;

	while (find_group(qp, &group) && ibv_detach_mcast(&qp->ex.base.qp_base, &group, 0) == 0)
		;
}

static int destroy(const struct verbs_context *ops, void *object, enum vb_kind kind)
{
	switch (kind) {
	case VB_KIND_FLOW: return ops->ibv_destroy_flow(&((struct vb_flow *)object)->base);
	case VB_KIND_COUNTERS: return ops->destroy_counters(object);
	case VB_KIND_QP: detach_from_groups(object); return ibv_destroy_qp(object);
	case VB_KIND_TARGET: vb_qp_abandon_target(object); return 0;
	case VB_KIND_WQ_TABLE: return ops->destroy_rwq_ind_table(object);
	case VB_KIND_WQ: return ops->destroy_wq(object);
	case VB_KIND_SRQ: return ibv_destroy_srq(object);
	case VB_KIND_XRCD: return ops->close_xrcd(object);
	case VB_KIND_CQ: return ibv_destroy_cq(object);
	case VB_KIND_CHANNEL: return ibv_destroy_comp_channel(object);
	case VB_KIND_AH: return ibv_destroy_ah(object);
	case VB_KIND_MW: return ops->context.ops.dealloc_mw(object);
	case VB_KIND_COMP_CNTR: return ibv_destroy_comp_cntr(object);
	case VB_KIND_MR: return ibv_dereg_mr(object);
	case VB_KIND_PD:
	case VB_KIND_TD:
	case VB_KIND_DM:
	case VB_KIND_DMAH:
	case VB_KIND_BUF:
	case VB_KIND_UMEM:
	case VB_KIND_MKEY:
	case VB_KIND_CONTEXT:
	case VB_KINDS: break;
	}
	/* The server frees its part with the context. */
	return refuse(WHY_CONTEXT_USED);
}

/* Destroys the objects that a program left on a context that it closes. The kernel frees them with
 * the context. This function does so as well: else the engine, which other contexts of the process
 * share, would answer for queue pairs whose memory the program is about to free. */
static void destroy_objects(struct ibv_context *context)
{
	void *object;

	for (enum vb_kind kind = VB_KIND_CONTEXT + 1; kind < VB_KINDS; kind++) {
		while ((object = vb_object_any(context, kind))) {
			/* What is not destroyed (another context may use it) stays allocated, but
			 * is not found. */
			if (destroy(&vb_context(context)->verbs.base, object, kind))
				vb_object_take(object, kind);
		}
	}
}

/* ibv_open_device(3). Destroys the objects that are left on the context, as the kernel does. -1 and
 * EINVAL: not a live context. */
int ibv_close_device(struct ibv_context *context)
{
	struct vb_context *ctx;
	NO_CANCEL;

	if (vb_refuses(context, VB_KIND_CONTEXT))
		return vb_minus_one(refusal_noted());
	vb_context(context)->closing = true;
	destroy_objects(context);
	if (!vb_object_take(context, VB_KIND_CONTEXT))
		return vb_minus_one(refuse(WHY_NOT_LIVE, (void *)context, "context"));
	ctx = vb_context(context);
	vb_async_fini(ctx);
	/* An error means that the server exited, and its objects with it. */
	ctl_close(&ctx->ctl);
	close_import_fd(ctx);
	vb_device_detach(ctx->dev);
	pthread_mutex_destroy(&context->mutex);
	free(ctx);
	return 0;
}
