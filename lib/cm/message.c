/* SPDX-License-Identifier: MIT */
/* Messages on their way out: the message that is retried, answers without an id. */
#include <string.h>

#include "lib/cm/id.h"

uint64_t cm_timeout_ns(uint8_t code, uint8_t max_code)
{
	return 4096ull << (code < max_code ? code : max_code);
}

void cm_msg_send(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cm->cfg.ops->send(cm->cfg.host, path, mad);
}

bool cm_msg_is_sendable(const struct cm_msg *msg, enum cm_attr attr)
{
	if (msg->attr != attr || msg->private_len > cm_private_max(attr))
		return false;
	if (attr == CM_REJ)
		return msg->u.rej.ari_len <= CM_REJ_ARI;
	if (attr == CM_SIDR_REP)
		return msg->u.sidr_rep.info_len <= CM_SIDR_REP_INFO;
	return true;
}

void cm_last_set(struct cm_id *id, const struct cm_msg *msg)
{
	id->last = *msg;
	id->has_last = true;
	id->last.tid = id->tid;
	id->last.local_comm_id = id->local_comm_id;
	id->last.remote_comm_id = id->in_remote ? (uint32_t)id->remote.comm_id : 0;
}

void cm_last_send(struct cm_id *id)
{
	if (id->has_last)
		cm_msg_send(id->cm, &id->path, &id->last);
}

void cm_last_retry(struct cm_id *id, uint64_t now_ns)
{
	id->retries_left = id->max_retries;
	cm_last_send(id);
	cm_timer_set(id, now_ns + id->timeout_ns);
}

bool cm_last_retry_again(struct cm_id *id, uint64_t now_ns)
{
	if (id->retries_left == 0)
		return false;
	id->retries_left--;
	cm_last_send(id);
	cm_timer_set(id, now_ns + id->timeout_ns);
	return true;
}

/* The answer itself takes a packet lifetime, too. */
void cm_last_extend(struct cm_id *id, uint8_t service_timeout, uint64_t now_ns)
{
	cm_timer_set(id, now_ns + cm_timeout_ns(service_timeout, CM_MAX_SERVICE_TIMEOUT) +
				 cm_timeout_ns(id->ack_timeout, CM_MAX_TIMEOUT));
}

void cm_answer_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
			 struct cm_msg *answer)
{
	answer->tid = to->tid;
	answer->local_comm_id = to->remote_comm_id;
	answer->remote_comm_id = to->local_comm_id;
	cm_msg_send(cm, path, answer);
}
