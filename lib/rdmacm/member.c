// SPDX-License-Identifier: MIT
/* Memberships of multicast groups. */
#include "lib/rdmacm/member.h"

int rcm_member_joined(struct rcm_id *id, struct rcm_member *member, const struct ibv_ah_attr *ah)
{
	int err;

	member->mgid = ah->grh.dgid;
	member->mlid = ah->dlid;
	if (!id->base.qp || member->is_sender_only)
		return 0;
	err = ibv_attach_mcast(id->base.qp, &member->mgid, member->mlid);
	member->is_attached = !err;
	return err;
}
