/* SPDX-License-Identifier: MIT */
/* Requests to the server about an id. */
#ifndef RXE_RDMACM_ASK_H
#define RXE_RDMACM_ASK_H

#include "lib/rdmacm/id.h"
#include "lib/rdmacm/server.h"

/* A request about an id, whose handle goes into req. As rcm_server_ask(); id NULL: EINVAL. */
int rcm_id_ask(const struct rcm_id *id, struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret);

#endif
