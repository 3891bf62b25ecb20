// SPDX-License-Identifier: MIT
/* Completions that a program reads. A poll that finds none is not recorded. */
#include <endian.h>
#include <stdbool.h>

#include "emu/container_of.h"
#include "lib/record/below.h"
#include "lib/record/ring.h"
#include "lib/verbs/cq.h"

/* Functions of an ibv_cq_ex as the library made them: the same for every queue. */
static struct ibv_cq_ex below_cq;

/* Completions in the queue that are not read yet. */
static uint64_t left_in(const struct rxe_cq *cq)
{
	return (uint32_t)(atomic_load_explicit(&cq->visible, memory_order_relaxed) -
			  atomic_load_explicit(&cq->head, memory_order_relaxed));
}

/* Only wr_id, status, qp_num and vendor_err of a completion in error are valid. */
static void add(const struct ibv_cq *cq, const struct ibv_wc *wc, uint64_t left, uint64_t began)
{
	const bool good = wc->status == IBV_WC_SUCCESS;
	const bool imm = wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV);

	RECORD(RECORD_COMPLETION, began, 0, cq->handle, wc->qp_num, wc->wr_id, wc->status,
	       wc->opcode, good ? wc->byte_len : 0, good ? wc->wc_flags : 0,
	       good && imm ? be32toh(wc->imm_data) : 0, good ? wc->src_qp : 0, wc->vendor_err,
	       left);
}

int record_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	const uint64_t began = record_now();
	const int n = BELOW_OPS->poll_cq(cq, num_entries, wc);
	uint64_t left;

	if (n < 0)
		RECORD(RECORD_POLL_CQ, began, record_error(n), cq->handle);
	if (n <= 0)
		return n;
	left = left_in(&vb_cq(cq)->cq);
	for (int i = 0; i < n; i++)
		add(cq, &wc[i], left + (uint64_t)(n - 1 - i), began);
	return n;
}

static void add_current(struct ibv_cq_ex *ex, uint64_t began)
{
	const struct vb_cq *cq = container_of(ex, struct vb_cq, ex);
	const struct rxe_cqe *cqe = &cq->current;
	const struct ibv_wc wc = {
		.wr_id = cqe->wr_id,
		.status = (enum ibv_wc_status)cqe->status,
		.opcode = (enum ibv_wc_opcode)cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.imm_data = htobe32(cqe->imm_or_rkey),
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qpn,
		.wc_flags = cqe->flags,
	};

	add(ibv_cq_ex_to_cq(ex), &wc, left_in(&cq->cq), began);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	const uint64_t began = record_now();
	const int rc = below_cq.start_poll(ex, attr);

	if (!rc)
		add_current(ex, began);
	return rc;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	const uint64_t began = record_now();
	const int rc = below_cq.next_poll(ex);

	if (!rc)
		add_current(ex, began);
	return rc;
}

void record_poll_ex(struct ibv_cq_ex *cq)
{
	below_cq = *cq;
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
}
