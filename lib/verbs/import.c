// SPDX-License-Identifier: MIT
/* Taking up objects of a shared context by their handles. The context itself is imported in context.c. */
#include "lib/verbs/driver.h"

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)handle;
	return dm_fail(dm_is_context(context) ? EOPNOTSUPP : EINVAL);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)handle;
	return dm_fail(dm_is_pd(pd) ? EOPNOTSUPP : EINVAL);
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)handle;
	return dm_fail(dm_is_context(context) ? EOPNOTSUPP : EINVAL);
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}
