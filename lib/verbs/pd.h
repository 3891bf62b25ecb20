/* SPDX-License-Identifier: MIT */
/* Protection domains, thread domains, and parent domains over both. */
#ifndef RXE_VERBS_PD_H
#define RXE_VERBS_PD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct vb_td {
	struct ibv_td base;
	_Atomic uint32_t users; /* parent domains */
};

static inline struct vb_td *vb_td(struct ibv_td *td)
{
	return container_of(td, struct vb_td, base);
}

/* A protection domain, or a parent domain over one. */
struct vb_pd {
	struct ibv_pd base; /* handle: the underlying domain's */
	/* Parent domain: the domain below, which may be a parent domain too; else NULL. */
	struct vb_pd *under;
	struct vb_td *td; /* parent domain: its thread domain, or NULL */
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

/* Makes the process's object for a domain of the server: a copy of like. NULL: no memory. */
struct ibv_pd *vb_pd_wrap(struct ibv_context *context, const struct vb_pd *like);

/* Counts an object that uses the domain: ibv_dealloc_pd() then returns EBUSY. 0 or an errno. */
int vb_pd_use(struct ibv_pd *pd);
void vb_pd_unuse(struct ibv_pd *pd);
/* In the child after fork(): makes a fresh lock. */
void vb_pds_forked(void);

#endif
