// SPDX-License-Identifier: MIT
/* Calls that make, connect, name and end rsockets. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/connection.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"

#define DATAGRAM_CLOSE_TIMEOUT_NS RS_SECOND_NS /* for messages to leave; nothing is promised */

static int check_kind(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), own;

	if (domain != AF_INET && domain != AF_INET6)
		return EAFNOSUPPORT;
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
		return EOPNOTSUPP;
	own = kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	return protocol && protocol != own ? EPROTONOSUPPORT : 0;
}

static int open_id(struct rsocket *rs)
{
	int err = rs_channel_create(rs);

	if (err)
		return err;
	return rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP) ? rcm_errno() : 0;
}

static void destroy(struct rsocket *rs)
{
	rs_datagram_free(rs);
	rs_connection_free(rs);
}

/* Ends the making of an rsocket, err being its error until now: the descriptor, or -1 and errno. */
static int publish(struct rsocket *rs, int err)
{
	int fd;

	if (!err)
		err = rs_table_add(rs);
	fd = rs->fd;
	if (err)
		destroy(rs);
	rs_put(rs);
	return err ? rcm_return(err) : fd;
}

int rsocket(int domain, int type, int protocol)
{
	int err = check_kind(domain, type, protocol);
	struct rsocket *rs;
	NO_CANCEL;

	if (err)
		return rcm_return(err);
	rs = rs_new(domain);
	if (!rs)
		return rcm_return(ENOMEM);
	rs->status_flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	rs->fd_flags = type & SOCK_CLOEXEC ? FD_CLOEXEC : 0;
	return publish(rs, type & SOCK_DGRAM ? rs_datagram_open(rs) : open_id(rs));
}

static int set_options(struct rsocket *rs)
{
	int reuse_addr = rs->options.reuse_addr, v6_only = rs->options.v6_only;
	uint8_t tos = (uint8_t)rs->options.tos;
	const struct {
		int name;
		void *value;
		size_t len;
		bool is_set;
	} wanted[] = {
		{ RDMA_OPTION_ID_REUSEADDR, &reuse_addr, sizeof(reuse_addr), reuse_addr },
		{ RDMA_OPTION_ID_AFONLY, &v6_only, sizeof(v6_only), v6_only },
		{ RDMA_OPTION_ID_TOS, &tos, sizeof(tos), tos },
	};
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (wanted[i].is_set && rdma_set_option(rs->id, RDMA_OPTION_ID, wanted[i].name,
							wanted[i].value, wanted[i].len))
			return rcm_errno();
	}
	return 0;
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err = EINVAL;
	NO_CANCEL;

	if (!rs)
		return -1;
	if (rs->datagram) {
		err = rs_datagram_bind(rs, addr, addrlen);
	} else if (rs->state == RS_NEW && addr && addrlen >= sizeof(struct sockaddr_in)) {
		err = set_options(rs);
		if (!err && rdma_bind_addr(rs->id, (struct sockaddr *)(uintptr_t)addr))
			err = rcm_errno();
	}
	rs_put_locked(rs);
	return rcm_return(err);
}

/* An rsocket that listens without an address gets a port of any address. */
static int bind_to_any(struct rsocket *rs)
{
	struct sockaddr_storage any = { .ss_family = (sa_family_t)rs->domain };

	if (rdma_get_local_addr(rs->id)->sa_family)
		return 0;
	return rdma_bind_addr(rs->id, (struct sockaddr *)&any) ? rcm_errno() : 0;
}

int rlisten(int socket, int backlog)
{
	struct rsocket *rs = rs_get_locked(socket);
	bool is_first = false;
	int err = 0;
	NO_CANCEL;

	if (!rs)
		return -1;
	if (rs->state == RS_NEW) {
		err = bind_to_any(rs);
		if (!err && rdma_listen(rs->id, backlog))
			err = rcm_errno();
		is_first = !err;
		if (is_first)
			rs->state = RS_LISTENING;
	} else if (rs->state != RS_LISTENING) {
		err = rs->datagram ? EOPNOTSUPP : EINVAL;
	}
	pthread_mutex_unlock(&rs->lock);
	if (is_first)
		err = rs_service_add(rs);
	rs_put(rs);
	return rcm_return(err);
}

/* The oldest connection, or NULL and a positive errno. */
static struct rsocket *take_accepted(struct rsocket *listener, int *err)
{
	struct rsocket *child;

	*err = listener->datagram ? EOPNOTSUPP : EINVAL;
	if (listener->state != RS_LISTENING)
		return NULL;
	*err = rs_await(listener, POLLIN, rs_may_wait(listener, 0),
			listener->options.recv_timeout_ns);
	if (*err)
		return NULL;
	child = listener->accepted;
	if (child)
		DL_DELETE(listener->accepted, child);
	else
		*err = listener->state == RS_CLOSED ? EBADF : EINVAL;
	return child;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rsocket *listener = rs_get_locked(socket);
	struct rsocket *child;
	int err, fd;
	NO_CANCEL;

	if (!listener)
		return -1;
	child = take_accepted(listener, &err);
	rs_put_locked(listener);
	if (!child)
		return rcm_return(err);
	fd = publish(child, 0);
	if (fd >= 0 && addr && addrlen)
		rgetpeername(fd, addr, addrlen);
	return fd;
}

/* The state of an rsocket that has begun to connect, as rconnect() reports it. */
static int report(struct rsocket *rs)
{
	if (rs->state != RS_CONNECTED)
		return rs_why_not_connected(rs);
	if (rs->is_connect_reported)
		return EISCONN;
	rs->is_connect_reported = true;
	return 0;
}

/* *ret_served: the service thread shall go on. */
static int connect_locked(struct rsocket *rs, const struct sockaddr *addr, bool *ret_served)
{
	bool is_first = rs->state == RS_NEW;
	int err;

	if (rs->state == RS_LISTENING)
		return EISCONN;
	err = is_first ? set_options(rs) : 0;
	if (!err && is_first)
		err = rs_connect_begin(rs, addr);
	if (err)
		return err;
	err = rs_await(rs, POLLOUT, rs_may_wait(rs, 0), rs->options.send_timeout_ns);
	if (!err)
		return report(rs);
	*ret_served = is_first;
	if (err != EAGAIN)
		return err;
	return is_first ? EINPROGRESS : EALREADY;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	bool is_served = false;
	int err = EINVAL, err_service = 0;
	NO_CANCEL;

	if (!rs)
		return -1;
	if (rs->datagram)
		err = rs_datagram_connect(rs, addr, addrlen);
	else if (addr && addrlen >= sizeof(struct sockaddr_in))
		err = connect_locked(rs, addr, &is_served);
	pthread_mutex_unlock(&rs->lock);
	if (is_served)
		err_service = rs_service_add(rs);
	rs_put(rs);
	return rcm_return(err_service ? err_service : err);
}

/* An address as the kernel gives it: cut to the program's length, which becomes the full one. */
static int give(const struct sockaddr *from, int domain, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sockaddr_storage full = { .ss_family = (sa_family_t)domain };
	socklen_t len =
		domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!addr || !addrlen)
		return EFAULT;
	if (from->sa_family)
		memcpy(&full, from, len);
	memcpy(addr, &full, *addrlen < len ? *addrlen : len);
	*addrlen = len;
	return 0;
}

static int name(int socket, bool is_peer, struct sockaddr *addr, socklen_t *len)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err;

	if (!rs)
		return -1;
	if (rs->datagram)
		err = rs_datagram_name(rs, is_peer, addr, len);
	else if (!is_peer)
		err = give(rdma_get_local_addr(rs->id), rs->domain, addr, len);
	else if (rs->state == RS_CONNECTED)
		err = give(rdma_get_peer_addr(rs->id), rs->domain, addr, len);
	else
		err = ENOTCONN;
	rs_put_locked(rs);
	return rcm_return(err);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return name(socket, true, addr, addrlen);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return name(socket, false, addr, addrlen);
}

/* The message to the peer depends on what is over already. */
static int end_sending(struct rsocket *rs, bool is_all)
{
	bool is_last = is_all || rs->end.receiving;

	rs->end.sending = true;
	if (rs->end.peer)
		return 0;
	rs_progress(rs);
	while (rs_wait(rs, RS_POLL_CONTROL, -1))
		;
	if (rs->end.peer || rs->state != RS_CONNECTED)
		return 0;
	return rs_queue_control(rs, is_last ? RS_CONTROL_DISCONNECT : RS_CONTROL_SHUTDOWN);
}

static int shutdown_locked(struct rsocket *rs, int how)
{
	if (rs->state == RS_LISTENING) {
		rs->end.receiving = true;
		return 0;
	}
	if (rs->datagram ? !rs->datagram->connected : rs->state != RS_CONNECTED)
		return ENOTCONN;
	if (how != SHUT_WR)
		rs->end.receiving = true;
	if (how == SHUT_RD || rs->end.sending)
		return 0;
	if (!rs->datagram)
		return end_sending(rs, how == SHUT_RDWR);
	rs->end.sending = true;
	return 0;
}

int rshutdown(int socket, int how)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err = EINVAL;
	NO_CANCEL;

	if (!rs)
		return -1;
	if (how == SHUT_RD || how == SHUT_WR || how == SHUT_RDWR)
		err = shutdown_locked(rs, how);
	rs_wake(rs);
	rs_put_locked(rs);
	return rcm_return(err);
}

/* The peer gets all that was sent, unless the program wants it otherwise (SO_LINGER). */
static void finish(struct rsocket *rs)
{
	int linger_s = rs->options.linger_s;
	int64_t deadline_ns = rs_deadline(linger_s < 0 ? -1 : (int64_t)linger_s * RS_SECOND_NS);

	if (rs->datagram)
		deadline_ns = rs_deadline(DATAGRAM_CLOSE_TIMEOUT_NS);
	else if (rs->state != RS_CONNECTED || !linger_s)
		return;
	if (!rs->datagram && (!rs->end.sending || !rs->end.receiving))
		end_sending(rs, true);
	while (rs_wait(rs, RS_POLL_SENT, deadline_ns) == EINTR)
		;
}

int rclose(int socket)
{
	struct rsocket *rs = rs_table_remove(socket);
	NO_CANCEL;

	if (!rs)
		return rcm_return(rs_epoll_close(socket));
	pthread_mutex_lock(&rs->lock);
	finish(rs);
	destroy(rs);
	rs_wake(rs);
	rs_put_locked(rs);
	return 0;
}
