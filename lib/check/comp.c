// SPDX-License-Identifier: MIT
/* The fields of a completion that are valid: by its status, its opcode and its queue pair. */
#include "lib/check/comp.h"

#include <inttypes.h>
#include <stddef.h>

#include "emu/cq.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

#define POISON 0xdeadfeedu

static bool is_recv(uint32_t opcode)
{
	return opcode & IBV_WC_RECV;
}

static bool returns_data(uint32_t opcode)
{
	return opcode == IBV_WC_RDMA_READ || opcode == IBV_WC_COMP_SWAP ||
	       opcode == IBV_WC_FETCH_ADD;
}

void comp_poison(const struct ibv_context *context, struct ibv_wc *wc)
{
	const bool failed = wc->status != IBV_WC_SUCCESS;

	if (failed || !(is_recv(wc->opcode) || returns_data(wc->opcode)))
		wc->byte_len = POISON;
	if (failed || !(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)))
		wc->imm_data = POISON;
	if (failed || !queue_is_ud(context, wc->qp_num))
		wc->src_qp = POISON;
	if (!failed)
		return;
	wc->opcode = (enum ibv_wc_opcode)POISON;
	wc->wc_flags = POISON;
	wc->pkey_index = (uint16_t)POISON;
	wc->slid = (uint16_t)POISON;
	wc->sl = (uint8_t)POISON;
	wc->dlid_path_bits = (uint8_t)POISON;
}

static void report(struct ibv_cq_ex *cq, enum check check, const char *verb, const char *why)
{
	const struct check_object *object = object_find(cq);

	check_report(check,
		     (struct check_where[]){ { "read here", NULL },
					     { "CQ created here", object ? &object->made : NULL } },
		     object ? 2 : 1, "%s: the field is not valid in this completion of %s, %s",
		     verb, object ? object->label : "a CQ", why);
}

void comp_read(struct ibv_cq_ex *cq, const struct rxe_cqe *cqe, enum comp_field field,
	       const char *verb)
{
	if (cqe->status != RXE_WC_SUCCESS) {
		report(cq, CHECK_COMP_ON_ERROR, verb, "whose status is an error");
		return;
	}
	if (field == COMP_IMM_DATA && !(cqe->flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)))
		report(cq, CHECK_COMP_IMM, verb, "which has neither immediate data nor a key");
	if (field == COMP_BYTE_LEN && !is_recv(cqe->opcode) && !returns_data(cqe->opcode))
		report(cq, CHECK_COMP_LENGTH, verb, "which is of a send");
	if (field == COMP_SRC_QP && !queue_is_ud(cq->context, cqe->qpn))
		report(cq, CHECK_COMP_SRC_QP, verb, "which is not of a UD queue pair");
}

void comp_posting(const struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].len != POISON)
			continue;
		check_report(CHECK_COMP_POISON,
			     (struct check_where[]){ { "posted here", &request->posted } }, 1,
			     "%s, wr_id 0x%" PRIx64
			     ": the length is that of a field that was not valid in its completion",
			     request->queue->owner->label, request->wr_id);
	}
}
