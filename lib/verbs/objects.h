/* SPDX-License-Identifier: MIT */
/* The library's own objects behind what programs hold: each begins (a context: ends) with the public structure.
 *
 * A device is what the process has of one rxe_dm device: made once, never freed, so that an ibv_device pointer stays good
 * for ever. The first open context attaches the process (slot, mappings, engine), the last one detaches it. */
#ifndef RXE_VERBS_OBJECTS_H
#define RXE_VERBS_OBJECTS_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "emu/host.h"
#include "emu/queue.h"
#include "lib/abi/newer.h" /* verbs.h: what it declares is exported, everything else is hidden */
#include "lib/control/client.h"
#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/verbs/async.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"

#define VB_MAX_DEVICES	16
#define VB_COMP_VECTORS 1

struct vb_device {
	struct ibv_device base;
	const void *foreign; /* stock provider libraries look here for their own table: it is not */
	struct ctl_client *client;
	struct ctl_device info;

	pthread_mutex_t lock;		  /* attaching and detaching */
	uint32_t contexts;		  /* open */
	_Atomic uint32_t forks;		  /* what vb_forks() was when the process attached */
	struct ctl_attachment attachment; /* while contexts is not 0 */
	struct progress progress;	  /* the engine and what moves its packets: progress.h */
	struct vb_context *open_contexts; /* for asynchronous events; the engine lock */
	struct vb_verb_gate gate;	  /* verbs that are to fail: verb.h */
};
static_assert(offsetof(struct vb_device, foreign) == 664, "where stock providers look");

struct vb_context {
	struct vb_device *dev;
	struct ctl_context ctl;
	struct vb_async async; /* asynchronous events: progress.h */
	int given_fd;	       /* imported: by which descriptor, closed with the context; else -1 */
	uint64_t given_inode;  /* ... if it is still what it was then */
	uint32_t fatal;	       /* ctl_faults.fatal when it was opened; another now: it is dead */
	bool told_fatal;       /* the event is in its queue, or was; the engine lock */
	bool closing;	       /* no verb fails any more */
	struct verbs_context_65 verbs;
};

struct vb_td {
	struct ibv_td base;
	_Atomic uint32_t users; /* parent domains */
};

/* A protection domain, or a parent domain over one. */
struct vb_pd {
	struct ibv_pd base; /* handle: the underlying domain's */
	struct vb_pd *
		under; /* parent domain: the one it was made over, which may be one too; else NULL */
	struct vb_td *td; /* parent domain: or NULL */
	/* Parent domain with allocators: both, else neither. Called without locks, from the caller's thread. */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	_Atomic uint32_t users; /* AH, MR, QP, SRQ and parent domains of this process on it */
	bool imported;
};

enum vb_mr_kind {
	VB_MR_PLAIN,
	VB_MR_DMABUF, /* mapped by us, registered like plain memory */
	VB_MR_DM,
	VB_MR_IMPORTED,
};

struct vb_dm;

struct vb_mr {
	struct ibv_mr base;
	enum vb_mr_kind kind;
	unsigned int access;
	uint64_t iova;
	struct vb_dm *dm;
	void *map; /* VB_MR_DMABUF */
	size_t map_len;
};

struct vb_dm {
	union {
		struct ibv_dm base;
		struct ibv_dm_65 newer;
	};
	uint64_t offset; /* in the arena */
	uint64_t len;
	bool imported;
};

struct vb_ah {
	struct ibv_ah base;
	struct rxe_av av;
};

static inline struct vb_context *vb_context(struct ibv_context *context)
{
	return container_of(context, struct vb_context, verbs.base.context);
}

static inline struct vb_device *vb_device(struct ibv_context *context)
{
	return vb_context(context)->dev;
}

static inline struct vb_device *vb_device_of_progress(struct progress *progress)
{
	return container_of(progress, struct vb_device, progress);
}

static inline struct vb_pd *vb_pd(struct ibv_pd *pd)
{
	return (struct vb_pd *)(void *)pd;
}

static inline struct vb_dm *vb_dm(struct ibv_dm *dm)
{
	return (struct vb_dm *)(void *)dm;
}

static inline struct vb_ah *vb_ah(struct ibv_ah *ah)
{
	return (struct vb_ah *)(void *)ah;
}

/* Is it a live object of ours? NULL and strangers are not. Control path only: the data path trusts what it is given. In a
 * child of fork() the first question attaches the device anew. */
bool vb_is_context(const struct ibv_context *context);
bool vb_is_pd(const struct ibv_pd *pd);

/* How many fork()s lie between the first process and this one. */
uint32_t vb_forks(void);
/* Takes the engine for an object that was made when vb_forks() was forks. False, and nothing is held: the process inherited the
 * object, and its engine stayed with the parent. progress_unlock() gives the engine back. */
bool vb_lock_engine(struct vb_device *dev, uint32_t forks);

/* NULL, and errno set: for the ends of verbs that return a pointer. */
static inline void *vb_fail(int err)
{
	errno = err;
	return NULL;
}

/* An object of this process uses the domain, or no longer does: dealloc_pd answers EBUSY while any does. 0, or an errno. */
int vb_pd_use(struct ibv_pd *pd);
void vb_pd_unuse(struct ibv_pd *pd);
/* In the child after fork(): nobody holds the lock of the counts. */
void vb_pds_forked(void);

/* An address vector from the verbs' form. 0, EINVAL (no GRH, wrong port), or ENETUNREACH (no such source GID). */
int vb_av_from_attr(struct vb_device *dev, const struct ibv_ah_attr *attr, struct rxe_av *ret);

#endif
