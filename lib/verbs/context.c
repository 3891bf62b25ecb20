// SPDX-License-Identifier: MIT
/* Opening, importing and closing a device. The first context of a process attaches it to the
 * device, the last detaches it. */
#include "lib/verbs/context.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/abi/private.h"
#include "lib/control/cancel.h"
#include "lib/inject/verb.h"
#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/verbs/async.h"
#include "lib/verbs/device.h"
#include "lib/verbs/error.h"
#include "lib/verbs/fork.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/ops.h"

/* The first context of the process. Under the device's lock. */
static void set_limits(const struct vb_device *dev)
{
	vb_live_limit(VB_KIND_AH, vb_profile(dev)->max_ah);
	vb_live_limit(VB_KIND_CQ, vb_profile(dev)->max_cq);
	vb_live_limit(VB_KIND_SRQ, vb_profile(dev)->max_srq);
}

static int attach_locked(struct vb_device *dev)
{
	int err = ctl_attach(dev->client, dev->info.index, &dev->attachment);

	if (err)
		return err;
	vb_gate_attached(dev);
	set_limits(dev);
	err = progress_start(&dev->progress);
	if (err)
		ctl_detach(dev->client, dev->info.index, &dev->attachment);
	else
		atomic_store(&dev->forks, vb_forks());
	return err;
}

/* Logs once for each fork why control verbs fail. Under the device's lock. */
static void explain_fork(struct vb_device *dev, int err)
{
	if (dev->failed_fork != vb_forks())
		rxe_log(RXE_LOG_WARNING,
			"this child of fork() cannot use %s: %s; is the device server running "
			"('rxe_dm show'), and are descriptors left ('ulimit -n')?",
			dev->base.name, strerror(-err));
	dev->failed_fork = vb_forks();
}

/* The first control verb of a forked child: it gets a slot and an engine of its own. Under the
 * device's lock. */
static int attach_again(struct vb_device *dev)
{
	struct ctl_attachment more;
	int err = ctl_attach(dev->client, dev->info.index, &dev->attachment);

	if (!err) {
		/* The client counted the attachment of the parent and this one: give one back. */
		more = dev->attachment;
		ctl_detach(dev->client, dev->info.index, &more);
		vb_gate_attached(dev);
		err = progress_start(&dev->progress);
	}
	if (err)
		explain_fork(dev, err);
	else
		atomic_store(&dev->forks, vb_forks());
	return err;
}

static int attach(struct vb_device *dev)
{
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->contexts == 0)
		err = attach_locked(dev);
	else if (atomic_load(&dev->forks) != vb_forks())
		err = attach_again(dev);
	if (!err)
		dev->contexts++;
	pthread_mutex_unlock(&dev->lock);
	return err;
}

static void detach(struct vb_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (--dev->contexts == 0) {
		progress_stop(&dev->progress);
		ctl_detach(dev->client, dev->info.index, &dev->attachment);
	}
	pthread_mutex_unlock(&dev->lock);
}

static void refresh(struct vb_device *dev)
{
	NO_CANCEL;

	pthread_mutex_lock(&dev->lock);
	if (dev->contexts && atomic_load(&dev->forks) != vb_forks())
		attach_again(dev);
	pthread_mutex_unlock(&dev->lock);
}

bool vb_is_context(const struct ibv_context *context)
{
	struct vb_device *dev;

	if (!vb_live_is(context, VB_KIND_CONTEXT))
		return false;
	dev = vb_device((struct ibv_context *)(uintptr_t)context);
	if (atomic_load_explicit(&dev->forks, memory_order_relaxed) != vb_forks())
		refresh(dev);
	return true;
}

bool vb_is_usable(struct ibv_context *context, const void *object, enum vb_kind kind)
{
	/* All kinds but contexts begin with a pointer to their context. */
	return vb_live_is(object, kind) && !vb_live_is_inherited(object) &&
	       vb_device(*(struct ibv_context *const *)object) == vb_device(context);
}

static void fill(struct vb_context *ctx)
{
	struct verbs_context_65 *verbs = &ctx->verbs;
	struct ibv_context *base = &verbs->base.context;

	vb_query_ops(verbs);
	vb_pd_ops(verbs);
	vb_mr_ops(verbs);
	vb_mw_ops(verbs);
	vb_advise_ops(verbs);
	vb_dm_ops(verbs);
	vb_dmah_ops(verbs);
	vb_buf_ops(verbs);
	vb_cq_ops(verbs);
	vb_qp_ops(verbs);
	vb_flow_ops(verbs);
	vb_counters_ops(verbs);
	vb_wq_ops(verbs);
	vb_srq_ops(verbs);
	vb_xrcd_ops(verbs);
	vb_post_ops(verbs);
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
	ctx->fatal = atomic_load(&ctx->dev->attachment.shared->faults.fatal);
	if (ctx->fatal & 1)
		return -EIO;
	if (vb_gate_fails(base, verb))
		return -errno;
	err = vb_async_init(ctx);
	if (err)
		return err;
	if (!vb_live_add(base, VB_KIND_CONTEXT)) {
		vb_async_fini(ctx);
		return -ENOMEM;
	}
	return 0;
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
		return vb_fail(EINVAL);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vb_fail(ENOMEM);

	ctx->dev = dev;
	err = attach(dev);
	if (err)
		goto no_attach;
	err = ctl_open(dev->client, dev->info.index, &ctx->ctl);
	if (err)
		goto no_open;
	err = finish(ctx, INJECT_VERB_open_device);
	if (err)
		goto no_finish;
	return &ctx->verbs.base.context;

no_finish:
	ctl_close(&ctx->ctl);
no_open:
	detach(dev);
no_attach:
	free(ctx);
	rxe_log(RXE_LOG_WARNING, "cannot open %s: %s%s", device->name, strerror(-err),
		err == -EMFILE ? " in this program or the device server: raise 'ulimit -n'" : "");
	return vb_fail(-err);
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
		return vb_fail(EBADF);
	err = vb_device_connect(&client);
	if (err)
		return vb_fail(-err);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vb_fail(ENOMEM);

	err = ctl_import(client, cmd_fd, &ctx->ctl);
	if (err)
		goto no_import;
	ctx->dev = vb_device_at(client, ctx->ctl.device);
	err = ctx->dev ? attach(ctx->dev) : -ENODEV;
	if (err)
		goto no_attach;
	err = finish(ctx, INJECT_VERB_import_device);
	if (err)
		goto no_finish;
	own_import_fd(ctx, client, cmd_fd);
	return &ctx->verbs.base.context;

no_finish:
	detach(ctx->dev);
no_attach:
	ctl_close(&ctx->ctl);
no_import:
	free(ctx);
	return vb_fail(-err);
}

/* ibv_open_device(3). Destroys the objects that are left on the context, as the kernel does. -1 and
 * EINVAL: not a live context. */
int ibv_close_device(struct ibv_context *context)
{
	struct vb_context *ctx;
	NO_CANCEL;

	if (!vb_live_is(context, VB_KIND_CONTEXT)) {
		errno = EINVAL;
		return -1;
	}
	vb_context(context)->closing = true;
	vb_context_abandon(context);
	if (!vb_live_take(context, VB_KIND_CONTEXT)) {
		errno = EINVAL;
		return -1;
	}
	ctx = vb_context(context);
	vb_async_fini(ctx);
	vb_live_remove_all(context);
	/* An error means that the server exited, and its objects with it. */
	ctl_close(&ctx->ctl);
	close_import_fd(ctx);
	detach(ctx->dev);
	pthread_mutex_destroy(&context->mutex);
	free(ctx);
	return 0;
}
