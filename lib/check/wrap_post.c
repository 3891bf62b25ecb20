// SPDX-License-Identifier: MIT
/* Posts lists of requests. A request is entered before the device gets it, because its completion
 * may be polled by another thread before the inner call returns; what the device refuses is taken
 * out again. */
#include <errno.h>

#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"
#include "lib/check/wrap_post.h"

/* Atomics take eight bytes, whatever the entries of a list say. */
static bool returns_data(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

struct check_request *post_enter_send(struct check_qp *qp, const struct ibv_send_wr *wr)
{
	const bool has_bytes = wr->opcode != IBV_WR_LOCAL_INV && wr->opcode != IBV_WR_BIND_MW;
	struct check_request *request =
		queue_add(&qp->send, wr->wr_id, wr->sg_list,
			  has_bytes && wr->num_sge > 0 ? (uint32_t)wr->num_sge : 0);

	hook_sending(qp, wr);
	if (!request)
		return NULL;
	request->writes = returns_data(wr->opcode);
	request->is_inline = wr->send_flags & IBV_SEND_INLINE;
	if (qp->signals_all || (wr->send_flags & IBV_SEND_SIGNALED))
		queue_signalled(request);
	remote_posting(qp, request, wr);
	hook_posting(request);
	return request;
}

static struct check_request *enter_recv(struct check_queue *queue, const struct ibv_recv_wr *wr)
{
	struct check_request *request = queue_add(queue, wr->wr_id, wr->sg_list,
						  wr->num_sge > 0 ? (uint32_t)wr->num_sge : 0);

	if (!request)
		return NULL;
	queue_signalled(request);
	hook_posting(request);
	return request;
}

void post_refuse(struct check_queue *queue, uint32_t n)
{
	for (; n > 0 && queue->first; n--) {
		remote_refused(queue->first->prev);
		hook_drop(queue->first->prev);
	}
}

static uint32_t count_sends(const struct ibv_send_wr *wr)
{
	uint32_t n = 0;

	for (; wr; wr = wr->next)
		n++;
	return n;
}

static uint32_t count_recvs(const struct ibv_recv_wr *wr)
{
	uint32_t n = 0;

	for (; wr; wr = wr->next)
		n++;
	return n;
}

/* False: there was no memory. */
static bool enter_sends(struct check_qp *qp, const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		if (!post_enter_send(qp, wr))
			return false;
	}
	return true;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct check_object *object;
	bool entered, wants_posted;
	struct check_qp *part;
	int err;

	check_lock();
	hook_called(__builtin_frame_address(0));
	if (object_is_refused(qp, VB_KIND_QP, "ibv_post_send", &object)) {
		check_unlock();
		*bad_wr = wr;
		return errno = EINVAL;
	}
	thread_used(object, "ibv_post_send");
	part = object ? object->part : NULL;
	entered = part && enter_sends(part, wr);
	wants_posted = part && hook_wants_posted(&part->send);
	check_unlock();
	err = INNER_OPS->post_send(qp, wr, bad_wr);
	if (!(entered && err) && !wants_posted)
		return err;
	check_lock();
	if (entered && err)
		post_refuse(&part->send, count_sends(*bad_wr));
	hook_posted(&part->send);
	check_unlock();
	return err;
}

static int post_recvs(struct check_queue *queue, void *to, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	bool entered = true;
	int err;

	for (const struct ibv_recv_wr *at = wr; queue && at && entered; at = at->next)
		entered = enter_recv(queue, at);
	check_unlock();
	err = queue && queue->owner->kind == VB_KIND_SRQ ? INNER_OPS->post_srq_recv(to, wr, bad_wr)
							 : INNER_OPS->post_recv(to, wr, bad_wr);
	if (!queue || !err || !entered)
		return err;
	check_lock();
	post_refuse(queue, count_recvs(*bad_wr));
	check_unlock();
	return err;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct check_object *object;
	struct check_qp *part;

	check_lock();
	hook_called(__builtin_frame_address(0));
	if (object_is_refused(qp, VB_KIND_QP, "ibv_post_recv", &object)) {
		check_unlock();
		*bad_wr = wr;
		return errno = EINVAL;
	}
	thread_used(object, "ibv_post_recv");
	part = object ? object->part : NULL;
	return post_recvs(part ? &part->recv : NULL, qp, wr, bad_wr);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct check_object *object;
	struct check_srq *part;

	check_lock();
	hook_called(__builtin_frame_address(0));
	if (object_is_refused(srq, VB_KIND_SRQ, "ibv_post_srq_recv", &object)) {
		check_unlock();
		*bad_wr = wr;
		return errno = EINVAL;
	}
	thread_used(object, "ibv_post_srq_recv");
	part = object ? object->part : NULL;
	if (part)
		return post_recvs(&part->recv, srq, wr, bad_wr);
	check_unlock();
	return INNER_OPS->post_srq_recv(srq, wr, bad_wr);
}

void wrap_post_ops(struct verbs_context_65 *verbs)
{
	struct ibv_context_ops *ops = &verbs->base.context.ops;

	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = post_srq_recv;
}
