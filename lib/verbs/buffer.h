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
enum vb_buffer_kind {
	VB_BUFFER_QP_SEND = 1,
	VB_BUFFER_QP_RECV,
	VB_BUFFER_CQ,
	VB_BUFFER_SRQ,
};

#define VB_BUFFER_DRIVER 14u

struct vb_buffer {
	void *memory;
	bool is_theirs; /* the callback gave it: it alone takes it back */
};

/* Zeroed memory, aligned to VB_BUFFER_ALIGNMENT at least. pd: a parent domain, whose allocator is asked first, or any other,
 * or NULL. Calls back from the caller's thread; hold no lock. False: there is none. */
bool vb_buffer_alloc(struct vb_buffer *ret, struct ibv_pd *pd, size_t bytes,
		     enum vb_buffer_kind kind);
/* Give it back to where it came from, once; an empty one is fine. Hold no lock. */
void vb_buffer_free(struct vb_buffer *buffer, struct ibv_pd *pd, enum vb_buffer_kind kind);

#endif
