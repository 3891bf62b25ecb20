/* SPDX-License-Identifier: MIT */
/* One request for a connection, and its answer, each with private data; prints both ends' events.
 *
 *     private_data listen ADDRESS PORT tcp|udp accept|reject TEXT
 *     private_data connect ADDRESS PORT tcp|udp TEXT
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rdma_event_channel *channel;
static enum rdma_port_space space;

static void need(bool is_good, const char *what)
{
	if (!is_good) {
		perror(what);
		exit(1);
	}
}

static void print_event(const struct rdma_cm_event *event)
{
	const void *data = event->param.conn.private_data;
	unsigned len = event->param.conn.private_data_len;

	if (space == RDMA_PS_UDP) {
		data = event->param.ud.private_data;
		len = event->param.ud.private_data_len;
	}
	printf("%s, status %d, %u bytes: %.*s\n", rdma_event_str(event->event), event->status, len,
	       (int)(data ? len : 0), data ? (const char *)data : "");
	fflush(stdout);
}

/* The next event. ret_id: whose it is. */
static enum rdma_cm_event_type next_event(struct rdma_cm_id **ret_id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	need(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
	print_event(event);
	type = event->event;
	*ret_id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

static void need_event(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_id *id;

	if (next_event(&id) != wanted)
		exit(1);
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
	};

	need(rdma_create_qp(id, NULL, &attr) == 0, "rdma_create_qp");
}

static struct rdma_conn_param parameters(struct rdma_cm_id *id, const char *text)
{
	struct rdma_conn_param param = {
		.private_data = text,
		.private_data_len = (uint8_t)strlen(text),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	if (space == RDMA_PS_UDP && id->qp)
		param.qp_num = id->qp->qp_num;
	return param;
}

static void listen_once(struct rdma_cm_id *id, struct sockaddr *address, bool is_accepted,
			const char *text)
{
	struct rdma_conn_param param;
	struct rdma_cm_id *request;

	need(rdma_bind_addr(id, address) == 0, "rdma_bind_addr");
	need(rdma_listen(id, 1) == 0, "rdma_listen");
	if (next_event(&request) != RDMA_CM_EVENT_CONNECT_REQUEST)
		exit(1);
	if (!is_accepted) {
		need(rdma_reject(request, text, (uint8_t)strlen(text)) == 0, "rdma_reject");
		return;
	}
	create_qp(request);
	param = parameters(request, text);
	need(rdma_accept(request, &param) == 0, "rdma_accept");
	if (space == RDMA_PS_TCP) {
		need_event(RDMA_CM_EVENT_ESTABLISHED);
		need_event(RDMA_CM_EVENT_DISCONNECTED);
	}
}

static void connect_once(struct rdma_cm_id *id, struct sockaddr *address, const char *text)
{
	struct rdma_conn_param param;

	need(rdma_resolve_addr(id, NULL, address, 5000) == 0, "rdma_resolve_addr");
	need_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 5000) == 0, "rdma_resolve_route");
	need_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_qp(id);
	param = parameters(id, text);
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	if (next_event(&id) == RDMA_CM_EVENT_ESTABLISHED && space == RDMA_PS_TCP) {
		need(rdma_disconnect(id) == 0, "rdma_disconnect");
		need_event(RDMA_CM_EVENT_DISCONNECTED);
	}
}

int main(int argc, char **argv)
{
	struct addrinfo *found, hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct rdma_cm_id *id;

	if (argc < 6 || (strcmp(argv[1], "listen") == 0 && argc < 7)) {
		fprintf(stderr,
			"usage: private_data listen ADDRESS PORT tcp|udp accept|reject TEXT\n"
			"       private_data connect ADDRESS PORT tcp|udp TEXT\n");
		return 2;
	}
	space = strcmp(argv[4], "udp") == 0 ? RDMA_PS_UDP : RDMA_PS_TCP;
	need(getaddrinfo(argv[2], argv[3], &hints, &found) == 0, "getaddrinfo");
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	need(rdma_create_id(channel, &id, NULL, space) == 0, "rdma_create_id");
	if (strcmp(argv[1], "listen") == 0)
		listen_once(id, found->ai_addr, strcmp(argv[5], "accept") == 0, argv[6]);
	else
		connect_once(id, found->ai_addr, argv[5]);
	freeaddrinfo(found);
	return 0;
}
