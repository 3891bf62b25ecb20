// SPDX-License-Identifier: MIT
/* Requests to the connection manager. */
#include <errno.h>

#include "net/link/clock.h"
#include "rxe_dm/server/cm/channel.h"
#include "rxe_dm/server/cm/fault.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"

#define MAX_ERRNO 4095 /* the kernel's */

static struct cm_channel *channel_of(const struct call *call)
{
	return cm_channel_find(call->conn, call->req.cm.channel);
}

static int create_channel(struct call *call)
{
	struct cm_channel *channel;
	int rc;

	if (call->in_fd < 0)
		return -EINVAL;
	rc = cm_channel_open(call->conn, call->in_fd, &channel);
	if (rc)
		return rc;
	call->in_fd = -1;
	call->reply.cm.handle = channel->handle;
	return 0;
}

static int destroy_channel(struct cm_channel *channel)
{
	if (!channel)
		return -ENOENT;
	if (channel->num_ids)
		return -EBUSY;
	cm_channel_close(channel);
	return 0;
}

static int pause_channel(struct call *call, bool paused)
{
	struct cm_channel *channel = channel_of(call);

	if (!channel)
		return -ENOENT;
	cm_channel_pause(channel, paused);
	if (!paused)
		return 0;
	call->out_fd[0] = channel->sock.fd;
	call->num_out = call->keep_out = 1;
	return 0;
}

static int create_id(struct call *call)
{
	const struct ctl_msg_cm *req = &call->req.cm;
	struct cm_channel *channel = channel_of(call);
	const struct cma_id_user user = {
		.owner = call->conn,
		.channel = channel,
		.channel_ids = channel ? &channel->num_ids : NULL,
		.token = req->token,
	};
	struct cma_id *id;
	int rc;

	if (!channel)
		return -ENOENT;
	rc = cma_id_create(call->conn->instance->cm.ids, req->port_space, req->qp_type, &user, &id);
	if (rc == 0)
		call->reply.cm.handle = cma_id_handle(id);
	return rc;
}

static int accept_id(struct call *call, struct cma_id *id)
{
	struct cma_id_user *user = cma_id_user(id);
	int rc = cma_id_accept(id, &call->req.cm.conn, clock_now_ns());

	if (rc == 0 && call->req.cm.token)
		user->token = call->req.cm.token;
	return rc;
}

static int migrate_id(struct call *call, struct cma_id *id)
{
	struct cm_channel *to = channel_of(call);

	if (!to)
		return -ENOENT;
	if (call->req.cm.token)
		cma_id_user(id)->token = call->req.cm.token;
	call->reply.cm.events = cma_id_user(id)->events;
	cm_channel_move(id, to);
	return 0;
}

/* Each membership has one event: it is in the socket, unless it was dropped here. */
static int leave_group(struct call *call, struct cma_id *id)
{
	struct cm_channel *channel = (struct cm_channel *)cma_id_user(id)->channel;
	uint64_t token;
	int rc = cma_id_leave(id, call->req.cm.membership, &token);

	if (rc == 0)
		call->reply.cm.events = 1 - cm_channel_drop_membership(channel, token);
	return rc;
}

static void list_ids(struct call *call)
{
	const struct cma_ids *ids = call->conn->instance->cm.ids;
	const uint32_t first = call->req.cm.id;
	struct ctl_cm_page *page = &call->reply.cm_page;
	struct cma_id *id = first ? cma_id_find(ids, first) : cma_id_next(ids, NULL);

	for (; id && page->count < CTL_CM_PAGE; id = cma_id_next(ids, id)) {
		const struct conn *owner = (const struct conn *)cma_id_user(id)->owner;
		struct ctl_cm_listed *listed = &page->id[page->count++];

		cma_id_describe(id, listed);
		listed->pid = owner->pid;
		if (listed->state == CTL_CM_LISTENING)
			listed->unread = cm_channel_unread(id);
	}
	page->next = id ? cma_id_handle(id) : 0;
}

/* The records from a place on, oldest first. */
static void list_failures(const struct cm_failures *failures, uint32_t first,
			  struct ctl_cm_failures *ret)
{
	const uint32_t oldest =
		failures->count > CTL_CM_FAILURES_KEPT ? failures->count - CTL_CM_FAILURES_KEPT : 0;
	const uint32_t kept = failures->count - oldest;

	for (; first < kept && ret->count < CTL_CM_FAILURES_PAGE; first++)
		ret->at[ret->count++] = failures->at[(oldest + first) % CTL_CM_FAILURES_KEPT];
	ret->next = first < kept ? first : 0;
}

static int refused(const struct call *call, struct cma_id *id)
{
	const struct ctl_cm_refusal *refusal = &call->req.cm.refusal;

	if (refusal->status > 0 || refusal->status < -MAX_ERRNO)
		return -EINVAL;
	cm_refused(call->conn->instance, id, refusal);
	return 0;
}

static int serve_op(struct call *call, struct cma_id *id)
{
	const struct ctl_msg_cm *req = &call->req.cm;
	const uint64_t now_ns = clock_now_ns();

	switch ((enum ctl_cm_op)req->op) {
	case CTL_CM_CREATE_CHANNEL: return create_channel(call);
	case CTL_CM_DESTROY_CHANNEL: return destroy_channel(channel_of(call));
	case CTL_CM_PAUSE_CHANNEL: return pause_channel(call, true);
	case CTL_CM_RESUME_CHANNEL: return pause_channel(call, false);
	case CTL_CM_CREATE_ID: return create_id(call);
	case CTL_CM_DESTROY_ID: cm_end_id(id, now_ns); return 0;
	case CTL_CM_BIND: return cma_id_bind(id, &req->src);
	case CTL_CM_RESOLVE_ADDR: return cma_id_resolve_addr(id, &req->src, &req->dst);
	case CTL_CM_RESOLVE_ROUTE: return cma_id_resolve_route(id);
	case CTL_CM_LISTEN: return cma_id_listen(id, req->backlog);
	case CTL_CM_CONNECT: return cma_id_connect(id, &req->conn, now_ns);
	case CTL_CM_ACCEPT: return accept_id(call, id);
	case CTL_CM_REJECT: return cma_id_reject(id, &req->conn, now_ns);
	case CTL_CM_ESTABLISH: return cma_id_establish(id);
	case CTL_CM_NOTIFY: return cma_id_notify(id, req->event);
	case CTL_CM_DISCONNECT: return cma_id_disconnect(id, now_ns);
	case CTL_CM_INIT_QP_ATTR:
		return cma_id_init_qp_attr(id, req->qp_state, &call->reply.cm.attr);
	case CTL_CM_QUERY: return 0;
	case CTL_CM_SET_OPTION:
		if (req->option_len > sizeof(req->option))
			return -EINVAL;
		return cma_id_set_option(id, req->level, req->name, req->option, req->option_len);
	case CTL_CM_MIGRATE: return migrate_id(call, id);
	case CTL_CM_JOIN: return cma_id_join(id, &req->dst, req->token, &call->reply.cm.handle);
	case CTL_CM_LEAVE: return leave_group(call, id);
	case CTL_CM_LIST: list_ids(call); return 0;
	case CTL_CM_FAILURES:
		list_failures(&call->conn->instance->cm.failures, req->id,
			      &call->reply.cm_failures);
		return 0;
	case CTL_CM_REFUSED: return refused(call, id);
	case CTL_CM_OP_END: break;
	}
	return -EINVAL;
}

enum cm_needs {
	NEEDS_NO_ID,
	NEEDS_ID,
	NEEDS_SPACE, /* an id whose channel has space for one more event */
};

/* clang-format off */
static const struct {
	enum cm_needs needs;
	enum inject_verb verb; /* the call that fault rules name; INJECT_VERBS: none */
} cm_table[CTL_CM_OP_END] = {
	[CTL_CM_CREATE_CHANNEL] = { NEEDS_NO_ID, INJECT_VERB_rdma_create_event_channel },
	[CTL_CM_DESTROY_CHANNEL] = { NEEDS_NO_ID, INJECT_VERBS },
	[CTL_CM_PAUSE_CHANNEL] = { NEEDS_NO_ID, INJECT_VERBS },
	[CTL_CM_RESUME_CHANNEL] = { NEEDS_NO_ID, INJECT_VERBS },
	[CTL_CM_CREATE_ID] = { NEEDS_NO_ID, INJECT_VERB_rdma_create_id },
	[CTL_CM_DESTROY_ID] = { NEEDS_ID, INJECT_VERBS },
	[CTL_CM_BIND] = { NEEDS_ID, INJECT_VERB_rdma_bind_addr },
	[CTL_CM_RESOLVE_ADDR] = { NEEDS_SPACE, INJECT_VERB_rdma_resolve_addr },
	[CTL_CM_RESOLVE_ROUTE] = { NEEDS_SPACE, INJECT_VERB_rdma_resolve_route },
	[CTL_CM_LISTEN] = { NEEDS_ID, INJECT_VERB_rdma_listen },
	[CTL_CM_CONNECT] = { NEEDS_SPACE, INJECT_VERB_rdma_connect },
	[CTL_CM_ACCEPT] = { NEEDS_ID, INJECT_VERB_rdma_accept },
	[CTL_CM_REJECT] = { NEEDS_ID, INJECT_VERB_rdma_reject },
	[CTL_CM_ESTABLISH] = { NEEDS_ID, INJECT_VERB_rdma_establish },
	[CTL_CM_NOTIFY] = { NEEDS_ID, INJECT_VERB_rdma_notify },
	[CTL_CM_DISCONNECT] = { NEEDS_ID, INJECT_VERB_rdma_disconnect },
	[CTL_CM_INIT_QP_ATTR] = { NEEDS_ID, INJECT_VERB_rdma_init_qp_attr },
	[CTL_CM_QUERY] = { NEEDS_ID, INJECT_VERBS },
	[CTL_CM_SET_OPTION] = { NEEDS_ID, INJECT_VERB_rdma_set_option },
	[CTL_CM_MIGRATE] = { NEEDS_ID, INJECT_VERB_rdma_migrate_id },
	[CTL_CM_JOIN] = { NEEDS_SPACE, INJECT_VERB_rdma_join_multicast },
	[CTL_CM_LEAVE] = { NEEDS_ID, INJECT_VERB_rdma_leave_multicast },
	[CTL_CM_LIST] = { NEEDS_NO_ID, INJECT_VERBS },
	[CTL_CM_FAILURES] = { NEEDS_NO_ID, INJECT_VERBS },
	[CTL_CM_REFUSED] = { NEEDS_ID, INJECT_VERBS },
};
/* clang-format on */

static struct cma_id *id_of(const struct call *call)
{
	struct cma_id *id = cma_id_find(call->conn->instance->cm.ids, call->req.cm.id);

	return id && cma_id_user(id)->owner == call->conn ? id : NULL;
}

/* An id that is bound to no device is under the rules of the first one. */
static int injected(struct call *call, const struct cma_id *id)
{
	struct ctl_cm_addr addr = { 0 };

	if (id)
		cma_id_query(id, &addr);
	return cm_fault_decide(call->conn, addr.device, cm_table[call->req.cm.op].verb);
}

int serve_cm(struct call *call)
{
	const uint32_t op = call->req.cm.op;
	struct cma_id *id = NULL;
	int rc;

	if (op == 0 || op >= CTL_CM_OP_END)
		return -EINVAL;
	if (cm_table[op].needs == NEEDS_NO_ID) {
		rc = injected(call, NULL);
		return rc ? rc : serve_op(call, NULL);
	}
	id = id_of(call);
	if (!id)
		return -ENOENT;
	if (cm_table[op].needs == NEEDS_SPACE &&
	    ((struct cm_channel *)cma_id_user(id)->channel)->queued >= CM_QUEUE_MAX)
		return -ENOMEM;
	rc = injected(call, id);
	if (rc)
		return rc;
	call->reply.cm.events = cma_id_user(id)->events;
	rc = serve_op(call, id);
	if (rc == 0 && op != CTL_CM_DESTROY_ID)
		cma_id_query(id, &call->reply.cm.addr);
	return rc;
}
