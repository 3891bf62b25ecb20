/* SPDX-License-Identifier: MIT */
/* Completion queues (ibv_create_cq(3)). cq.c creates them, cq_poll.c reads completions, channel.c
 * notifies their programs. */
#ifndef RXE_VERBS_CQ_H
#define RXE_VERBS_CQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "emu/cq.h"
#include "lib/abi/newer.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/pd.h"

struct progress;
struct vb_channel;
struct vb_cq;
struct vb_device;

struct vb_cq {
	struct ibv_cq_ex ex; /* begins with the members of struct ibv_cq */
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() at creation */
	struct rxe_cq cq;
	struct vb_buffer ring;
	struct ibv_pd *parent_domain; /* its allocator made the ring; or NULL */
	pthread_mutex_t lock;	      /* the reader's side of cq; not taken if single_threaded */
	bool single_threaded;	      /* the program polls from one thread at a time */
	_Atomic uint32_t round;	      /* the last round of polls that it had a part in */
	struct rxe_cqe current;	      /* between start_poll and end_poll */
	uint64_t wallclock_ns;	      /* of current, once it was read; else 0 */
	uint64_t wall_offset_ns;      /* CLOCK_REALTIME minus CLOCK_MONOTONIC; 0: unknown */

	struct vb_channel *channel;
	struct vb_cq *prev_notified, *next_notified;
	/* Completion events: not read yet, and read so far. The channel's lock. */
	uint32_t notices, comp_reported;
	uint32_t async_reported; /* asynchronous events read; the context's async lock */
};

static inline struct ibv_cq *vb_cq_base(struct vb_cq *cq)
{
	return ibv_cq_ex_to_cq(&cq->ex);
}

static inline struct vb_cq *vb_cq(struct ibv_cq *cq)
{
	return (struct vb_cq *)(void *)cq;
}

/* cq_poll.c: sets the functions that read the fields of wc_flags. False: the device lacks a
 * field. */
bool vb_cq_ex_fill(struct vb_cq *cq, uint64_t wc_flags);
int vb_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

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
