// SPDX-License-Identifier: MIT
/* What queues wait for, and what an entry of them holds. */
#include "lib/check/queue_wait.h"

#include <inttypes.h>
#include <stddef.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

#define RNR_FOREVER 7

void queue_wait_completed(const struct check_request *request, enum ibv_wc_status status)
{
	const struct check_object *owner = request->queue->owner;
	const struct check_qp *qp = owner->kind == VB_KIND_QP ? owner->part : NULL;

	if (status != IBV_WC_RNR_RETRY_EXC_ERR || !qp)
		return;
	check_report(CHECK_QUEUE_NO_RECEIVE,
		     (struct check_where[]){ { "polled here", NULL },
					     { "posted here", &request->posted },
					     { "QP created here", &owner->made } },
		     3,
		     "%s, wr_id 0x%" PRIx64
		     ": QP 0x%06x, its peer, had no receive for the message, "
		     "also after rnr_retry %u",
		     owner->label, request->wr_id, qp->attr.dest_qp_num, qp->attr.rnr_retry);
}

void queue_wait_modified(const struct check_qp *qp, const struct ibv_qp_attr *attr, int attr_mask)
{
	if (!(attr_mask & IBV_QP_RNR_RETRY) || attr->rnr_retry != RNR_FOREVER)
		return;
	check_report(CHECK_QUEUE_RNR_FOREVER,
		     (struct check_where[]){ { "modified here", NULL },
					     { "QP created here", &qp->object->made } },
		     2, "%s has rnr_retry 7: a send waits forever while its peer posts no receive",
		     qp->object->label);
}

void queue_wait_sending(const struct check_qp *qp, const struct ibv_send_wr *wr)
{
	uint64_t len = 0;

	if (!(wr->send_flags & IBV_SEND_INLINE))
		return;
	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (len <= qp->max_inline_data)
		return;
	check_report(CHECK_QUEUE_INLINE,
		     (struct check_where[]){ { "posted here", NULL },
					     { "QP created here", &qp->object->made } },
		     2,
		     "%s, wr_id 0x%" PRIx64 ": %" PRIu64
		     " bytes of inline data, but the queue pair was granted max_inline_data %u",
		     qp->object->label, wr->wr_id, len, qp->max_inline_data);
}
