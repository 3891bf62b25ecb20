// SPDX-License-Identifier: MIT
/* Requests to the server about an id. */
#include "lib/rdmacm/ask.h"

#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/forks.h"
#include "lib/refusal/refusal.h"

int rcm_id_ask(const struct rcm_id *id, struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret)
{
	/* An id of the parent of a fork() belongs to the parent's connection. */
	if (!id)
		return refuse(WHY_NULL, "id");
	if (id->forks != rcm_forks())
		return refuse(WHY_INHERITED, "the id");
	req->id = id->handle;
	return rcm_server_ask(rcm_channel(id->base.channel)->server, req, ret);
}
