// SPDX-License-Identifier: MIT
/* Compares connected queue pairs of this process as soon as both have their attributes. */
#include "lib/check/peer.h"

#include <stdbool.h>
#include <stddef.h>

#include "lib/abi/newer.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

/* Copies the attributes that the checks read. */
static void keep(struct check_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *to = &qp->attr;

	qp->attr_mask |= mask;
	if (mask & IBV_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn & 0xffffff;
	if (mask & IBV_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn & 0xffffff;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
}

static void disagree(const struct check_qp *qp, const struct check_qp *peer, enum check check,
		     const char *what, unsigned int mine, const char *its, unsigned int theirs)
{
	check_report(check,
		     (struct check_where[]){ { "connected here", NULL },
					     { "QP created here", &qp->object->made },
					     { "its peer created here", &peer->object->made } },
		     3, "%s has %s %u, but its peer, %s, has %s %u", qp->object->label, what, mine,
		     peer->object->label, its, theirs);
}

/* One direction: what qp sends, and what its peer expects. */
static void compare(const struct check_qp *qp, const struct check_qp *peer)
{
	const struct ibv_qp_attr *mine = &qp->attr, *theirs = &peer->attr;

	if (!(qp->attr_mask & IBV_QP_SQ_PSN) || !(peer->attr_mask & IBV_QP_RQ_PSN))
		return;
	if (mine->path_mtu != theirs->path_mtu)
		disagree(qp, peer, CHECK_PEER_MTU, "path MTU", 128u << mine->path_mtu, "path MTU",
			 128u << theirs->path_mtu);
	if (mine->sq_psn != theirs->rq_psn)
		disagree(qp, peer, CHECK_PEER_PSN, "sq_psn", mine->sq_psn, "rq_psn",
			 theirs->rq_psn);
	if ((qp->attr_mask & IBV_QP_MAX_QP_RD_ATOMIC) &&
	    mine->max_rd_atomic > theirs->max_dest_rd_atomic)
		disagree(qp, peer, CHECK_PEER_READS, "max_rd_atomic", mine->max_rd_atomic,
			 "max_dest_rd_atomic", theirs->max_dest_rd_atomic);
}

static void look_at_timers(const struct check_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_TIMEOUT) && attr->timeout == 0)
		check_report(
			CHECK_PEER_TIMEOUT,
			(struct check_where[]){ { "modified here", NULL },
						{ "QP created here", &qp->object->made } },
			2,
			"%s has timeout 0: if a packet is lost or the peer exits, its requests "
			"wait forever",
			qp->object->label);
}

void peer_modified(struct check_qp *qp, const struct ibv_qp_attr *attr, int attr_mask)
{
	const struct check_qp *peer;

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		qp->attr_mask = 0;
		return;
	}
	keep(qp, attr, attr_mask);
	look_at_timers(qp, attr, attr_mask);
	if (!(qp->attr_mask & IBV_QP_DEST_QPN))
		return;
	peer = queue_qp(qp->object->context, qp->attr.dest_qp_num);
	if (!peer || !(peer->attr_mask & IBV_QP_DEST_QPN) ||
	    peer->attr.dest_qp_num != qp->qp->qp_num)
		return;
	compare(qp, peer);
	if (peer != qp)
		compare(peer, qp);
}
