// SPDX-License-Identifier: MIT
/* The second librdmacm.so.1, for `rxe_dm run --check`: each call here stands in front of the
 * library's, which the build names inner_NAME (lib/check/meson.build). The library's calls of its
 * own functions are not checked, and its calls of verbs are those of the program.
 *
 * What a synchronous id reads, the library acknowledges: only its ends are looked at. */
#include <errno.h>

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#pragma GCC visibility pop

#include "lib/check/cm.h"

/* Declares the inner function of a call. */
#define INNER(name) extern __typeof__(name) inner_##name

/* rdma_connect(3), rdma_accept(3), rdma_reject(3): bytes of private data in each message. */
#define CONNECT_TCP 56
#define CONNECT_UDP 180
#define ACCEPT_TCP  196
#define ACCEPT_UDP  136
#define REJECT	    148

INNER(rdma_create_event_channel);
INNER(rdma_destroy_event_channel);
INNER(rdma_create_id);
INNER(rdma_create_ep);
INNER(rdma_destroy_id);
INNER(rdma_migrate_id);
INNER(rdma_get_cm_event);
INNER(rdma_get_request);
INNER(rdma_ack_cm_event);
INNER(rdma_bind_addr);
INNER(rdma_resolve_addr);
INNER(rdma_resolve_route);
INNER(rdma_create_qp);
INNER(rdma_listen);
INNER(rdma_connect);
INNER(rdma_accept);
INNER(rdma_reject);
INNER(rdma_disconnect);

/* The linker's: where this library is loaded. */
#pragma GCC visibility push(hidden)
extern const char __ehdr_start[];
extern const char _end[];
#pragma GCC visibility pop

__attribute__((constructor)) static void loaded(void)
{
	rxe_dm_check_cm_loaded(__ehdr_start, _end);
}

static int refused(void)
{
	errno = EINVAL;
	return -1;
}

static bool is_datagram(const struct rdma_cm_id *id)
{
	return id && id->qp_type == IBV_QPT_UD;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = inner_rdma_create_event_channel();

	rxe_dm_check_channel_made(channel);
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (!rxe_dm_check_channel_ending(channel))
		return;
	inner_rdma_destroy_event_channel(channel);
	rxe_dm_check_channel_ended(channel);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	int err = inner_rdma_create_id(channel, id, context, ps);

	if (!err)
		rxe_dm_check_id_made(*id);
	return err;
}

int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *info, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	int err = inner_rdma_create_ep(id, info, pd, attr);

	if (!err)
		rxe_dm_check_id_made(*id);
	return err;
}

static int destroy_id(struct rdma_cm_id *id, const char *call)
{
	int err;

	if (!rxe_dm_check_id_ending(id, call))
		return refused();
	err = inner_rdma_destroy_id(id);
	rxe_dm_check_id_ended(id, err);
	return err;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	return destroy_id(id, "rdma_destroy_id");
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (!id)
		return;
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	destroy_id(id, "rdma_destroy_ep");
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int err = inner_rdma_get_cm_event(channel, event);

	if (!err)
		rxe_dm_check_event_read(*event);
	return err;
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	int err;

	if (!rxe_dm_check_id_used(listen, "rdma_get_request"))
		return refused();
	err = inner_rdma_get_request(listen, id);
	if (!err)
		rxe_dm_check_id_made(*id);
	return err;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (event)
		rxe_dm_check_event_acked(event);
	return inner_rdma_ack_cm_event(event);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (!rxe_dm_check_id_used(id, "rdma_migrate_id"))
		return refused();
	return inner_rdma_migrate_id(id, channel);
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (!rxe_dm_check_id_used(id, "rdma_bind_addr"))
		return refused();
	return inner_rdma_bind_addr(id, addr);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	if (!rxe_dm_check_id_used(id, "rdma_resolve_addr"))
		return refused();
	return inner_rdma_resolve_addr(id, src, dst, timeout_ms);
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	if (!rxe_dm_check_id_used(id, "rdma_resolve_route"))
		return refused();
	return inner_rdma_resolve_route(id, timeout_ms);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (!rxe_dm_check_id_used(id, "rdma_create_qp"))
		return refused();
	return inner_rdma_create_qp(id, pd, attr);
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	if (!rxe_dm_check_id_used(id, "rdma_listen"))
		return refused();
	return inner_rdma_listen(id, backlog);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const struct check_cm_asks asks = {
		.call = "rdma_connect",
		.private_max = is_datagram(id) ? CONNECT_UDP : CONNECT_TCP,
		.param = param,
		.needs_qp = !is_datagram(id),
	};

	if (!rxe_dm_check_asks(id, &asks))
		return refused();
	return inner_rdma_connect(id, param);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const struct check_cm_asks asks = {
		.call = "rdma_accept",
		.private_max = is_datagram(id) ? ACCEPT_UDP : ACCEPT_TCP,
		.param = param,
		.needs_qp = true,
		.is_accept = true,
	};

	if (!rxe_dm_check_asks(id, &asks))
		return refused();
	return inner_rdma_accept(id, param);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	const struct rdma_conn_param param = { .private_data = data, .private_data_len = len };
	const struct check_cm_asks asks = {
		.call = "rdma_reject",
		.private_max = is_datagram(id) ? ACCEPT_UDP : REJECT,
		.param = &param,
	};

	if (!rxe_dm_check_asks(id, &asks))
		return refused();
	return inner_rdma_reject(id, data, len);
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	if (!rxe_dm_check_id_used(id, "rdma_disconnect"))
		return refused();
	rxe_dm_check_connected(id, false);
	return inner_rdma_disconnect(id);
}
