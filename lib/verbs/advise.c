// SPDX-License-Identifier: MIT
/* ibv_advise_mr(3): makes pages of on-demand regions present before they are accessed. The engine
 * has no page tables of its own, so what the CPU has present the device has, too. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/mr.h"
#include "lib/control/client.h"
#include "lib/inject/verb.h"
#include "lib/progress/memory.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

/* An element's address in this process. 0 or an errno. */
static int translate(const struct rxe_mr *mr, const struct ibv_pd *pd, bool write,
		     const struct ibv_sge *sge, uintptr_t *ret_addr)
{
	const struct ctl_attachment *at = &vb_device(pd->context)->attachment;

	if (!mr || !(mr->rights & RXE_ON_DEMAND))
		return ENOENT;
	/* Only its own process makes memory present. */
	if (mr->pd != pd->handle || mr->owner != at->slot)
		return EPERM;
	if (write && !(mr->rights & RXE_LOCAL_WRITE))
		return EPERM;
	if (sge->length && rxe_mr_check(mr, mr->pd, 0, sge->addr, sge->length) != MR_OK)
		return EFAULT;
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
	if (!vb_is_pd(pd))
		return EINVAL;
	if (vb_verb_fails(pd->context, advise_mr))
		return errno;
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) || !sg_list || num_sge == 0)
		return EINVAL;
	return (uint32_t)advice <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ? 0 : EOPNOTSUPP;
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
	uintptr_t addr;

	for (uint32_t i = 0; !err && i < num_sge; i++)
		err = find(pd, write, &sg_list[i], &addr);
	if (err || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vb_result(err);

	for (uint32_t i = 0; !err && i < num_sge; i++) {
		err = find(pd, write, &sg_list[i], &addr);
		if (err || !sg_list[i].length)
			continue;
		if (flags & IBV_ADVISE_MR_FLAG_FLUSH)
			err = memory_admit((void *)addr, sg_list[i].length, write);
		else
			hint(addr, sg_list[i].length);
	}
	return vb_result(err);
}

void vb_advise_ops(struct verbs_context_65 *verbs)
{
	verbs->base.advise_mr = advise_mr;
}
