/* SPDX-License-Identifier: MIT */
/* Completion queues as programs hold them. */
#ifndef RXE_VERBS_CQ_H
#define RXE_VERBS_CQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/abi/newer.h"

#include "emu/cq.h"
#include "lib/verbs/buffer.h"

struct vb_channel;
struct progress;
struct vb_device;

struct vb_cq {
	struct ibv_cq_ex ex; /* struct ibv_cq is its beginning */
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() when it was made */
	struct rxe_cq cq;
	struct vb_buffer ring;
	struct ibv_pd *parent_domain; /* whose allocator the ring came from, or NULL */
	pthread_mutex_t lock;	      /* the reader's side of cq */
	bool single_threaded; /* the program promised that one thread at a time reads: no lock is taken */
	_Atomic uint32_t users; /* queue pairs */
	struct rxe_cqe current; /* start_poll .. end_poll */

	struct vb_channel *channel;
	struct vb_cq *prev_notified, *next_notified;
	uint32_t notices;	 /* events not read; the channel's lock */
	uint32_t comp_reported;	 /* events read; the channel's lock */
	uint32_t async_reported; /* the context's async lock */
};

static inline struct ibv_cq *vb_cq_base(struct vb_cq *cq)
{
	return (struct ibv_cq *)(void *)&cq->ex;
}

static inline struct vb_cq *vb_cq(struct ibv_cq *cq)
{
	return (struct vb_cq *)(void *)cq;
}

/* An armed CQ has a completion to tell of: the engine saw one come, or one was unread when the CQ was armed. */
void vb_cq_notified(struct progress *progress, struct rxe_cq *cq);
/* cq_ex.c: the reading functions that wc_flags ask for. False: one is asked for that we do not have. */
bool vb_cq_ex_fill(struct vb_cq *cq, uint64_t wc_flags);
/* Up to max completions, running the engine when there are none. */
uint32_t vb_cq_take(struct vb_cq *cq, struct rxe_cqe *ret, uint32_t max);

#endif
