// SPDX-License-Identifier: MIT
/* libmlx5.so.1: direct access to ConnectX adapters. A device is reported as mlx5 only if the
 * instance was started with '--mlx5 on', for programs that need umems: mlx5dv_devx_umem_reg(3),
 * mlx5dv_devx_umem_export(3), and memory keys over them, mlx5dv_devx_obj_create(3). The objects
 * belong to libibverbs (mlx5_calls.h). An export names a umem within its context. All other
 * functions are generated refusals (symbols.tsv). */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "lib/mlx5/newer.h"
#include "lib/mlx5/prm.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/mlx5_calls.h"

#define EXPORT_MAGIC 0x6d656d755f657872ull /* "rxe_umem" */

/* The data of mlx5dv_devx_umem_export(). */
struct exported {
	uint64_t magic;
	uint32_t umem_id;
	uint32_t reserved;
};

/* A call that fails leaves errno set, as libibverbs' do, and reports why. */
#define fail(err)   fail_as(__func__, err)
#define result(err) result_as(__func__, err)

static void *fail_as(const char *call, int err)
{
	rxe_dm_report_refusal(call, err);
	return NULL;
}

static int result_as(const char *call, int err)
{
	if (err)
		rxe_dm_report_refusal(call, err);
	return err;
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return rxe_dm_mlx5_calls()->is_mlx5(device);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	if (!attr)
		return fail(refuse(WHY_NULL, "attr"));
	if (attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX)
		return fail(refuse(WHY_UNKNOWN_BITS, "flags", (uint64_t)attr->flags));
	if (attr->comp_mask)
		return fail(refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)attr->comp_mask));
	if (!mlx5dv_is_supported(device))
		return fail(refuse(WHY_NOT_MLX5));
	return ibv_open_device(device);
}

static int init_pd(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	struct mlx5dv_pd *pd;
	int err;

	if (!obj)
		return refuse(WHY_NULL, "obj");
	if (obj_type != MLX5DV_OBJ_PD)
		return refuse(WHY_BITS_REFUSED, "obj_type", obj_type);
	pd = obj->pd.out;
	if (!pd)
		return refuse(WHY_NULL, "obj->pd.out");
	err = rxe_dm_mlx5_calls()->pd_number(obj->pd.in, &pd->pdn);
	if (!err)
		pd->comp_mask = 0;
	return err;
}

/* Only a domain has a field to report: its number. EOPNOTSUPP for all other objects. */
int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	return result(init_pd(obj, obj_type));
}

static struct vb_umem *umem_of(struct mlx5dv_devx_umem *umem)
{
	return umem ? (struct vb_umem *)((uintptr_t)umem - offsetof(struct vb_umem, umem_id))
		    : NULL;
}

static struct mlx5dv_devx_umem *program_umem(struct vb_umem *umem)
{
	return (struct mlx5dv_devx_umem *)(void *)&umem->umem_id;
}

static struct mlx5dv_devx_umem *reg(const char *call, struct ibv_context *context,
				    const struct vb_umem_want *want)
{
	struct vb_umem *umem;
	int err = context ? rxe_dm_mlx5_calls()->umem_reg(context, want, &umem)
			  : refuse(WHY_NULL, "context");

	return err ? fail_as(call, err) : program_umem(umem);
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context, void *addr, size_t size,
					      uint32_t access)
{
	const struct vb_umem_want want = { addr, size, access, -1 };

	return reg(__func__, context, &want);
}

/* Memory is known to be contiguous within a page only: its size or a smaller one must do. */
static int check_pages(uint64_t bitmap)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return bitmap & (page | (page - 1)) ? 0 : refuse(WHY_UMEM_PAGES, bitmap, page);
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
						 struct mlx5dv_devx_umem_in *in)
{
	const struct mlx5dv_devx_umem_in_65 *newer = (const void *)in;
	struct vb_umem_want want;
	int err;

	if (!in)
		return fail(refuse(WHY_NULL, "umem_in"));
	if (in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF)
		return fail(refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)in->comp_mask));
	want = (struct vb_umem_want){ in->addr, in->size, in->access, -1 };
	if (in->comp_mask & MLX5DV_UMEM_MASK_DMABUF) {
		if (newer->dmabuf_fd < 0)
			return fail(refuse(WHY_BAD_FD, newer->dmabuf_fd));
		want.fd = newer->dmabuf_fd;
	}
	err = check_pages(in->pgsz_bitmap);
	return err ? fail(err) : reg(__func__, context, &want);
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	return result(rxe_dm_mlx5_calls()->umem_dereg(umem_of(umem)));
}

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len)
{
	/* Only umems can be exported. */
	const struct mlx5dv_export_sizes all = { .devx_umem_attrs_size = sizeof(struct exported) };

	if (!sizes)
		return;
	memset(sizes, 0, sizes_len);
	memcpy(sizes, &all, sizes_len < sizeof(all) ? sizes_len : sizeof(all));
}

int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data)
{
	struct exported exported = { .magic = EXPORT_MAGIC };

	if (!data)
		return result(refuse(WHY_NULL, "data"));
	if (!rxe_dm_mlx5_calls()->umem_check(umem_of(umem)))
		return result(refuse(WHY_NOT_LIVE, (void *)umem, "umem"));
	exported.umem_id = umem->umem_id;
	memcpy(data, &exported, sizeof(exported));
	return 0;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data)
{
	struct exported exported;
	struct vb_umem *umem;
	int err;

	if (!context || !data)
		return fail(refuse(WHY_NULL, context ? "data" : "context"));
	memcpy(&exported, data, sizeof(exported));
	if (exported.magic != EXPORT_MAGIC)
		return fail(refuse(WHY_UMEM_EXPORT));
	err = rxe_dm_mlx5_calls()->umem_import(context, exported.umem_id, &umem);
	return err ? fail(err) : program_umem(umem);
}

void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem)
{
	rxe_dm_mlx5_calls()->umem_forget(umem_of(umem));
}

static int create_mkey(struct ibv_context *context, const void *in, size_t inlen, void *out,
		       size_t outlen, struct vb_mkey **ret)
{
	struct vb_mkey_want want;
	int err = prm_parse_create_mkey(&want, in, inlen);

	if (err)
		return err;
	if (!out || outlen < PRM_CREATE_MKEY_OUT)
		return refuse(WHY_PRM_SHORT, "out", outlen);
	err = rxe_dm_mlx5_calls()->mkey_create(context, &want, ret);
	if (!err)
		prm_emit_create_mkey(out, outlen, (*ret)->key);
	return err;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen)
{
	struct vb_mkey *mkey;
	int err;

	if (!context || !in || inlen < PRM_OPCODE_BYTES)
		return fail(context && in ? refuse(WHY_PRM_SHORT, "in", inlen)
					  : refuse(WHY_NULL, context ? "in" : "context"));
	err = prm_opcode(in) == PRM_CREATE_MKEY
		      ? create_mkey(context, in, inlen, out, outlen, &mkey)
		      : refuse(WHY_PRM_OPCODE, prm_opcode(in));
	if (!err)
		return (struct mlx5dv_devx_obj *)(void *)mkey;
	prm_emit_status(out, outlen, PRM_STATUS_BAD_PARAM);
	return fail(err);
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	return result(rxe_dm_mlx5_calls()->mkey_destroy((struct vb_mkey *)(void *)obj));
}
