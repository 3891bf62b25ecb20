/* SPDX-License-Identifier: MIT */
/* Queue pairs as programs hold them. */
#ifndef RXE_VERBS_QP_H
#define RXE_VERBS_QP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/qp.h"
#include "lib/abi/newer.h"
#include "lib/verbs/buffer.h"

struct vb_device;
struct vb_wr_builder;

struct vb_qp {
	struct ibv_qp_ex_65 ex; /* struct ibv_qp is its beginning */
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() when it was made */
	struct rxe_qp qp;
	struct vb_buffer sq_memory, rq_memory;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	struct ibv_xrcd *xrcd;	       /* XRC_RECV: its pd, CQs and SRQ are NULL */
	struct vb_wr_builder *builder; /* created with send_ops_flags: wr.c */
	uint32_t events_reported;      /* the context's async lock */
};

static inline struct vb_qp *vb_qp(struct ibv_qp *qp)
{
	return (struct vb_qp *)(void *)qp;
}

/* `rxe_dm show` sees the QP as it is now. Under the engine lock. */
void vb_qp_publish(struct vb_qp *qp);
/* Keep the readers of its CQs out. Under the engine lock. */
void vb_qp_lock_cqs(struct vb_qp *qp);
void vb_qp_unlock_cqs(struct vb_qp *qp);

/* post.c: the errno of a result. */
int vb_post_errno(enum post_result result);

/* wr.c: the ibv_wr_* calls of a QP made for them. 0, EOPNOTSUPP for operations we or its type do not have, ENOMEM. */
int vb_wr_create(struct vb_qp *qp, uint64_t send_ops);
void vb_wr_destroy(struct vb_qp *qp);
/* Its entries for operations that no QP of ours has. */
void vb_wr_refuse_ops(struct ibv_qp_ex_65 *ex);

#endif
