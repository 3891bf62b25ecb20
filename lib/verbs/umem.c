// SPDX-License-Identifier: MIT
/* Umems and memory keys over them, for libmlx5 (mlx5_calls.h). A umem is memory of this process for
 * which all processes of the context may create keys. It and its keys end with the process. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/control/protocol.h"
#include "lib/inject/verb.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"
#include "lib/verbs/device_list.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mlx5_calls.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/pd.h"

#define PDN_MASK 0xffffffu
/* No memory key could be used for them. */
#define REFUSED_ACCESS                                                                             \
	(IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

static bool is_mlx5(const struct ibv_device *device)
{
	const struct vb_device *dev = vb_device_of(device);

	return dev && dev->info.mlx5;
}

/* Calls that are device commands elsewhere. 0 or an errno. */
static int admit(struct ibv_context *context)
{
	if (vb_refuses_context(context))
		return refusal_noted();
	if (!is_mlx5(context->device))
		return refuse(WHY_NOT_MLX5);
	return vb_gate_dead(context, INJECT_VERB_COMMAND);
}

static int pd_number(const struct ibv_pd *pd, uint32_t *ret_pdn)
{
	if (vb_refuses_pd(pd))
		return refusal_noted();
	if (!is_mlx5(pd->context->device))
		return refuse(WHY_NOT_MLX5);
	*ret_pdn = pd->handle & PDN_MASK;
	return 0;
}

/* The live object whose handle has these low bits, or 0. The server checks that it is a domain. */
static uint32_t handle_of(const struct vb_device *dev, uint32_t pdn)
{
	const struct ctl_shared *shared = dev->attachment.shared;
	uint32_t handle = atomic_load(&shared->live[pdn & (CTL_MAX_OBJECTS - 1)]);

	return (handle & PDN_MASK) == pdn ? handle : 0;
}

/* Finds the umem's memory: the program's own, or a mapping of its descriptor. 0 or an errno. */
static int find_bytes(const struct vb_umem_want *want, struct vb_umem *umem, uint8_t **ret_first)
{
	bool write = want->access & IBV_ACCESS_LOCAL_WRITE;
	int err;

	if (want->fd >= 0)
		return vb_map_fd(want->fd, (uintptr_t)want->addr, want->size, write, &umem->map,
				 &umem->map_len, ret_first);
	if ((uintptr_t)want->addr > UINTPTR_MAX - want->size)
		return refuse(WHY_WRAPS_FAULT, want->addr, want->size);
	err = vb_memory_admit(want->addr, want->size, write);
	if (!err)
		*ret_first = want->addr;
	return err;
}

static int umem_reg(struct ibv_context *context, const struct vb_umem_want *want,
		    struct vb_umem **ret)
{
	struct ctl_reg_mr reg = { .len = want->size, .rights = want->access };
	struct vb_umem *umem;
	uint8_t *first = NULL;
	int err = admit(context);

	if (!err)
		err = want->access & REFUSED_ACCESS
			      ? refuse(WHY_ACCESS_REFUSED, want->access & REFUSED_ACCESS)
			      : vb_access_check(want->access);
	if (!err && want->size == 0)
		err = refuse(WHY_BELOW_ONE, "size", INT64_C(0));
	if (err)
		return err;
	umem = vb_object_new(context, VB_KIND_UMEM, sizeof(*umem));
	if (!umem)
		return errno;
	err = find_bytes(want, umem, &first);
	if (!err) {
		reg.addr = (uintptr_t)first;
		err = vb_server_result(
			ctl_reg_umem(&vb_context(context)->ctl, &reg, &umem->umem_id),
			VB_KIND_UMEM);
	}
	if (err) {
		if (umem->map)
			munmap(umem->map, umem->map_len);
		vb_object_undo(umem, err);
		return err;
	}
	vb_object_set_handle(umem, umem->umem_id);
	*ret = umem;
	return 0;
}

static int umem_import(struct ibv_context *context, uint32_t umem_id, struct vb_umem **ret)
{
	struct ctl_object found;
	struct vb_umem *umem;
	int err = admit(context);

	if (!err)
		err = vb_query_result(
			ctl_query(&vb_context(context)->ctl, CTL_KIND_UMEM, umem_id, &found),
			VB_KIND_UMEM, umem_id);
	if (err)
		return err;
	umem = vb_object_new(context, VB_KIND_UMEM, sizeof(*umem));
	if (!umem)
		return errno;
	umem->umem_id = umem_id;
	vb_object_set_handle(umem, umem_id);
	*ret = umem;
	return 0;
}

static bool umem_check(const struct vb_umem *umem)
{
	return vb_object_is_live(umem, VB_KIND_UMEM) && vb_is_context(umem->context);
}

static int umem_dereg(struct vb_umem *umem)
{
	int err = vb_object_end_unnamed(umem, VB_KIND_UMEM);

	if (err)
		return err;
	progress_quiesce(&vb_device(umem->context)->progress);
	if (umem->map)
		munmap(umem->map, umem->map_len);
	free(umem);
	return 0;
}

/* A mapping stays: the server still has the umem, and keys may be in use. */
static int umem_forget(struct vb_umem *umem)
{
	if (!vb_object_take(umem, VB_KIND_UMEM))
		return vb_refuses(umem, VB_KIND_UMEM) ? refusal_noted()
						      : refuse(WHY_NOT_LIVE, (void *)umem, "umem");
	free(umem);
	return 0;
}

/* A key that permits writes requires a umem that is writable. */
static int check_rights(const struct vb_context *ctx, const struct vb_mkey_want *want)
{
	const uint32_t writing =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	struct ctl_object object;
	const int rc = ctl_query(&ctx->ctl, CTL_KIND_UMEM, want->umem_id, &object);

	if (rc == -ENOENT)
		return refuse(WHY_NO_UMEM, want->umem_id);
	if (rc)
		return vb_server_result(rc, VB_KIND_UMEM);
	return (want->rights & writing) && !(object.rights & IBV_ACCESS_LOCAL_WRITE)
		       ? refuse(WHY_UMEM_READ_ONLY)
		       : 0;
}

static int mkey_create(struct ibv_context *context, const struct vb_mkey_want *want,
		       struct vb_mkey **ret)
{
	struct vb_context *ctx = vb_context(context);
	struct vb_mkey *mkey;
	struct ctl_reg_mr reg;
	int err = admit(context);

	if (!err)
		err = check_rights(ctx, want);
	if (err)
		return err;
	mkey = vb_object_new(context, VB_KIND_MKEY, sizeof(*mkey));
	if (!mkey)
		return errno;
	reg = (struct ctl_reg_mr){
		.pd = handle_of(ctx->dev, want->pdn),
		.kind = RXE_MR_PLAIN,
		.addr = want->offset,
		.len = want->len,
		.iova = want->iova,
		.rights = want->rights,
		.umem = want->umem_id,
		.low = CTL_KEY_LOW | want->low,
	};
	err = vb_server_result(ctl_reg_mr(&ctx->ctl, &reg, &mkey->handle, &mkey->key),
			       VB_KIND_MKEY);
	if (err) {
		vb_object_undo(mkey, err);
		return err;
	}
	vb_object_set_handle(mkey, mkey->handle);
	*ret = mkey;
	return 0;
}

static int mkey_destroy(struct vb_mkey *mkey)
{
	int err = vb_object_end_unnamed(mkey, VB_KIND_MKEY);

	if (err)
		return err;
	progress_quiesce(&vb_device(mkey->context)->progress);
	free(mkey);
	return 0;
}

const struct vb_mlx5_calls *rxe_dm_mlx5_calls(void)
{
	static const struct vb_mlx5_calls calls = {
		.is_mlx5 = is_mlx5,
		.pd_number = pd_number,
		.umem_reg = umem_reg,
		.umem_import = umem_import,
		.umem_check = umem_check,
		.umem_dereg = umem_dereg,
		.umem_forget = umem_forget,
		.mkey_create = mkey_create,
		.mkey_destroy = mkey_destroy,
	};

	return &calls;
}
