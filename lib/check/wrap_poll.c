// SPDX-License-Identifier: MIT
/* Completions that a program polls: they end requests, and some of their fields are not valid. */
#include "lib/check/wrap_poll.h"

#include "emu/container_of.h"
#include "lib/check/comp.h"
#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/race_process.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"
#include "lib/progress/memory.h"
#include "lib/verbs/cq.h"

/* Functions of an ibv_cq_ex as the library made them: the same for every queue. */
static struct ibv_cq_ex inner_cq;

/* The queue pair of a connection is in ERR when a completion has an error (IBTA 10.3.1.5). */
static void note_failure(const struct ibv_context *context, const struct ibv_wc *wc)
{
	struct check_qp *qp = wc->status == IBV_WC_SUCCESS ? NULL : queue_qp(context, wc->qp_num);

	if (qp && qp->qp->qp_type == IBV_QPT_RC)
		qp->state = IBV_QPS_ERR;
}

/* Requests in front of a send are complete with it: a queue completes in order. */
static void completed(const struct ibv_context *context, const struct ibv_wc *wc)
{
	struct check_request *request = queue_completed(context, wc);
	struct check_queue *queue;

	note_failure(context, wc);
	if (wc->status == IBV_WC_SUCCESS && (wc->opcode & IBV_WC_RECV))
		remote_received(queue_qp(context, wc->qp_num));
	if (!request)
		return;
	if (wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV)
		race_process_received(request, wc->qp_num, wc->byte_len);
	queue_wait_completed(request, wc->status);
	queue = request->queue;
	memory_turn_begins_now();
	while (!queue->is_recv && queue->first != request) {
		hook_completed(queue->first);
		queue_drop(queue->first);
	}
	hook_completed(request);
	queue_drop(request);
	memory_turn_ends();
}

/* The program polls, in a function that has this frame. False: the queue was destroyed. */
static bool begin(const void *cq, const void *frame, const char *verb)
{
	struct check_object *object;
	bool dead;

	check_lock();
	hook_called(frame);
	dead = object_is_refused(cq, VB_KIND_CQ, verb, &object);
	if (!dead)
		thread_used(object, verb);
	if (!dead && object && object->part)
		hook_polling(object->part);
	check_unlock();
	return !dead;
}

int wrap_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n;

	if (!begin(cq, __builtin_frame_address(0), "ibv_poll_cq"))
		return -1;
	n = INNER_OPS->poll_cq(cq, num_entries, wc);
	if (n <= 0)
		return n;
	check_lock();
	for (int i = 0; i < n; i++) {
		completed(cq->context, &wc[i]);
		comp_poison(cq->context, &wc[i]);
	}
	check_unlock();
	return n;
}

static const struct rxe_cqe *current_of(struct ibv_cq_ex *ex)
{
	return &container_of(ex, struct vb_cq, ex)->current;
}

static void found(struct ibv_cq_ex *ex)
{
	const struct rxe_cqe *cqe = current_of(ex);
	const struct ibv_wc wc = { .wr_id = cqe->wr_id,
				   .status = (enum ibv_wc_status)cqe->status,
				   .opcode = (enum ibv_wc_opcode)cqe->opcode,
				   .byte_len = cqe->byte_len,
				   .qp_num = cqe->qpn };

	completed(ex->context, &wc);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int err;

	if (!begin(ex, __builtin_frame_address(0), "ibv_start_poll"))
		return -1;
	err = inner_cq.start_poll(ex, attr);
	if (err)
		return err;
	check_lock();
	found(ex);
	check_unlock();
	return 0;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	const int err = inner_cq.next_poll(ex);

	check_lock();
	if (!err)
		found(ex);
	check_unlock();
	return err;
}

/* A field is read that is valid only for some completions. */
#define READER(type, name, field)                                                                  \
	static type name(struct ibv_cq_ex *ex)                                                     \
	{                                                                                          \
		check_lock();                                                                      \
		comp_read(ex, current_of(ex), field, "ibv_wc_" #name);                             \
		check_unlock();                                                                    \
		return inner_cq.name(ex);                                                          \
	}

READER(enum ibv_wc_opcode, read_opcode, COMP_OPCODE)
READER(uint32_t, read_byte_len, COMP_BYTE_LEN)
READER(__be32, read_imm_data, COMP_IMM_DATA)
READER(uint32_t, read_src_qp, COMP_SRC_QP)
READER(unsigned int, read_wc_flags, COMP_FLAGS)

void wrap_poll_ex(struct ibv_cq_ex *cq)
{
	check_lock();
	inner_cq = *cq;
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->read_opcode = read_opcode;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	check_unlock();
}
