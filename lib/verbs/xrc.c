// SPDX-License-Identifier: MIT
/* XRC domains, and the target queue pairs that processes share in them (ibv_open_qp(3)). The server
 * maps the inode of a file to a domain, counts the handles of each target, and passes its events
 * on. Modify and query of an opened target are remote requests (lib/progress/remote.h). */
#include "lib/verbs/xrc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <utlist.h>

#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/protocol.h"
#include "lib/control/socket.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/qp.h"
#include "net/link/descriptor.h"

static int check_attr(const struct ibv_xrcd_init_attr *attr)
{
	const uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	if (attr->comp_mask & ~both)
		return refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)(attr->comp_mask & ~both));
	if ((attr->comp_mask & both) != both)
		return refuse(WHY_BITS_MISSING, "comp_mask", (uint64_t)(both & ~attr->comp_mask));
	if (attr->oflags & ~(O_CREAT | O_EXCL))
		return refuse(WHY_XRCD_FLAGS, "oflags has other flags than O_CREAT and O_EXCL");
	if (attr->fd == -1)
		return attr->oflags & O_CREAT
			       ? 0
			       : refuse(WHY_XRCD_FLAGS, "without a file, oflags needs O_CREAT");
	return fcntl(attr->fd, F_GETFD) < 0 ? refuse(WHY_BAD_FD, attr->fd) : 0;
}

static int open_result(const struct ibv_xrcd_init_attr *attr, int rc)
{
	if (rc == -EAGAIN)
		return refuse(WHY_XRCD_ABSENT, attr->fd);
	return rc == -EINVAL ? refuse(WHY_XRCD_EXISTS, attr->fd)
			     : vb_server_result(rc, VB_KIND_XRCD);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct vb_xrcd *xrcd;
	uint32_t flags;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	err = check_attr(attr);
	if (err)
		return vb_fail(err);
	xrcd = vb_object_begin(context, VB_KIND_XRCD, sizeof(*xrcd), INJECT_VERB_open_xrcd);
	if (!xrcd)
		return vb_fail(errno);
	flags = (attr->oflags & O_CREAT ? (uint32_t)CTL_XRCD_CREATE : 0) |
		(attr->oflags & O_EXCL ? (uint32_t)CTL_XRCD_EXCLUSIVE : 0);
	err = open_result(attr, ctl_open_xrcd(&vb_context(context)->ctl, attr->fd, flags,
					      &xrcd->handle, &xrcd->domain));
	if (err)
		return vb_fail(vb_object_undo(xrcd, err));
	vb_object_set_handle(xrcd, xrcd->handle);
	return &xrcd->base;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	int err = vb_object_end(xrcd, VB_KIND_XRCD, INJECT_VERB_close_xrcd);

	if (!err)
		free(xrcd);
	return vb_result(err);
}

static int check_open(struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)attr->comp_mask);
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV)
		return refuse(WHY_OPEN_QP, attr->comp_mask, (int)attr->qp_type);
	return vb_refuses_use(context, attr->xrcd, VB_KIND_XRCD) ? refusal_noted() : 0;
}

/* The handle is one of the domain's context. */
static int tell_server(struct vb_qp *qp, uint32_t qpn, bool is_new)
{
	const struct vb_xrcd *xrcd = vb_xrcd(qp->xrcd);
	int rc;

	qp->target = (struct remote_qp){ .qpn = qpn, .xrcd = xrcd->domain };
	rc = ctl_open_qp(&vb_context(qp->xrcd->context)->ctl, xrcd->handle, qpn, is_new,
			 &qp->target_handle, &qp->target.epoch);
	return rc == -EINVAL || rc == -ENOENT ? refuse(WHY_OPEN_NO_QP(-rc), qpn)
					      : vb_server_result(rc, VB_KIND_QP);
}

/* Returns how many handles of other programs remain; 0 also when that cannot be known. */
static uint32_t leave_server(const struct vb_qp *qp)
{
	uint32_t left = 0;

	if (vb_refuses_context(qp->xrcd->context) ||
	    ctl_close_qp(&vb_context(qp->xrcd->context)->ctl, qp->target_handle, &left))
		return 0;
	return left;
}

int vb_target_announce(struct vb_qp *qp)
{
	return tell_server(qp, qp->qp.qpn, true);
}

/* From now on it gets events. */
static int enter_list(struct vb_qp *qp)
{
	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	LL_PREPEND2(qp->dev->opened_targets, qp, next_opened);
	progress_unlock(&qp->dev->progress);
	return 0;
}

static void leave_list(struct vb_qp *qp)
{
	if (!vb_lock_engine(qp->dev, qp->forks))
		return;
	LL_DELETE2(qp->dev->opened_targets, qp, next_opened);
	progress_unlock(&qp->dev->progress);
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV };
	struct vb_qp *qp;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	err = check_open(context, attr);
	if (err)
		return vb_fail(err);
	qp = vb_object_begin(context, VB_KIND_QP, sizeof(*qp), INJECT_VERB_open_qp);
	if (!qp)
		return vb_fail(errno);
	init.xrcd = attr->xrcd;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		init.qp_context = attr->qp_context;
	vb_qp_init_base(qp, &init);
	qp->is_opened = true;
	qp->qp.qpn = attr->qp_num;
	qp->qp.type = RXE_QPT_XRC_RECV;
	qp->ex.base.qp_base.handle = qp->ex.base.qp_base.qp_num = attr->qp_num;
	qp->ex.base.qp_base.state = IBV_QPS_UNKNOWN;
	err = enter_list(qp);
	if (!err) {
		err = tell_server(qp, attr->qp_num, false);
		if (err)
			leave_list(qp);
	}
	if (err) {
		vb_qp_fini_base(qp);
		return vb_fail(vb_object_undo(qp, err));
	}
	vb_object_set_handle(qp, attr->qp_num);
	vb_object_use(qp->xrcd);
	return &qp->ex.base.qp_base;
}

void vb_target_close(struct vb_qp *qp)
{
	leave_list(qp);
	vb_qp_forget_events(qp);
	if (qp->forks == vb_forks())
		leave_server(qp);
	vb_object_unuse(qp->xrcd);
	vb_qp_fini_base(qp);
	free(qp);
}

bool vb_target_lives_on(struct vb_qp *qp)
{
	if (qp->forks != vb_forks())
		return false;
	if (!vb_lock_engine(qp->dev, qp->forks))
		return false;
	qp->is_closed = true;
	progress_unlock(&qp->dev->progress);
	vb_qp_forget_events(qp);
	/* The thread that takes it back ends the queue pair: this one, or the one that reads the
	 * server's event. The domain may be closed before. */
	if (!vb_object_add(qp, VB_KIND_TARGET)) {
		vb_target_tell(qp->dev, CTL_EVENT_QP_ENDED, qp->qp.qpn);
		leave_server(qp);
		return false;
	}
	vb_object_unuse(qp->xrcd);
	if (leave_server(qp) > 0 || !vb_object_take(qp, VB_KIND_TARGET))
		return true;
	vb_object_use(qp->xrcd);
	return false;
}

void vb_target_tell(struct vb_device *dev, uint32_t type, uint32_t qpn)
{
	const struct ctl_event event = { .type = type, .port = qpn };

	if (descriptor_is_kept(dev->attachment.event_fd))
		ctl_send(dev->attachment.event_fd, &event, sizeof(event), NULL, 0, MSG_DONTWAIT);
}

void vb_xrcd_ops(struct verbs_context_65 *verbs)
{
	verbs->base.open_xrcd = open_xrcd;
	verbs->base.close_xrcd = close_xrcd;
	verbs->base.open_qp = open_qp;
}
