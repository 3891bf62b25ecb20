// SPDX-License-Identifier: MIT
/* Reads what the processes of a device publish of their queue pairs (lib/control/shared.h). */
#include "lib/check/peer_shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "emu/limits.h"
#include "lib/check/queue.h"
#include "lib/control/shared.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"

/* The address is one of the device's. */
static bool is_local(const struct vb_device *dev, const union ibv_gid *gid)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (memcmp(&dev->info.gids[i], gid, sizeof(*gid)) == 0)
			return true;
	}
	return false;
}

static void fill(struct peer_end *ret, const struct ctl_slot *slot, const struct ctl_shared_qp *qp)
{
	*ret = (struct peer_end){
		.type = qp->type,
		.path_mtu = qp->path_mtu,
		.sq_psn = qp->sq_psn,
		.rq_psn = qp->rq_psn,
		.max_rd_atomic = qp->max_rd_atomic,
		.max_dest_rd_atomic = qp->max_dest_rd_atomic,
		.access = qp->access,
		.sends = true,
		.receives = true,
	};
	snprintf(ret->label, sizeof(ret->label), "QP 0x%06x of %.15s (process %d)",
		 atomic_load(&qp->qpn), slot->comm, (int)atomic_load(&slot->pid));
}

bool peer_shared_is_here(const struct check_qp *qp)
{
	return is_local(vb_device(qp->qp->context), &qp->attr.ah_attr.grh.dgid);
}

bool peer_shared_find(const struct check_qp *qp, struct peer_end *ret)
{
	const struct vb_device *dev = vb_device(qp->qp->context);
	const uint32_t qpn = qp->attr.dest_qp_num, number = qpn >> RXE_SLOT_SHIFT;
	const struct ctl_shared_qp *other;
	const struct ctl_slot *slot;

	if (number >= RXE_MAX_SLOTS || number == dev->attachment.slot ||
	    !is_local(dev, &qp->attr.ah_attr.grh.dgid))
		return false;
	slot = &dev->attachment.shared->slot[number];
	other = &slot->qp[qpn % RXE_MAX_QP];
	if (!atomic_load(&slot->pid) || atomic_load(&other->qpn) != qpn ||
	    other->state != IBV_QPS_RTS || other->dest_qpn != qp->qp->qp_num)
		return false;
	fill(ret, slot, other);
	return true;
}
