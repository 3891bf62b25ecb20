// SPDX-License-Identifier: MIT
/* DMA handles: hints about the processor that works on a region's memory (TLP processing hints,
 * PCIe 6.2). The server keeps and shows them, and counts the regions that use one. No data is
 * steered by them: docs/DEVIATIONS.md says why. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"

static_assert((int)CTL_DMAH_CPU_ID == (int)IBV_DMAH_INIT_ATTR_MASK_CPU_ID, "fields of the hints");
static_assert((int)CTL_DMAH_PH == (int)IBV_DMAH_INIT_ATTR_MASK_PH, "");
static_assert((int)CTL_DMAH_TPH_MEM_TYPE == (int)IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE, "");

#define MAX_PH 3 /* a field of two bits */

struct vb_dmah {
	struct ibv_dmah base;
	uint32_t handle;
};

/* Do this machine and the standard have such a CPU, hint and memory type? 0 or an errno. */
static int check(const struct ibv_dmah_init_attr *attr)
{
	const uint32_t known = IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH |
			       IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE;
	uint32_t mask = attr->comp_mask;

	if (mask & ~known)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)(mask & ~known));
	if ((mask & IBV_DMAH_INIT_ATTR_MASK_CPU_ID) &&
	    attr->cpu_id >= (uint64_t)sysconf(_SC_NPROCESSORS_CONF))
		return refuse(WHY_DMAH_CPU, attr->cpu_id, sysconf(_SC_NPROCESSORS_CONF));
	if ((mask & IBV_DMAH_INIT_ATTR_MASK_PH) && attr->ph > MAX_PH)
		return refuse(WHY_ABOVE_LIMIT, "ph", (uint64_t)attr->ph, (uint64_t)MAX_PH);
	if ((mask & IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE) &&
	    attr->tph_mem_type > IBV_TPH_MEM_TYPE_PM)
		return refuse(WHY_BAD_VALUE, "tph_mem_type", (uint64_t)attr->tph_mem_type,
			      "neither volatile nor persistent memory");
	return 0;
}

static struct ctl_dmah hints_of(const struct ibv_dmah_init_attr *attr)
{
	const uint32_t mask = attr->comp_mask;

	return (struct ctl_dmah){
		.valid = mask,
		.cpu_id = mask & IBV_DMAH_INIT_ATTR_MASK_CPU_ID ? attr->cpu_id : 0,
		.ph = mask & IBV_DMAH_INIT_ATTR_MASK_PH ? attr->ph : 0,
		.tph_mem_type =
			mask & IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE ? attr->tph_mem_type : 0,
	};
}

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	struct vb_dmah *dmah;
	struct ctl_dmah hints;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(context, alloc_dmah))
		return vb_fail(errno);
	err = check(attr);
	if (err)
		return vb_fail(err);
	dmah = vb_object_new(context, VB_KIND_DMAH, sizeof(*dmah));
	if (!dmah)
		return vb_fail(errno);
	hints = hints_of(attr);
	err = vb_server_result(ctl_alloc_dmah(&vb_context(context)->ctl, &hints, &dmah->handle),
			       VB_KIND_DMAH);
	if (err)
		return vb_fail(vb_object_undo(dmah, err));
	vb_object_set_handle(dmah, dmah->handle);
	return &dmah->base;
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	int err = vb_object_end(dmah, VB_KIND_DMAH, INJECT_VERB_dealloc_dmah);

	if (!err)
		free(dmah);
	return vb_result(err);
}

bool vb_dmah_handle(const struct ibv_dmah *base, const struct ibv_context *context,
		    uint32_t *ret_handle)
{
	if (vb_refuses(base, VB_KIND_DMAH) ||
	    refuse_if(base->context != context, WHY_OTHER_CONTEXT, "the DMA handle"))
		return false;
	*ret_handle = container_of(base, const struct vb_dmah, base)->handle;
	return true;
}

void vb_dmah_ops(struct verbs_context_65 *verbs)
{
	VB_DMAH_OPS(verbs)->alloc_dmah = ibv_alloc_dmah;
	VB_DMAH_OPS(verbs)->dealloc_dmah = ibv_dealloc_dmah;
}
