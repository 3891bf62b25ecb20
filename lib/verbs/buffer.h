/* SPDX-License-Identifier: MIT */
/* Memory of queues: ours, or from the allocator of a parent domain (ibv_alloc_parent_domain(3)). */
#ifndef RXE_VERBS_BUFFER_H
#define RXE_VERBS_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct ibv_pd;

/* resource_type as the callbacks see it: a driver's number in the upper 32 bits, its own kinds in the lower. */
enum dm_buffer_kind {
	DM_BUFFER_QP = 1,
	DM_BUFFER_CQ,
	DM_BUFFER_SRQ,
};

/* Zeroed memory, aligned to a page; pd may be NULL or no parent domain. NULL: there is none. bytes 0 still gives a pointer. */
void *dm_buffer_alloc(struct ibv_pd *pd, size_t bytes, enum dm_buffer_kind kind);
void dm_buffer_free(struct ibv_pd *pd, void *memory, enum dm_buffer_kind kind);

#endif
