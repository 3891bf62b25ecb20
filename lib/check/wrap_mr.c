// SPDX-License-Identifier: MIT
/* Memory regions. */
#include "lib/check/inner.h"
#include "lib/check/listener.h"
#include "lib/check/mem_region.h"
#include "lib/check/mem_remote.h"
#include "lib/check/mem_stale.h"
#include "lib/check/region.h"
#include "lib/check/wrap.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
INNER(ibv_reg_mr);
INNER(ibv_reg_mr_iova);
INNER(ibv_reg_mr_iova2);
INNER(ibv_reg_dmabuf_mr);
INNER(ibv_rereg_mr);
INNER(ibv_dereg_mr);

static void describe(struct check_object *object, const struct ibv_mr *mr, void *addr, uint64_t len,
		     uint64_t iova, int access)
{
	object_label(object, "MR 0x%08x (%p, %llu bytes)", mr->lkey, mr->addr,
		     (unsigned long long)mr->length);
	if (object->part)
		mem_stale_forget(object->part);
	region_made(object, mr->lkey, addr, len, iova, access);
	listener_refresh();
}

/* addr NULL: memory that the process does not reach by an address. */
static struct ibv_mr *made(struct ibv_mr *mr, void *addr, uint64_t len, uint64_t iova, int access)
{
	struct check_object *object;

	if (!mr)
		return NULL;
	check_lock();
	object = object_made(mr, VB_KIND_MR, mr->context);
	if (object)
		describe(object, mr, addr, len, iova, access);
	check_unlock();
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const bool by_zero = access & IBV_ACCESS_ZERO_BASED;

	wrap_used(pd, VB_KIND_PD, "ibv_reg_mr");
	return made(inner_ibv_reg_mr(pd, addr, length, access), addr, length,
		    by_zero ? 0 : (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	wrap_used(pd, VB_KIND_PD, "ibv_reg_mr_iova");
	return made(inner_ibv_reg_mr_iova(pd, addr, length, iova, access), addr, length, iova,
		    access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	const bool by_zero = access & IBV_ACCESS_ZERO_BASED;

	wrap_used(pd, VB_KIND_PD, "ibv_reg_mr_iova2");
	return made(inner_ibv_reg_mr_iova2(pd, addr, length, iova, access), addr, length,
		    by_zero ? 0 : iova, (int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	wrap_used(pd, VB_KIND_PD, "ibv_reg_dmabuf_mr");
	return made(inner_ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access), NULL, length,
		    iova, access);
}

static int changed_access(const struct check_object *object, int flags, int access)
{
	const struct check_region *was = object->part;

	return (flags & IBV_REREG_MR_CHANGE_ACCESS) || !was ? access : was->access;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	const bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	struct check_object *object;
	int err;

	wrap_used(mr, VB_KIND_MR, "ibv_rereg_mr");
	err = inner_ibv_rereg_mr(mr, flags, pd, addr, length, access);
	check_lock();
	object = object_find(mr);
	if (!err && object && moves)
		describe(object, mr, addr, length, (uintptr_t)addr,
			 changed_access(object, flags, access));
	else if (!err && object && object->part) {
		const struct check_region was = *(struct check_region *)object->part;

		describe(object, mr, was.addr, was.len, was.iova,
			 changed_access(object, flags, access));
	}
	check_unlock();
	return err;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct check_object *object = wrap_ending(mr, VB_KIND_MR, "ibv_dereg_mr");
	int err;

	if (object) {
		check_lock();
		mem_region_ending(object);
		mem_remote_ending(object);
		check_unlock();
	}
	err = inner_ibv_dereg_mr(mr);
	if (!err && object) {
		check_lock();
		if (object->part)
			mem_stale_forget(object->part);
		region_ended(object);
		listener_refresh();
		check_unlock();
	}
	return wrap_ended(object, err);
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				size_t length, unsigned int access)
{
	struct ibv_mr *mr = made(check_inner.base.reg_dm_mr(pd, dm, offset, length, access), NULL,
				 length, 0, (int)access);
	struct check_object *object;

	if (!mr)
		return NULL;
	check_lock();
	object = object_find(mr);
	if (object && object->part)
		((struct check_region *)object->part)->dm = object_find(dm);
	check_unlock();
	return mr;
}

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	return made(check_inner.base.alloc_null_mr(pd), NULL, 0, 0, 0);
}

void wrap_mr_ops(struct verbs_context_65 *verbs)
{
	verbs->base.reg_dm_mr = reg_dm_mr;
	verbs->base.alloc_null_mr = alloc_null_mr;
}
