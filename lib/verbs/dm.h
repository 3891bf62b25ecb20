/* SPDX-License-Identifier: MIT */
/* Device memory: ranges of the arena, which programs reach by copies and by keys. */
#ifndef RXE_VERBS_DM_H
#define RXE_VERBS_DM_H

#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct vb_dm {
	union {
		struct ibv_dm base;
		struct ibv_dm_65 newer;
	};
	uint64_t offset; /* in the arena */
	uint64_t len;
};

static inline struct vb_dm *vb_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct vb_dm, base);
}

/* Makes the object for device memory of the server at this offset of the arena. NULL: no memory. */
struct ibv_dm *vb_dm_wrap(struct ibv_context *context, uint32_t handle, uint64_t offset,
			  uint64_t len);

#endif
