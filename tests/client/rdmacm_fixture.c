// SPDX-License-Identifier: MIT
/* Pairs of ids: made, connected, talked over, ended. */
#include "rdmacm_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "fixture.h"

struct sockaddr_storage device_address(uint16_t port)
{
	const char *text = getenv("RXE_DM_ADDRESS");
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_storage ret = { 0 };

	ck_assert_ptr_nonnull(text);
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
		memcpy(&ret, &in6, sizeof(in6));
	} else {
		ck_assert_int_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
		memcpy(&ret, &in, sizeof(in));
	}
	return ret;
}

struct sockaddr *plain(struct sockaddr_storage *addr)
{
	return (struct sockaddr *)addr;
}

struct rdma_event_channel *channel_open(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	ck_assert_msg(channel != NULL, "no event channel: does the library path name ours?");
	return channel;
}

struct rdma_cm_id *id_open(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = NULL;

	ck_assert_int_eq(rdma_create_id(channel, &id, channel, ps), 0);
	ck_assert_ptr_nonnull(id);
	return id;
}

struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_msg(event->event == type, "%s, status %d; expected %s",
		      rdma_event_str(event->event), event->status, rdma_event_str(type));
	return event;
}

void expect_cm(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
	       struct rdma_cm_id *id, int status)
{
	struct rdma_cm_event *event = next_event(channel, type);

	ck_assert_ptr_eq(event->id, id);
	ck_assert_int_eq(event->status, status);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

bool is_readable(struct rdma_event_channel *channel)
{
	struct pollfd poll_fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

void await_receiving(const _Atomic pid_t *thread)
{
	char path[64], number[16] = { 0 };
	FILE *file;

	while (!atomic_load(thread))
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)atomic_load(thread));
	while (strtol(number, NULL, 10) != SYS_recvfrom) {
		file = fopen(path, "re");
		ck_assert_ptr_nonnull(file);
		if (!fgets(number, sizeof(number), file))
			number[0] = '\0';
		fclose(file);
	}
}

uint16_t listen_at(struct rdma_cm_id *id, int backlog)
{
	struct sockaddr_storage addr = device_address(0);

	ck_assert_int_eq(rdma_bind_addr(id, plain(&addr)), 0);
	ck_assert_int_eq(rdma_listen(id, backlog), 0);
	ck_assert_uint_ne(rdma_get_src_port(id), 0);
	return ntohs(rdma_get_src_port(id));
}

void resolve(struct rdma_cm_id *id, uint16_t port)
{
	struct sockaddr_storage addr = device_address(port);

	ck_assert_int_eq(rdma_resolve_addr(id, NULL, plain(&addr), TIMEOUT_MS), 0);
	expect_cm(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED, id, 0);
	ck_assert_int_eq(rdma_resolve_route(id, TIMEOUT_MS), 0);
	expect_cm(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id, 0);
}

void give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = id->qp_type,
		.sq_sig_all = 1,
	};

	ck_assert_int_eq(rdma_create_qp(id, NULL, &attr), 0);
	ck_assert_ptr_nonnull(id->qp);
	ck_assert_ptr_eq(id->qp->pd, id->pd);
	ck_assert_ptr_eq(attr.send_cq, id->send_cq);
}

enum ibv_qp_state state_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void pair_prepare(struct pair *pair, enum rdma_port_space ps)
{
	memset(pair, 0, sizeof(*pair));
	pair->ps = ps;
	pair->channel = channel_open();
	pair->listener = id_open(pair->channel, ps);
	pair->client = id_open(pair->channel, ps);
	resolve(pair->client, listen_at(pair->listener, 8));
	give_qp(pair->client);
}

static void post_receive(struct pair *pair, struct rdma_cm_id *id, size_t side)
{
	pair->mrs[side] = rdma_reg_msgs(id, pair->memory[side], PAIR_BYTES);
	ck_assert_ptr_nonnull(pair->mrs[side]);
	ck_assert_int_eq(rdma_post_recv(id, NULL, pair->memory[side], PAIR_BYTES, pair->mrs[side]),
			 0);
}

struct rdma_cm_event *pair_request(struct pair *pair, struct rdma_conn_param *param)
{
	struct rdma_cm_event *event;

	post_receive(pair, pair->client, 0);
	ck_assert_int_eq(rdma_connect(pair->client, param), 0);
	event = next_event(pair->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	ck_assert_ptr_eq(event->listen_id, pair->listener);
	ck_assert_int_eq(event->status, 0);
	pair->server = event->id;
	give_qp(pair->server);
	post_receive(pair, pair->server, 1);
	return event;
}

void pair_accept(struct pair *pair, struct rdma_conn_param *param)
{
	ck_assert_int_eq(rdma_accept(pair->server, param), 0);
	ck_assert_int_eq(state_of(pair->server), IBV_QPS_RTS);
	expect_cm(pair->channel, RDMA_CM_EVENT_ESTABLISHED, pair->client, 0);
	ck_assert_int_eq(state_of(pair->client), IBV_QPS_RTS);
	if (pair->ps == RDMA_PS_TCP)
		expect_cm(pair->channel, RDMA_CM_EVENT_ESTABLISHED, pair->server, 0);
}

void pair_open(struct pair *pair)
{
	pair_prepare(pair, RDMA_PS_TCP);
	ck_assert_int_eq(rdma_ack_cm_event(pair_request(pair, NULL)), 0);
	pair_accept(pair, NULL);
}

static void tell(struct rdma_cm_id *from, struct ibv_mr *mr, uint8_t *bytes, struct rdma_cm_id *to,
		 const uint8_t *there)
{
	struct ibv_wc wc;

	fill(bytes + PAIR_BYTES / 2, 100, 7);
	ck_assert_int_eq(rdma_post_send(from, NULL, bytes + PAIR_BYTES / 2, 100, mr, 0), 0);
	ck_assert_int_eq(rdma_get_recv_comp(to, &wc), 1);
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, 100);
	expect_filled(there, 100, 7);
	ck_assert_int_eq(rdma_get_send_comp(from, &wc), 1);
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
}

void pair_talk(struct pair *pair)
{
	tell(pair->client, pair->mrs[0], pair->memory[0], pair->server, pair->memory[1]);
	tell(pair->server, pair->mrs[1], pair->memory[1], pair->client, pair->memory[0]);
}

static void end_id(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	if (mr)
		ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	if (!id)
		return;
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}

void pair_close(struct pair *pair)
{
	end_id(pair->client, pair->mrs[0]);
	end_id(pair->server, pair->mrs[1]);
	end_id(pair->listener, NULL);
	ck_assert(!is_readable(pair->channel));
	rdma_destroy_event_channel(pair->channel);
}
