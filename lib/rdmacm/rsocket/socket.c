// SPDX-License-Identifier: MIT
/* rsocket, rbind, rlisten, raccept, rconnect. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/connect.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/service.h"
#include "lib/rdmacm/rsocket/table.h"

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

/* The channel never blocks: waiting is ours to do. */
static int open_id(struct rsocket *rs)
{
	rs->channel = rdma_create_event_channel();
	if (!rs->channel)
		return rcm_errno();
	if (fcntl(rs->channel->fd, F_SETFL, fcntl(rs->channel->fd, F_GETFL) | O_NONBLOCK))
		return rcm_errno();
	return rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP) ? rcm_errno() : 0;
}

int rsocket(int domain, int type, int protocol)
{
	int err = check_kind(domain, type, protocol);
	struct rsocket *rs;
	int fd = -1;
	NO_CANCEL;

	if (err)
		return rcm_result(err);
	rs = rs_new(domain);
	if (!rs)
		return rcm_result(ENOMEM);
	rs->status_flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	rs->fd_flags = type & SOCK_CLOEXEC ? FD_CLOEXEC : 0;
	err = type & SOCK_DGRAM ? rs_datagram_open(rs) : open_id(rs);
	if (!err)
		err = rs_table_add(rs);
	if (err)
		rs_destroy(rs);
	else
		fd = rs->fd;
	rs_put(rs);
	return err ? rcm_result(err) : fd;
}

static int set_options(struct rsocket *rs)
{
	const struct rs_options *options = &rs->options;
	struct {
		int option, value;
	} wanted[] = {
		{ RDMA_OPTION_ID_REUSEADDR, options->reuse_addr },
		{ RDMA_OPTION_ID_AFONLY, options->v6_only },
		{ RDMA_OPTION_ID_TOS, options->tos },
	};
	uint8_t tos = (uint8_t)options->tos;
	bool is_tos;
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		is_tos = wanted[i].option == RDMA_OPTION_ID_TOS;
		if (wanted[i].value &&
		    rdma_set_option(rs->id, RDMA_OPTION_ID, wanted[i].option,
				    is_tos ? (void *)&tos : (void *)&wanted[i].value,
				    is_tos ? sizeof(tos) : sizeof(int)))
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
	return rcm_result(err);
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
	return rcm_result(err);
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
		return rcm_result(err);
	err = rs_table_add(child);
	fd = child->fd;
	if (err)
		rs_destroy(child);
	rs_put(child);
	if (err)
		return rcm_result(err);
	if (addr && addrlen)
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
	return rcm_result(err_service ? err_service : err);
}
