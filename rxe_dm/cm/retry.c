/* SPDX-License-Identifier: MIT */
/* Messages on their way out, and their retries. */
#include "rxe_dm/cm/retry.h"

uint64_t cm_timeout_ns(uint8_t code, uint8_t max_code)
{
	return 4096ull << (code < max_code ? code : max_code);
}

static void msg_send(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
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
	id->retry.last = *msg;
	id->retry.has_last = true;
	id->retry.last.tid = id->tid;
	id->retry.last.local_comm_id = id->local_comm_id;
	id->retry.last.remote_comm_id = cm_id_remote_comm_id(id);
}

void cm_last_send(struct cm_id *id)
{
	if (id->retry.has_last)
		msg_send(id->cm, &id->path, &id->retry.last);
}

void cm_last_await(struct cm_id *id, uint64_t now_ns)
{
	id->retry.left = id->retry.max;
	id->retry.stands_still = false;
	cm_timer_set(id, now_ns + id->retry.timeout_ns);
}

void cm_last_retry(struct cm_id *id, uint64_t now_ns)
{
	cm_last_send(id);
	cm_last_await(id, now_ns);
}

bool cm_last_retry_again(struct cm_id *id, uint64_t now_ns)
{
	if (id->retry.left == 0)
		return false;
	id->retry.left--;
	cm_last_send(id);
	cm_timer_set(id, now_ns + id->retry.timeout_ns);
	return true;
}

void cm_answer_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
			 const struct cm_msg *answer)
{
	struct cm_msg msg = *answer;

	msg.tid = to->tid;
	msg.local_comm_id = to->remote_comm_id;
	msg.remote_comm_id = to->local_comm_id;
	msg_send(cm, path, &msg);
}
