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

struct dm_channel;
struct dm_device;
struct verbs_context_65;

struct dm_cq {
	struct ibv_cq_ex ex; /* struct ibv_cq is its beginning */
	struct dm_device *dev;
	uint32_t forks; /* dm_forks() when it was made */
	struct rxe_cq cq;
	struct dm_buffer ring;
	struct ibv_pd *parent_domain; /* whose allocator the ring came from, or NULL */
	pthread_mutex_t lock;	      /* the reader's side of cq */
	bool single_threaded; /* the program promised that one thread at a time reads: no lock is taken */
	_Atomic uint32_t users; /* queue pairs */
	struct rxe_cqe current; /* start_poll .. end_poll */

	struct dm_channel *channel;
	struct dm_cq *prev_notified, *next_notified;
	uint32_t notices;	 /* events not read; the channel's lock */
	uint32_t comp_reported;	 /* events read; the channel's lock */
	uint32_t async_reported; /* the context's async lock */
};

static inline struct ibv_cq *dm_cq_base(struct dm_cq *cq)
{
	return (struct ibv_cq *)(void *)&cq->ex;
}

static inline struct dm_cq *dm_cq(struct ibv_cq *cq)
{
	return (struct dm_cq *)(void *)cq;
}

/* An armed CQ has a completion to tell of: the engine saw one come, or one was unread when the CQ was armed. */
void dm_cq_notify(void *host, struct rxe_cq *cq);
void dm_cq_ops(struct verbs_context_65 *verbs);

/* cq_ex.c: the reading functions that wc_flags ask for. False: one is asked for that we do not have. */
bool dm_cq_ex_fill(struct dm_cq *cq, uint64_t wc_flags);
/* Up to max completions, running the engine when there are none. */
uint32_t dm_cq_take(struct dm_cq *cq, struct rxe_cqe *ret, uint32_t max);

#endif
