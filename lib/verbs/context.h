/* SPDX-License-Identifier: MIT */
/* An open device: what ibv_open_device() and ibv_import_device() return. */
#ifndef RXE_VERBS_CONTEXT_H
#define RXE_VERBS_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/verbs/async_fd.h"
#include "lib/verbs/device.h"
#include "lib/verbs/object.h"

struct vb_async_record;

/* Asynchronous events of a context (ibv_get_async_event(3)): async_fd is readable while the queue
 * has any. */
struct vb_async {
	struct vb_async_fd fd;
	pthread_mutex_t lock;
	struct vb_async_record *queue; /* utlist: oldest first */
	struct vb_context *next;       /* in vb_device.open_contexts */
};

struct vb_context {
	struct vb_device *dev;
	struct ctl_context ctl;
	struct vb_async async;
	int import_fd; /* the descriptor it was imported by, closed with the context; else -1 */
	uint64_t import_inode; /* of import_fd: the number may be another file's by then */
	uint32_t fatal; /* value of ctl_faults.fatal at open; the context is dead once it differs */
	bool fatal_notified; /* IBV_EVENT_DEVICE_FATAL was queued; under the engine lock */
	bool closing;	     /* the gate lets every verb pass */
	/* Last: programs point to verbs.base.context, and a newer verbs_context may grow. */
	struct verbs_context_65 verbs;
};

static inline struct vb_context *vb_context(struct ibv_context *context)
{
	return container_of(context, struct vb_context, verbs.base.context);
}

static inline struct vb_device *vb_device(struct ibv_context *context)
{
	return vb_context(context)->dev;
}

#endif
