/* SPDX-License-Identifier: MIT */
/* Memberships: multicast groups that an id has joined. The server resolves a group's address and
 * makes the device listen to it; the library attaches the id's queue pair. */
#ifndef RXE_RDMACM_MEMBER_H
#define RXE_RDMACM_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/rdmacm/newer.h"

struct rcm_id;

struct rcm_member {
	struct rcm_member *next;
	uint64_t token;
	uint32_t handle; /* the server's */
	void *context;	 /* the program's, param.ud.private_data of events */
	bool is_sender_only;
	bool is_attached;
	union ibv_gid mgid;
	uint16_t mlid;
	struct sockaddr_storage addr;
	uint32_t claimed, acked; /* events; under the id's lock */
};

/* The membership of an event, which counts for it from now on, or NULL. Under the id's lock. */
struct rcm_member *rcm_member_claim(struct rcm_id *id, uint64_t token);
/* The group is joined: attaches the id's queue pair. 0 or a positive errno. */
int rcm_member_joined(struct rcm_id *id, struct rcm_member *member, const struct ibv_ah_attr *ah);
void rcm_members_free(struct rcm_id *id);

#endif
