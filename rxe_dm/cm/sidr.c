/* SPDX-License-Identifier: MIT */
/* SIDR: resolves a service ID to a queue pair for datagrams (12.11). */
#include <errno.h>

#include "rxe_dm/cm/listen.h"
#include "rxe_dm/cm/retry.h"
#include "rxe_dm/cm/sidr.h"
#include "rxe_dm/cm/state.h"

/* A SIDR_REQ does not say when it comes again: two of the retries that Linux makes, of 4.3 s. */
#define DUPLICATES_NS 8600000000ull

int cm_send_sidr_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t timeout_ns, uint8_t max_retries, uint64_t now_ns)
{
	if (!cm_has_step(id, CM_CALL_SIDR_REQ) || !cm_msg_is_sendable(msg, CM_SIDR_REQ))
		return -EINVAL;
	cm_id_set_kind(id, CM_KIND_RESOLUTION);
	if (!cm_table_add_comm_id(id))
		return -ENOMEM;
	id->path = *path;
	id->tid = cm_id_own_tid(id);
	id->retry.timeout_ns = timeout_ns;
	id->retry.max = max_retries;
	(void)cm_step(id, CM_CALL_SIDR_REQ);
	cm_last_set(id, msg);
	id->retry.last.u.sidr_req.request_id = id->local_comm_id;
	cm_last_retry(id, now_ns);
	return 0;
}

int cm_send_sidr_rep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (!cm_has_step(id, CM_CALL_SIDR_REP) || !cm_msg_is_sendable(msg, CM_SIDR_REP))
		return -EINVAL;
	cm_last_set(id, msg);
	id->retry.last.u.sidr_rep.request_id = (uint32_t)id->resolution.request.request_id;
	id->retry.last.u.sidr_rep.service_id = id->resolution.service_id;
	cm_last_send(id);
	(void)cm_step(id, CM_CALL_SIDR_REP);
	cm_timer_set(id, now_ns + DUPLICATES_NS);
	return 0;
}

static void refuse(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
		   enum cm_sidr_status status)
{
	const struct cm_msg rep = {
		.attr = CM_SIDR_REP,
		.u.sidr_rep = { .request_id = to->u.sidr_req.request_id,
				.service_id = to->u.sidr_req.service_id,
				.status = (uint8_t)status },
	};

	cm_answer_stateless(cm, path, to, &rep);
}

static struct cm_id *passive_end(struct cm *cm, const struct cm_path *path,
				 const struct cm_msg *msg)
{
	struct cm_id *id = cm_id_create(cm, NULL);

	if (!id)
		return NULL;
	cm_id_set_kind(id, CM_KIND_RESOLUTION);
	id->path = *path;
	id->resolution.service_id = msg->u.sidr_req.service_id;
	id->tid = msg->tid;
	(void)cm_step(id, CM_GOT_SIDR_REQ);
	if (cm_table_add_request(id, &path->dst, msg->u.sidr_req.request_id))
		return id;
	cm_id_free(id);
	return NULL;
}

void cm_sidr_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	struct cm_id *id = cm_find_request(cm, &path->dst, msg->u.sidr_req.request_id);
	struct cm_id *listener;

	if (id) {
		cm_last_send(id); /* nothing, until it is answered */
		return;
	}
	listener = cm_listen_find(cm, msg->u.sidr_req.service_id, path);
	if (!listener) {
		refuse(cm, path, msg, CM_SIDR_UNSUPPORTED);
		return;
	}
	id = passive_end(cm, path, msg);
	if (id)
		cm_id_report_request(id, listener, CM_EVENT_SIDR_REQ_RECEIVED, path, msg);
	else
		refuse(cm, path, msg, CM_SIDR_NO_QP);
}

void cm_sidr_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	struct cm_id *id = cm_find_resolution(cm, msg->u.sidr_rep.request_id);

	if (id && cm_step(id, CM_GOT_SIDR_REP))
		cm_id_report(id, CM_EVENT_SIDR_REP_RECEIVED, path, msg);
}
