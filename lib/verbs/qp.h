/* SPDX-License-Identifier: MIT */
/* Queue pairs (ibv_create_qp(3)). qp.c creates and destroys them, qp_attr.c modifies and queries
 * them, post.c posts work requests given as lists, wr.c those built call by call. */
#ifndef RXE_VERBS_QP_H
#define RXE_VERBS_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "emu/qp.h"
#include "lib/abi/newer.h"
#include "lib/inject/verb.h"
#include "lib/progress/remote.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/pd.h"

struct progress;
struct vb_device;
struct vb_rss;
struct vb_wr_builder;

struct vb_qp {
	struct ibv_qp_ex_65 ex; /* begins with struct ibv_qp */
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() at creation */
	struct rxe_qp qp;
	bool was_reset; /* packets of an earlier connection may be on their way */
	bool srq_sends; /* the SRQ matches tags and owns the send queue */
	struct vb_buffer sq_memory, rq_memory;
	struct ibv_qp_cap cap;
	struct ibv_xrcd *xrcd;	       /* XRC_RECV only: then pd, CQs and SRQ are NULL */
	struct vb_wr_builder *builder; /* only with send_ops_flags */
	uint32_t events_reported;      /* the context's async lock */
	/* XRC_RECV only (target.h). The server's handle, and where the queue pair is. */
	uint32_t target_handle;
	struct remote_qp target;
	bool is_opened; /* by ibv_open_qp(): of qp only number and type are used */
	bool is_closed; /* the program has destroyed it, others have it open; under the engine lock */
	struct vb_qp *next_opened;
	struct vb_rss *rss; /* RSS only */
};

static inline struct vb_qp *vb_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct vb_qp, ex.base.qp_base);
}

/* Fills a new queue pair, also one that ibv_open_qp() returns, before it has a number. */
void vb_qp_init_base(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr);
void vb_qp_fini_base(struct vb_qp *qp);

/* Writes the attributes that `rxe_dm show` prints to shared memory. Under the engine lock. */
void vb_qp_publish(struct vb_qp *qp);

/* For work queues, which are queue pairs without a sending half. vb_qp_make_queues: memory, a
 * number and a place in the engine; grants attr->cap. 0 or an errno: the caller returns the memory.
 * vb_qp_leave_engine: EBUSY in a multicast group. */
int vb_qp_make_queues(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr);
int vb_qp_leave_engine(struct vb_qp *qp);
void vb_qp_return_memory(struct vb_qp *qp, struct ibv_pd *pd);

/* As vb_async_forget(). */
static inline void vb_qp_forget_events(struct vb_qp *qp)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;

	vb_async_forget(base->context, qp->forks, base, IBV_EVENT_QP_FATAL);
}

/* Drops the unread completions of a queue pair, as RESET does. Under the engine lock. */
void vb_qp_forget_completions(struct vb_qp *qp);

/* qp.c: a context is about to close; ends a target that lived on (VB_KIND_TARGET). */
void vb_qp_abandon_target(struct vb_qp *qp);
/* qp.c: the server reports that no process has this target open any more. */
void vb_qp_target_unused(struct vb_device *dev, uint32_t qpn);

/* comp_cntr.c: what queue pairs point to in a completion counter, for comparisons: any pointer. */
const void *vb_comp_cntr_counts(const void *cntr);
/* comp_cntr.c: the queue pair has left the engine. */
void vb_comp_cntrs_detach(struct vb_qp *qp);
/* qp_attr.c */
int vb_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* post.c: posts a list of receives, unless a fault rule fails this verb. 0 or an errno. */
int vb_post_recv_list(struct vb_qp *qp, enum inject_verb verb, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

/* wr.c: sets the ibv_wr_* functions of a new QP. 0, ENOMEM, or EOPNOTSUPP if the QP's type or
 * the device lacks an operation. */
int vb_wr_create(struct vb_qp *qp, uint64_t send_ops);
void vb_wr_destroy(struct vb_qp *qp);

#endif
