/* SPDX-License-Identifier: MIT */
/* The process's rxe_dm devices, and the connection to their server.
 *
 * A listed device is never freed, so an ibv_device pointer stays valid until the process ends. The
 * first open context attaches the process (slot, mappings, engine), the last detaches it. */
#ifndef RXE_VERBS_DEVICE_H
#define RXE_VERBS_DEVICE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"

struct vb_context;
struct vb_qp;

#define VB_MAX_DEVICES 16
#define VB_PORT	       1 /* the only port of a device */

struct vb_device {
	struct ibv_device base;
	/* Stock providers look here for their operations, and find a table that belongs to no
	 * provider. */
	const void *foreign;
	struct ctl_client *client;
	struct ctl_device info;

	pthread_mutex_t lock;		  /* serializes attach and detach */
	uint32_t contexts;		  /* open ones; under lock */
	_Atomic uint32_t forks;		  /* value of vb_forks() when the process attached */
	uint32_t failed_fork;		  /* value of vb_forks() when that failed */
	struct ctl_attachment attachment; /* valid while contexts is not 0 */
	struct progress progress;
	struct vb_context *open_contexts; /* they get events; under the engine lock */
	struct vb_qp *opened_targets;	  /* by ibv_open_qp(); under the engine lock */
	struct vb_gate gate;		  /* verbs that fault rules let fail */
};
static_assert(offsetof(struct vb_device, foreign) == 664, "where stock providers look");

static inline struct vb_device *vb_device_of_progress(struct progress *progress)
{
	return container_of(progress, struct vb_device, progress);
}

/* Limits and features of the device (lib/control/profile.h). */
static inline const struct ctl_profile *vb_profile(const struct vb_device *dev)
{
	return &dev->info.profile;
}

/* owner.c: what the engine calls. */
extern const struct progress_owner vb_owner;

/* What this process shows to the server. */
static inline struct ctl_slot *vb_slot(const struct vb_device *dev)
{
	return &dev->attachment.shared->slot[dev->attachment.slot];
}

/* The device of a program's pointer, or NULL: not a device of this library. */
struct vb_device *vb_device_of(const struct ibv_device *device);
/* The connection to the server, for a context that is imported; connects unless there is a
 * connection. 0 or a negative errno. */
int vb_device_connect(struct ctl_client **ret);
/* The device of this index on that connection, or NULL. */
struct vb_device *vb_device_at(const struct ctl_client *client, uint32_t index);

/* attach.c. A context opens: attaches the process to the device, unless it is. 0 or a negative
 * errno. */
int vb_device_attach(struct vb_device *dev);
void vb_device_detach(struct vb_device *dev);
/* Attaches a child of fork() again if its parent was attached. */
void vb_device_follow_fork(struct vb_device *dev);
/* Before the first raw queue pair or work queue. 0, EPERM (CAP_NET_RAW is missing, where it is
 * needed; the log says so), or another errno. On an interface this opens the raw port, which stays
 * open until the process detaches from the device. */
int vb_raw_access(struct vb_device *dev);

extern _Atomic uint32_t vb_fork_count;

/* Number of fork() calls between the first process and this one. */
static inline uint32_t vb_forks(void)
{
	return atomic_load_explicit(&vb_fork_count, memory_order_relaxed);
}
/* Takes the engine lock for an object made when vb_forks() was forks; progress_unlock() ends it.
 * False, and nothing is locked: the object was inherited, its engine stayed in the parent. */
static inline bool vb_lock_engine(struct vb_device *dev, uint32_t forks)
{
	return forks == vb_forks() && progress_lock(&dev->progress);
}

/* The largest MTU of at most this many bytes; IBV_MTU_256 if all are larger. */
static inline enum ibv_mtu vb_mtu_enum(uint32_t bytes)
{
	int mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && 128u << mtu > bytes)
		mtu--;
	return (enum ibv_mtu)mtu;
}

#endif
