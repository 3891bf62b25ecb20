// SPDX-License-Identifier: MIT
/* Requests and their peers. */
#include "lib/check/remote.h"

#include <stdbool.h>
#include <stddef.h>
#include <utlist.h>

#include "lib/check/access.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/vector.h"
#include "lib/check/window.h"

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_rdma(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == IBV_WR_RDMA_READ;
}

static bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

void remote_set(struct ibv_send_wr *wr, uint32_t rkey, uint64_t addr)
{
	if (is_atomic(wr->opcode)) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
}

struct check_qp *remote_peer(const struct check_qp *qp)
{
	struct check_qp *peer;

	if (qp->qp->qp_type != IBV_QPT_RC || !(qp->attr_mask & IBV_QP_DEST_QPN))
		return NULL;
	peer = queue_qp(qp->qp->context, qp->attr.dest_qp_num);
	return peer && (peer->attr_mask & IBV_QP_DEST_QPN) &&
			       peer->attr.dest_qp_num == qp->qp->qp_num
		       ? peer
		       : NULL;
}

static uint64_t length_of(const struct check_request *request)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < request->num_ranges; i++)
		len += request->range[i].len;
	return len;
}

static void find_memory(const struct check_qp *qp, struct check_request *request,
			const struct ibv_send_wr *wr)
{
	const bool atomic = is_atomic(wr->opcode);
	const uint64_t len = atomic ? 8 : length_of(request);
	struct ibv_sge there = {
		.addr = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr,
		.lkey = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey,
		.length = (uint32_t)len,
	};

	if (len == 0 || len > UINT32_MAX)
		return;
	window_resolve(qp->qp->context, &there);
	/* Local and remote key of a region are the same number. */
	if (remote_peer(qp))
		region_range(qp->qp->context, &there, &request->remote);
	else
		access_target(qp, &there, &request->remote);
	request->remote.len = len;
}

void remote_posting(struct check_qp *qp, struct check_request *request,
		    const struct ibv_send_wr *wr)
{
	if (is_rdma(wr->opcode) || is_atomic(wr->opcode))
		find_memory(qp, request, wr);
	request->takes_receive = takes_receive(wr->opcode);
	request->remote_writes = wr->opcode != IBV_WR_RDMA_READ;
	request->is_atomic = is_atomic(wr->opcode);
	request->is_fenced = wr->send_flags & IBV_SEND_FENCE;
	qp->sent += request->takes_receive;
	request->message = qp->sent;
}

void remote_ended(struct check_request *request)
{
	region_release(&request->remote);
}

void remote_refused(const struct check_request *request)
{
	const struct check_object *owner = request->queue->owner;
	struct check_qp *qp = owner->kind == VB_KIND_QP ? owner->part : NULL;

	if (qp)
		qp->sent -= request->takes_receive;
}

void remote_received(struct check_qp *qp)
{
	struct check_qp *sender = qp ? remote_peer(qp) : NULL;
	struct check_request *request;

	if (!qp)
		return;
	qp->received++;
	access_received(qp);
	vector_received(qp);
	if (!sender)
		return;
	DL_FOREACH (sender->send.first, request) {
		if (request->message > qp->received)
			break;
		/* One with the number of the message, but posted after it, may be on its way. */
		if (request->message < qp->received || request->takes_receive)
			request->executed = true;
	}
}

/* Both sides begin again: what the other one has outstanding does not reach this one. */
void remote_reset(struct check_qp *qp)
{
	struct check_qp *peer = remote_peer(qp);
	struct check_request *request;

	if (peer) {
		DL_FOREACH (peer->send.first, request)
			request->executed = true;
		peer->sent = peer->received = 0;
	}
	qp->sent = 0;
	qp->received = 0;
	access_received(qp);
}
