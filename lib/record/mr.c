// SPDX-License-Identifier: MIT
/* Memory regions. */
#include "lib/record/below.h"
#include "lib/record/ring.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
BELOW(ibv_reg_mr);
BELOW(ibv_reg_mr_iova);
BELOW(ibv_reg_mr_iova2);
BELOW(ibv_reg_dmabuf_mr);
BELOW(ibv_rereg_mr);
BELOW(ibv_dereg_mr);

static uint64_t handle_of(const struct ibv_pd *pd)
{
	return pd ? pd->handle : 0;
}

static uint64_t lkey_of(const struct ibv_mr *mr)
{
	return mr ? mr->lkey : 0;
}

static uint64_t rkey_of(const struct ibv_mr *mr)
{
	return mr ? mr->rkey : 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const uint64_t began = record_now();
	struct ibv_mr *mr = below_ibv_reg_mr(pd, addr, length, access);

	RECORD(RECORD_REG_MR, began, record_null(mr), handle_of(pd), RECORD_ADDRESS(addr), length,
	       (uint64_t)access, lkey_of(mr), rkey_of(mr));
	return mr;
}

static struct ibv_mr *made_at(struct ibv_mr *mr, uint64_t began, const struct ibv_pd *pd,
			      const void *addr, size_t length, uint64_t access, uint64_t iova)
{
	RECORD(RECORD_REG_MR_IOVA, began, record_null(mr), handle_of(pd), RECORD_ADDRESS(addr),
	       length, access, lkey_of(mr), rkey_of(mr), iova);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	const uint64_t began = record_now();

	return made_at(below_ibv_reg_mr_iova(pd, addr, length, iova, access), began, pd, addr,
		       length, (uint64_t)access, iova);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	const uint64_t began = record_now();

	return made_at(below_ibv_reg_mr_iova2(pd, addr, length, iova, access), began, pd, addr,
		       length, access, iova);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	const uint64_t began = record_now();
	struct ibv_mr *mr = below_ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);

	RECORD(RECORD_REG_DMABUF_MR, began, record_null(mr), handle_of(pd), offset, length,
	       (uint64_t)access, lkey_of(mr), rkey_of(mr), iova, (uint64_t)fd);
	return mr;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_rereg_mr(mr, flags, pd, addr, length, access);

	RECORD(RECORD_REREG_MR, began, record_error(rc), lkey_of(mr), (uint64_t)flags,
	       flags & IBV_REREG_MR_CHANGE_PD ? handle_of(pd) : 0, RECORD_ADDRESS(addr), length,
	       (uint64_t)access);
	return rc;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	const uint64_t began = record_now(), lkey = lkey_of(mr);
	const int rc = below_ibv_dereg_mr(mr);

	RECORD(RECORD_DEREG_MR, began, record_error(rc), lkey);
	return rc;
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				size_t length, unsigned int access)
{
	const uint64_t began = record_now();
	struct ibv_mr *mr = record_below.base.reg_dm_mr(pd, dm, offset, length, access);

	RECORD(RECORD_REG_DM_MR, began, record_null(mr), handle_of(pd), offset, length, access,
	       lkey_of(mr), rkey_of(mr), dm ? ((struct ibv_dm_65 *)(void *)dm)->handle : 0);
	return mr;
}

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	const uint64_t began = record_now();
	struct ibv_mr *mr = record_below.base.alloc_null_mr(pd);

	RECORD(RECORD_ALLOC_NULL_MR, began, record_null(mr), handle_of(pd), lkey_of(mr));
	return mr;
}

void record_mr_ops(struct verbs_context_65 *verbs)
{
	verbs->base.reg_dm_mr = reg_dm_mr;
	verbs->base.alloc_null_mr = alloc_null_mr;
}
