/* SPDX-License-Identifier: MIT */
/* Sharing of umems, as rdma-core 65's mlx5dv.h declares it. Part of <rxe_dm/newer.h>. */
#ifndef RXE_DM_MLX5DV_NEWER_H
#define RXE_DM_MLX5DV_NEWER_H

#pragma GCC visibility push(default)

#include <infiniband/mlx5dv.h>

#include "mlx5dv_newer_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RXE_DM_HAVE_MLX5_UMEM_IN
struct mlx5dv_devx_umem_in {
	void *addr;
	size_t size;
	uint32_t access;
	uint64_t pgsz_bitmap;
	uint64_t comp_mask; /* MLX5DV_UMEM_MASK_DMABUF */
	int dmabuf_fd;
};

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
						 struct mlx5dv_devx_umem_in *in);
#endif

#ifndef RXE_DM_HAVE_MLX5_UMEM_DMABUF
#define MLX5DV_UMEM_MASK_DMABUF (1 << 0)
#endif

/* The members that newer versions added, at their offsets. */
struct mlx5dv_devx_umem_in_65 {
	__extension__ union {
		struct mlx5dv_devx_umem_in base;
		__extension__ struct {
			uint8_t before_[40];
			int dmabuf_fd;
		};
	};
};

#ifndef RXE_DM_HAVE_MLX5_EXPORT
struct mlx5dv_export_sizes {
	uint32_t var_attrs_size;
	uint32_t devx_umem_attrs_size;
	uint32_t devx_obj_attrs_size;
};

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len);

static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)
{
	_mlx5dv_get_export_sizes(sizes, sizeof(*sizes));
}

int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data);
void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem);
#endif

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
