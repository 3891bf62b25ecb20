/* SPDX-License-Identifier: MIT */
/* Memory of queues: from the library, or from the allocator of a parent domain
 * (ibv_alloc_parent_domain(3)). */
#ifndef RXE_VERBS_BUFFER_H
#define RXE_VERBS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_pd;

/* The use of the memory: the lower half of the resource_type that callbacks get. The upper half
 * is VB_BUFFER_DRIVER, the kernel's RDMA_DRIVER_RXE: a program that distinguishes drivers by it
 * meets the same wire format. */
enum vb_buffer_kind {
	VB_BUFFER_QP_SEND = 1,
	VB_BUFFER_QP_RECV,
	VB_BUFFER_CQ,
	VB_BUFFER_SRQ,
};

#define VB_BUFFER_DRIVER 14u

struct vb_buffer {
	void *memory;
	bool is_foreign; /* from the callback: only the callback can free it */
};

/* Allocates zeroed memory, aligned to a cache line. The allocator of pd is asked first if pd is a
 * parent domain; pd may be NULL. Calls back: hold no lock. False: no memory. */
bool vb_buffer_alloc(struct vb_buffer *ret, struct ibv_pd *pd, size_t bytes,
		     enum vb_buffer_kind kind);
/* Frees the memory and clears *buffer. An empty buffer is allowed. Hold no lock. */
void vb_buffer_free(struct vb_buffer *buffer, struct ibv_pd *pd, enum vb_buffer_kind kind);

#endif
