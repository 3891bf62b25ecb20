/* SPDX-License-Identifier: MIT */
/* Completion channels (ibv_create_comp_channel(3)): the CQs that have unread events, and a
 * descriptor that is readable then. */
#ifndef RXE_VERBS_CHANNEL_H
#define RXE_VERBS_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct vb_cq;

struct vb_channel {
	struct ibv_comp_channel base; /* fd: an eventfd semaphore, one count per event */
	pthread_mutex_t lock;
	struct vb_cq *notified;	 /* utlist: CQs with unread events, oldest first */
	_Atomic uint32_t unread; /* events in that list; read without the lock */
};

static inline struct vb_channel *vb_channel(struct ibv_comp_channel *channel)
{
	return container_of(channel, struct vb_channel, base);
}

/* Adds an event of the CQ. */
void vb_channel_notify(struct vb_channel *channel, struct vb_cq *cq);
/* Drops the unread events of a CQ that is being destroyed. */
void vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq);

#endif
