// SPDX-License-Identifier: MIT
/* Noting held ACKs in the process's slot of the shared memory. */
#include "lib/progress/delayed_ack.h"

#include "emu/qp.h"
#include "lib/progress/progress.h"
#include "net/wire/packet.h"

static struct ctl_owed_ack *notes(struct progress *progress)
{
	return progress->attachment->shared->slot[progress->attachment->slot].owed;
}

/* The QP's note, or an empty one; CTL_OWED: there is none. */
static uint32_t find(struct progress *progress, uint32_t qpn)
{
	const struct ctl_owed_ack *owed = notes(progress);
	uint32_t empty = CTL_OWED;

	for (uint32_t i = 0; i < CTL_OWED; i++) {
		uint32_t whose = atomic_load_explicit(&owed[i].qpn, memory_order_relaxed);

		if (whose == qpn)
			return i;
		if (!whose && empty == CTL_OWED)
			empty = i;
	}
	return empty;
}

bool delayed_ack_note(void *host, const struct rxe_qp *qp)
{
	struct progress *progress = host;
	uint32_t place = find(progress, qp->qpn);
	struct ctl_owed_ack *owed;

	if (place == CTL_OWED || progress->info->link != CTL_LINK_UDP)
		return false;
	owed = &notes(progress)[place];
	atomic_exchange(&owed->qpn, 0); /* what follows stays behind it */
	owed->dest_qpn = qp->attr.dest_qp_num;
	owed->psn = psn_add(qp->attr.rq_psn, PSN_MASK);
	owed->msn = qp->rc.resp.msn;
	owed->peer = qp->flow.dst;
	atomic_store_explicit(&owed->qpn, qp->qpn, memory_order_release);
	progress->owed_leaving &= ~(1u << place);
	return true;
}

void delayed_ack_paid(void *host, const struct rxe_qp *qp)
{
	struct progress *progress = host;
	uint32_t place = find(progress, qp->qpn);

	if (place != CTL_OWED)
		progress->owed_leaving |= 1u << place;
}

void delayed_ack_sent(struct progress *progress)
{
	struct ctl_owed_ack *owed;

	if (!progress->owed_leaving)
		return;
	owed = notes(progress);
	for (uint32_t i = 0; i < CTL_OWED; i++)
		if (progress->owed_leaving & 1u << i)
			atomic_store_explicit(&owed[i].qpn, 0, memory_order_release);
	progress->owed_leaving = 0;
}
