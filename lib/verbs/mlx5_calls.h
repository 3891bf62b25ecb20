/* SPDX-License-Identifier: MIT */
/* Calls of libmlx5.so.1 into the libibverbs.so.1 beside it: one private symbol, a function table.
 *
 * Umems and memory keys are objects of libibverbs. libmlx5 translates mlx5's names and command
 * formats into these calls, and has no state. int: 0 or a positive errno. */
#ifndef RXE_VERBS_MLX5_CALLS_H
#define RXE_VERBS_MLX5_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct ibv_device;
struct ibv_pd;

/* Programs hold a pointer to umem_id: struct mlx5dv_devx_umem. */
struct vb_umem {
	struct ibv_context *context;
	uint32_t umem_id; /* the server's handle */
	void *map;	  /* mapping of a descriptor's memory, or NULL */
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
	uint8_t low;	 /* lowest byte of the key, which the program chooses */
};

struct vb_mlx5_calls {
	/* Was the instance started with '--mlx5 on'? */
	bool (*is_mlx5)(const struct ibv_device *device);
	/* The number by which commands name a domain: the low 24 bits of its handle. */
	int (*pd_number)(const struct ibv_pd *pd, uint32_t *ret_pdn);
	int (*umem_reg)(struct ibv_context *context, const struct vb_umem_want *want,
			struct vb_umem **ret);
	/* Imports a umem that another process registered in this context. */
	int (*umem_import)(struct ibv_context *context, uint32_t umem_id, struct vb_umem **ret);
	/* Is it a live umem? Accepts any pointer. */
	bool (*umem_check)(const struct vb_umem *umem);
	int (*umem_dereg)(struct vb_umem *umem);
	/* Frees the object of this process; the server keeps the umem. */
	int (*umem_forget)(struct vb_umem *umem);
	int (*mkey_create)(struct ibv_context *context, const struct vb_mkey_want *want,
			   struct vb_mkey **ret);
	int (*mkey_destroy)(struct vb_mkey *mkey);
};

#pragma GCC visibility push(default)
/* In version node RXE_DM_PRIVATE_1: a change of the table needs a new node. */
const struct vb_mlx5_calls *rxe_dm_mlx5_calls(void);
#pragma GCC visibility pop

#endif
