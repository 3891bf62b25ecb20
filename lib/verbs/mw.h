/* SPDX-License-Identifier: MIT */
/* Memory windows (ibv_alloc_mw(3), ibv_bind_mw(3)). */
#ifndef RXE_VERBS_MW_H
#define RXE_VERBS_MW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct rxe_bind;

struct vb_mw {
	struct ibv_mw base;
	uint32_t index; /* place of its binding in the slot's table */
};

static inline struct vb_mw *vb_mw(struct ibv_mw *mw)
{
	return container_of(mw, struct vb_mw, base);
}

/* A bind request for the engine of context's device. False: no window of this type or no region of
 * this process and device, or unknown access flags. */
bool vb_mw_bind(struct ibv_context *context, const struct ibv_mw *mw, enum ibv_mw_type type,
		uint32_t rkey, const struct ibv_mw_bind_info *info, struct rxe_bind *ret);
/* ibv_dealloc_mw(). */
int vb_mw_destroy(void *mw);

#endif
