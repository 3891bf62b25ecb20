// SPDX-License-Identifier: MIT
/* Device memory (ibv_alloc_dm(3)): ranges of the device's arena, which every attached process maps.
 * The server grants a range. Programs reach it by copies, and by the keys of regions over it
 * (mr.c). */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/progress/memory.h"
#include "lib/progress/unkind.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

struct vb_dm {
	union {
		struct ibv_dm base;
		struct ibv_dm_65 newer;
	};
	uint64_t offset; /* in the arena, in bytes */
	uint64_t len;	 /* in bytes */
};

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length);
static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length);

static struct vb_dm *vb_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct vb_dm, base);
}

/* Begins the object of a range that the server has granted, or is about to. */
static struct vb_dm *new_dm(struct ibv_context *context)
{
	struct vb_dm *dm = vb_object_new(context, VB_KIND_DM, sizeof(*dm));

	if (!dm)
		return NULL;
	memory_guard();
	dm->base.memcpy_to_dm = memcpy_to_dm;
	dm->base.memcpy_from_dm = memcpy_from_dm;
	dm->base.comp_mask = IBV_DM_MASK_HANDLE;
	return dm;
}

/* ibv_alloc_dm(3). EINVAL: no live context, or a bad length or alignment. ENOMEM: the arena has no
 * such range. */
static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	uint64_t arena_bytes;
	struct vb_dm *dm;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask) ||
	    refuse_if(attr->length == 0, WHY_BELOW_ONE, "length", INT64_C(0)))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(context, alloc_dm))
		return vb_fail(errno);
	arena_bytes = vb_device(context)->info.arena_bytes;
	if (refuse_if(attr->length > arena_bytes, WHY_DM_LENGTH, (uint64_t)attr->length,
		      arena_bytes) ||
	    refuse_if(attr->log_align_req > 63, WHY_DM_ALIGN, attr->log_align_req))
		return vb_fail(refusal_noted());

	dm = new_dm(context);
	if (!dm)
		return vb_fail(errno);
	err = ctl_alloc_dm(&vb_context(context)->ctl, attr->length, attr->log_align_req,
			   &dm->newer.handle, &dm->offset);
	err = err == -ENOMEM ? refuse(WHY_DM_FULL, (uint64_t)attr->length)
			     : vb_server_result(err, VB_KIND_DM);
	if (err)
		return vb_fail(vb_object_undo(dm, err));
	dm->len = attr->length;
	vb_object_set_handle(dm, dm->newer.handle);
	progress_unkind_fill_dm(vb_device(context)->progress.link.unkind,
				vb_device(context)->attachment.arena + dm->offset, dm->len);
	return &dm->base;
}

/* ibv_import_dm(3): another process allocated it in a context that both share. ENOENT: the context
 * has no device memory of this handle. */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct ctl_object found;
	struct vb_dm *dm;
	int err;

	if (vb_refuses_context(context))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(context, import_dm))
		return vb_fail(errno);

	dm = new_dm(context);
	if (!dm)
		return vb_fail(errno);
	err = vb_query_result(ctl_query(&vb_context(context)->ctl, CTL_KIND_DM, handle, &found),
			      VB_KIND_DM, handle);
	if (err)
		return vb_fail(vb_object_undo(dm, err));
	dm->newer.handle = handle;
	dm->offset = found.addr;
	dm->len = found.len;
	vb_object_set_handle(dm, handle);
	return &dm->base;
}

/* Subtracts, never adds: offset + length may wrap. */
static bool is_within(const struct vb_dm *dm, uint64_t offset, uint64_t length)
{
	return offset <= dm->len && length <= dm->len - offset;
}

/* A copy starts at a word of 4 bytes, and ends at a word or at the end of the device memory. From
 * offset 0 it may have any length, for programs that use device memory as one buffer; rdma-core's
 * tests require that all others fail. */
static bool is_whole_words(const struct vb_dm *dm, uint64_t offset, uint64_t length)
{
	return offset % 4 == 0 && (length % 4 == 0 || offset == 0 || length == dm->len - offset);
}

/* Copies into device memory if to is NULL, else out of it. The gauge of the slot is raised
 * meanwhile: the server grants none of these bytes again. EINVAL: another process has freed the
 * device memory. EFAULT: the program's side is not mapped. */
static int copy_bytes(struct vb_dm *dm, uint64_t offset, void *to, const void *from, size_t length)
{
	struct vb_device *dev = vb_device(dm->base.context);
	struct ctl_attachment *at = &dev->attachment;
	_Atomic uint32_t *inside = &vb_slot(dev)->inside;
	uint8_t *bytes = at->arena + dm->offset + offset;
	bool is_live, ok = false;

	atomic_fetch_add(inside, 1);
	is_live = ctl_handle_live(at->shared, dm->newer.handle);
	if (is_live) {
		ok = to ? memory_copy(to, bytes, length)
			: memory_copy_in_order(bytes, from, length);
		memory_turn_ends();
	}
	atomic_fetch_sub(inside, 1);
	if (!is_live)
		return refuse(WHY_DM_FREED, dm->newer.handle);
	return ok ? 0 : refuse(WHY_DM_FAULT, length, to ? to : from);
}

static int copy(struct ibv_dm *base, uint64_t offset, void *to, const void *from, size_t length,
		enum inject_verb verb)
{
	const char *call = inject_verb_str(verb);
	struct vb_dm *dm = vb_dm(base);

	if (vb_refuses(dm, VB_KIND_DM) || vb_refuses_context(base->context) ||
	    refuse_if(!is_within(dm, offset, length), WHY_DM_RANGE, offset, (uint64_t)length,
		      dm->len) ||
	    refuse_if(!is_whole_words(dm, offset, length), WHY_DM_WORDS, offset, (uint64_t)length))
		return vb_result_as(call, refusal_noted());
	if (vb_gate_fails(base->context, verb))
		return vb_result_as(call, errno);
	if (length == 0)
		return 0;
	return vb_result_as(call, to || from ? copy_bytes(dm, offset, to, from, length)
					     : refuse(WHY_NULL, "host_addr"));
}

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	return copy(dm, offset, NULL, from, length, INJECT_VERB_memcpy_to_dm);
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	return copy(dm, offset, to, NULL, length, INJECT_VERB_memcpy_from_dm);
}

#define ACCESS_RIGHTS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND |                   \
	 IBV_ACCESS_FLUSH_GLOBAL)
#define ACCESS_KNOWN (ACCESS_RIGHTS | IBV_ACCESS_OPTIONAL_RANGE)

/* ibv_reg_dm_mr(3). The region's addresses begin at 0, so IBV_ACCESS_ZERO_BASED is required. */
static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
				size_t length, unsigned int access)
{
	struct vb_dm *dm = vb_dm(base);
	const struct vb_mr like = { .dm = dm, .access = access, .base.length = length };
	struct ctl_reg_mr reg = { .kind = RXE_MR_ARENA, .addr = offset, .len = length };

	if (vb_refuses_pd(pd) || vb_refuses(dm, VB_KIND_DM) ||
	    refuse_if(pd->context != base->context, WHY_OTHER_CONTEXT, "the device memory"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(pd->context, reg_dm_mr))
		return vb_fail(errno);
	if (refuse_if(!(access & IBV_ACCESS_ZERO_BASED), WHY_DM_ZERO_BASED) ||
	    refuse_if(access & ~(unsigned int)ACCESS_KNOWN, WHY_ACCESS_UNKNOWN,
		      access & ~(unsigned int)ACCESS_KNOWN) ||
	    vb_access_check(access) ||
	    refuse_if(!is_within(dm, offset, length), WHY_DM_RANGE, offset, (uint64_t)length,
		      dm->len))
		return vb_fail(refusal_noted());

	reg.pd = pd->handle;
	reg.dm = dm->newer.handle;
	reg.rights = access & (unsigned int)ACCESS_RIGHTS;
	return vb_made(vb_mr_make(pd, &like, &reg));
}

/* Returns a descriptor, or -1 and errno. The kernel makes the dmabuf if it has udmabuf and the
 * server may open it (docs/DEVIATIONS.md). */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	int err, fd;

	if (vb_refuses(dm, VB_KIND_DM) || vb_refuses_context(dm->context))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(dm->context, dm_export_dmabuf_fd))
		return vb_minus_one(errno);
	err = vb_server_result(
		ctl_export_dm(&vb_context(dm->context)->ctl, vb_dm(dm)->newer.handle, &fd),
		VB_KIND_DM);
	return err ? vb_minus_one(err) : fd;
}

/* ibv_alloc_dm(3). EBUSY: a region of any process is over the device memory. */
static int free_dm(struct ibv_dm *dm)
{
	int err = vb_object_end(dm, VB_KIND_DM, INJECT_VERB_free_dm);

	if (!err)
		free(dm);
	return vb_result(err);
}

/* Frees the object of this process. The server keeps the device memory. */
void ibv_unimport_dm(struct ibv_dm *dm)
{
	if (vb_object_take(dm, VB_KIND_DM))
		free(dm);
}

void vb_dm_ops(struct verbs_context_65 *verbs)
{
	verbs->base.alloc_dm = alloc_dm;
	verbs->base.free_dm = free_dm;
	verbs->base.reg_dm_mr = reg_dm_mr;
	VB_EXPORT_OPS(verbs)->dm_export_dmabuf_fd = ibv_dm_export_dmabuf_fd;
}
