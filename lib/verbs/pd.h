/* SPDX-License-Identifier: MIT */
/* Protection domains, thread domains, and parent domains over both, which may bring an allocator
 * for the memory of queues (ibv_alloc_parent_domain(3)). */
#ifndef RXE_VERBS_PD_H
#define RXE_VERBS_PD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct ibv_buf;

/* A protection domain, or a parent domain over one. */
struct vb_pd {
	struct ibv_pd base; /* handle: the underlying domain's */
	/* Parent domain: the domain below, which may be a parent domain too; else NULL. */
	struct vb_pd *under;
	struct ibv_td *td; /* parent domain: its thread domain, or NULL */
	/* Parent domain: both allocators or none. Called without locks, in the caller's thread. */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	_Atomic uint32_t users; /* AHs, MRs, QPs, SRQs and parent domains of this process */
};

static inline struct vb_pd *vb_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct vb_pd, base);
}

/* Is it a live domain? In a child of fork() the first call attaches. Control path only. */
bool vb_is_pd(const struct ibv_pd *pd);
/* Is it one on the device of context? */
bool vb_is_pd_of(const struct ibv_pd *pd, struct ibv_context *context);
/* As vb_refuses() (object.h). */
bool vb_refuses_pd(const struct ibv_pd *pd);
bool vb_refuses_pd_of(const struct ibv_pd *pd, struct ibv_context *context);

/* Counts an object that uses the domain: ibv_dealloc_pd() then returns EBUSY. 0 or an errno. */
int vb_pd_use(struct ibv_pd *pd);
void vb_pd_unuse(struct ibv_pd *pd);
/* In the child after fork(): makes a fresh lock. */
void vb_pds_forked(void);

/* The use of the memory: the lower half of the resource_type that callbacks get. The upper half
 * is VB_BUFFER_DRIVER, the kernel's RDMA_DRIVER_RXE: a program that distinguishes drivers by it
 * finds the same wire format. */
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

/* Does [addr, addr + length) lie in a live buffer (ibv_alloc_buf()) of exactly this domain? */
bool vb_buf_holds(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		  size_t length);

#endif
