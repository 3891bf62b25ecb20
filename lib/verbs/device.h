/* SPDX-License-Identifier: MIT */
/* One rxe_dm device of this process. */
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
#include "lib/verbs/forks.h"
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

/* What this process shows to the server. */
static inline struct ctl_slot *vb_slot(const struct vb_device *dev)
{
	return &dev->attachment.shared->slot[dev->attachment.slot];
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
