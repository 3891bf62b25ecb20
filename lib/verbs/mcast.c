// SPDX-License-Identifier: MIT
/* Multicast (ibv_attach_mcast(3)): the engine keeps the members of a group; the link joins with
 * the first and leaves with the last. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "emu/engine.h"
#include "lib/abi/newer.h"
#include "lib/control/cancel.h"
#include "lib/progress/progress.h"
#include "lib/verbs/device.h"
#include "lib/verbs/error.h"
#include "lib/verbs/fork.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/qp.h"
#include "net/link/link.h"

static int result_errno(enum mcast_result result)
{
	switch (result) {
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
	struct vb_qp *qp = vb_qp(base);
	enum mcast_result result;
	struct gid group;
	int err = 0;
	NO_CANCEL;

	/* RoCE has no LIDs. */
	(void)lid;
	if (!vb_live_is(qp, VB_KIND_QP) || !gid)
		return vb_result(EINVAL);
	if (vb_verb_fails(base->context, attach_mcast))
		return errno;
	if (!vb_profile(qp->dev)->max_mcast_grp)
		return vb_result(EOPNOTSUPP);
	if (!vb_lock_engine(qp->dev, qp->forks))
		return vb_result(EINVAL);
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	result = rxe_mcast_attach(qp->dev->progress.engine, &qp->qp, &group);
	if (result == MCAST_FIRST)
		err = -link_join(qp->dev->progress.link.phy, &group);
	if (err)
		rxe_mcast_detach(qp->dev->progress.engine, &qp->qp, &group);
	progress_unlock(&qp->dev->progress);
	return vb_result(err ? err : result_errno(result));
}

int ibv_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = vb_qp(base);
	enum mcast_result result;
	struct gid group;
	NO_CANCEL;

	(void)lid;
	if (!vb_live_is(qp, VB_KIND_QP) || !gid)
		return vb_result(EINVAL);
	if (vb_verb_fails(base->context, detach_mcast))
		return errno;
	if (!vb_lock_engine(qp->dev, qp->forks))
		return vb_result(EINVAL);
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	result = rxe_mcast_detach(qp->dev->progress.engine, &qp->qp, &group);
	if (result == MCAST_FIRST)
		link_leave(qp->dev->progress.link.phy, &group);
	progress_unlock(&qp->dev->progress);
	return vb_result(result_errno(result));
}
