// SPDX-License-Identifier: MIT
/* Joining and leaving of multicast groups. */
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/address.h"
#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/finish.h"
#include "lib/refusal/refusal.h"

static void unlink_member(struct rcm_id *id, struct rcm_member *member)
{
	pthread_mutex_lock(&id->lock);
	LL_DELETE(id->members, member);
	pthread_mutex_unlock(&id->lock);
}

/* The IP address of a group that the program names: on RoCE a multicast GID is one. EINVAL: the
 * address names no group. */
static int group_of(union ctl_cm_sockaddr *ret, const struct sockaddr *addr)
{
	struct sockaddr_ib ib;
	struct in6_addr gid;

	memset(ret, 0, sizeof(*ret));
	if (!addr || addr->sa_family != AF_IB)
		return rcm_address_pack(ret, addr);
	memcpy(&ib, addr, sizeof(ib));
	memcpy(&gid, &ib.sib_addr, sizeof(gid));
	if (IN6_IS_ADDR_V4MAPPED(&gid)) {
		ret->in.sin_family = AF_INET;
		memcpy(&ret->in.sin_addr, &gid.s6_addr[12], sizeof(ret->in.sin_addr));
	} else if (IN6_IS_ADDR_MULTICAST(&gid)) {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_addr = gid;
	} else {
		return refuse(WHY_CM_GROUP);
	}
	return 0;
}

static int join_on_server(struct rcm_id *id, struct rcm_member *member)
{
	struct ctl_msg_cm req = {
		.op = CTL_CM_JOIN,
		.token = member->token,
		.join_flags = member->is_sender_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
						     : RDMA_MC_JOIN_FLAG_FULLMEMBER,
	};
	struct ctl_msg_cm_reply reply;
	int err;

	req.dst = member->addr;
	err = rcm_id_ask(id, &req, &reply);
	if (!err)
		member->handle = reply.handle;
	return err;
}

static int join(struct rcm_id *id, const struct sockaddr *addr, uint32_t flags, void *context)
{
	union ctl_cm_sockaddr group;
	struct rcm_member *member;
	int err = group_of(&group, addr);

	if (err)
		return err;
	member = calloc(1, sizeof(*member));
	if (!member)
		return refuse(WHY_NO_MEMORY, "the membership");
	member->addr = group;
	member->token = rcm_token();
	member->context = context;
	member->is_sender_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	/* Before the server knows the token. */
	pthread_mutex_lock(&id->lock);
	LL_PREPEND(id->members, member);
	pthread_mutex_unlock(&id->lock);

	err = join_on_server(id, member);
	if (err) {
		unlink_member(id, member);
		free(member);
		return err;
	}
	return rcm_id_finish(id);
}

int rdma_join_multicast(struct rdma_cm_id *base, struct sockaddr *addr, void *context)
{
	if (!base)
		return rcm_result(refuse(WHY_NULL, "id"));
	return rcm_result(join(rcm_id(base), addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context));
}

int rdma_join_multicast_ex(struct rdma_cm_id *base, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	const uint32_t both = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!base || !attr)
		return rcm_result(refuse(WHY_NULL, base ? "mc_join_attr" : "id"));
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return rcm_result(
			refuse(WHY_CM_JOIN_BITS(ENOTSUP), attr->comp_mask, attr->join_flags));
	if (attr->comp_mask != both || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return rcm_result(
			refuse(WHY_CM_JOIN_BITS(EINVAL), attr->comp_mask, attr->join_flags));
	return rcm_result(join(rcm_id(base), attr->addr, attr->join_flags, context));
}

static struct rcm_member *find(struct rcm_id *id, const union ctl_cm_sockaddr *group)
{
	struct rcm_member *member;

	pthread_mutex_lock(&id->lock);
	LL_FOREACH (id->members, member) {
		/* As librdmacm does, with the padding. */
		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
		if (!memcmp(&member->addr, group, sizeof(*group)))
			break;
	}
	pthread_mutex_unlock(&id->lock);
	return member;
}

int rdma_leave_multicast(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct rcm_id *id = rcm_id(base);
	union ctl_cm_sockaddr group;
	struct rcm_member *member;
	struct ctl_msg_cm req = { .op = CTL_CM_LEAVE };
	int err;
	NO_CANCEL;

	if (!base)
		return rcm_result(refuse(WHY_NULL, "id"));
	if (group_of(&group, addr))
		return rcm_result(refuse(WHY_CM_GROUP));
	member = find(id, &group);
	if (!member)
		return rcm_result(refuse(WHY_CM_NO_MEMBER));
	if (base->qp && member->is_attached)
		ibv_detach_mcast(base->qp, &member->mgid, member->mlid);
	req.membership = member->handle;
	err = rcm_id_ask(id, &req, NULL);
	rcm_channel_drop(rcm_channel(base->channel),
			 &(struct rcm_wanted){ id->token, member->token });
	unlink_member(id, member);
	/* A synchronous id may hold the event of the join. */
	rcm_id_drop_event(id);
	rcm_id_await_acks(id, &member->events);
	free(member);
	return rcm_result(err);
}
