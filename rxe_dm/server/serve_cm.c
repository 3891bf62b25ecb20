// SPDX-License-Identifier: MIT
/* Requests to the connection manager. */
#include <errno.h>

#include "net/link/clock.h"
#include "rxe_dm/server/cm.h"
#include "rxe_dm/server/cm_fault.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/instance.h"

typedef int (*cm_serve_fn)(struct call *call, struct rdma_id *id);

static struct cm_channel *channel_of(const struct call *call)
{
	return cm_channel_find(call->conn, call->req.cm.channel);
}

static int create_channel(struct call *call, struct rdma_id *id)
{
	struct cm_channel *channel;
	int rc;

	(void)id;
	if (call->in_fd < 0)
		return -EINVAL;
	rc = cm_channel_open(call->conn, call->in_fd, &channel);
	if (rc)
		return rc;
	call->in_fd = -1;
	call->reply.cm.handle = channel->handle;
	return 0;
}

static int destroy_channel(struct call *call, struct rdma_id *id)
{
	struct cm_channel *channel = channel_of(call);

	(void)id;
	if (!channel)
		return -ENOENT;
	if (cm_channel_in_use(channel))
		return -EBUSY;
	cm_channel_close(channel);
	return 0;
}

static int pause_channel(struct call *call, struct rdma_id *id)
{
	struct cm_channel *channel = channel_of(call);

	(void)id;
	if (!channel)
		return -ENOENT;
	cm_channel_pause(channel, true);
	call->out_fd[0] = channel->sock.fd;
	call->num_out = call->keep_out = 1;
	return 0;
}

static int resume_channel(struct call *call, struct rdma_id *id)
{
	struct cm_channel *channel = channel_of(call);

	(void)id;
	if (!channel)
		return -ENOENT;
	cm_channel_pause(channel, false);
	return 0;
}

static int create_id(struct call *call, struct rdma_id *id)
{
	const struct ctl_msg_cm *req = &call->req.cm;
	const struct rdma_id_user user = {
		.owner = call->conn,
		.channel = channel_of(call),
		.token = req->token,
	};
	int rc;

	if (!user.channel)
		return -ENOENT;
	rc = rdma_id_create(call->conn->instance->cm, req->port_space, req->qp_type, &user, &id);
	if (rc == 0)
		call->reply.cm.handle = rdma_id_handle(id);
	return rc;
}

static int destroy_id(struct call *call, struct rdma_id *id)
{
	cm_end_id(id, clock_now_ns());
	(void)call;
	return 0;
}

static int bind_id(struct call *call, struct rdma_id *id)
{
	return rdma_id_bind(id, &call->req.cm.src);
}

static int resolve_addr(struct call *call, struct rdma_id *id)
{
	return rdma_id_resolve_addr(id, &call->req.cm.src, &call->req.cm.dst);
}

static int resolve_route(struct call *call, struct rdma_id *id)
{
	(void)call;
	return rdma_id_resolve_route(id);
}

static int listen_id(struct call *call, struct rdma_id *id)
{
	return rdma_id_listen(id, call->req.cm.backlog);
}

static int connect_id(struct call *call, struct rdma_id *id)
{
	return rdma_id_connect(id, &call->req.cm.conn, clock_now_ns());
}

static int accept_id(struct call *call, struct rdma_id *id)
{
	struct rdma_id_user *user = rdma_id_user(id);
	int rc = rdma_id_accept(id, &call->req.cm.conn, clock_now_ns());

	if (rc == 0 && call->req.cm.token)
		user->token = call->req.cm.token;
	return rc;
}

static int reject_id(struct call *call, struct rdma_id *id)
{
	return rdma_id_reject(id, &call->req.cm.conn, clock_now_ns());
}

static int establish_id(struct call *call, struct rdma_id *id)
{
	(void)call;
	return rdma_id_establish(id);
}

static int notify_id(struct call *call, struct rdma_id *id)
{
	return rdma_id_notify(id, call->req.cm.event);
}

static int disconnect_id(struct call *call, struct rdma_id *id)
{
	(void)call;
	return rdma_id_disconnect(id, clock_now_ns());
}

static int init_qp_attr(struct call *call, struct rdma_id *id)
{
	return rdma_id_init_qp_attr(id, call->req.cm.qp_state, &call->reply.cm.attr);
}

static int query_id(struct call *call, struct rdma_id *id)
{
	(void)call;
	(void)id;
	return 0;
}

static int set_option(struct call *call, struct rdma_id *id)
{
	const struct ctl_msg_cm *req = &call->req.cm;

	if (req->option_len > sizeof(req->option))
		return -EINVAL;
	return rdma_id_set_option(id, req->level, req->name, req->option, req->option_len);
}

static int migrate_id(struct call *call, struct rdma_id *id)
{
	struct cm_channel *to = channel_of(call);

	if (!to)
		return -ENOENT;
	if (call->req.cm.token)
		rdma_id_user(id)->token = call->req.cm.token;
	call->reply.cm.events = rdma_id_user(id)->events;
	cm_channel_move(id, to);
	return 0;
}

static int join_group(struct call *call, struct rdma_id *id)
{
	const struct ctl_msg_cm *req = &call->req.cm;

	return rdma_id_join(id, &req->dst, req->token, &call->reply.cm.handle);
}

/* Each membership has one event: it is in the socket, unless it was dropped here. */
static int leave_group(struct call *call, struct rdma_id *id)
{
	struct cm_channel *channel = (struct cm_channel *)rdma_id_user(id)->channel;
	uint64_t token;
	int rc = rdma_id_leave(id, call->req.cm.membership, &token);

	if (rc == 0)
		call->reply.cm.events = 1 - cm_channel_drop_membership(channel, token);
	return rc;
}

static int list_ids(struct call *call, struct rdma_id *id)
{
	const struct rdma_ids *ids = call->conn->instance->cm;
	struct ctl_cm_page *page = &call->reply.cm_page;

	id = call->req.cm.id ? rdma_id_find(ids, call->req.cm.id) : rdma_id_next(ids, NULL);
	for (; id && page->count < CTL_CM_PAGE; id = rdma_id_next(ids, id)) {
		const struct conn *owner = (const struct conn *)rdma_id_user(id)->owner;
		struct ctl_cm_listed *listed = &page->id[page->count++];

		rdma_id_describe(id, listed);
		listed->pid = owner->pid;
		if (listed->state == CTL_CM_LISTENING)
			listed->unread = cm_channel_unread(id);
	}
	page->next = id ? rdma_id_handle(id) : 0;
	return 0;
}

static int list_failures(struct call *call, struct rdma_id *id)
{
	(void)id;
	cm_failures_list(call->conn->instance->cm_failures, call->req.cm.id,
			 &call->reply.cm_failures);
	return 0;
}

enum cm_needs {
	NEEDS_NO_ID,
	NEEDS_ID,
	NEEDS_SPACE, /* an id whose channel has space for one more event */
};

static const struct {
	cm_serve_fn serve;
	enum cm_needs needs;
} cm_table[CTL_CM_OP_END] = {
	[CTL_CM_CREATE_CHANNEL] = { create_channel, NEEDS_NO_ID },
	[CTL_CM_DESTROY_CHANNEL] = { destroy_channel, NEEDS_NO_ID },
	[CTL_CM_PAUSE_CHANNEL] = { pause_channel, NEEDS_NO_ID },
	[CTL_CM_RESUME_CHANNEL] = { resume_channel, NEEDS_NO_ID },
	[CTL_CM_CREATE_ID] = { create_id, NEEDS_NO_ID },
	[CTL_CM_DESTROY_ID] = { destroy_id, NEEDS_ID },
	[CTL_CM_BIND] = { bind_id, NEEDS_ID },
	[CTL_CM_RESOLVE_ADDR] = { resolve_addr, NEEDS_SPACE },
	[CTL_CM_RESOLVE_ROUTE] = { resolve_route, NEEDS_SPACE },
	[CTL_CM_LISTEN] = { listen_id, NEEDS_ID },
	[CTL_CM_CONNECT] = { connect_id, NEEDS_SPACE },
	[CTL_CM_ACCEPT] = { accept_id, NEEDS_ID },
	[CTL_CM_REJECT] = { reject_id, NEEDS_ID },
	[CTL_CM_ESTABLISH] = { establish_id, NEEDS_ID },
	[CTL_CM_NOTIFY] = { notify_id, NEEDS_ID },
	[CTL_CM_DISCONNECT] = { disconnect_id, NEEDS_ID },
	[CTL_CM_INIT_QP_ATTR] = { init_qp_attr, NEEDS_ID },
	[CTL_CM_QUERY] = { query_id, NEEDS_ID },
	[CTL_CM_SET_OPTION] = { set_option, NEEDS_ID },
	[CTL_CM_MIGRATE] = { migrate_id, NEEDS_ID },
	[CTL_CM_JOIN] = { join_group, NEEDS_SPACE },
	[CTL_CM_LEAVE] = { leave_group, NEEDS_ID },
	[CTL_CM_LIST] = { list_ids, NEEDS_NO_ID },
	[CTL_CM_FAILURES] = { list_failures, NEEDS_NO_ID },
};

static struct rdma_id *id_of(const struct call *call)
{
	struct rdma_id *id = rdma_id_find(call->conn->instance->cm, call->req.cm.id);

	return id && rdma_id_user(id)->owner == call->conn ? id : NULL;
}

/* An id that is bound to no device is under the rules of the first one. */
static int injected(struct call *call, const struct rdma_id *id)
{
	struct ctl_cm_addr addr = { 0 };

	if (id)
		rdma_id_query(id, &addr);
	return cm_fault_decide(call->conn, addr.device, (enum ctl_cm_op)call->req.cm.op);
}

int serve_cm(struct call *call)
{
	const uint32_t op = call->req.cm.op;
	struct rdma_id *id = NULL;
	int rc;

	if (op == 0 || op >= CTL_CM_OP_END)
		return -EINVAL;
	if (cm_table[op].needs == NEEDS_NO_ID) {
		rc = injected(call, NULL);
		return rc ? rc : cm_table[op].serve(call, NULL);
	}
	id = id_of(call);
	if (!id)
		return -ENOENT;
	if (cm_table[op].needs == NEEDS_SPACE &&
	    ((struct cm_channel *)rdma_id_user(id)->channel)->queued >= CM_QUEUE_MAX)
		return -ENOMEM;
	rc = injected(call, id);
	if (rc)
		return rc;
	call->reply.cm.events = rdma_id_user(id)->events;
	rc = cm_table[op].serve(call, id);
	if (rc == 0 && op != CTL_CM_DESTROY_ID)
		rdma_id_query(id, &call->reply.cm.addr);
	return rc;
}
