// SPDX-License-Identifier: MIT
/* Device memory (ibv_alloc_dm(3)): allocation, copies, registration, export. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/inject/verb.h"
#include "lib/progress/memory.h"
#include "lib/verbs/context.h"
#include "lib/verbs/destroy.h"
#include "lib/verbs/error.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

struct vb_dm {
	union {
		struct ibv_dm base;
		struct ibv_dm_65 newer;
	};
	uint64_t offset; /* in the arena */
	uint64_t len;
};

static inline struct vb_dm *vb_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct vb_dm, base);
}

#define VB_ACCESS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND |                   \
	 IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_OPTIONAL_RANGE)
#define VB_RIGHTS (VB_ACCESS & ~IBV_ACCESS_OPTIONAL_RANGE)

/* A DM consists of words of 4 bytes: a copy starts at a word, and ends at a word or at the end. A
 * copy from offset 0 may have any length, for programs that use a DM as one buffer; rdma-core's
 * tests require that all others fail. Subtract, never add: offset + length may wrap. */
static int bounds_check(const struct vb_dm *dm, uint64_t offset, uint64_t length)
{
	if (offset > dm->len || length > dm->len - offset)
		return EINVAL;
	if (offset & 3)
		return EINVAL;
	if ((length & 3) && offset && length != dm->len - offset)
		return EINVAL;
	return 0;
}

/* Raises the gauge of the slot: meanwhile the server grants none of these bytes again. */
static int copy(struct vb_dm *dm, uint64_t offset, void *to, const void *from, size_t length)
{
	struct ctl_attachment *at = &vb_device(dm->base.context)->attachment;
	_Atomic uint32_t *inside = &at->shared->slot[at->slot].inside;
	int err = EINVAL;

	atomic_fetch_add(inside, 1);
	if (ctl_handle_live(at->shared, dm->newer.handle)) {
		uint8_t *p = at->arena + dm->offset + offset;
		bool ok = from ? memory_copy_in_order(p, from, length) : memory_copy(to, p, length);

		memory_turn_ends();
		err = ok ? 0 : EFAULT;
	}
	atomic_fetch_sub(inside, 1);
	return err;
}

static int memcpy_to_dm(struct ibv_dm *base, uint64_t offset, const void *src, size_t length)
{
	struct vb_dm *dm = vb_dm(base);

	if (!vb_live_is(dm, VB_KIND_DM) || !vb_is_context(base->context) ||
	    bounds_check(dm, offset, length))
		return vb_result(EINVAL);
	if (vb_verb_fails(base->context, memcpy_to_dm))
		return errno;
	if (length == 0)
		return 0;
	return vb_result(src ? copy(dm, offset, NULL, src, length) : EINVAL);
}

static int memcpy_from_dm(void *dst, struct ibv_dm *base, uint64_t offset, size_t length)
{
	struct vb_dm *dm = vb_dm(base);

	if (!vb_live_is(dm, VB_KIND_DM) || !vb_is_context(base->context) ||
	    bounds_check(dm, offset, length))
		return vb_result(EINVAL);
	if (vb_verb_fails(base->context, memcpy_from_dm))
		return errno;
	if (length == 0)
		return 0;
	return vb_result(dst ? copy(dm, offset, dst, NULL, length) : EINVAL);
}

static struct ibv_dm *dm_wrap(struct ibv_context *context, uint32_t handle, uint64_t offset,
			      uint64_t len)
{
	struct vb_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->base.context = context;
	dm->base.memcpy_to_dm = memcpy_to_dm;
	dm->base.memcpy_from_dm = memcpy_from_dm;
	dm->base.comp_mask = IBV_DM_MASK_HANDLE;
	dm->newer.handle = handle;
	dm->offset = offset;
	dm->len = len;
	memory_guard();
	if (!vb_live_add(dm, VB_KIND_DM)) {
		free(dm);
		return NULL;
	}
	return &dm->base;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_context *ctx;
	struct ibv_dm *dm;
	uint32_t handle;
	uint64_t offset;
	int err;

	if (!vb_is_context(context) || !attr || attr->comp_mask || attr->length == 0)
		return vb_fail(EINVAL);
	if (vb_verb_fails(context, alloc_dm))
		return NULL;
	ctx = vb_context(context);
	if (attr->length > ctx->dev->info.arena_bytes || attr->log_align_req > 63)
		return vb_fail(EINVAL);
	err = -ctl_alloc_dm(&ctx->ctl, attr->length, attr->log_align_req, &handle, &offset);
	if (err)
		return vb_fail(err);
	dm = dm_wrap(context, handle, offset, attr->length);
	if (!dm) {
		ctl_free(&ctx->ctl, CTL_KIND_DM, handle);
		return vb_fail(ENOMEM);
	}
	return dm;
}

static int free_dm(struct ibv_dm *base)
{
	int err = vb_destroy_check(base, VB_KIND_DM, INJECT_VERB_free_dm);

	if (!err)
		err = vb_destroy_take(base, VB_KIND_DM, CTL_KIND_DM, vb_dm(base)->newer.handle);
	if (!err)
		free(base);
	return vb_result(err);
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
	err = -ctl_query(&vb_context(context)->ctl, CTL_KIND_DM, handle, &object);
	if (err)
		return vb_fail(err);
	dm = dm_wrap(context, handle, object.addr, object.len);
	return dm ? dm : vb_fail(ENOMEM);
}

void ibv_unimport_dm(struct ibv_dm *base)
{
	struct vb_dm *dm = vb_dm(base);

	if (vb_live_take(dm, VB_KIND_DM))
		free(dm);
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
				size_t length, unsigned int access)
{
	struct vb_dm *dm = vb_dm(base);
	struct vb_mr like = { .of_dm = true, .access = access };
	struct ctl_reg_mr reg;
	int err;

	if (!vb_is_pd(pd) || !vb_live_is(dm, VB_KIND_DM) || pd->context != base->context)
		return vb_fail(EINVAL);
	if (vb_verb_fails(pd->context, reg_dm_mr))
		return NULL;
	if (!(access & IBV_ACCESS_ZERO_BASED) || (access & ~(unsigned int)VB_ACCESS))
		return vb_fail(EINVAL);
	err = vb_access_check(access);
	if (!err && (offset > dm->len || length > dm->len - offset))
		err = EINVAL;
	if (err)
		return vb_fail(err);

	like.base.length = length;
	reg = (struct ctl_reg_mr){
		.pd = pd->handle,
		.kind = RXE_MR_ARENA,
		.addr = offset,
		.len = length,
		.rights = access & (unsigned int)VB_RIGHTS,
		.dm = vb_dm(base)->newer.handle,
	};
	return vb_mr_make(pd, &like, &reg);
}

/* The kernel makes the dmabuf if it has udmabuf and the server may open it (docs/DEVIATIONS.md). */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	struct vb_context *ctx;
	int err = -EINVAL, fd = -1;

	if (vb_live_is(dm, VB_KIND_DM) && vb_is_context(dm->context)) {
		if (vb_verb_fails(dm->context, dm_export_dmabuf_fd))
			return -1;
		ctx = vb_context(dm->context);
		err = ctl_export_dm(&ctx->ctl, vb_dm(dm)->newer.handle, &fd);
	}
	if (err) {
		errno = -err;
		return -1;
	}
	return fd;
}

void vb_dm_ops(struct verbs_context_65 *verbs)
{
	verbs->base.alloc_dm = alloc_dm;
	verbs->base.free_dm = free_dm;
	verbs->base.reg_dm_mr = reg_dm_mr;
	VB_EXPORT_OPS(verbs)->dm_export_dmabuf_fd = ibv_dm_export_dmabuf_fd;
}
