/* SPDX-License-Identifier: MIT */
/* Queue pairs as programs hold them. */
#ifndef RXE_VERBS_QP_H
#define RXE_VERBS_QP_H

#include <pthread.h>
#include <stdbool.h>

#include "emu/qp.h"
#include "lib/verbs/buffer.h"
#include "lib/verbs/objects.h"

struct dm_wr_builder;
struct verbs_context_65;

struct dm_qp {
	struct ibv_qp_ex_65 ex; /* struct ibv_qp is its beginning */
	struct dm_device *dev;
	uint32_t forks; /* dm_forks() when it was made */
	struct rxe_qp qp;
	struct dm_buffer sq_memory, rq_memory;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	struct ibv_xrcd *xrcd;	       /* XRC_RECV: its pd, CQs and SRQ are NULL */
	struct dm_wr_builder *builder; /* created with send_ops_flags: wr.c */
	uint32_t events_reported;      /* the context's async lock */
};

static inline struct dm_qp *dm_qp(struct ibv_qp *qp)
{
	return (struct dm_qp *)(void *)qp;
}

/* `rxe_dm show` sees the QP as it is now. Under the pump lock. */
void dm_qp_publish(struct dm_qp *qp);
/* Keep the readers of its CQs out. Under the pump lock. */
void dm_qp_lock_cqs(struct dm_qp *qp);
void dm_qp_unlock_cqs(struct dm_qp *qp);

void dm_qp_ops(struct verbs_context_65 *verbs);
void dm_post_ops(struct verbs_context_65 *verbs);

/* post.c: the errno of a verdict. */
int dm_post_errno(enum post_verdict verdict);
/* Requests were posted to a QP that was_idle before: send them. Under the pump lock, which it gives back. */
void dm_post_end(struct dm_qp *qp, bool was_idle, uint64_t now_ns);

/* wr.c: the ibv_wr_* calls of a QP made for them. 0, EOPNOTSUPP for operations we or its type do not have, ENOMEM. */
int dm_wr_create(struct dm_qp *qp, uint64_t send_ops);
void dm_wr_destroy(struct dm_qp *qp);
/* Its entries for operations that no QP of ours has. */
void dm_wr_refuse_ops(struct ibv_qp_ex_65 *ex);

#endif
