// SPDX-License-Identifier: MIT
/* Records a failure in the process's slot: the server keeps the record when the process exits. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "lib/control/cancel.h"
#include "lib/control/client.h"
#include "lib/diagnose/diagnose.h"
#include "lib/progress/log.h"
#include "lib/progress/packet_qp.h"
#include "lib/progress/progress.h"
#include "lib/verbs/device.h"
#include "lib/verbs/qp.h"
#include "net/link/clock.h"

static uint64_t since_1970_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void set_request(struct ctl_failure *failure, const struct rxe_qp *qp, enum rxe_failed what)
{
	const struct rxe_send_wqe *wqe;

	switch (what) {
	case RXE_FAILED_SEND:
		if (rxe_ring_used(&qp->sq) == 0)
			return;
		wqe = rxe_ring_at(&qp->sq, qp->sq.head);
		failure->wr_id = wqe->wr_id;
		break;
	case RXE_FAILED_RECV:
	case RXE_FAILED_RESPONSE:
		if (!qp->claim.held)
			return;
		failure->wr_id = qp->claim.wr_id;
		break;
	case RXE_FAILED_CQ: return;
	}
	failure->has_wr = 1;
}

static void record(struct ctl_failure *failure, const struct vb_device *dev,
		   const struct rxe_qp *qp, enum rxe_failed what, uint32_t status)
{
	const struct diagnosis diagnosis = {
		.gids = dev->info.gids,
		.shared = dev->attachment.shared,
		.slot = dev->attachment.slot,
		.link = dev->info.link,
	};
	const struct ctl_slot *slot = &dev->attachment.shared->slot[dev->attachment.slot];
	struct tail *tail = dev->progress.link.tail;

	memset(failure, 0, offsetof(struct ctl_failure, packet));
	failure->time_ns = clock_now_ns();
	failure->epoch_ns = since_1970_ns();
	failure->pid = atomic_load(&slot->pid);
	memcpy(failure->comm, slot->comm, sizeof(failure->comm));
	failure->qpn = qp->qpn;
	failure->type = (uint32_t)qp->type;
	failure->status = status;
	if (qp->type != RXE_QPT_UD) {
		failure->dest_qpn = qp->attr.dest_qp_num;
		failure->peer = qp->flow.dst;
	}
	set_request(failure, qp, what);
	diagnose_failure(failure->why, sizeof(failure->why), &diagnosis, qp, what,
			 (enum rxe_wc_status)status);
	failure->watched = tail != NULL;
	failure->num_packets =
		tail ? packet_qp_tail(qp, tail, failure->packet, CTL_FAILURE_PACKETS) : 0;
}

void vb_qp_failed(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
		  uint32_t status)
{
	const struct vb_device *dev = vb_device_of_progress(progress);
	struct ctl_slot *slot = &dev->attachment.shared->slot[dev->attachment.slot];
	struct ctl_slot_failures *failures = &slot->failures;
	const uint32_t count = atomic_load_explicit(&failures->count, memory_order_relaxed);
	struct ctl_failure *failure = &failures->at[count % CTL_FAILURES_OF_SLOT];
	NO_CANCEL;

	record(failure, dev, qp, what, status);
	atomic_store_explicit(&failures->count, count + 1, memory_order_release);
	/* A failed send leaves the receiving half of a UC or UD queue pair alive. */
	slot->qp[qp->qpn % RXE_MAX_QP].state =
		what == RXE_FAILED_SEND && !rxe_qp_is_reliable(qp) ? RXE_QPS_SQE : RXE_QPS_ERR;
	rxe_log(RXE_LOG_INFO, "QP 0x%06x: %s", qp->qpn, failure->why);
}
