/* SPDX-License-Identifier: MIT */
/* The connection to the device server, which runs the connection manager. It is another one than
 * libibverbs's of the same process, because the two libraries share no symbols. Channels hold it;
 * the last one that is made for a dead server lets it go. */
#ifndef RXE_RDMACM_SERVER_H
#define RXE_RDMACM_SERVER_H

#include <stdint.h>

struct ctl_msg_cm;
struct ctl_msg_cm_reply;

struct rcm_server {
	struct ctl_client *client;
	uint32_t serial; /* of all connections of this process */
	uint32_t refs;
};

/* Connects, or takes the connection that there is. NULL, and errno: ENODEV, no device server. */
struct rcm_server *rcm_server_get(void);
void rcm_server_put(struct rcm_server *server);
/* One request of lib/control/cm.h. ret may be NULL. 0 or a positive errno; ENODEV: the server has
 * exited. */
int rcm_server_ask(struct rcm_server *server, const struct ctl_msg_cm *req,
		   struct ctl_msg_cm_reply *ret);

/* Number of fork() calls between the loading of the library and this process. Ids and channels of
 * another number belong to an ancestor. */
uint32_t rcm_forks(void);

#endif
