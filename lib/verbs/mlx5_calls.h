/* SPDX-License-Identifier: MIT */
/* What libmlx5.so.1 asks of the libibverbs.so.1 that lives in the same directory: one private symbol, a table of calls.
 *
 * Umems and memory keys are objects of this library like all others; libmlx5 translates mlx5's own names and command
 * formats into these calls and has no state. Errors are errnos. */
#ifndef RXE_VERBS_MLX5_CALLS_H
#define RXE_VERBS_MLX5_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct ibv_device;
struct ibv_pd;

/* Programs see it from umem_id on: struct mlx5dv_devx_umem. */
struct vb_umem {
	struct ibv_context *context;
	uint32_t umem_id; /* the server's handle */
	void *map;	  /* of a descriptor's memory, else NULL */
	size_t map_len;
};

struct vb_umem_want {
	void *addr; /* by descriptor: the offset in it */
	size_t size;
	uint32_t access; /* enum ibv_access_flags */
	int fd;		 /* else -1 */
};

struct vb_mkey {
	struct ibv_context *context;
	uint32_t handle, key;
};

struct vb_mkey_want {
	uint32_t pdn, umem_id;
	uint64_t offset; /* in the umem */
	uint64_t iova, len;
	uint32_t rights; /* enum ibv_access_flags */
	uint8_t low;	 /* the key's lowest byte is the program's choice */
};

struct vb_mlx5_calls {
	/* Was the instance started to be taken for mlx5? */
	bool (*is_mlx5)(const struct ibv_device *device);
	/* The number by which commands name a domain: 24 bits of its handle, which the context's table completes. */
	int (*pd_number)(const struct ibv_pd *pd, uint32_t *ret_pdn);
	int (*umem_reg)(struct ibv_context *context, const struct vb_umem_want *want,
			struct vb_umem **ret);
	/* One that another process registered in this context. */
	int (*umem_import)(struct ibv_context *context, uint32_t umem_id, struct vb_umem **ret);
	/* Is it a live umem of ours? Asked of whatever a program passes. */
	bool (*umem_check)(const struct vb_umem *umem);
	int (*umem_dereg)(struct vb_umem *umem);
	/* Only what this process has of it. */
	int (*umem_forget)(struct vb_umem *umem);
	int (*mkey_create)(struct ibv_context *context, const struct vb_mkey_want *want,
			   struct vb_mkey **ret);
	int (*mkey_destroy)(struct vb_mkey *mkey);
};

#pragma GCC visibility push(default)
/* Under version node RXE_DM_PRIVATE_1: another table, another node. */
const struct vb_mlx5_calls *rxe_dm_mlx5_calls(void);
#pragma GCC visibility pop

#endif
