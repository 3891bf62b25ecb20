/* SPDX-License-Identifier: MIT */
/* Why a posted request was refused. The engine returns what kind of mistake it found; these
 * functions look at the request again, on the path of errors only. Each notes the reason and
 * returns its errno; result is not POST_OK. Under the engine lock. */
#ifndef RXE_VERBS_REFUSE_POST_H
#define RXE_VERBS_REFUSE_POST_H

#include "emu/queue.h"

struct rxe_recv_wr;
struct rxe_send_wr;
struct vb_qp;
struct vb_srq;

#define COLD __attribute__((cold, noinline))
/* POST_BAD_BIND: vb_mw_bind() has noted the reason. */
COLD int vb_refuse_send(const struct vb_qp *qp, const struct rxe_send_wr *wr,
			enum post_result result);
COLD int vb_refuse_recv(const struct vb_qp *qp, const struct rxe_recv_wr *wr,
			enum post_result result);
COLD int vb_refuse_srq_recv(const struct vb_srq *srq, const struct rxe_recv_wr *wr,
			    enum post_result result);
/* For ibv_post_srq_ops(). Also for POST_OK: 0. */
int vb_refuse_tag(const struct vb_srq *srq, enum post_result result);
#undef COLD

#endif
