// SPDX-License-Identifier: MIT
/* Compares connected queue pairs as soon as both have their attributes: those of this process by
 * their shadows, others of the device by what their processes publish (peer_shared.c). */
#include "lib/check/peer.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/abi/newer.h"
#include "lib/check/object.h"
#include "lib/check/peer_shared.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

/* Copies the attributes that the checks read. */
static void keep(struct check_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *to = &qp->attr;

	qp->attr_mask |= mask;
	if (mask & IBV_QP_AV)
		to->ah_attr = attr->ah_attr;
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
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
}

static struct peer_end own_end(const struct check_qp *qp)
{
	const struct ibv_qp_attr *attr = &qp->attr;
	struct peer_end ret = {
		.made = &qp->object->made,
		.type = (uint32_t)qp->qp->qp_type,
		.path_mtu = 128u << attr->path_mtu,
		.sq_psn = attr->sq_psn,
		.rq_psn = attr->rq_psn,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.access = attr->qp_access_flags,
		.sends = qp->attr_mask & IBV_QP_SQ_PSN,
		.receives = qp->attr_mask & IBV_QP_RQ_PSN,
	};

	if ((qp->attr_mask & IBV_QP_AV) && !peer_shared_is_here(qp))
		ret.elsewhere = &attr->ah_attr.grh.dgid;
	snprintf(ret.label, sizeof(ret.label), "%s", qp->object->label);
	return ret;
}

/* The queue pair that qp is connected to, and that is connected to qp. False: unknown. */
static bool find_peer(const struct check_qp *qp, struct peer_end *ret)
{
	const struct check_qp *peer;

	if (!(qp->attr_mask & IBV_QP_DEST_QPN))
		return false;
	peer = queue_qp(qp->object->context, qp->attr.dest_qp_num);
	if (!peer)
		return qp->state == IBV_QPS_RTS && peer_shared_find(qp, ret);
	if (!(peer->attr_mask & IBV_QP_DEST_QPN) || peer->attr.dest_qp_num != qp->qp->qp_num ||
	    peer == qp)
		return false;
	*ret = own_end(peer);
	return true;
}

/* Places: this call, and where the ends were made, in so far as this process made them. */
static size_t places(struct check_where ret[static 3], const char *what, const struct peer_end *qp,
		     const struct peer_end *peer)
{
	size_t n = 0;

	ret[n++] = (struct check_where){ what, NULL };
	if (qp->made)
		ret[n++] = (struct check_where){ "QP created here", qp->made };
	if (peer->made)
		ret[n++] = (struct check_where){ "its peer created here", peer->made };
	return n;
}

static void disagree(const struct peer_end *qp, const struct peer_end *peer, enum check check,
		     const char *what, unsigned int mine, const char *its, unsigned int theirs)
{
	struct check_where where[3];
	const size_t n = places(where, "connected here", qp, peer);

	check_report(check, where, n, "%s has %s %u, but its peer, %s, has %s %u", qp->label, what,
		     mine, peer->label, its, theirs);
}

static void look_at_gid(const struct peer_end *qp, const struct peer_end *peer)
{
	char gid[INET6_ADDRSTRLEN];
	struct check_where where[3];
	const size_t n = places(where, "connected here", qp, peer);

	if (!qp->elsewhere)
		return;
	inet_ntop(AF_INET6, qp->elsewhere->raw, gid, sizeof(gid));
	check_report(CHECK_PEER_GID, where, n,
		     "%s sends to GID %s, but its peer, %s, is on this device, which has not this "
		     "GID",
		     qp->label, gid, peer->label);
}

/* One direction: what qp sends, and what its peer expects. */
static void compare(const struct peer_end *qp, const struct peer_end *peer)
{
	if (!qp->sends || !peer->receives)
		return;
	look_at_gid(qp, peer);
	if (qp->path_mtu != peer->path_mtu)
		disagree(qp, peer, CHECK_PEER_MTU, "path MTU", qp->path_mtu, "path MTU",
			 peer->path_mtu);
	if (qp->sq_psn != peer->rq_psn)
		disagree(qp, peer, CHECK_PEER_PSN, "sq_psn", qp->sq_psn, "rq_psn", peer->rq_psn);
	if (qp->max_rd_atomic > peer->max_dest_rd_atomic)
		disagree(qp, peer, CHECK_PEER_READS, "max_rd_atomic", qp->max_rd_atomic,
			 "max_dest_rd_atomic", peer->max_dest_rd_atomic);
}

static const char *type_name(uint32_t type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "another";
}

static void compare_both(const struct peer_end *qp, const struct peer_end *peer)
{
	struct check_where where[3];
	const size_t n = places(where, "connected here", qp, peer);
	const bool is_plain = qp->type == IBV_QPT_RC || qp->type == IBV_QPT_UC;

	if (is_plain && qp->type != peer->type) {
		check_report(CHECK_PEER_TYPE, where, n,
			     "%s has transport %s, but its peer, %s, has transport %s", qp->label,
			     type_name(qp->type), peer->label, type_name(peer->type));
		return;
	}
	compare(qp, peer);
	compare(peer, qp);
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
	struct peer_end mine, peer;

	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		qp->attr_mask = 0;
		return;
	}
	keep(qp, attr, attr_mask);
	look_at_timers(qp, attr, attr_mask);
	if (!(attr_mask & IBV_QP_STATE) || !find_peer(qp, &peer))
		return;
	mine = own_end(qp);
	compare_both(&mine, &peer);
}

static int needed_access(enum ibv_wr_opcode opcode)
{
	if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return IBV_ACCESS_REMOTE_WRITE;
	if (opcode == IBV_WR_RDMA_READ)
		return IBV_ACCESS_REMOTE_READ;
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return IBV_ACCESS_REMOTE_ATOMIC;
	return 0;
}

static const char *access_name(int access)
{
	return access == IBV_ACCESS_REMOTE_WRITE  ? "IBV_ACCESS_REMOTE_WRITE"
	       : access == IBV_ACCESS_REMOTE_READ ? "IBV_ACCESS_REMOTE_READ"
						  : "IBV_ACCESS_REMOTE_ATOMIC";
}

void peer_sending(struct check_qp *qp, const struct ibv_send_wr *wr)
{
	const int access = needed_access(wr->opcode);
	struct check_where where[3];
	struct peer_end mine, peer;
	size_t n;

	/* Each kind of access is looked at once in a queue pair's life. */
	if (!access || (qp->access_seen & access))
		return;
	qp->access_seen |= access;
	if (!find_peer(qp, &peer) || (peer.access & (unsigned int)access))
		return;
	mine = own_end(qp);
	n = places(where, "posted here", &mine, &peer);
	check_report(CHECK_PEER_ACCESS, where, n,
		     "%s: the request needs %s in qp_access_flags of its peer, %s, which has 0x%x",
		     mine.label, access_name(access), peer.label, peer.access);
}
