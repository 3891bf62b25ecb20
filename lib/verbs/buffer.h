/* SPDX-License-Identifier: MIT */
/* Memory of queues: ours, or from the allocator of a parent domain (ibv_alloc_parent_domain(3)). */
#ifndef RXE_VERBS_BUFFER_H
#define RXE_VERBS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_pd;

/* What a queue's memory is for: the lower half of resource_type as the callbacks see it. The upper half is the driver's
 * number, RDMA_DRIVER_RXE of the kernel's list: programs that tell drivers apart by it know the wire format as well. */
enum dm_buffer_kind {
	DM_BUFFER_QP_SEND = 1,
	DM_BUFFER_QP_RECV,
	DM_BUFFER_CQ,
	DM_BUFFER_SRQ,
};

#define DM_BUFFER_DRIVER 14u

struct dm_buffer {
	void *memory;
	bool is_theirs; /* the callback gave it: it alone takes it back */
};

/* Zeroed memory, aligned to DM_BUFFER_ALIGNMENT at least. pd: a parent domain, whose allocator is asked first, or any other,
 * or NULL. Calls back from the caller's thread; hold no lock. False: there is none. */
bool dm_buffer_alloc(struct dm_buffer *ret, struct ibv_pd *pd, size_t bytes,
		     enum dm_buffer_kind kind);
/* Give it back to where it came from, once; an empty one is fine. Hold no lock. */
void dm_buffer_free(struct dm_buffer *buffer, struct ibv_pd *pd, enum dm_buffer_kind kind);

#endif
