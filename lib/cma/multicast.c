// SPDX-License-Identifier: MIT
/* Multicast groups of an id. On RoCE a group needs no subnet manager: its MGID is the IP address,
 * its Q_Key the port space's. The library attaches the queue pair when the event comes. */
#include <errno.h>
#include <stdlib.h>

#include "lib/cma/private.h"

static void report(struct rdma_id *id, const struct rdma_membership *membership,
		   const struct gid *group)
{
	struct ctl_cm_event event = {
		.event = RCM_EVENT_MULTICAST_JOIN,
		.mc_token = membership->token,
		.conn = { .qpn = RDMA_MCAST_QPN, .qkey = id->qkey ? id->qkey : RCM_UDP_QKEY },
	};

	rdma_id_fill_ah(id, &event.ah);
	event.ah.dgid = *group;
	event.ah.flow_label = 0;
	rdma_id_emit(id, &event);
}

static int check_join(const struct rdma_id *id, const struct endpoint *group)
{
	if (id->state != ID_BOUND && id->state != ID_ADDR_RESOLVED)
		return -EINVAL;
	if (!id->has_device || !rdma_id_is_datagram(id) || !gid_is_multicast(&group->address))
		return -EINVAL;
	return gid_is_v4(&group->address) == gid_is_v4(&id->ids->device[id->device].gid) ? 0
											 : -EINVAL;
}

int rdma_id_join(struct rdma_id *id, const union ctl_cm_sockaddr *group, uint64_t token,
		 uint32_t *ret_membership)
{
	struct rdma_membership *membership;
	struct endpoint endpoint;
	int rc = endpoint_parse(&endpoint, group);

	if (rc == 0)
		rc = check_join(id, &endpoint);
	if (rc)
		return rc;
	membership = (struct rdma_membership *)calloc(1, sizeof(*membership));
	if (!membership)
		return -ENOMEM;
	membership->handle = ++id->last_membership;
	membership->token = token;
	DL_APPEND(id->memberships, membership);
	report(id, membership, &endpoint.address);
	*ret_membership = membership->handle;
	return 0;
}

int rdma_id_leave(struct rdma_id *id, uint32_t handle, uint64_t *ret_token)
{
	struct rdma_membership *membership;

	DL_FOREACH (id->memberships, membership) {
		if (membership->handle == handle)
			break;
	}
	if (!membership)
		return -EINVAL;
	*ret_token = membership->token;
	DL_DELETE(id->memberships, membership);
	free(membership);
	return 0;
}
