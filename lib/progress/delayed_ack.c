// SPDX-License-Identifier: MIT
/* Records of delayed ACKs in the process's slot of the shared memory. */
#include "lib/progress/delayed_ack.h"

#include "emu/qp.h"
#include "lib/progress/progress.h"
#include "net/wire/packet.h"

static struct ctl_delayed_ack *records(struct progress *progress)
{
	return progress->attachment->shared->slot[progress->attachment->slot].delayed_ack;
}

/* Index of the queue pair's record, else of an empty one; CTL_MAX_DELAYED_ACKS: all are in use. */
static uint32_t find(struct progress *progress, uint32_t qpn)
{
	const struct ctl_delayed_ack *record = records(progress);
	uint32_t empty = CTL_MAX_DELAYED_ACKS;

	for (uint32_t i = 0; i < CTL_MAX_DELAYED_ACKS; i++) {
		uint32_t whose = atomic_load_explicit(&record[i].qpn, memory_order_relaxed);

		if (whose == qpn)
			return i;
		if (!whose && empty == CTL_MAX_DELAYED_ACKS)
			empty = i;
	}
	return empty;
}

bool delayed_ack_note(void *host, const struct rxe_qp *qp)
{
	struct progress *progress = host;
	uint32_t place = find(progress, qp->qpn);
	struct ctl_delayed_ack *record;

	if (place == CTL_MAX_DELAYED_ACKS || progress->info->link != CTL_LINK_UDP)
		return false;
	record = &records(progress)[place];
	atomic_exchange(&record->qpn, 0); /* orders the stores below after this one */
	record->dest_qpn = qp->attr.dest_qp_num;
	record->psn = psn_add(qp->attr.rq_psn, PSN_MASK);
	record->msn = qp->rc.resp.msn;
	record->peer = qp->flow.dst;
	atomic_store_explicit(&record->qpn, qp->qpn, memory_order_release);
	progress->delayed_acks_leaving &= ~(1u << place);
	return true;
}

void delayed_ack_emitted(void *host, const struct rxe_qp *qp)
{
	struct progress *progress = host;
	uint32_t place = find(progress, qp->qpn);

	if (place != CTL_MAX_DELAYED_ACKS)
		progress->delayed_acks_leaving |= 1u << place;
}

void delayed_ack_sent(struct progress *progress)
{
	struct ctl_delayed_ack *record;

	if (!progress->delayed_acks_leaving)
		return;
	record = records(progress);
	for (uint32_t i = 0; i < CTL_MAX_DELAYED_ACKS; i++)
		if (progress->delayed_acks_leaving & 1u << i)
			atomic_store_explicit(&record[i].qpn, 0, memory_order_release);
	progress->delayed_acks_leaving = 0;
}
