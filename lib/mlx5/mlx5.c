// SPDX-License-Identifier: MIT
/* libmlx5.so.1: direct access to ConnectX adapters. A device is reported as mlx5 only if the
 * instance was started with '--mlx5 on', for programs that need umems (devx.c). All other functions
 * are generated refusals (symbols.tsv). */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/mlx5/newer.h"
#include "lib/verbs/mlx5_calls.h"

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return rxe_dm_mlx5_calls()->is_mlx5(device);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	if (!attr || (attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX)) {
		errno = EINVAL;
		return NULL;
	}
	if (attr->comp_mask || !mlx5dv_is_supported(device)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return ibv_open_device(device);
}

static int init_pd(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	struct mlx5dv_pd *pd;
	int err;

	if (!obj)
		return EINVAL;
	if (obj_type != MLX5DV_OBJ_PD)
		return EOPNOTSUPP;
	pd = obj->pd.out;
	if (!pd)
		return EINVAL;
	err = rxe_dm_mlx5_calls()->pd_number(obj->pd.in, &pd->pdn);
	if (!err)
		pd->comp_mask = 0;
	return err;
}

/* Only a domain has a field to report: its number. EOPNOTSUPP for all other objects. */
int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	int err = init_pd(obj, obj_type);

	if (err)
		errno = err;
	return err;
}
