/* SPDX-License-Identifier: MIT */
/* Making the process's view of an object that the server has: after an allocation or an import. NULL: no memory. */
#ifndef RXE_VERBS_GIVE_H
#define RXE_VERBS_GIVE_H

#include <stdbool.h>
#include <stdint.h>

struct vb_pd;
struct ibv_context;
struct ibv_dm;
struct ibv_pd;

/* like: handle, and what a parent domain is over. */
struct ibv_pd *vb_pd_give(struct ibv_context *context, const struct vb_pd *like);
/* offset: in the arena. */
struct ibv_dm *vb_dm_give(struct ibv_context *context, uint32_t handle, uint64_t offset,
			  uint64_t len, bool imported);

#endif
