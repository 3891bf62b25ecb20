// SPDX-License-Identifier: MIT
/* Connections: a hello, then one request after the other. A client that breaks the protocol is
 * disconnected; nothing here blocks. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/cm/channel.h"
#include "rxe_dm/server/cm/fault.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static const struct serve_row {
	int (*serve)(struct call *call);
	enum serve_needs needs;
} serve_table[CTL_OP_END] = {
#define X(op, serve, needs) [op] = { serve, needs },
	SERVE_TABLE(X)
#undef X
};

static void end_call(struct call *call)
{
	assert(call->num_out <= CTL_MAX_FDS);
	if (call->in_fd >= 0)
		close(call->in_fd);
	for (size_t i = 0; i < call->num_out; i++) {
		if (!(call->keep_out >> i & 1))
			close(call->out_fd[i]);
	}
	call->in_fd = -1;
	call->num_out = 0;
}

/* The connection is in the list of those with work while pending is not 0. */
static void set_pending(struct conn *conn, int pending)
{
	struct instance *instance = conn->instance;

	if (!conn->pending && pending)
		DL_APPEND2(instance->conns.working, conn, wprev, wnext);
	else if (conn->pending && !pending)
		DL_DELETE2(instance->conns.working, conn, wprev, wnext);
	conn->pending = pending;
}

/* Programs keep the instance in use. */
static void set_role(struct conn *conn, uint32_t role)
{
	struct instance *instance = conn->instance;

	assert(instance->conns.num_programs >= (conn->role == CTL_ROLE_PROGRAM));
	instance->conns.num_programs -= conn->role == CTL_ROLE_PROGRAM;
	instance->conns.num_programs += role == CTL_ROLE_PROGRAM;
	conn->role = role;
}

void conn_close(struct conn *conn)
{
	struct instance *instance = conn->instance;
	struct user *user, *next;

	if (conn->pending)
		end_call(&conn->call);
	set_pending(conn, 0);
	DL_FOREACH_SAFE2(conn->users, user, next, cnext)
	context_drop_user(user);
	for (uint32_t i = 0; i < CTL_DEVICE_MAX; i++) {
		if (conn->attached[i])
			slot_give(conn->attached[i]);
	}
	captures_end(conn);
	cm_end_conn(conn);
	loop_close(&instance->loop, &conn->sock);
	loop_close(&instance->loop, &conn->death);
	set_role(conn, 0);
	assert(!conn->users && !conn->captures && instance->conns.num > 0);
	DL_DELETE(instance->conns.all, conn);
	instance->conns.num--;
	free(conn);
}

/* Finds the device and context of the request. The process must be a user of the context. */
static int resolve(struct call *call, enum serve_needs needs)
{
	struct instance *instance = call->conn->instance;
	struct object *self;

	if (needs == NEEDS_NOTHING)
		return 0;
	if (call->req.device >= instance->num_devices)
		return -ENODEV;
	call->device = &instance->devices[call->req.device];
	call->attachment = call->conn->attached[call->req.device];
	if (needs == NEEDS_DEVICE)
		return 0;
	self = object_find(&call->device->tables.objects, call->req.context);
	if (!self || self->kind != CTL_KIND_CONTEXT)
		return -EBADF;
	call->context = self->context;
	call->user = context_user(self->context, call->conn);
	return call->user ? 0 : -EBADF;
}

static int send_reply(struct call *call, int status)
{
	call->reply.op = call->req.op;
	call->reply.status = status;
	return ctl_send(call->conn->sock.fd, &call->reply, sizeof(call->reply), call->out_fd,
			status ? 0 : call->num_out, MSG_DONTWAIT);
}

/* Returns pending after that; 0: the connection may be freed. */
static int run_call(struct conn *conn)
{
	struct call *call = &conn->call;
	const struct serve_row *row = &serve_table[call->req.op];
	int status = resolve(call, row->needs);
	int rc;

	assert(row->serve);
	if (status == 0)
		status = row->serve(call);
	if (status > 0) {
		set_pending(conn, status);
		return status;
	}
	set_pending(conn, 0);
	rc = send_reply(call, status);
	end_call(call);
	if (rc)
		conn_close(conn); /* the client does not read its replies */
	return 0;
}

int conn_resume(struct conn *conn)
{
	assert(conn->pending && conn->role);
	return run_call(conn);
}

static int check_hello(const struct ctl_hello *hello, ssize_t n)
{
	if (n != sizeof(*hello) || memcmp(hello->magic, CTL_MAGIC, sizeof(hello->magic)) != 0)
		return -EBADMSG;
	if (hello->protocol != CTL_PROTOCOL || hello->layout != CTL_LAYOUT)
		return -EPROTO;
	if (hello->role != CTL_ROLE_PROGRAM && hello->role != CTL_ROLE_COMMAND)
		return -EBADMSG;
	return 0;
}

static void answer_hello(struct conn *conn, int status)
{
	struct ctl_hello reply = {
		.magic = CTL_MAGIC,
		.protocol = CTL_PROTOCOL,
		.layout = CTL_LAYOUT,
		.status = status,
		.server_id = conn->instance->life.id,
		.pid = getpid(),
		.version = RXE_DM_VERSION,
	};

	if (ctl_send(conn->sock.fd, &reply, sizeof(reply), NULL, 0, MSG_DONTWAIT) && status == 0)
		set_role(conn, 0);
}

static void read_hello(struct conn *conn)
{
	struct ctl_hello hello;
	ssize_t n = ctl_recv(conn->sock.fd, &hello, sizeof(hello), NULL, 0, NULL, MSG_DONTWAIT);
	int status;

	if (n == -EAGAIN)
		return;
	status = check_hello(&hello, n);
	if (status == -EPROTO)
		ctl_log(CTL_LOG_ERROR,
			"refused process %d: its library is version %.28s, protocol %u; this "
			"server is version %s, protocol %u%s",
			(int)conn->pid, hello.version, hello.protocol, RXE_DM_VERSION, CTL_PROTOCOL,
			hello.protocol == CTL_PROTOCOL ? " of another build" : "");
	if (status == 0)
		set_role(conn, hello.role);
	if (status != -EBADMSG)
		answer_hello(conn, status);
	if (conn->role == 0)
		conn_close(conn);
}

static void read_request(struct conn *conn)
{
	struct call *call = &conn->call;
	size_t num_fds = 0;
	ssize_t n;
	int fd = -1;

	memset(call, 0, sizeof(*call));
	call->conn = conn;
	n = ctl_recv(conn->sock.fd, &call->req, sizeof(call->req), &fd, 1, &num_fds, MSG_DONTWAIT);
	call->in_fd = num_fds ? fd : -1;
	if (n == -EAGAIN)
		return;
	if (n != sizeof(call->req) || call->req.op == 0 || call->req.op >= CTL_OP_END) {
		end_call(call);
		conn_close(conn);
		return;
	}
	(void)run_call(conn);
}

static void sock_ready(struct loop_source *source, uint32_t events)
{
	struct conn *conn = container_of(source, struct conn, sock);

	if (!(events & EPOLLIN) || conn->pending)
		conn_close(conn); /* the client exited, or sent a request before the last reply */
	else if (conn->role == 0)
		read_hello(conn);
	else
		read_request(conn);
}

static void death_ready(struct loop_source *source, uint32_t events)
{
	(void)events;
	conn_close(container_of(source, struct conn, death));
}

/* Opens a pidfd of the process that connected. SO_PEERPIDFD is right even if its PID was reused. */
static int open_pidfd(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool admit(struct conn *conn)
{
	uid_t uid;

	if (ctl_peer(conn->sock.fd, &conn->pid, &uid))
		return false;
	if (uid != geteuid()) {
		ctl_log(CTL_LOG_ERROR,
			"refused process %d of user %u: this server belongs to user %u",
			(int)conn->pid, (unsigned int)uid, (unsigned int)geteuid());
		return false;
	}
	conn->death.fd = open_pidfd(conn->sock.fd, conn->pid);
	return conn->death.fd >= 0 ||
	       conn->pid == 0; /* 0: a process of a PID namespace that is not visible here */
}

void conn_open(struct instance *instance, int fd)
{
	struct conn *conn = (struct conn *)calloc(1, sizeof(*conn));

	assert(fd >= 0 && instance->conns.num < MAX_CONNS);
	if (!conn) {
		close(fd);
		return;
	}
	conn->instance = instance;
	conn->call.in_fd = -1;
	conn->sock = (struct loop_source){ .fd = fd, .ready = sock_ready };
	conn->death = (struct loop_source){ .fd = -1, .ready = death_ready };
	DL_APPEND(instance->conns.all, conn);
	instance->conns.num++;
	if (!admit(conn) || loop_add(&instance->loop, &conn->sock, EPOLLIN) ||
	    (conn->death.fd >= 0 && loop_add(&instance->loop, &conn->death, EPOLLIN)))
		conn_close(conn);
}
