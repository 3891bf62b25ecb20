// SPDX-License-Identifier: MIT
/* Noting held ACKs in the process's slot of the shared memory. */
#include "lib/progress/delayed_ack.h"

#include "emu/qp.h"
#include "lib/verbs/objects.h"
#include "net/wire/packet.h"

static struct ctl_owed_ack *notes(struct dm_device *dev)
{
	return dev->attachment.shared->slot[dev->attachment.slot].owed;
}

/* The QP's note, or an empty one; CTL_OWED: there is none. */
static uint32_t find(struct dm_device *dev, uint32_t qpn)
{
	const struct ctl_owed_ack *owed = notes(dev);
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

bool dm_owed_note(void *host, const struct rxe_qp *qp)
{
	struct dm_device *dev = host;
	uint32_t place = find(dev, qp->qpn);
	struct ctl_owed_ack *owed;

	if (place == CTL_OWED || dev->info.link != CTL_LINK_UDP)
		return false;
	owed = &notes(dev)[place];
	atomic_exchange(&owed->qpn, 0); /* what follows stays behind it */
	owed->dest_qpn = qp->attr.dest_qp_num;
	owed->psn = psn_add(qp->attr.rq_psn, PSN_MASK);
	owed->msn = qp->rc.resp.msn;
	owed->peer = qp->flow.dst;
	atomic_store_explicit(&owed->qpn, qp->qpn, memory_order_release);
	dev->pump.owed_leaving &= ~(1u << place);
	return true;
}

void dm_owed_paid(void *host, const struct rxe_qp *qp)
{
	struct dm_device *dev = host;
	uint32_t place = find(dev, qp->qpn);

	if (place != CTL_OWED)
		dev->pump.owed_leaving |= 1u << place;
}

void dm_owed_sent(struct dm_pump *pump)
{
	struct ctl_owed_ack *owed;

	if (!pump->owed_leaving)
		return;
	owed = notes(DM_CONTAINER(pump, struct dm_device, pump));
	for (uint32_t i = 0; i < CTL_OWED; i++)
		if (pump->owed_leaving & 1u << i)
			atomic_store_explicit(&owed[i].qpn, 0, memory_order_release);
	pump->owed_leaving = 0;
}
