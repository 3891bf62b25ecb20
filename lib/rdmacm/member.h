/* SPDX-License-Identifier: MIT */
/* Memberships of multicast groups. */
#ifndef RXE_RDMACM_MEMBER_H
#define RXE_RDMACM_MEMBER_H

#include "lib/rdmacm/id.h"

/* The group is joined: attaches the id's queue pair. 0 or a positive errno. */
int rcm_member_joined(struct rcm_id *id, struct rcm_member *member, const struct ibv_ah_attr *ah);

#endif
