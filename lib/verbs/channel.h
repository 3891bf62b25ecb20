/* SPDX-License-Identifier: MIT */
/* Completion channels (ibv_create_comp_channel(3)): which CQs have an event to tell, and a descriptor that says so. */
#ifndef RXE_VERBS_CHANNEL_H
#define RXE_VERBS_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct vb_cq;

struct vb_channel {
	struct ibv_comp_channel base; /* fd: an eventfd that counts the events one by one */
	pthread_mutex_t lock;
	struct vb_cq *notified;	 /* utlist: CQs with events nobody has read, oldest first */
	_Atomic uint32_t unread; /* events in that list; looked at without the lock */
};

/* The CQ has one more event. */
void vb_channel_notify(struct vb_channel *channel, struct vb_cq *cq);
/* The CQ goes: its unread events are dropped. */
void vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq);

#endif
