// SPDX-License-Identifier: MIT
/* Changes a memory region (ibv_rereg_mr(3)), and makes pages of on-demand regions present before
 * they are accessed (ibv_advise_mr(3)). The engine has no page tables of its own, so pages that are
 * present for the CPU are also present for the device. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/mr.h"
#include "lib/control/client.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

/* Checks ibv_rereg_mr() and describes the region as it is to become. 0 or an errno. */
static int rereg_plan(const struct vb_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		      size_t length, int access, struct vb_mr *ret)
{
	int err;

	*ret = *mr;
	if (!flags)
		return refuse(WHY_REREG_FLAGS, 0u);
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		if (pd->context != mr->base.context)
			return refuse(WHY_OTHER_CONTEXT, "the PD");
		ret->base.pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		ret->access = (unsigned int)access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		ret->base.addr = addr;
		ret->base.length = length;
		ret->iova = (uintptr_t)addr;
	}
	if (ret->access & IBV_ACCESS_ZERO_BASED)
		ret->iova = 0;
	err = vb_access_check(ret->access);
	return err ? err
		   : vb_mr_memory_check(ret->base.addr, ret->base.length, ret->iova, ret->access);
}

static int rereg(struct vb_mr *mr, struct vb_mr *to)
{
	struct vb_context *ctx = vb_context(mr->base.context);
	struct ctl_reg_mr reg =
		vb_mr_plain(to->base.pd, to->base.addr, to->base.length, to->iova, to->access);
	int err = vb_pd_use(to->base.pd);
	bool locked;

	if (err)
		return err;
	/* The key stays and its meaning changes. The lock keeps this engine out of the region
	 * meanwhile; the server waits for the engines of other processes. */
	locked = progress_lock(&ctx->dev->progress);
	err = vb_server_result(ctl_rereg_mr(&ctx->ctl, mr->base.handle, &reg, &to->base.lkey),
			       VB_KIND_MR);
	if (locked)
		progress_unlock(&ctx->dev->progress);
	if (err) {
		vb_pd_unuse(to->base.pd);
		return err;
	}
	vb_pd_unuse(mr->base.pd);
	to->base.rkey = to->base.lkey;
	*mr = *to;
	return 0;
}

/* What rdma-core refuses before it asks the kernel, and objects that are not there. */
static bool rereg_input_is_good(struct ibv_mr *mr, int flags, const struct ibv_pd *pd,
				const void *addr, size_t length, int access)
{
	if (vb_refuses(mr, VB_KIND_MR) ||
	    refuse_if(flags & ~IBV_REREG_MR_FLAGS_SUPPORTED, WHY_REREG_FLAGS, (unsigned int)flags))
		return false;
	/* Regions of descriptors, and imported ones. */
	if (refuse_if(!vb_mr(mr)->by_addr && !vb_mr(mr)->dm, WHY_REREG_KIND))
		return false;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && vb_refuses_pd(pd))
		return false;
	/* Only the implicit on-demand region begins at NULL. */
	if (refuse_if((flags & IBV_REREG_MR_CHANGE_TRANSLATION) &&
			      (!length || (!addr && length != SIZE_MAX)),
		      WHY_REREG_LENGTH))
		return false;
	return !refuse_if(access && !(flags & IBV_REREG_MR_CHANGE_ACCESS), WHY_REREG_ACCESS,
			  (unsigned int)access);
}

static int rereg_result(int err, enum ibv_rereg_mr_err_code code)
{
	vb_result_as("ibv_rereg_mr", err);
	return code;
}

/* ibv_rereg_mr(3). On any error the region stays as it was. ERR_INPUT, EINVAL: bad arguments.
 * ERR_CMD: what a kernel refuses; EOPNOTSUPP: device memory, or an inherited region. */
int ibv_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct vb_mr *mr = vb_mr(base), to;
	int err;

	if (!rereg_input_is_good(base, flags, pd, addr, length, access))
		return rereg_result(refusal_noted(), IBV_REREG_MR_ERR_INPUT);
	if (vb_verb_fails(base->context, rereg_mr))
		return rereg_result(errno, IBV_REREG_MR_ERR_CMD);
	/* Undefined for device memory; a parent's region is not the child's. */
	if (!mr->by_addr)
		err = refuse(WHY_REREG_DM);
	else if (vb_object_is_inherited(mr))
		err = refuse(WHY_INHERITED_MR, "the MR");
	else
		err = rereg_plan(mr, flags, pd, addr, length, access, &to);
	if (!err)
		err = rereg(mr, &to);
	return err ? rereg_result(err, IBV_REREG_MR_ERR_CMD) : 0;
}

/* An element's address in this process. 0 or an errno. */
static int translate(const struct rxe_mr *mr, const struct ibv_pd *pd, bool write,
		     const struct ibv_sge *sge, uintptr_t *ret_addr)
{
	const struct ctl_attachment *at = &vb_device(pd->context)->attachment;

	if (!mr || !(mr->rights & RXE_ON_DEMAND))
		return refuse(WHY_ADVISE_KEY, sge->lkey);
	/* Only its own process makes memory present. */
	if (mr->pd != pd->handle || mr->owner != at->slot)
		return refuse(WHY_ADVISE_OWNER, sge->lkey);
	if (write && !(mr->rights & RXE_LOCAL_WRITE))
		return refuse(WHY_ADVISE_WRITE, sge->lkey);
	if (sge->length && rxe_mr_check(mr, mr->pd, 0, sge->addr, sge->length) != MR_OK)
		return refuse(WHY_ADVISE_RANGE, sge->length, sge->addr, sge->lkey);
	*ret_addr = mr->addr + (sge->addr - mr->iova);
	return 0;
}

/* The gauge of this process's slot keeps the entry as it is meanwhile. */
static int find(const struct ibv_pd *pd, bool write, const struct ibv_sge *sge, uintptr_t *ret_addr)
{
	const struct ctl_attachment *at = &vb_device(pd->context)->attachment;
	_Atomic uint32_t *inside = &at->shared->slot[at->slot].inside;
	int err;

	atomic_fetch_add(inside, 1);
	err = translate(rxe_mr_find(&at->shared->mrs, sge->lkey), pd, write, sge, ret_addr);
	atomic_fetch_sub(inside, 1);
	return err;
}

/* The kernel begins to read what is in files or swapped out, and this process goes on. */
static void hint(uintptr_t addr, size_t len)
{
	uintptr_t first = addr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	madvise((void *)first, addr - first + len, MADV_WILLNEED);
}

static int check(const struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 const struct ibv_sge *sg_list, uint32_t num_sge)
{
	if (vb_refuses_pd(pd))
		return refusal_noted();
	if (vb_verb_fails(pd->context, advise_mr))
		return errno;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return refuse(WHY_UNKNOWN_BITS, "flags",
			      (uint64_t)(flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH));
	if (!sg_list || num_sge == 0)
		return refuse(WHY_ADVISE_LIST);
	return (uint32_t)advice <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
		       ? 0
		       : refuse(WHY_NOT_SUPPORTED, "the advice is unknown");
}

/* Every element is checked before the first page is touched. EINVAL: bad domain, flags or list.
 * EOPNOTSUPP: unknown advice. ENOENT: the key is not an on-demand region's. EPERM: the region is of
 * another domain or process, or is not writable. EFAULT: outside the region, or, with FLUSH, not
 * mapped. ENOMEM: with FLUSH, more than the machine can hold. */
static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sge)
{
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	int err = check(pd, advice, flags, sg_list, num_sge);
	uintptr_t addr = 0;

	for (uint32_t i = 0; !err && i < num_sge; i++)
		err = find(pd, write, &sg_list[i], &addr);
	if (err || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vb_result(err);

	for (uint32_t i = 0; !err && i < num_sge; i++) {
		err = find(pd, write, &sg_list[i], &addr);
		if (err || !sg_list[i].length)
			continue;
		if (flags & IBV_ADVISE_MR_FLAG_FLUSH)
			err = vb_memory_admit((void *)addr, sg_list[i].length, write);
		else
			hint(addr, sg_list[i].length);
	}
	return vb_result(err);
}

void vb_mr_change_ops(struct verbs_context_65 *verbs)
{
	verbs->base.advise_mr = advise_mr;
}
