// SPDX-License-Identifier: MIT
/* Multicast (ibv_attach_mcast(3)): the engine knows which QPs are in a group, the link joins and leaves it. */
#include <string.h>

#include "emu/engine.h"
#include "lib/control/cancel.h"
#include "lib/verbs/objects.h"
#include "lib/verbs/qp.h"

static int verdict_errno(enum mcast_verdict verdict)
{
	switch (verdict) {
	case MCAST_OK:
	case MCAST_FIRST: return 0;
	case MCAST_FULL: return ENOMEM;
	case MCAST_NOT_UD:
	case MCAST_NOT_GROUP:
	case MCAST_NOT_ATTACHED: return EINVAL;
	}
	return EINVAL;
}

int ibv_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct dm_qp *qp = dm_qp(base);
	enum mcast_verdict verdict;
	struct gid group;
	int err = 0;
	NO_CANCEL;

	(void)lid; /* RoCE has none */
	if (!dm_object_is(qp, DM_KIND_QP) || !gid)
		return EINVAL;
	if (dm_verb_fails(base->context, attach_mcast))
		return errno;
	if (!dm_pump_lock_for(qp->dev, qp->forks))
		return EINVAL;
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	verdict = rxe_mcast_attach(qp->dev->pump.engine, &qp->qp, &group);
	if (verdict == MCAST_FIRST)
		err = -dm_wire_join(&qp->dev->pump.wire, &group);
	if (err)
		rxe_mcast_detach(qp->dev->pump.engine, &qp->qp, &group);
	dm_pump_unlock(qp->dev);
	return err ? err : verdict_errno(verdict);
}

int ibv_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct dm_qp *qp = dm_qp(base);
	enum mcast_verdict verdict;
	struct gid group;
	NO_CANCEL;

	(void)lid;
	if (!dm_object_is(qp, DM_KIND_QP) || !gid)
		return EINVAL;
	if (dm_verb_fails(base->context, detach_mcast))
		return errno;
	if (!dm_pump_lock_for(qp->dev, qp->forks))
		return EINVAL;
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	verdict = rxe_mcast_detach(qp->dev->pump.engine, &qp->qp, &group);
	if (verdict == MCAST_FIRST)
		dm_wire_leave(&qp->dev->pump.wire, &group);
	dm_pump_unlock(qp->dev);
	return verdict_errno(verdict);
}
